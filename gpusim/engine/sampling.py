"""Models a long launch by part of its CTAs: two full waves and the tail; whole waves between them are extrapolated.
Leaves out what changes from wave to wave: a tensor that is in L2 by now, CTAs of other classes in the middle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusim.engine.result import SimulationResult
from gpusim.program import Program

__all__ = ["extrapolate", "sampled_ctas"]

WAVES = 2
"""The first is cold, the second steady."""


def sampled_ctas(program: Program, slots: int) -> np.ndarray:
    """CTAs to simulate, in launch order, of a launch that has ``slots`` of them at a time; all of them where no whole
    wave could be left out, or where CTAs wait for each other or run in clusters."""
    every = np.arange(program.num_ctas)
    skipped = (program.num_ctas // slots - WAVES) * slots
    if skipped <= 0 or program.flags.words.size or program.launch.cluster_size > 1:
        return every
    return np.concatenate([every[: WAVES * slots], every[WAVES * slots + skipped :]])


def extrapolate(result: SimulationResult, ctas: np.ndarray, slots: int) -> SimulationResult:
    """The whole launch, from the simulation of ``ctas``: a left-out wave takes as long as the second one, and does what
    an average CTA did."""
    total = len(result.cta_start)
    if len(ctas) == total:
        return result
    ends = np.sort(result.cta_end[ctas])
    wave_cycles = int(ends[WAVES * slots - 1] - ends[slots - 1])
    waves, scale = (total - len(ctas)) // slots, total / len(ctas)
    added = waves * wave_cycles

    def grown(counts: np.ndarray) -> np.ndarray:
        return np.round(counts * scale).astype(counts.dtype)

    rates = ("l1_hit_pct", "l2_hit_pct", "launch_overhead_cycles")
    return replace(
        result, cycles=result.cycles + added, simulated_share=1 / scale,
        sm_active_cycles=result.sm_active_cycles + added * (result.sm_active_cycles > 0),
        sm_warp_cycles=grown(result.sm_warp_cycles), issued=grown(result.issued),
        state_cycles=grown(result.state_cycles), sm_state_cycles=grown(result.sm_state_cycles),
        counters={name: value if name in rates else value * scale for name, value in result.counters.items()},
        sm_counters={name: grown(value) for name, value in result.sm_counters.items()},
        assumptions=(*result.assumptions, f"{len(ctas)} of {total} CTAs simulated; {waves} waves of {wave_cycles:,} "
                                          f"cycles, as long as the second, are extrapolated"),
    )
