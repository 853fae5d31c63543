"""Models barrier_copies.csv: when ldmatrix has its data behind copies that wait for the tag stage and behind barriers.
Leaves out bursts of up to four copies, which the chip ran before it had their code, and of twelve, which overlap."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from gpusim.engine import EVENT_KINDS, SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["behind_probes"]

ROWS = "6 <= copies <= 8"
WAYS = {0: "", 1: ", a barrier", 4: ", a commit, a barrier", 6: ", a commit"}
"""What stands between copies and ldmatrix, by template argument of barrier_copies.cu."""
LAUNCH = ["how", "copies", "copying", "warps", "row_bytes", "pitch"]
LANES, REGISTERS, SHARED_BYTES = 32, 128, 170 * 1024
MARKS, DONE = 5, 3  # clocks of a turn: start, copies issued, ldmatrix issued, its data there, copies complete
ISSUE = EVENT_KINDS.index("issue")


def behind_probes() -> Iterator[Probe]:
    """A probe per launch: cycles until the data are there, the mean of all warps."""
    table = pd.read_csv(HARDWARE / "h200/barrier_copies.csv", dtype={"copying": str}).query(ROWS)
    for launch, rows in table.groupby(LAUNCH, sort=False):
        how, copies, copying, warps, row_bytes, pitch = launch
        kernel = CompiledKernel("barrier_copies", f"meetILi{copies}ELi{how}E")
        parameters = (TensorPointer("g", "u8", (1 << 26,)), TensorPointer("out", "i64", (64,), True),
                      Scalar(int(copying, 16)), Scalar(int(row_bytes)), Scalar(int(pitch)))
        sass = SassLaunch((1, 1, 1), (int(warps) * LANES, 1, 1), parameters, SHARED_BYTES, REGISTERS)
        copiers = f"{int(copying, 16).bit_count()} of {warps} warps"
        what = f"{copies} copies by {copiers}, rows of {row_bytes} B {pitch} apart{WAYS[how]}, ldmatrix"
        yield Probe("loads behind copies", what, "latency", float(rows["done"].mean()),
                    partial(replay, kernel=kernel, launch=sass), partial(_done, pcs=kernel.clock_pcs))


def _done(result: SimulationResult, *, pcs: tuple[int, ...]) -> float:
    events = result.events
    reads = events[(events["kind"] == ISSUE) & np.isin(events["pc"], pcs)]
    last = np.array([np.sort(reads["start"][reads["warp"] == warp])[-MARKS:] for warp in np.unique(reads["warp"])])
    return float(last[:, DONE].mean() - last[:, 0].min())
