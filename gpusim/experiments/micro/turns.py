"""Models warp_turns.csv and pipe_turns.csv: when the warps of a sub-partition that share a pipe come to their end.
Leaves out who of them does, which changes from launch to launch, and one warp alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from gpusim.engine import EVENT_KINDS, SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["turn_probes"]

KINDS = ("HFMA2", "FFMA", "LOP3", "IMAD", "MUFU", "DFMA")
ENDS: dict[str, Callable[[np.ndarray], float]] = {"first": np.min, "last": np.max}
ISSUE = EVENT_KINDS.index("issue")
LANES, PARTS, TURNS = 32, 4, 12
CLOCKS = TURNS + 1
SHARED_BYTES, REGISTERS, OUT_BYTES = 2048, 128, 1 << 16


def turn_probes() -> Iterator[Probe]:
    """Two probes per launch: cycles from the first clock on to the last one of the first and of the last warp."""
    tensor = pd.read_csv(HARDWARE / "h200/warp_turns.csv").rename(columns={"hmmas": "instructions"})
    others = pd.read_csv(HARDWARE / "h200/pipe_turns.csv")
    for table, source in ((tensor.assign(kind="HMMA"), "warp_turns"), (others, "pipe_turns")):
        shared = table.query(f"warps > {PARTS} and warp % {PARTS} == 0")
        for (kind, count, chains, warps), rows in shared.groupby(["kind", "instructions", "ilp", "warps"], sort=False):
            number = "" if kind == "HMMA" else f"Li{KINDS.index(kind)}E"
            kernel = CompiledKernel(source, f"turnsI{number}Li{count}ELi{chains}EE")
            parameters = (TensorPointer("out", "u8", (OUT_BYTES,), True), Scalar(TURNS))
            launch = SassLaunch((1, 1, 1), (int(warps) * LANES, 1, 1), parameters, SHARED_BYTES, REGISTERS)
            ends = rows.groupby("launch")[f"t{TURNS}"]
            for name, end in ENDS.items():
                what = f"{TURNS} times {count} {kind} in {chains} chains by {warps // PARTS} warps, the {name} one"
                yield Probe("warps that share a pipe", what, "throughput", float(ends.agg(end).mean()),
                            partial(replay, kernel=kernel, launch=launch),
                            partial(_end, pcs=kernel.clock_pcs, warps=int(warps), end=end))


def _end(result: SimulationResult, *, pcs: tuple[int, ...], warps: int, end: Callable[[np.ndarray], float]) -> float:
    """Of the last time round, as the first one finds no code in the caches."""
    reads = result.events[(result.events["kind"] == ISSUE) & np.isin(result.events["pc"], pcs)]
    clocks = [np.sort(reads["start"][reads["warp"] == warp])[-CLOCKS:] for warp in range(warps)]
    begin = min(of_warp[0] for of_warp in clocks)
    return float(end(np.array([of_warp[-1] for of_warp in clocks[::PARTS]])) - begin)
