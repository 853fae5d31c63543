"""Models the set of figures of a run: which there are, drawn once, for the run directory and for report.html.
Leaves out how each is drawn (one module each)."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from gpusim.report.bank_map import bank_map, draw_bank_map
from gpusim.report.figures import draw_warp_states
from gpusim.report.metric import Run
from gpusim.report.occupancy_curves import draw_occupancy, occupancy_curves
from gpusim.report.over_time_figure import draw_over_time
from gpusim.report.roofline import draw_roofline, roofline
from gpusim.report.stages import stage_use
from gpusim.report.timeline import events_of, timeline
from gpusim.report.timeline_figure import draw_timeline
from gpusim.report.utilisation import utilisation

__all__ = ["pictures"]


def pictures(run: Run, name: str) -> Iterator[tuple[str, Figure]]:
    """Figures of a run by file name; those of a recorded window only where one was recorded."""
    yield "warp_states", draw_warp_states(run.result)
    yield "occupancy", draw_occupancy(occupancy_curves(run.program.launch, run.spec))
    if roof := roofline(run):
        yield "roofline", draw_roofline(roof)
    if uses := bank_map(run.program):
        yield "banks", draw_bank_map(uses)
    if len(events_of(run.result, "issue")):
        yield from _over_time(run, name)


def _over_time(run: Run, name: str) -> Iterator[tuple[str, Figure]]:
    data = timeline(run.program, run.result, run.spec)
    title = f"{name} on {run.spec.name}: cycles {data.start_cycle:,} to {data.end_cycle:,}"
    yield "timeline", draw_timeline(data, title)
    if units := utilisation(run.program, run.result, run.spec):
        yield "over_time", draw_over_time(units, stage_use(run.program, run.result, data.cta))
