"""Models reads_beside_writes.csv: SMs that read what L2 holds while others write lines, or halves of sectors.
Leaves out nothing of the table; it was measured on an H100 SXM, so that is what is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gpusim.engine import SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["traffic_probes"]

GPU = "h100"
SMS, HALF, WARPS, LANES, UNROLLED, LANE_BYTES = 132, 66, 16, 32, 16, 16
ROUNDS = 20
"""A third of those of the hardware: the rate no longer changes."""
REGISTERS, READ_BYTES, WRITTEN_BYTES = 64, 32 << 20, 64 << 20


def traffic_probes() -> Iterator[Probe]:
    """Two probes for a row with readers and writers, else one: bytes per cycle of all that do the same."""
    for row in pd.read_csv(HARDWARE / "h200/reads_beside_writes.csv").to_dict("records"):
        for verb in ("read", "write"):
            if row[f"{verb}_bytes_per_cycle"]:
                yield _probe(row, verb)


def _probe(row: dict[str, Any], verb: str) -> Probe:
    readers, writers, lanes, stride, half = (
        int(row[name]) for name in ("readers", "writers", "lanes", "stride", "half"))
    numbers = map(Scalar, (readers, writers, lanes, stride, half, ROUNDS, 0))
    parameters: tuple[TensorPointer | Scalar, ...] = (
        TensorPointer("from", "u8", (READ_BYTES,)), TensorPointer("to", "u8", (WRITTEN_BYTES,), True), *numbers,
        TensorPointer("cycles", "i64", (SMS,), True), TensorPointer("out", "i32", (1,), True))
    ctas = 1 if writers == 1 else SMS
    launch = SassLaunch((ctas, 1, 1), (LANES * WARPS, 1, 1), parameters, 0, REGISTERS)
    return Probe("bandwidth: L2 reads beside writes", _what(row, verb), "bandwidth", row[f"{verb}_bytes_per_cycle"],
                 partial(replay, kernel=CompiledKernel("reads_beside_writes", "move"), launch=launch),
                 partial(_bytes_per_cycle, ctas=_ctas(readers if verb == "read" else writers, ctas, verb),
                         cta_bytes=ROUNDS * UNROLLED * WARPS * LANE_BYTES * (LANES if verb == "read" else lanes)),
                 "B/cycle", gpu=GPU, recorded_sm=None)


def _what(row: dict[str, Any], verb: str) -> str:
    pieces = {16: "rows of 512 B", 32: "halves of sectors, four to a line", 128: "a half sector a line"}
    writing = f"{row['writers']:.0f} SMs write {pieces[int(row['stride'])]}" + (", then the others" * bool(row["half"]))
    reading = f"{row['readers']:.0f} SMs read"
    if not (row["readers"] and row["writers"]):
        return reading if verb == "read" else writing
    asked, beside = (reading, writing) if verb == "read" else (writing, reading)
    return f"{asked}, {beside.replace(' SMs', '')}"


def _ctas(number: int, ctas: int, verb: str) -> np.ndarray:
    """The CTAs that do it: all of them, or the half that their number says."""
    cta = np.arange(ctas)
    return cta[(number != HALF) | ((cta % 4 < 2) == (verb == "read"))]


def _bytes_per_cycle(result: SimulationResult, *, ctas: np.ndarray, cta_bytes: int) -> float:
    return float((cta_bytes / (result.cta_end - result.cta_start)[ctas]).sum())
