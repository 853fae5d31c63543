"""Models the timeline as rows of characters: a column is an equal part of the window, a letter what filled most of it.
Leaves out the terminal and whether it has colours (gpusim.cli)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.engine.result import WARP_STATES
from gpusim.report.states import STATES
from gpusim.report.style import CLASS_COLORS, UNIT_COLORS
from gpusim.report.timeline import ISSUE_CLASSES, Timeline, busy_share
from gpusim.report.timeline_copies import REGISTERS

__all__ = ["ISSUE_LETTERS", "STATE_LETTERS", "LegendEntry", "TextRow", "axis_row", "text_legend", "text_rows"]

ISSUE_LETTERS = "MSCWG-"
"""By ISSUE_CLASSES."""
STATE_LETTERS = dict(zip(WARP_STATES, "*n.lsmqtbgfdpirezxu", strict=True))
"""Lower case, so that no letter of a wait is one of an issue."""
_BARS = " ▁▂▃▄▅▆▇█"
_IN_FLIGHT = "━"


@dataclass(frozen=True)
class TextRow:
    """One line: a name, and a character and a colour (#rrggbb, or empty) per column."""

    name: str
    text: str
    colors: tuple[str, ...]


@dataclass(frozen=True)
class LegendEntry:
    letter: str
    meaning: str
    color: str


def text_rows(data: Timeline, columns: int) -> list[TextRow]:
    """Two rows per warp (what it issues most; below, what it waits for), copies in flight, units from 0 to 100 %."""
    columns = min(columns, data.end_cycle - data.start_cycle)
    rows = [row for warp in data.warps for row in _warp_rows(data, warp, columns)]
    for stage in data.stages:
        name = "loads in flight" if stage == REGISTERS else f"copies, stage {stage}"
        spans = np.array([(copy.start, copy.end) for copy in data.copies if copy.stage == stage])
        share = _coverage(data, spans[:, 0], spans[:, 1], columns)
        color = CLASS_COLORS[4 if stage == REGISTERS else 2]
        rows.append(_row(name, [_IN_FLIGHT if part > 0 else " " for part in share], [color] * columns))
    for name, events, units in (("tensor", data.tensor, data.sub_partitions), ("shared", data.shared, 1)):
        share = busy_share(events, data.start_cycle, data.end_cycle, columns, units)
        bars = [_BARS[round(min(part, 1.0) * (len(_BARS) - 1))] for part in share.tolist()]
        rows.append(_row(f"{name}, mean {100 * share.mean():.0f} %", bars, [UNIT_COLORS[name]] * columns))
    return rows


def axis_row(data: Timeline, columns: int) -> TextRow:
    """Cycles since launch, at the columns where the numbers begin, as far as they fit."""
    columns = min(columns, data.end_cycle - data.start_cycle)
    text = [" "] * columns
    for column in range(0, columns, max(16, columns // 6)):
        cycle = data.start_cycle + round(column * (data.end_cycle - data.start_cycle) / columns)
        label = f"|{cycle:,}"
        if column + len(label) <= columns:
            text[column : column + len(label)] = label
    return _row("cycles since launch", text, [""] * columns)


def text_legend(data: Timeline) -> tuple[list[LegendEntry], list[LegendEntry]]:
    """What the letters of issues and of waits mean, those that occur; waits by length."""
    issues = [LegendEntry(ISSUE_LETTERS[number], ISSUE_CLASSES[number], CLASS_COLORS[number])
              for number in np.unique(data.issue_classes).tolist()]
    length = np.zeros(len(WARP_STATES), np.int64)
    np.add.at(length, data.states["state"], data.states["end"] - data.states["start"])
    waits = [WARP_STATES[number] for number in np.argsort(-length, kind="stable") if length[number]]
    return issues, [LegendEntry(STATE_LETTERS[name], STATES[name].title, STATES[name].color) for name in waits]


def _warp_rows(data: Timeline, warp: int, columns: int) -> list[TextRow]:
    own, waits = data.issues["warp"] == warp, data.states[data.states["warp"] == warp]
    issues, classes = data.issues[own], data.issue_classes[own]
    issued = [_coverage(data, issues["start"][classes == number], issues["end"][classes == number], columns)
              for number in range(len(ISSUE_CLASSES))]
    waited = [_coverage(data, waits["start"][waits["state"] == number], waits["end"][waits["state"] == number], columns)
              for number in range(len(WARP_STATES))]
    state_colors = [STATES[name].color for name in WARP_STATES]
    return [
        _most(data.warp_names[warp], np.array(issued), ISSUE_LETTERS, CLASS_COLORS),
        _most("  waits for", np.array(waited), "".join(STATE_LETTERS.values()), state_colors),
    ]


def _most(name: str, share: np.ndarray, letters: str, colors: tuple[str, ...] | list[str]) -> TextRow:
    """Per column the letter of the kind with the largest share, a blank where there is none."""
    best = share.argmax(axis=0).tolist()
    is_any = share.max(axis=0) > 0
    text = [letters[kind] if any_ else " " for kind, any_ in zip(best, is_any, strict=True)]
    return _row(name, text, [colors[kind] if any_ else "" for kind, any_ in zip(best, is_any, strict=True)])


def _coverage(data: Timeline, start: np.ndarray, end: np.ndarray, columns: int) -> np.ndarray:
    rows = np.zeros(len(start), [("start", "<i8"), ("end", "<i8")])
    rows["start"], rows["end"] = start, end
    return busy_share(rows, data.start_cycle, data.end_cycle, columns)


def _row(name: str, text: list[str], colors: list[str]) -> TextRow:
    return TextRow(name, "".join(text), tuple(colors[: len(text)]))
