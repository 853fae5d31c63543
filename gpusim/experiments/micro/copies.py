"""Models the cp.async tables: round trips, streams by footprint and row length (lsu.csv, launch.csv, memory.csv).
Leaves out bulk copies, and tensors beyond L2, of which earlier launches left an unknown part there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from gpusim.arch import GpuSpec, load_gpu
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, key_values, replay
from gpusim.experiments.micro.probe import NoProgram, Probe, Quantity, cycles_between
from gpusim.program import Program
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["copy_probes"]

STREAM_REPEATS, ROW_REPEATS, ROUND_TRIPS = 64, 60, 64
COPIES = 8  # cp.async per warp and iteration
CHUNK_BYTES, WARP_CHUNKS = 16, 32
ROW_CTA_BYTES, ROW_SHARED_BYTES = 1 << 22, 200_000
TRIP_SHARED_BYTES, TRIP_STRIDE_BYTES, TRIP_PITCH_BYTES = 16384, 16384, 4096
REGISTERS = 64
CYCLES = TensorPointer("cyc", "i64", (256,), True)


def copy_probes() -> Iterator[Probe]:
    """Probes of the cp.async rows of three tables."""
    for row in pd.read_csv(HARDWARE / "h200/lsu.csv").to_dict("records"):
        if row["kind"] == "cpasync":
            yield _stream(row)
    for row in pd.read_csv(HARDWARE / "h200/launch.csv", keep_default_na=False).to_dict("records"):
        key = key_values(*(row[f"p{i}"] for i in range(1, 6)))
        yield _rows(key, row["value"]) if row["kind"] == "rows" else _row_trip(key, row["value"])
    for row in pd.read_csv(HARDWARE / "h200/memory.csv", comment="#").to_dict("records"):
        if row["what"] == "cpasync16_roundtrip_l2":
            yield _round_trip(int(row["param"].removesuffix("threads")), float(row["value"]))


def _probe(
    mechanism: str, what: str, quantity: Quantity, measured: float, part: str, source: str, launch: SassLaunch,
    per: float,
) -> Probe:
    kernel = CompiledKernel(source, part)
    return Probe(mechanism, what, quantity, measured, partial(replay, kernel=kernel, launch=launch),
                 partial(cycles_between, pcs=kernel.clock_pcs, per=per))


def _memory(size_bytes: int) -> TensorPointer:
    return TensorPointer("g", "u8", (size_bytes,))


def _stream(row: dict[str, Any]) -> Probe:
    key = key_values(row["p1"], row["p2"], row["p3"])
    footprint = key["footprint"]
    memory = _memory(key["ctas"] * footprint + WARP_CHUNKS * key["pitch"])
    cached = Scalar(int(row["what"] == "ca"))
    parameters = (Scalar(key["rowbytes"]), Scalar(key["pitch"]), Scalar(footprint, 8), Scalar(STREAM_REPEATS), memory,
                  CYCLES, cached)
    launch = SassLaunch((key["ctas"], 1, 1), (32 * key["warps"], 1, 1), parameters, key["smem"], REGISTERS)
    mechanism = f"cp.async.{row['what']} stream, {footprint >> 10} KiB"
    what = f"rows of {key['rowbytes']} B, pitch {key['pitch']}, {key['ctas']} CTAs, {key['warps']} warps, " \
           f"{key['smem'] >> 10} KiB shared"
    return _probe(mechanism, what, "bandwidth", row["cycles"], "cpa", "lsu", launch,
                  STREAM_REPEATS * COPIES * key["warps"])


def _rows(key: dict[str, int], measured: float) -> Probe:
    row_bytes, warps, ctas, pitch = key["rowbytes"], key["warps"], key["ctas"], key["pitch"]
    rows = warps * COPIES * WARP_CHUNKS * CHUNK_BYTES // row_bytes
    memory = _memory((ctas - 1) * ROW_CTA_BYTES + rows * pitch + ROW_REPEATS * row_bytes)
    parameters = (Scalar(pitch), Scalar(key["shared_pitch"]), Scalar(ROW_REPEATS), memory, CYCLES)
    launch = SassLaunch((ctas, 1, 1), (32 * warps, 1, 1), parameters, ROW_SHARED_BYTES, REGISTERS)
    what = f"rows of {row_bytes} B, pitch {pitch}, shared pitch {key['shared_pitch']}, {ctas} CTAs, {warps} warps"
    probe = _probe(f"cp.async rows, {ctas} CTAs", what, "bandwidth", measured, f"rowsILi{row_bytes}E", "launch", launch,
                   ROW_REPEATS * COPIES * warps)
    fits = memory.size_bytes <= load_gpu("h200").l2.capacity_bytes
    return probe if fits else replace(probe, build=_refuse)


def _refuse(spec: GpuSpec) -> Program:
    raise NoProgram("the tensor exceeds L2 and only the first CTA of the best launch was timed: its start is unknown")


def _row_trip(key: dict[str, int], measured: float) -> Probe:
    rows = WARP_CHUNKS * CHUNK_BYTES // key["rowbytes"]
    parameters = (Scalar(ROUND_TRIPS), Scalar(TRIP_PITCH_BYTES), Scalar(key["shared_pitch"]),
                  _memory(rows * TRIP_PITCH_BYTES), CYCLES)
    launch = SassLaunch((1, 1, 1), (32, 1, 1), parameters, TRIP_SHARED_BYTES, REGISTERS)
    what = f"one warp, rows of {key['rowbytes']} B, shared pitch {key['shared_pitch']}"
    return _probe("cp.async round trip", what, "latency", measured, f"rowlatILi{key['rowbytes']}E", "launch", launch,
                  ROUND_TRIPS)


def _round_trip(threads: int, measured: float) -> Probe:
    memory = _memory(ROUND_TRIPS * TRIP_STRIDE_BYTES + threads * CHUNK_BYTES)
    parameters = (memory, Scalar(ROUND_TRIPS), Scalar(0), CYCLES)
    launch = SassLaunch((1, 1, 1), (threads, 1, 1), parameters, TRIP_SHARED_BYTES, REGISTERS)
    return _probe("cp.async round trip", f"{threads} threads", "latency", measured, "cpasync_lat", "memory", launch,
                  ROUND_TRIPS)
