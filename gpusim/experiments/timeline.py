"""Models which part of a run a timeline shows: an SM, a CTA, some warps, some cycles or iterations of the main loop.
Leaves out the events (gpusim.engine) and the drawing (gpusim.report.timeline_figure)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from gpusim.engine.result import SimulationResult
from gpusim.errors import UserError
from gpusim.experiments.config import Plan, TimelineWindow
from gpusim.experiments.run import Outcome, Progress, simulate_plan
from gpusim.experiments.window import first_cta, middle_start
from gpusim.program import Program
from gpusim.report.timeline import Timeline, events_between, timeline
from gpusim.report.timeline_iterations import IterationSpan, iteration_cycles, num_iterations

__all__ = ["Shown", "View", "show"]

_MARGIN_SHARE, _MARGIN_CYCLES = 0.1, 2000
"""How far iterations may stand from where an even pace would have them, before a whole CTA is recorded."""


@dataclass(frozen=True)
class View:
    """What to show; None leaves the choice to the configuration. ``iterations``: first and last; ``cycles``: [a, b)."""

    sm: int | None = None
    cta: int | None = None
    warps: tuple[int, ...] | None = None
    cycles: tuple[int, int] | None = None
    iterations: tuple[int, int] | None = None


@dataclass(frozen=True)
class Shown:
    """A run of which the events of the window are kept, and the window. ``subject``: what is shown of it, in words."""

    outcome: Outcome
    data: Timeline
    subject: str


def show(plan: Plan, view: View, *, workers: int = 1, progress: Progress | None = None) -> Shown:
    """Simulate and cut out what ``view`` asks for.

    A CTA or iterations take two simulations or three: one says when they run, the next records it. Raises UserError
    for a CTA, a warp or an iteration that does not exist.
    """
    if view.cycles and view.iterations:
        raise UserError("a timeline shows cycles or iterations, not both", place="timeline")
    if view.iterations or (view.cta is not None and not view.cycles):
        return _show_cta(plan, view, workers, progress)
    config = plan.config.timeline
    start, length = (config.start_cycle, config.cycles) if not view.cycles else _start_length(view.cycles)
    outcome = _record(plan, config.sm if view.sm is None else view.sm, start, length, workers, progress)
    data = timeline(outcome.program, outcome.result, outcome.spec, cta=view.cta, warps=view.warps, cycles=view.cycles)
    return Shown(outcome, data, f"cycles {data.start_cycle:,} to {data.end_cycle:,}")


def _start_length(cycles: tuple[int, int]) -> tuple[int, int]:
    return cycles[0], cycles[1] - cycles[0]


def _show_cta(plan: Plan, view: View, workers: int, progress: Progress | None) -> Shown:
    """Where and when a CTA runs is known after a first simulation."""
    first = simulate_plan(plan, record=False, workers=workers, progress=progress)
    cta = _chosen_cta(plan, view, first.result)
    sm = int(first.result.cta_sm[cta])
    if view.iterations is None:
        length = plan.config.timeline.cycles
        cycles = (start := middle_start(first.result, cta, length)), start + length
        outcome = _record(plan, sm, *_start_length(cycles), workers, progress)
        subject = f"cycles {cycles[0]:,} to {cycles[1]:,}"
    else:
        outcome, span = _record_iterations(plan, first, cta, view.iterations, workers, progress)
        cycles = span.start_cycle, span.end_cycle
        subject = f"{_named(view.iterations, span)}, cycles {cycles[0]:,} to {cycles[1]:,}"
    outcome = dataclasses.replace(outcome, result=events_between(outcome.result, *cycles))
    data = timeline(outcome.program, outcome.result, outcome.spec, cta=cta, warps=view.warps, cycles=cycles)
    return Shown(outcome, data, subject)


def _named(iterations: tuple[int, int], span: IterationSpan) -> str:
    """``iterations 8 to 11``; where roles run apart, whose they are: ``iterations 8 (producer) to 11 (consumer)``."""
    (low, high), roles = iterations, (span.first_role, span.last_role)
    if roles[0] == roles[1]:
        return f"iterations {low} to {high}" if low < high else f"iteration {low}"
    if low == high:
        return f"iteration {low} from {roles[0]} to {roles[1]}"
    return f"iterations {low} ({roles[0]}) to {high} ({roles[1]})"


def _chosen_cta(plan: Plan, view: View, result: SimulationResult) -> int:
    sm = plan.config.timeline.sm if view.sm is None else view.sm
    if view.cta is None:
        cta = first_cta(result, sm)
        if cta is None:
            raise UserError("no CTA ran on that SM", place="timeline", got=sm)
        return cta
    if not 0 <= view.cta < len(result.cta_start) or result.cta_start[view.cta] < 0:
        raise UserError("that CTA was not simulated", place="timeline", got=view.cta,
                        suggestion=f"CTAs are 0 to {len(result.cta_start) - 1}; fidelity=full simulates them all")
    if view.sm is not None and view.sm != result.cta_sm[view.cta]:
        raise UserError(f"CTA {view.cta} runs on SM {result.cta_sm[view.cta]}", place="timeline", got=f"SM {view.sm}",
                        suggestion="leave out the SM")
    return view.cta


def _record_iterations(
    plan: Plan, first: Outcome, cta: int, iterations: tuple[int, int], workers: int, progress: Progress | None
) -> tuple[Outcome, IterationSpan]:
    """Record where an even pace would have the iterations; where they are not, the whole CTA."""
    sm = int(first.result.cta_sm[cta])
    for start, end in (_guess(first.program, first.result, cta, iterations), _life(first.result, cta)):
        outcome = _record(plan, sm, start, end - start, workers, progress)
        span = iteration_cycles(outcome.program, outcome.result.events, cta, *iterations)
        if span:
            return outcome, span
    raise UserError("more happens in that CTA than can be recorded", place="timeline",
                    got=f"{end - start:,} cycles", suggestion="choose cycles instead of iterations")


def _life(result: SimulationResult, cta: int) -> tuple[int, int]:
    return int(result.cta_start[cta]), int(result.cta_end[cta]) + 1


def _guess(
    program: Program, result: SimulationResult, cta: int, iterations: tuple[int, int]
) -> tuple[int, int]:
    count = num_iterations(program, cta)
    if not 0 <= iterations[0] <= iterations[1] < count:
        raise UserError("the main loop has no such iteration", place="timeline",
                        got=":".join(map(str, dict.fromkeys(iterations))),
                        suggestion=f"iterations are 0 to {count - 1}" if count else "the kernel has no main loop")
    start, end = _life(result, cta)
    margin = int(_MARGIN_SHARE * (end - start)) + _MARGIN_CYCLES
    low, high = (start + (end - start) * number // count for number in (iterations[0], iterations[1] + 1))
    return max(start, low - margin), min(end, high + margin)


def _record(
    plan: Plan, sm: int, start: int | str, length: int, workers: int, progress: Progress | None
) -> Outcome:
    """Simulate with other cycles recorded than the configuration says."""
    window = TimelineWindow.model_validate({"sm": sm, "start_cycle": start, "cycles": length})
    config = plan.config.model_copy(update={"timeline": window})
    return simulate_plan(Plan(plan.name, config, plan.program), workers=workers, progress=progress)
