"""Models what a warp's lane addresses cost: shared-memory wavefronts and conflicts, global lines and sectors.
Leaves out time, programs and everything above; functions are pure and take arrays of accesses."""

from __future__ import annotations

from gpusim.memory.async_copy import async_cost
from gpusim.memory.detail import PhaseDetail, explain
from gpusim.memory.operations import ASYNC_OPERATIONS, SHARED_OPERATIONS, phases
from gpusim.memory.sectors import (
    SectorStatistics,
    WarpLines,
    lines_in_part,
    sectors_per_request,
    warp_lines,
    words_written,
)
from gpusim.memory.shared import SharedCost, shared_cost

__all__ = [
    "ASYNC_OPERATIONS",
    "SHARED_OPERATIONS",
    "PhaseDetail",
    "SectorStatistics",
    "SharedCost",
    "WarpLines",
    "async_cost",
    "explain",
    "lines_in_part",
    "phases",
    "sectors_per_request",
    "shared_cost",
    "warp_lines",
    "words_written",
]
