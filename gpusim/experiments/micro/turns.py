"""Models warp_turns.csv and pipe_turns.csv: warps of a sub-partition that share the tensor pipe, or another one.
Leaves out who of them comes first, which changes from launch to launch, and one warp alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from gpusim.engine import SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe, issue_cycles
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["turn_probes"]

KINDS = ("HFMA2", "FFMA", "LOP3", "IMAD", "MUFU", "DFMA")
LANES, PARTS, TURNS = 32, 4, 12
CLOCKS = [f"t{turn}" for turn in range(TURNS + 1)]
STEADY = slice(3, 11)
"""Of these clocks: by then all warps have begun, and none has come to its end."""
SHARED_BYTES, REGISTERS, OUT_BYTES = 2048, 128, 1 << 16


def turn_probes() -> Iterator[Probe]:
    """Of tensor instructions two probes per launch: cycles from the first clock of the CTA on until the first and the
    last warp of a sub-partition are done. Of others one: what a turn takes."""
    for (count, chains, warps), launches in _launches("warp_turns", ["hmmas", "ilp", "warps"]):
        kernel = CompiledKernel("warp_turns", f"turnsILi{count}ELi{chains}EE")
        what = f"{TURNS} times {count} HMMA in {chains} chains"
        yield _probe(kernel, what, "the first one", warps, launches, _first_end)
        yield _probe(kernel, what, "the last one", warps, launches, _last_end)
    for (kind, count, chains, warps), launches in _launches("pipe_turns", ["kind", "instructions", "ilp", "warps"]):
        kernel = CompiledKernel("pipe_turns", f"turnsILi{KINDS.index(kind)}ELi{count}ELi{chains}EE")
        yield _probe(kernel, f"{count} {kind} in {chains} chains", "a turn", warps, launches, _turn)


def _launches(table: str, names: list[str]) -> Iterator[tuple[tuple, list[np.ndarray]]]:
    """By parameters: (W, TURNS + 1) clocks of a sub-partition's warps, for each launch."""
    rows = pd.read_csv(HARDWARE / f"h200/{table}.csv").rename(columns={"begin": "t0"})
    shared = rows.query(f"warps > {PARTS} and warp % {PARTS} == 0")
    for key, group in shared.groupby(names, sort=False):
        yield key, [launch[CLOCKS].to_numpy() for _, launch in group.groupby("launch")]


def _probe(kernel: CompiledKernel, what: str, which: str, warps: int, launches: list[np.ndarray],
           read: Callable[[np.ndarray], float]) -> Probe:
    parameters = (TensorPointer("out", "u8", (OUT_BYTES,), True), Scalar(TURNS))
    launch = SassLaunch((1, 1, 1), (int(warps) * LANES, 1, 1), parameters, SHARED_BYTES, REGISTERS)
    return Probe("warps that share a pipe", f"{what} by {warps // PARTS} warps, {which}", "throughput",
                 float(np.mean([read(clocks) for clocks in launches])), partial(replay, kernel=kernel, launch=launch),
                 partial(_read, pcs=kernel.clock_pcs, warps=int(warps), read=read))


def _read(result: SimulationResult, *, pcs: tuple[int, ...], warps: int, read: Callable[[np.ndarray], float]) -> float:
    """Of the second time round, as the first one finds no code in the caches."""
    clocks = np.array([issue_cycles(result, pcs, warp)[-len(CLOCKS):] for warp in range(warps)])
    return read(clocks[::PARTS] - clocks.min())


def _first_end(clocks: np.ndarray) -> float:
    return float(clocks[:, -1].min())


def _last_end(clocks: np.ndarray) -> float:
    return float(clocks[:, -1].max())


def _turn(clocks: np.ndarray) -> float:
    return float(np.diff(clocks[:, STEADY]).mean())
