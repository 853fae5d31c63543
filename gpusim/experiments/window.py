"""Models the choice of a window for the timeline: cycles in which the first CTA of an SM is inside its main loop.
Leaves out the recording itself (gpusim.engine)."""

from __future__ import annotations

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.engine.result import SimulationResult
from gpusim.program import Program
from gpusim.report.timeline_iterations import MAIN_LOOP

__all__ = ["first_cta", "guess_start", "measured_start", "middle_start", "shows_main_loop"]


def guess_start(program: Program, spec: GpuSpec, *, launch_overhead: bool) -> int:
    """A cycle at which the first CTA is inside its main loop.

    No warp gets through half of the loop faster than its stall counts allow. Without such a scope: 0.
    """
    ops = program.classes[int(program.cta_class[0])].roles[0].ops
    loop = np.flatnonzero(_in_main_loop(program)[ops["pc"]])
    if not len(loop):
        return 0
    least_cycles = int(ops["stall"][: loop[len(loop) // 2]].sum(dtype=np.int64))
    return least_cycles + (spec.launch.start_cycles if launch_overhead else 0)


def shows_main_loop(program: Program, result: SimulationResult) -> bool:
    """Whether the recorded events issue main-loop instructions, or the program has none."""
    in_loop = _in_main_loop(program)
    return bool(in_loop[result.events["pc"]].any()) or not in_loop.any()


def measured_start(program: Program, result: SimulationResult, *, sm: int, cycles: int) -> int:
    """The start of a window of ``cycles`` in the middle of the first CTA that ran on ``sm``."""
    cta = first_cta(result, sm)
    return 0 if cta is None else middle_start(result, cta, cycles)


def first_cta(result: SimulationResult, sm: int) -> int | None:
    """The CTA that started first on an SM; None where none ran."""
    ctas = np.flatnonzero((result.cta_sm == sm) & (result.cta_start >= 0))
    return int(ctas[np.argmin(result.cta_start[ctas])]) if len(ctas) else None


def middle_start(result: SimulationResult, cta: int, cycles: int) -> int:
    """The start of a window of ``cycles`` in the middle of a CTA's life."""
    middle = (int(result.cta_start[cta]) + int(result.cta_end[cta])) // 2
    return max(middle - cycles // 2, 0)


def _in_main_loop(program: Program) -> np.ndarray:
    """(P,) whether a static instruction belongs to the scope main_loop."""
    return np.array([static.scope.split("/")[0] == MAIN_LOOP for static in program.statics], bool)
