"""Models the picture of a pipeline over time: warps of a CTA, its copies in flight by stage, how busy units are.
Leaves out other CTAs' warps (they are in the Perfetto trace)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Patch

from gpusim.engine.result import WARP_STATES
from gpusim.report.states import STATES
from gpusim.report.style import CLASS_COLORS, UNIT_COLORS, draw_bars, figure
from gpusim.report.timeline import ISSUE_CLASSES, IterationStart, Timeline, busy_share
from gpusim.report.timeline_copies import REGISTERS

__all__ = ["draw_timeline", "draw_timelines", "stage_name"]

_WIDTH_INCHES, _ROW_INCHES, _MARGIN_INCHES, _LEGEND_ROWS = 15.0, 0.3, 0.9, 3.0
_WARP_ROWS, _UNIT_ROWS, _GAP = 1.6, 1.5, 0.5
_COPIES = ((CLASS_COLORS[2], "white"), ("#f6b48f", "black"))
_LOADS = ((CLASS_COLORS[4], "white"), ("#8fd3bf", "black"))
"""Fill and ink of copies in flight, in turn: a stage that is filled again changes its shade."""
_OTHERS = "#c9c9c9"
_BINS = 300
_LABEL_SHARE = 0.07
"""Share of the axis that the label of an iteration takes; closer ones go without."""
_UNITS = (("tensor pipes", UNIT_COLORS["tensor"]), ("shared memory", UNIT_COLORS["shared"]))


@dataclass
class _Rows:
    """Hands out rows from top to bottom and remembers their names."""

    names: list[str] = field(default_factory=list)
    positions: list[float] = field(default_factory=list)
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
    return draw_timelines([data], [title])


def draw_timelines(windows: Sequence[Timeline], titles: Sequence[str], *, aligned: bool = False) -> Figure:
    """One or several windows above each other over one axis of time.

    ``aligned``: their first cycles stand above each other; otherwise the axis counts from the launch.
    """
    counts = [_WARP_ROWS * len(data.warps) + len(data.stages) + 2 * _UNIT_ROWS + 3 * _GAP for data in windows]
    inches = _ROW_INCHES * (sum(counts) + _LEGEND_ROWS) + _MARGIN_INCHES * len(windows)
    with figure(_WIDTH_INCHES, inches) as drawn:
        *panels, below = drawn.subplots(len(windows) + 1, 1, height_ratios=[*counts, _LEGEND_ROWS])
        for axes, data, title in zip(panels, windows, titles, strict=True):
            _draw_window(axes, data, title, origin=data.start_cycle if aligned else 0)
        _share_axis(panels, windows, aligned)
        _legends(below, windows)
    return drawn


def stage_name(stage: int) -> str:
    return "global loads in flight, to registers" if stage == REGISTERS else f"copies in flight, stage {stage}"


def _draw_window(axes: Axes, data: Timeline, title: str, origin: int) -> None:
    rows = _Rows()
    rows.gap()
    for warp in data.warps:
        _draw_warp(axes, data, warp, rows, origin, is_first=warp == data.warps[0])
    rows.gap()
    _draw_copies(axes, data, rows, origin)
    rows.gap()
    for (name, color), events, units in zip(_UNITS, (data.tensor, data.shared), (data.sub_partitions, 1), strict=True):
        _draw_unit(axes, data, events, units, color, rows.add(f"{name}, % busy", _UNIT_ROWS), origin)
    axes.set_ylim(rows.next_position - 0.1, 0.0)
    axes.set_yticks(rows.positions, rows.names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(title)


def _draw_warp(axes: Axes, data: Timeline, warp: int, rows: _Rows, origin: int, *, is_first: bool) -> None:
    issues, states = data.issues[data.issues["warp"] == warp], data.states[data.states["warp"] == warp]
    bottom = rows.add(data.warp_names[warp], _WARP_ROWS)
    classes = data.issue_classes[data.issues["warp"] == warp]
    thinnest = (data.end_cycle - data.start_cycle) / 1800
    for number, color in sorted(enumerate(CLASS_COLORS), reverse=True):
        start = issues["start"][classes == number] - origin
        draw_bars(axes, start, start + max(1.0, thinnest), np.full(len(start), bottom + 0.8), 0.6, color=color)
    for number in np.unique(states["state"]).tolist():
        run = _inside(data, states[states["state"] == number])
        color = STATES[WARP_STATES[number]].color
        draw_bars(axes, run[0] - origin, run[1] - origin, np.full(len(run[0]), bottom + 0.2), 0.55, color=color)
    begins = [begin for begin in data.iterations if begin.warp == warp]
    x = np.array([begin.cycle - origin for begin in begins])
    axes.vlines(x, bottom + 0.1, bottom + 1.5, color="black", linewidth=0.9)
    if is_first:
        _label_iterations(axes, data, begins, origin, bottom + 1.5)


def _label_iterations(axes: Axes, data: Timeline, begins: list[IterationStart], origin: int, height: float) -> None:
    room = _LABEL_SHARE * (data.end_cycle - data.start_cycle)
    free = -np.inf
    for begin in begins:
        if begin.cycle >= free and begin.cycle + room <= data.end_cycle:
            axes.annotate(f"iteration {begin.iteration}", (begin.cycle - origin, height), xytext=(2, 1), fontsize=7,
                          textcoords="offset points", va="bottom")
            free = begin.cycle + room


def _inside(data: Timeline, rows: np.ndarray) -> np.ndarray:
    """(2, E) starts and ends, cut at the window."""
    return np.clip(np.stack([rows["start"], rows["end"]]), data.start_cycle, data.end_cycle)


def _draw_copies(axes: Axes, data: Timeline, rows: _Rows, origin: int) -> None:
    for stage in data.stages:
        bottom = rows.add(stage_name(stage))
        for number, copy in enumerate(copy for copy in data.copies if copy.stage == stage):
            start, end = max(copy.start, data.start_cycle) - origin, min(copy.end, data.end_cycle) - origin
            if start >= end:
                continue
            color, ink = (_LOADS if stage == REGISTERS else _COPIES)[number % 2]
            height, lift = (0.7, 0.15) if stage != REGISTERS else (0.35, 0.1 + 0.4 * (number % 2))
            draw_bars(axes, np.array([start]), np.array([end]), np.array([bottom + lift]), height, color=color)
            if stage != REGISTERS and end - start > (data.end_cycle - data.start_cycle) / 30:
                axes.text((start + end) / 2, bottom + 0.48, f"group {copy.group}", ha="center", va="center",
                          fontsize=7, color=ink)


def _draw_unit(
    axes: Axes, data: Timeline, busy: np.ndarray, units: int, color: str, bottom: float, origin: int
) -> None:
    """A strip from 0 to 100 %: what the CTA takes, and above it the CTAs that share the SM."""
    bins = min(_BINS, data.end_cycle - data.start_cycle)
    window = (data.start_cycle, data.end_cycle, bins, units)
    own, all_ctas = busy_share(busy[busy["cta"] == data.cta], *window), busy_share(busy, *window)
    height = _UNIT_ROWS - 0.3
    edges = np.linspace(data.start_cycle, data.end_cycle, bins + 1) - origin
    for share, fill in ((all_ctas, _OTHERS), (own, color)):
        axes.stairs(bottom + height * np.minimum(share, 1), edges, baseline=bottom, fill=True, color=fill, linewidth=0)
    for level in (0.0, 1.0):
        axes.plot(edges[[0, -1]], [bottom + height * level] * 2, color="#888888", linewidth=0.5)
    axes.annotate(f"mean {100 * all_ctas.mean():.0f} %", (edges[-1], bottom + height / 2), xytext=(5, 0), fontsize=8,
                  textcoords="offset points", va="center", annotation_clip=False)


def _share_axis(panels: Sequence[Axes], windows: Sequence[Timeline], aligned: bool) -> None:
    origins = [data.start_cycle if aligned else 0 for data in windows]
    first = min(data.start_cycle - origin for data, origin in zip(windows, origins, strict=True))
    last = max(data.end_cycle - origin for data, origin in zip(windows, origins, strict=True))
    for axes, data in zip(panels, windows, strict=True):
        axes.set_xlim(first, last)
        since = f"the first cycle shown, {data.start_cycle:,}" if aligned else "launch"
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel(f"cycles since {since} (SM {data.sm}, CTA {data.cta})")


def _legends(axes: Axes, windows: Sequence[Timeline]) -> None:
    """One line of the legend per kind of bar."""
    classes = np.unique(np.concatenate([data.issue_classes for data in windows])).tolist()
    length = np.zeros(len(WARP_STATES), np.int64)
    for data in windows:
        np.add.at(length, data.states["state"], data.states["end"] - data.states["start"])
    stalls = [STATES[WARP_STATES[number]] for number in np.argsort(-length, kind="stable") if length[number]]
    lines: list[tuple[str, list[tuple[str, str]]]] = [
        ("upper half, issues:", [(ISSUE_CLASSES[number], CLASS_COLORS[number]) for number in classes]),
        ("lower half, waits:", [(state.title, state.color) for state in stalls]),
        ("in flight, this CTA:", _copy_entries(windows)),
        ("units, % busy:", [(f"{name}, this CTA", color) for name, color in _UNITS] + [("other CTAs", _OTHERS)]),
    ]
    lines = [line for line in lines if line[1]]
    axes.set_axis_off()
    for number, (title, entries) in enumerate(lines):
        handles = [Patch(facecolor=color, linewidth=0) for _, color in entries]
        height = 1 - (number + 0.5) / len(lines)
        axes.text(0, height, title, transform=axes.transAxes, ha="right", va="center", fontsize=8)
        legend = Legend(axes, handles, [name for name, _ in entries], loc="center left", bbox_to_anchor=(0, height),
                        bbox_transform=axes.transAxes, ncols=len(entries), handlelength=1.2, columnspacing=1.2)
        axes.add_artist(legend)


def _copy_entries(windows: Sequence[Timeline]) -> list[tuple[str, str]]:
    """What goes where, in both shades that take turns."""
    stages = {stage for data in windows for stage in data.stages}
    kinds = [("copy to shared memory", _COPIES)] * bool(stages - {REGISTERS})
    kinds += [("load to registers", _LOADS)] * (REGISTERS in stages)
    return [(name, color) for kind, shades in kinds 
            for name, (color, _) in zip((kind, "the next one"), shades, strict=True)]
