"""Models reads_by_line.csv: copies from L2 by one to all SMs, and how long one of another line takes beside them.
Leaves out how those times spread: one SM's are recorded, the table has all SMs'."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.engine import SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe, issue_cycles
from gpusim.experiments.micro.under_way import TYPICAL_SM
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["ROWS", "by_line_probes"]

REGION_BYTES, LINES, LINE_PITCH_BYTES, SHARED_BYTES, REGISTERS, LANES = 131072, 64, 4096, 226 * 1024, 64, 32
ROWS, STEPS = "row_bytes == 128 and warps == 8 and groups in (1, 2)", 80
"""The table's programs made 500 and 900 steps, all alike; its other rows say the same."""
ASKED, ALL_SMS = 400, 132


def by_line_probes() -> Iterator[Probe]:
    """Two probes per row: cycles of a step of the copies, and the mean time of the single ones meanwhile."""
    for row in pd.read_csv(HARDWARE / "h200/reads_by_line.csv").query(ROWS).to_dict("records"):
        yield from _probes(row)


def _probes(row: dict[str, Any]) -> Iterator[Probe]:
    kernel = CompiledKernel("reads_by_line", f"streamILi{row['row_bytes']}ELi{row['groups']}E")
    ctas, warps = int(row["ctas"]), int(row["warps"])
    words = TensorPointer("out", "i32", (ctas * (ASKED + 1),), True)
    parameters = (TensorPointer("g", "u8", (ctas * REGION_BYTES,)),
                  TensorPointer("lines", "u8", (LINES * LINE_PITCH_BYTES,)), words,
                  TensorPointer("sms", "i32", (ctas,), True), Scalar(int(row["row_pitch"])), Scalar(STEPS))
    launch = SassLaunch((ctas, 1, 1), ((warps + 1) * LANES, 1, 1), parameters, SHARED_BYTES, REGISTERS)
    what = f"{ctas} SMs, {row['groups']} groups under way"
    build, pcs = partial(replay, kernel=kernel, launch=launch), kernel.clock_pcs
    sm = TYPICAL_SM if ctas == ALL_SMS else 0
    yield Probe("copies from L2 by SMs", what, "bandwidth", row["step_cycles"], build, partial(_step, pcs=pcs),
                unit="cycles/step", recorded_sm=sm)
    yield Probe("copies from L2 by SMs", f"{what}, one more", "latency", row["mean_cycles"], build,
                partial(_single, pcs=pcs), recorded_sm=sm)


def _step(result: SimulationResult, *, pcs: tuple[int, ...]) -> float:
    """Cycles of a step of the first warp that copies, on the recorded SM."""
    first, *_, last = issue_cycles(result, pcs, 1)
    return float(last - first) / STEPS


def _single(result: SimulationResult, *, pcs: tuple[int, ...]) -> float:
    """Cycles of the copies of one lane that began while the others copied."""
    begin, end = issue_cycles(result, pcs).reshape(-1, 2).T
    return float((end - begin)[begin < issue_cycles(result, pcs, 1)[-1]].mean())
