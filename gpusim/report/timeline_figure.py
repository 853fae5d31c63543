"""Models the picture of a pipeline over time: warps of a CTA, its copies in flight by stage, how busy units are.
Leaves out other CTAs' warps (they are in the Perfetto trace)."""

from __future__ import annotations

import itertools
import textwrap
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

_WIDTH_INCHES, _ROW_INCHES, _MARGIN_INCHES, _LEGEND_INCHES = 11.0, 0.27, 0.8, 0.22
_AXIS_INCHES, _LEGEND_CHARACTERS, _TITLE_CHARACTERS, _TITLE_INCHES = 8.0, 110, 84, 0.2
"""What names at the left leave of the width, about; what fits into a line of the legend and of a title; its height."""
_WARP_ROWS, _UNIT_ROWS, _GAP = 1.6, 1.5, 0.5
_COPIES = ((CLASS_COLORS[2], "white"), ("#f6b48f", "black"))
_LOADS = ((CLASS_COLORS[4], "white"), ("#8fd3bf", "black"))
"""Fill and ink of copies in flight, in turn: a stage that is filled again changes its shade."""
_OTHERS = "#c9c9c9"
_BINS = 300
_SMALL_POINTS, _EM = 7, 0.65
"""Size of text inside the axes; width of a character by height, at most, of the fonts that an SVG may meet."""
_UNITS = (("tensor pipes", UNIT_COLORS["tensor"]), ("shared memory", UNIT_COLORS["shared"]))


@dataclass
class _Panel:
    """One window on its axes. Hands out rows from top to bottom and remembers their names."""

    axes: Axes
    data: Timeline
    origin: int
    """Cycle of the launch at which the axis counts 0."""
    span_cycles: int
    """What the axis shows; the window may end earlier."""
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

    def text_cycles(self, text: str) -> float:
        """How long a bar must be to hold a small text."""
        return (len(text) + 1) * _EM * _SMALL_POINTS / 72 / _AXIS_INCHES * self.span_cycles


def draw_timeline(data: Timeline, title: str) -> Figure:
    """Rows: warps (upper half: issues; lower half: why it waits), copies by stage, tensor pipes, shared memory."""
    return draw_timelines([data], [title])


def draw_timelines(windows: Sequence[Timeline], titles: Sequence[str], *, aligned: bool = False) -> Figure:
    """One or several windows above each other over one axis of time.

    ``aligned``: their first cycles stand above each other; otherwise the axis counts from the launch.
    """
    counts = [_rows(data) for data in windows]
    lines = _legend_lines(windows)
    heights = [*(_ROW_INCHES * count for count in counts), _LEGEND_INCHES * len(lines)]
    titles = [textwrap.fill(title, _TITLE_CHARACTERS) for title in titles]
    further = _TITLE_INCHES * sum(title.count("\n") for title in titles)
    with figure(_WIDTH_INCHES, sum(heights) + _MARGIN_INCHES * len(windows) + further) as drawn:
        *panels, below = drawn.subplots(len(windows) + 1, 1, height_ratios=heights)
        origins = [data.start_cycle if aligned else 0 for data in windows]
        first, last = _share_axis(panels, windows, origins)
        for axes, data, title, origin in zip(panels, windows, titles, origins, strict=True):
            _draw_window(_Panel(axes, data, origin, last - first), title)
        _draw_legend(below, lines)
    return drawn


def _rows(data: Timeline) -> float:
    """Height of a window, in rows."""
    gaps = 3 + len(_labelled_warps(data)[1:])
    return _WARP_ROWS * len(data.warps) + len(data.stages) + 2 * _UNIT_ROWS + gaps * _GAP


def _labelled_warps(data: Timeline) -> list[int]:
    """Warps above which iterations have names: the first of each role that loops, for roles run apart."""
    first: dict[str, int] = {}
    for begin in data.iterations:
        first.setdefault(data.roles[begin.warp], begin.warp)
    return list(first.values())


def stage_name(stage: int) -> str:
    return "global loads in flight, to registers" if stage == REGISTERS else f"copies in flight, stage {stage}"


