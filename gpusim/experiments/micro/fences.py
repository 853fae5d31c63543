"""Models fences.csv: how long a warp that has stored waits behind a fence of its CTA or of the asynchronous proxy.
Leaves out fences of the GPU, which wait for L2."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from gpusim.engine import EVENT_KINDS, SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, TensorPointer

__all__ = ["fence_probes"]

KINDS = ("nothing", "st.shared", "st.shared.v4", "st.global", "stmatrix.x4")
FENCES = ("no fence", "fence.acq_rel.cta", "fence.proxy.async.shared::cta")
TURNS, FIRST, CLOCKS = 8, 2, 3
LANES, SHARED_BYTES, REGISTERS = 32, 65536, 64
ISSUE = EVENT_KINDS.index("issue")


def fence_probes() -> Iterator[Probe]:
    """A probe per row: mean cycles over warps and turns from a turn's first clock to the one behind the fence."""
    parameters = (TensorPointer("g", "u32", (1 << 18,), True), TensorPointer("out", "i32", (8 * TURNS * 2,), True))
    for row in pd.read_csv(HARDWARE / "h200/fences.csv").to_dict("records"):
        kind, count, fences, warps = (int(row[name]) for name in ("kind", "count", "fences", "warps"))
        kernel = CompiledKernel("fences", f"fencesILi{kind}ELi{count}ELi{fences}E")
        launch = SassLaunch((1, 1, 1), (LANES * warps, 1, 1), parameters, SHARED_BYTES, REGISTERS)
        what = f"{count} {KINDS[kind]}, {FENCES[fences]}, {warps} warps"
        yield Probe("fence behind accesses", what, "latency", row["cycles"],
                    partial(replay, kernel=kernel, launch=launch), partial(_turn, pcs=kernel.clock_pcs, warps=warps))


def _turn(result: SimulationResult, *, pcs: tuple[int, ...], warps: int) -> float:
    events = result.events
    clocks = (events["kind"] == ISSUE) & np.isin(events["pc"], pcs)
    starts = np.stack([np.sort(events["start"][clocks & (events["warp"] == warp)]) for warp in range(warps)])
    turns = starts.reshape(warps, TURNS, CLOCKS)[:, FIRST:]
    return float((turns[..., -1] - turns[..., 0]).mean())
