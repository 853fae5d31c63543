"""Models the clock of SMs, which are slower while they use tensor cores, and whose cycles a profiler counts.
Leaves out power, which lowers it further, and how a clock gets from one rate to the other (no time: tail_clock.csv)."""

from __future__ import annotations

import numpy as np

from gpusim.arch import GpuSpec, Kind
from gpusim.engine.blocks import BlockScheduler
from gpusim.engine.gpc import gpcs_of
from gpusim.engine.image import ProgramImage

__all__ = ["counted_cycles", "working_mhz"]


def working_mhz(image: ProgramImage, spec: GpuSpec) -> float:
    """Clock of the SMs that work: lower when they use their tensor cores."""
    multiplies = np.isin(image.ops["kind"], (Kind.mma, Kind.wgmma)).any()
    return spec.clock.sm_mhz * (spec.clock.tensor_pct / 100 if multiplies else 1)


def counted_cycles(spec: GpuSpec, blocks: BlockScheduler, start: int, end: int, mhz: float) -> tuple[int, float]:
    """Cycles that a profiler counts for those from ``start`` to ``end`` of SMs at ``mhz``, and the mean clock of that.

    Every GPC has a clock of its own, and the profiler reports the cycles of the fastest one. That is
    ``launch.gpc_spread_pct`` above the slowest while tensor work lowers all of them; at the maximum they do not differ
    (around.csv). A GPC that has no CTA, or has ended its last one, is back there, so that SMs that still multiply have
    fewer cycles than are counted (tail_clock.csv).
    """
    if mhz == spec.clock.sm_mhz:
        return end - start, mhz
    gpcs, placed = gpcs_of(spec), blocks.placed_on >= 0
    last = np.full(gpcs.max() + 1, start)
    np.maximum.at(last, gpcs[blocks.placed_on[placed]], blocks.end[placed])
    working = int(last[np.unique(gpcs)].min()) - start
    resting = end - start - working
    cycles = working * (1 + spec.launch.gpc_spread_pct / 100) + resting * spec.clock.sm_mhz / mhz
    return round(cycles), (working * mhz + resting * spec.clock.sm_mhz) / max(1, working + resting)