def _draw_window(panel: _Panel, title: str) -> None:
    data, axes, labelled = panel.data, panel.axes, _labelled_warps(panel.data)
    panel.gap()
    for warp in data.warps:
        if warp in labelled[1:]:
            panel.gap()
        _draw_warp(panel, warp, has_labels=warp in labelled)
    panel.gap()
    for stage in data.stages:
        _draw_stage(panel, stage)
    panel.gap()
    for (name, color), events, units in zip(_UNITS, (data.tensor, data.shared), (data.sub_partitions, 1), strict=True):
        _draw_unit(panel, events, units, color, panel.add(f"{name} busy, 0 to 100 %", _UNIT_ROWS))
    axes.set_ylim(panel.next_position - 0.1, 0.0)
    axes.set_yticks(panel.positions, panel.names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(title)


def _draw_warp(panel: _Panel, warp: int, *, has_labels: bool) -> None:
    data, axes, origin = panel.data, panel.axes, panel.origin
    issues, states = data.issues[data.issues["warp"] == warp], data.states[data.states["warp"] == warp]
    bottom = panel.add(data.warp_names[warp], _WARP_ROWS)
    classes = data.issue_classes[data.issues["warp"] == warp]
    thinnest = panel.span_cycles / 1800
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
    if has_labels:
        _label_iterations(panel, begins, bottom + 1.5)


def _label_iterations(panel: _Panel, begins: list[IterationStart], height: float) -> None:
    """Names above the lines, each as long as there is room before the next line."""
    for begin, following in itertools.zip_longest(begins, begins[1:]):
        end = following.cycle if following else panel.data.end_cycle
        text = _fitting_name(panel, "iteration", begin.iteration, end - begin.cycle)
        panel.axes.annotate(text, (begin.cycle - panel.origin, height), xytext=(2, 1), fontsize=_SMALL_POINTS,
                            textcoords="offset points", va="bottom")


def _inside(data: Timeline, rows: np.ndarray) -> np.ndarray:
    """(2, E) starts and ends, cut at the window."""
    return np.clip(np.stack([rows["start"], rows["end"]]), data.start_cycle, data.end_cycle)


def _draw_stage(panel: _Panel, stage: int) -> None:
    data, bottom = panel.data, panel.add(stage_name(stage))
    for number, copy in enumerate(copy for copy in data.copies if copy.stage == stage):
        start, end = max(copy.start, data.start_cycle), min(copy.end, data.end_cycle)
        if start >= end:
            continue
        color, ink = (_LOADS if stage == REGISTERS else _COPIES)[number % 2]
        height, lift = (0.7, 0.15) if stage != REGISTERS else (0.35, 0.1 + 0.4 * (number % 2))
        draw_bars(panel.axes, np.array([start - panel.origin]), np.array([end - panel.origin]),
                  np.array([bottom + lift]), height, color=color)
        if stage != REGISTERS:
            name = _fitting_name(panel, "group", copy.group, end - start)
            panel.axes.text((start + end) / 2 - panel.origin, bottom + 0.48, name, ha="center", va="center",
                            fontsize=_SMALL_POINTS, color=ink)


def _fitting_name(panel: _Panel, kind: str, number: int, cycles: int) -> str:
    """``group 12``, or ``12``, or nothing: the longest that so many cycles hold."""
    names = (f"{kind} {number}", str(number))
    return next((name for name in names if panel.text_cycles(name) <= cycles), "")


def _draw_unit(panel: _Panel, busy: np.ndarray, units: int, color: str, bottom: float) -> None:
    """A strip from 0 to 100 %: what the CTA takes, and above it the CTAs that share the SM."""
    data, axes = panel.data, panel.axes
    bins = min(_BINS, data.end_cycle - data.start_cycle)
    window = (data.start_cycle, data.end_cycle, bins, units)
    own, all_ctas = busy_share(busy[busy["cta"] == data.cta], *window), busy_share(busy, *window)
    height = _UNIT_ROWS - 0.3
    edges = np.linspace(data.start_cycle, data.end_cycle, bins + 1) - panel.origin
    for share, fill in ((all_ctas, _OTHERS), (own, color)):
        axes.stairs(bottom + height * np.minimum(share, 1), edges, baseline=bottom, fill=True, color=fill, linewidth=0)
    for level in (0.0, 1.0):
        axes.plot(edges[[0, -1]], [bottom + height * level] * 2, color="#888888", linewidth=0.5)
    axes.annotate(f"mean {100 * all_ctas.mean():.0f} %", (edges[-1], bottom + height / 2), xytext=(5, 0), fontsize=8,
                  textcoords="offset points", va="center", annotation_clip=False)


def _share_axis(panels: Sequence[Axes], windows: Sequence[Timeline], origins: Sequence[int]) -> tuple[int, int]:
    """The first and the last cycle of the axis that all have."""
    first = min(data.start_cycle - origin for data, origin in zip(windows, origins, strict=True))
    last = max(data.end_cycle - origin for data, origin in zip(windows, origins, strict=True))
    for axes, data, origin in zip(panels, windows, origins, strict=True):
        axes.set_xlim(first, last)
        since = f"the first cycle shown, {data.start_cycle:,}" if origin else "launch"
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel(f"cycles since {since} (SM {data.sm}, CTA {data.cta})")
    return first, last


def _legend_lines(windows: Sequence[Timeline]) -> list[tuple[str, list[tuple[str, str]]]]:
    """A title, and names with their colours, per line; a kind of bar may take several, only the first has a title."""
    classes = np.unique(np.concatenate([data.issue_classes for data in windows])).tolist()
    length = np.zeros(len(WARP_STATES), np.int64)
    for data in windows:
        np.add.at(length, data.states["state"], data.states["end"] - data.states["start"])
    stalls = [STATES[WARP_STATES[number]] for number in np.argsort(-length, kind="stable") if length[number]]
    shared = any((rows["cta"] != data.cta).any() for data in windows for rows in (data.tensor, data.shared))
    kinds: list[tuple[str, list[tuple[str, str]]]] = [
        ("upper half, issues:", [(ISSUE_CLASSES[number], CLASS_COLORS[number]) for number in classes]),
        ("lower half, waits:", [(state.title, state.color) for state in stalls]),
        ("in flight, this CTA:", _copy_entries(windows)),
        ("units:", [(f"{name}, this CTA", color) for name, color in _UNITS] + [("other CTAs", _OTHERS)] * shared),
    ]
    return [(title if not number else "", line) for title, entries in kinds
            for number, line in enumerate(_wrapped(entries))]


def _wrapped(entries: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """The entries in lines that fit."""
    lines: list[list[tuple[str, str]]] = []
    room = 0
    for entry in entries:
        length = len(entry[0]) + 5
        if length > room:
            lines.append([])
            room = _LEGEND_CHARACTERS
        lines[-1].append(entry)
        room -= length
    return lines


def _draw_legend(axes: Axes, lines: Sequence[tuple[str, list[tuple[str, str]]]]) -> None:
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
