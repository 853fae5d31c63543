"""Models the picture of a window over time: utilisation of units, and the stages of a CTA's pipeline below it.
Leaves out warps and single instructions (gpusim.report.timeline_figure)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gpusim.report.stages import STAGE_STATES, StageUse
from gpusim.report.style import STAGE_COLORS, UNIT_COLORS, draw_bars, figure
from gpusim.report.utilisation import Strip, Utilisation

__all__ = ["draw_over_time"]

_WIDTH_INCHES, _ROW_INCHES, _FIXED_INCHES = 9.6, 0.36, 0.8
_GAP, _COUNT_HEIGHT, _STAGE_HEIGHT = 0.35, 1.2, 0.55
"""In rows of a strip."""
_LINE = "#d5dbe0"


def draw_over_time(units: Utilisation, stages: StageUse | None) -> Figure:
    """A strip of 0 to 100 per cent per unit; below, how many stages are in each state, and a row per stage."""
    rows = len(units.strips) * (1 + _GAP)
    if stages:
        rows += _COUNT_HEIGHT + _GAP + stages.num_stages * _STAGE_HEIGHT
    with figure(_WIDTH_INCHES, _FIXED_INCHES + _ROW_INCHES * rows) as drawn:
        axes = drawn.add_subplot()
        names: dict[float, str] = {}
        top = 0.0
        for strip in units.strips:
            top = _draw_strip(axes, units.edges, strip, top, names)
        if stages:
            top = _draw_counts(axes, stages, units.edges, top, names)
            _draw_stages(axes, stages, top, names)
            handles = [Patch(color=STAGE_COLORS[state], label=f"stage {state}") for state in STAGE_STATES]
            drawn.legend(handles=handles, loc="outside lower right", ncols=len(handles))
        _finish(axes, units, names, rows)
    return drawn


def _draw_strip(axes: Axes, edges: np.ndarray, strip: Strip, top: float, names: dict[float, str]) -> float:
    """Draws downwards from ``top``; returns where the next row starts."""
    bottom = top - 1
    axes.hlines([bottom, top], edges[0], edges[-1], color=_LINE, linewidth=0.6)
    axes.stairs(bottom + strip.busy_pct / 100, edges, baseline=bottom, fill=True, color=UNIT_COLORS[strip.name],
                linewidth=0)
    names[bottom + 0.5] = f"{strip.title}\nmean {strip.busy_pct.mean():.0f} %"
    return bottom - _GAP


def _draw_counts(axes: Axes, stages: StageUse, edges: np.ndarray, top: float, names: dict[float, str]) -> float:
    moments = [moment for span in stages.spans for moment in (span.start, span.end)]
    cycles = np.unique(np.clip([*moments, edges[0], edges[-1]], edges[0], edges[-1]))
    bottom = top - _COUNT_HEIGHT
    base = np.full(len(cycles) - 1, bottom)
    for state in STAGE_STATES:
        height = stages.in_state(state, cycles[:-1]) * _COUNT_HEIGHT / stages.num_stages
        axes.stairs(base + height, cycles, baseline=base, fill=True, color=STAGE_COLORS[state], linewidth=0)
        base = base + height
    levels = bottom + np.arange(stages.num_stages + 1) * _COUNT_HEIGHT / stages.num_stages
    axes.hlines(levels, edges[0], edges[-1], color=_LINE, linewidth=0.6)
    names[bottom + _COUNT_HEIGHT / 2] = f"stages in use, 0 to {stages.num_stages}\n(CTA {stages.cta})"
    return bottom - _GAP


def _draw_stages(axes: Axes, stages: StageUse, top: float, names: dict[float, str]) -> None:
    for state in STAGE_STATES:
        spans = [span for span in stages.spans if span.state == state]
        columns = np.array([(span.start, span.end, top - (span.stage + 0.9) * _STAGE_HEIGHT) for span in spans])
        start, end, bottom = columns.reshape(-1, 3).T
        draw_bars(axes, start, end, bottom, 0.8 * _STAGE_HEIGHT, color=STAGE_COLORS[state])
    for stage in range(stages.num_stages):
        names[top - (stage + 0.5) * _STAGE_HEIGHT] = f"stage {stage}"


def _finish(axes: Axes, units: Utilisation, names: dict[float, str], rows: float) -> None:
    axes.set(xlim=(units.edges[0], units.edges[-1]), ylim=(-rows, 0.1),
             xlabel=f"cycle since launch (SM {units.sm}); unit strips from 0 to 100 %")
    axes.set_yticks(list(names), list(names.values()), fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="x", color="#e8e8e8", linewidth=0.6)
    axes.set_axisbelow(True)
