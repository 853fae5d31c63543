"""Models reads_under_way.csv: lines that an SM has under way while all SMs copy what L2 holds as fast as they are let.
Leaves out rows of one SM, which L2 keeps up with, and those with 4 and 12 warps, which say the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.engine import SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe, issue_cycles
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["under_way_probes"]

ROWS = "ctas == 132 and warps == 8 and groups in (1, 2, 4, 12)"
REGION_BYTES, SHARED_BYTES, REGISTERS, LANES = 131072, 226 * 1024, 64, 32
COPIES, STEPS, COPY_BYTES = 4, 100, 512
PROBES, FIRST = 12, 4  # single copies of the first warp; those before FIRST find less on their way
TYPICAL_SM = 20
"""Of a CPC with six SMs; those of four get more (cpc.csv)."""


def under_way_probes() -> Iterator[Probe]:
    """A probe per row: lines that have been asked for and are not there, by the time that one of them takes."""
    for row in pd.read_csv(HARDWARE / "h200/reads_under_way.csv").query(ROWS).to_dict("records"):
        yield _probe(row)


def _probe(row: dict[str, Any]) -> Probe:
    kernel = CompiledKernel("reads_under_way", f"streamILi{row['row_bytes']}ELi{row['groups']}E")
    ctas, warps = int(row["ctas"]), int(row["warps"])
    parameters = (TensorPointer("g", "u8", (ctas * REGION_BYTES,)), TensorPointer("out", "i32", (3 * ctas,), True),
                  Scalar(int(row["row_pitch"])))
    launch = SassLaunch((ctas, 1, 1), ((warps + 1) * LANES, 1, 1), parameters, SHARED_BYTES, REGISTERS)
    what = f"rows of {row['row_bytes']} B, {row['row_pitch']} B apart in shared memory, {row['rows_asked_for']} at once"
    lines = STEPS * COPIES * COPY_BYTES // int(row["row_bytes"]) * warps
    return Probe("lines under way, full chip", what, "bandwidth", row["rows_under_way"],
                 partial(replay, kernel=kernel, launch=launch), partial(_under_way, pcs=kernel.clock_pcs, lines=lines),
                 unit="lines", recorded_sm=TYPICAL_SM)


def _under_way(result: SimulationResult, *, pcs: tuple[int, ...], lines: int) -> float:
    """Lines per cycle of the mean SM, times the cycles from the moment in which a copy's address is free on."""
    _, free, there = issue_cycles(result, pcs)[-3 * PROBES :].reshape(PROBES, 3)[FIRST:].T
    return lines / float((result.cta_end - result.cta_start).mean()) * float((there - free).mean())
