"""Models the picture of a pipeline over time: warps of a CTA, its copies in flight by stage, and the SM's busy units.
Leaves out other CTAs' warps (they are in the Perfetto trace)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Patch

from gpusim.engine.result import WARP_STATES
from gpusim.report.states import STATES
from gpusim.report.style import CLASS_COLORS, draw_bars, figure
from gpusim.report.timeline import ISSUE_CLASSES, Timeline

__all__ = ["draw_timeline"]

_WIDTH_INCHES, _ROW_INCHES, _MARGIN_INCHES, _LEGEND_ROWS = 15.0, 0.3, 0.9, 2.4
_COPY_COLORS = (("#a6d3ee", "black"), ("#0072b2", "white"))
_OWN, _OTHERS = "#333333", "#bbbbbb"
_GAP = 0.6


@dataclass
class _Rows:
    """Hands out rows from top to bottom and remembers their names."""

    names: list[str]
    positions: list[float]
    next_position: float = 0.0

    def add(self, name: str, height: float = 1.0) -> float:
        """The bottom of a new row."""
        self.next_position -= height
        self.names.append(name)
        self.positions.append(self.next_position + height / 2)
        return self.next_position

    def gap(self) -> None:
        self.next_position -= _GAP


def draw_timeline(data: Timeline, title: str) -> Figure:
    """Rows: warps (upper half: issues; lower half: why it waits), copies by stage, tensor pipes, shared memory."""
    pipes = sorted(set(data.tensor["sub_partition"].tolist()))
    count = 1.5 * len(data.warps) + data.num_stages + len(pipes) + 1 + 2 * _GAP
    rows = _Rows([], [])
    with figure(_WIDTH_INCHES, _MARGIN_INCHES + _ROW_INCHES * (count + _LEGEND_ROWS)) as drawn:
        axes, below = drawn.subplots(2, 1, height_ratios=[count, _LEGEND_ROWS])
        for warp in data.warps:
            _draw_warp(axes, data, warp, rows)
        rows.gap()
        _draw_copies(axes, data, rows)
        rows.gap()
        for pipe in pipes:
            busy = data.tensor[data.tensor["sub_partition"] == pipe]
            _draw_unit(axes, data, busy, rows.add(f"tensor pipe {pipe}"))
        _draw_unit(axes, data, data.shared, rows.add("shared memory"))
        _finish(axes, data, rows, title)
        _legends(below, data)
    return drawn


def _draw_warp(axes: Axes, data: Timeline, warp: int, rows: _Rows) -> None:
    issues, states = data.issues[data.issues["warp"] == warp], data.states[data.states["warp"] == warp]
    sub_partition = (issues if len(issues) else states)["sub_partition"][0]
    bottom = rows.add(f"warp {warp}  (sub-partition {sub_partition})", 1.5)
    classes = data.issue_classes[data.issues["warp"] == warp]
    thinnest = (data.end_cycle - data.start_cycle) / 1800
    for number, color in sorted(enumerate(CLASS_COLORS), reverse=True):
        start = issues["start"][classes == number]
        draw_bars(axes, start, start + max(1.0, thinnest), np.full(len(start), bottom + 0.75), 0.6, color=color)
    for number in np.unique(states["state"]).tolist():
        run = states[states["state"] == number]
        color = STATES[WARP_STATES[number]].color
        draw_bars(axes, run["start"], run["end"], np.full(len(run), bottom + 0.15), 0.55, color=color)


def _draw_copies(axes: Axes, data: Timeline, rows: _Rows) -> None:
    for stage in range(data.num_stages):
        bottom = rows.add(f"copies in flight, stage {stage}")
        for copy in (copy for copy in data.copies if copy.stage == stage):
            start, end = max(copy.start, data.start_cycle), min(copy.end, data.end_cycle)
            if start >= end:
                continue
            color, ink = _COPY_COLORS[copy.group // max(data.num_stages, 1) % 2]
            draw_bars(axes, np.array([start]), np.array([end]), np.array([bottom + 0.15]), 0.7, color=color)
            if end - start > (data.end_cycle - data.start_cycle) / 30:
                axes.text((start + end) / 2, bottom + 0.48, f"group {copy.group}", ha="center", va="center",
                          fontsize=7, color=ink)


def _draw_unit(axes: Axes, data: Timeline, busy: np.ndarray, bottom: float) -> None:
    own = busy["cta"] == data.cta
    for rows, color in ((busy[~own], _OTHERS), (busy[own], _OWN)):
        draw_bars(axes, rows["start"], rows["end"], np.full(len(rows), bottom + 0.15), 0.7, color=color)


def _finish(axes: Axes, data: Timeline, rows: _Rows, title: str) -> None:
    axes.set_xlim(data.start_cycle, data.end_cycle)
    axes.set_ylim(rows.next_position - 0.1, 0.3)
    axes.set_yticks(rows.positions, rows.names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"cycle since launch (SM {data.sm}, CTA {data.cta})")
    axes.set_title(title)


def _legends(axes: Axes, data: Timeline) -> None:
    """One line of the legend per kind of bar."""
    issued = [(ISSUE_CLASSES[number], CLASS_COLORS[number]) for number in np.unique(data.issue_classes).tolist()]
    length = np.zeros(len(WARP_STATES), np.int64)
    np.add.at(length, data.states["state"], data.states["end"] - data.states["start"])
    stalls = [STATES[WARP_STATES[number]] for number in np.argsort(-length, kind="stable") if length[number]]
    lines = (
        ("upper half, issues:", issued),
        ("lower half, waits:", [(state.title, state.color) for state in stalls]),
        ("units:", [("busy for this CTA", _OWN), ("busy for other CTAs", _OTHERS)]),
    )
    axes.set_axis_off()
    for number, (title, entries) in enumerate(lines):
        handles = [Patch(facecolor=color, linewidth=0) for _, color in entries]
        height = 1 - (number + 0.5) / len(lines)
        axes.text(0, height, title, transform=axes.transAxes, ha="right", va="center", fontsize=8)
        legend = Legend(axes, handles, [name for name, _ in entries], loc="center left", bbox_to_anchor=(0, height),
                        bbox_transform=axes.transAxes, ncols=len(entries), handlelength=1.2, columnspacing=1.2)
        axes.add_artist(legend)
