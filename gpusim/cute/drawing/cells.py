"""Models grids of coloured, labelled cells on a figure, sized in inches so that no label leaves its cell.
Leaves out what the cells mean (gpusim.cute.drawing.figures).

matplotlib is imported inside the functions, so that importing gpusim.cute stays cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["LABEL_POINTS", "POINTS_PER_INCH", "Panel", "axes_at", "every", "panels_figure"]

POINTS_PER_INCH = 72
LABEL_POINTS, _TITLE_POINTS = 7.0, 9.0
_MAX_LABELLED_CELLS = 1024  # beyond it labels could hardly be read and the picture shows colours only
_LEFT_INCHES, _RIGHT_INCHES, _BOTTOM_INCHES, _TOP_INCHES = 0.55, 0.75, 0.4, 0.3
_TITLE_LINE_INCHES, _BARE_CELL_INCHES, _NARROWEST_INCHES = 0.17, 0.06, 2.5
_GAP_INCHES = 0.5


@dataclass(frozen=True)
class Panel:
    """One grid; ``across`` and ``down`` say in which column and row of panels it stands."""

    colours: np.ndarray  # (rows, columns, 3)
    labels: np.ndarray  # (rows, columns) text
    name: str = ""
    across: int = 0
    down: int = 0


def panels_figure(panels: Sequence[Panel], title: str) -> Any:
    """A figure of panels with cells of one size; panels of one column or row start at the same place."""
    from matplotlib.figure import Figure

    labelled = sum(panel.labels.size for panel in panels) <= _MAX_LABELLED_CELLS
    inches = max(_cell_inches(panel.labels) for panel in panels) if labelled else _BARE_CELL_INCHES
    lefts, width = _starts({panel.across: panel.labels.shape[1] for panel in panels}, inches)
    tops, height = _starts({panel.down: panel.labels.shape[0] for panel in panels}, inches)
    text = _wrapped(title, width + _RIGHT_INCHES)
    across = _LEFT_INCHES + max(width, _NARROWEST_INCHES) + _RIGHT_INCHES
    up = _BOTTOM_INCHES + height + _TOP_INCHES + _TITLE_LINE_INCHES * (text.count("\n") + 1)
    figure = Figure(figsize=(across, up))
    for panel in panels:
        rows, columns = panel.labels.shape
        bottom = _BOTTOM_INCHES + height - tops[panel.down] - rows * inches
        axes = axes_at(figure, _LEFT_INCHES + lefts[panel.across], bottom, columns * inches, rows * inches)
        _paint(axes, panel, inches, labelled)
    place = (_LEFT_INCHES / across, (_BOTTOM_INCHES + height + _TOP_INCHES) / up)
    figure.text(*place, text, va="bottom", fontsize=_TITLE_POINTS)
    return figure


def axes_at(figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
    """Axes at a place given in inches."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def every(label_inches: float, cell_inches: float) -> int:
    """The smallest power of two of cells that has room for a label."""
    return 1 << max(0, int(np.ceil(np.log2(label_inches / cell_inches))))


def _starts(cells: dict[int, int], inches: float) -> tuple[dict[int, float], float]:
    """Where each column (or row) of panels starts, and where the last one ends."""
    starts, end = {}, 0.0
    for number in sorted(cells):
        starts[number] = end + (_GAP_INCHES if number else 0.0)
        end = starts[number] + cells[number] * inches
    return starts, end


def _paint(axes: Any, panel: Panel, inches: float, labelled: bool) -> None:
    axes.imshow(panel.colours, interpolation="nearest", aspect="auto")
    if labelled:
        _write_labels(axes, panel.labels)
    rows, columns = panel.labels.shape
    _write_margins(axes, rows, columns, inches)
    axes.set_xlabel(panel.name, fontsize=LABEL_POINTS)


def _cell_inches(labels: np.ndarray) -> float:
    lines = [line for label in labels.ravel() for line in str(label).split("\n")]
    per_cell = max(str(label).count("\n") + 1 for label in labels.ravel())
    widest = max(len(line) for line in lines) * 0.65 + 0.8
    return max(widest, per_cell * 1.35 + 0.5) * LABEL_POINTS / POINTS_PER_INCH


def _write_labels(axes: Any, labels: np.ndarray) -> None:
    rows, columns = labels.shape
    for (row, column), label in np.ndenumerate(labels):
        if label:
            axes.text(column, row, label, ha="center", va="center", fontsize=LABEL_POINTS, color="#202020")
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#808080", linewidth=0.4)


def _write_margins(axes: Any, rows: int, columns: int, inches: float) -> None:
    """Coordinates on the top and left margins, as many as fit."""
    em = LABEL_POINTS / POINTS_PER_INCH
    axes.set_xticks(range(0, columns, every(em * (0.65 * len(str(columns - 1)) + 0.6), inches)), minor=False)
    axes.set_yticks(range(0, rows, every(em * 1.3, inches)), minor=False)
    axes.tick_params(labelsize=LABEL_POINTS, length=0, top=False, labeltop=True, labelbottom=False)
    axes.tick_params(which="minor", length=0)
    for spine in axes.spines.values():
        spine.set_linewidth(0.4)


def _wrapped(text: str, inches: float) -> str:
    import textwrap

    characters = int(max(inches, _NARROWEST_INCHES) * POINTS_PER_INCH / _TITLE_POINTS / 0.62)
    return textwrap.fill(text, characters)
