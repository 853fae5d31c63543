"""Models launches one after another: each starts when the one before has ended, with the L2 it left behind.
Leaves out launches that overlap (programmatic dependent launch, streams)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gpusim.engine.memory_state import MemoryState, settle
from gpusim.engine.result import SimulationResult
from gpusim.program import Program

__all__ = ["hit_rates", "join_results", "simulate_in_turn"]

Simulate = Callable[[Program, MemoryState, int], SimulationResult]


def simulate_in_turn(program: Program, memory: MemoryState, simulate: Simulate, *, flush: bool) -> SimulationResult:
    """The launches of ``program.sequence``; ``simulate`` takes one of them, the memory and the cycle it starts at.

    ``flush``: L2 is empty again before each one, as a profiler makes it. Cycles add up; CTAs and events count from the
    first launch.
    """
    results: list[SimulationResult] = []
    for launch in program.sequence:
        if results:
            settle(memory, flush=flush)
        results.append(simulate(launch, memory, sum(result.cycles for result in results)))
    return join_results(results)


def hit_rates(counters: Mapping[str, float]) -> dict[str, float]:
    """Sectors found in each cache, in percent of those looked up; 0 where nothing was."""
    found = {"l1_hit_pct": ("l1_sector_hits", "l1_sectors"), "l2_hit_pct": ("l2_sector_hits_read", "l2_sectors_read")}
    return {rate: 100.0 * counters[hits] / counters[all_] if counters[all_] else 0.0
            for rate, (hits, all_) in found.items()}


def join_results(results: Sequence[SimulationResult]) -> SimulationResult:
    """One result for launches back to back, over the statics and CTAs of join_programs."""
    starts = np.cumsum([0, *(result.cycles for result in results)]).tolist()
    counters = {name: sum(result.counters[name] for result in results) for name in results[0].counters}
    counters |= hit_rates(counters)
    return replace(
        results[0],
        cycles=starts[-1],
        sm_active_cycles=np.sum([result.sm_active_cycles for result in results], axis=0),
        sm_warp_cycles=np.sum([result.sm_warp_cycles for result in results], axis=0),
        issued=np.concatenate([result.issued for result in results]),
        state_cycles=np.concatenate([result.state_cycles for result in results]),
        sm_state_cycles=np.sum([result.sm_state_cycles for result in results], axis=0),
        counters=counters,
        sm_counters={name: np.sum([result.sm_counters[name] for result in results], axis=0)
                     for name in results[0].sm_counters},
        cta_start=np.concatenate([result.cta_start + start for result, start in zip(results, starts, strict=False)]),
        cta_end=np.concatenate([result.cta_end + start for result, start in zip(results, starts, strict=False)]),
        cta_sm=np.concatenate([result.cta_sm for result in results]),
        events=_events(results, starts),
        host_seconds=sum(result.host_seconds for result in results),
        compile_seconds=sum(result.compile_seconds for result in results),
        launch_cycles=tuple(result.cycles for result in results),
    )


def _events(results: Sequence[SimulationResult], starts: Sequence[int]) -> np.ndarray:
    moved, ctas, statics = [], 0, 0
    for result, start in zip(results, starts, strict=False):
        events = result.events.copy()
        events["start"] += start
        events["end"] += start
        events["cta"] += ctas
        events["pc"] += statics
        moved.append(events)
        ctas, statics = ctas + len(result.cta_start), statics + len(result.issued)
    return np.concatenate(moved)
