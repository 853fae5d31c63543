"""Models the cp.async tables: round trips (launch.csv, memory.csv); streams are counted (lsu.csv, launch.csv).
Leaves out bulk copies, and streams whose places are apart (gpusim.experiments.micro.slots)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, key_values, replay
from gpusim.experiments.micro.probe import OVERWRITTEN, Probe, Quantity, cycles_between, refused
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
    """Four groups in flight, all to the same places."""
    key = key_values(row["p1"], row["p2"], row["p3"])
    what = f"rows of {key['rowbytes']} B, pitch {key['pitch']}, {key['ctas']} CTAs, {key['warps']} warps, " \
           f"{key['smem'] >> 10} KiB shared"
    return refused(f"cp.async.{row['what']} stream, {key['footprint'] >> 10} KiB", what, row["cycles"], OVERWRITTEN)


def _rows(key: dict[str, int], measured: float) -> Probe:
    """As many, to the same places, too."""
    what = f"rows of {key['rowbytes']} B, pitch {key['pitch']}, shared pitch {key['shared_pitch']}, " \
           f"{key['ctas']} CTAs, {key['warps']} warps"
    return refused(f"cp.async rows, {key['ctas']} CTAs", what, measured, OVERWRITTEN)


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
