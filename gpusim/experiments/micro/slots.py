"""Models copy_slots.csv: cp.async in groups that go to different places of shared memory while they are in flight.
Leaves out rows with fewer places than groups in flight: copies that overwrite others under way are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.arch import load_gpu
from gpusim.engine import SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import OVERWRITTEN, Probe, refused
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["slot_probes"]

ONE_GPC = "measured on a chip whose first eight SMs are in one GPC; the modelled one spreads them over four"
SPARSE = "it reads parts of a tensor beyond L2, of which earlier launches left an unknown part there"
KIB = 1 << 10
CHUNK_BYTES, CHUNKS = 16, 4  # of a thread and group of a stream
STREAM_WRAP_BYTES, STREAM_SHARED_BYTES, TOTAL_BYTES = 16 << 20, 120_000, 256 << 20
ROW_SHARED_BYTES, ROW_CTA_BYTES, ROW_REPEATS, ROW_REPEATS_OF_32_BYTES = 230_000, 1 << 22, 60, 30
COPIES, COPY_BYTES = 8, 512  # of a warp and group of the rows
ONE_CTA, TWO_GPCS_CTAS = 1, 8
REGISTERS = 40
CYCLES = TensorPointer("cyc", "i64", (256,), True)


def slot_probes() -> Iterator[Probe]:
    """A probe per row."""
    for row in pd.read_csv(HARDWARE / "h200/copy_slots.csv").to_dict("records"):
        yield _stream(row) if row["kind"] == "stream" else _rows(row)


def _reason(row: dict[str, Any]) -> str:
    if row["slots"] <= row["waits"]:
        return OVERWRITTEN
    if row["kind"] == "rows":
        return "" if row["ctas"] == ONE_CTA else SPARSE
    return ONE_GPC if row["ctas"] == TWO_GPCS_CTAS else ""


def _stream(row: dict[str, Any]) -> Probe:
    """Every CTA reads its bytes over and over, or once twice as many as L2 holds."""
    threads, ctas, per_cta = 32 * int(row["warps"]), int(row["ctas"]), int(row["per_cta_kib"]) * KIB
    is_cold = ctas * per_cta > load_gpu("h200").l2.capacity_bytes
    size = ctas * per_cta if is_cold else STREAM_WRAP_BYTES
    repeats = 1 if is_cold else min(64, TOTAL_BYTES // (ctas * per_cta))
    parameters = (TensorPointer("p", "u8", (size,)), Scalar(per_cta, 8), Scalar(1 << 30 if is_cold else size, 8),
                  Scalar(repeats), Scalar(int(row["slots"])), CYCLES, Scalar(0, 8))
    shared = max(int(row["slots"]) * threads * CHUNK_BYTES * CHUNKS, STREAM_SHARED_BYTES)
    launch = SassLaunch((ctas, 1, 1), (threads, 1, 1), parameters, shared, REGISTERS)
    what = f"{per_cta // KIB} KiB, {ctas} CTAs of {row['warps']} warps, {row['waits'] + 1} groups in flight"
    what += "" if row["slots"] > row["waits"] else f", {row['slots']} place"
    build = partial(replay, kernel=CompiledKernel("copy_slots", f"bwILi{row['waits']}E"), launch=launch)
    if reason := _reason(row):
        return refused("cp.async stream, places apart", what, row["mean"], reason, "B/cycle/CTA")
    return Probe("cp.async stream, places apart", what, "bandwidth", row["mean"], build,
                 partial(_mean_bytes_per_cycle, cta_bytes=per_cta * repeats), "B/cycle/CTA",
                 l2="cold" if is_cold else "warm", recorded_sm=None)


def _rows(row: dict[str, Any]) -> Probe:
    row_bytes, warps, pitch = int(row["row_bytes"]), int(row["warps"]), int(row["pitch"])
    repeats = ROW_REPEATS_OF_32_BYTES if row_bytes == 32 else ROW_REPEATS
    rows = warps * COPIES * COPY_BYTES // row_bytes
    shared_pitch, slots = int(row["shared_pitch"]), int(row["slots"])
    parameters = (Scalar(pitch), Scalar(shared_pitch), Scalar(repeats), Scalar(slots), Scalar(rows * shared_pitch),
                  TensorPointer("g", "u8", (rows * pitch + repeats * row_bytes,)), CYCLES)
    launch = SassLaunch((1, 1, 1), (32 * warps, 1, 1), parameters, ROW_SHARED_BYTES, REGISTERS)
    build = partial(replay, kernel=CompiledKernel("copy_slots", f"rowsILi{row_bytes}E"), launch=launch)
    what = f"rows of {row_bytes} B, pitch {pitch}, shared pitch {shared_pitch}, {row['ctas']} CTAs, " \
           f"{warps} warps, {slots} places"
    if reason := _reason(row):
        return refused("cp.async rows, places apart", what, row["mean"], reason)
    return Probe("cp.async rows, places apart", what, "bandwidth", row["mean"], build,
                 partial(_cycles_per_copy, copies=repeats * COPIES * warps), recorded_sm=None)


def _mean_bytes_per_cycle(result: SimulationResult, *, cta_bytes: int) -> float:
    return cta_bytes / float((result.cta_end - result.cta_start).mean())


def _cycles_per_copy(result: SimulationResult, *, copies: int) -> float:
    """Cycles of the CTA per copy: what comes before and after the loop is a percent."""
    return float(result.cta_end[0] - result.cta_start[0]) / copies
