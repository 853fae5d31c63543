"""Models barrier_arrival.csv: when a barrier opens whose last warp comes behind memory accesses of its own.
Leaves out shuffles and atomics on shared memory, whose code the emulator does not follow."""

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

__all__ = ["arrival_probes"]

ROWS = "before not in ('shfl', 'atom.shared')"
KINDS = ("ldmatrix", "ld.shared", "st.shared", "cp.async", "ld.global.cg", "st.global", "shfl", "atom.shared",
         "ld.global.ca")
"""Template arguments of barrier_arrival.cu."""
WARPS, LANES, REGISTERS, SHARED_BYTES = 5, 32, 64, 65536
FROM, WAITS = 0, 1  # warps: the one with the accesses, the other one
MARKS = 3  # of the former: in front of the accesses, behind them, behind its BAR
ISSUE = EVENT_KINDS.index("issue")


def arrival_probes() -> Iterator[Probe]:
    """A probe per row: cycles from the first access on until the other warp has what it loads behind the barrier."""
    for row in pd.read_csv(HARDWARE / "h200/barrier_arrival.csv").query(ROWS).to_dict("records"):
        yield _probe(row)


def _probe(row: dict[str, Any]) -> Probe:
    kind = KINDS.index(row["before"])
    kernel = CompiledKernel("barrier_arrival", f"arrivalILi{row['accesses']}ELi{kind}E")
    parameters = (TensorPointer("g", "u8", (1 << 26,)), Scalar(int(row["ways"])), Scalar(WAITS),
                  TensorPointer("out", "i64", (6,), True))
    launch = SassLaunch((1, 1, 1), (WARPS * LANES, 1, 1), parameters, SHARED_BYTES, REGISTERS)
    what = f"{row['accesses']} {row['before']} of {row['ways']} ways in front of BAR"
    return Probe("barrier behind accesses", what, "latency", row["there"],
                 partial(replay, kernel=kernel, launch=launch), partial(_there, pcs=kernel.clock_pcs))


def _there(result: SimulationResult, *, pcs: tuple[int, ...]) -> float:
    events = result.events
    reads = events[(events["kind"] == ISSUE) & np.isin(events["pc"], pcs)]
    begun = np.sort(reads["start"][reads["warp"] == FROM])[-MARKS]
    return float(reads["start"][reads["warp"] == WAITS].max() - begun)
