"""Models second_half.csv: lines whose first 64 bytes have just been loaded, by cp.async or LDG, and then the rest.
Leaves out rows whose second halves come from DRAM, which scatter: those without the 128-byte hint after a flush."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gpusim.engine import EVENT_KINDS, SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["half_probes"]

KINDS = ("ld", "ld.cg", "cp.async.cg", "cp.async.ca")
"""Template argument of second_half.cu."""
ITERATIONS, FIRST, SOURCE_BYTES, SHARED_BYTES, REGISTERS, LANES = 64, 9, 1 << 20, 16384, 40, 32
ISSUE = EVENT_KINDS.index("issue")


def half_probes() -> Iterator[Probe]:
    """A probe per row whose second halves are in L2."""
    rows = pd.read_csv(HARDWARE / "h200/second_half.csv").query("hint == 1 or data_in == 'L2'")
    for row in rows.to_dict("records"):
        yield _probe(row)


def _probe(row: dict[str, Any]) -> Probe:
    kernel = CompiledKernel("second_half", f"halvesILi{KINDS.index(row['load'])}ELi{row['hint']}E")
    parameters = (TensorPointer("a", "u8", (SOURCE_BYTES,)), Scalar(int(row["pitch"]), 8), Scalar(ITERATIONS),
                  TensorPointer("out", "i32", (1 << 18,), True), TensorPointer("sink", "u32", (1 << 14,), True))
    launch = SassLaunch((1, 1, 1), (LANES * int(row["warps"]), 1, 1), parameters, SHARED_BYTES, REGISTERS)
    what = f"{row['load']}{' with' if row['hint'] else ' without'} a hint, rows {row['pitch']} B apart, " \
           f"{row['warps']} warps, from {row['data_in']}"
    return Probe("second half of a line", what, "latency", row["second_half"],
                 partial(replay, kernel=kernel, launch=launch), partial(_second_halves, pcs=kernel.clock_pcs),
                 l2="cold" if row["data_in"] == "DRAM" else "warm")


def _second_halves(result: SimulationResult, *, pcs: tuple[int, ...]) -> float:
    """Cycles between the two clock reads of an iteration: mean over warps and odd iterations from the ninth on."""
    issues = result.events[result.events["kind"] == ISSUE]
    cycles = []
    for warp in np.unique(issues["warp"]):
        begin, end = (np.sort(issues["start"][(issues["warp"] == warp) & (issues["pc"] == pc)]) for pc in pcs)
        cycles.append((end - begin)[FIRST::2].mean())
    return float(np.mean(cycles))
