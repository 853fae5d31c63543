"""Models time on a GPU: SMs, memory and the order in which CTAs run. Op tables in, cycles and counters out.
Leaves out layouts, kernels and files."""

from gpusim.engine.result import EVENT, EVENT_KINDS, WARP_STATES, SimulationResult
from gpusim.engine.simulate import RecordWindow, simulate

__all__ = ["EVENT", "EVENT_KINDS", "WARP_STATES", "RecordWindow", "SimulationResult", "simulate"]
