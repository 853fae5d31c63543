"""Models time on a GPU: SMs, memory and the order in which CTAs run. Op tables in, cycles and counters out.
Leaves out layouts, kernels and files."""

from pathlib import Path

from gpusim.compiled import compiled_cache

with compiled_cache(Path(__file__).parent):
    from gpusim.engine.result import EVENT, EVENT_KINDS, WARP_STATES, SimulationResult
    from gpusim.engine.simulate import RecordWindow, simulate

__all__ = ["EVENT", "EVENT_KINDS", "WARP_STATES", "RecordWindow", "SimulationResult", "simulate"]
