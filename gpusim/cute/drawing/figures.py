"""Models a layout as a picture: a grid of coloured, labelled cells, for SVG or PNG through matplotlib.
Leaves out text tables (gpusim.cute.drawing.text) and how bank hits are counted (gpusim.memory).

matplotlib is imported inside the functions, so that importing gpusim.cute stays cheap.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpusim.cute.drawing.grid import offset_grid, owner_grid
from gpusim.cute.int_tuple import IntTuple
from gpusim.cute.layout import Layout
from gpusim.errors import UserError

__all__ = ["draw_bank_hits", "draw_layout", "draw_tv", "save"]

_BANKS, _BANK_BITS = 32, 32
_PASTELS = ("#c8d8f8", "#f8d0c8", "#d0efc8", "#f3e3b0", "#e2cdf2", "#c5ecec", "#f6cfe3", "#dedede")
_MAX_LABELLED_CELLS = 1024  # beyond it labels could hardly be read and the picture shows colours only
_POINTS_PER_INCH = 72
_LABEL_POINTS, _TITLE_POINTS = 7.0, 9.0
_LEFT_INCHES, _RIGHT_INCHES, _BOTTOM_INCHES, _TOP_INCHES = 0.55, 0.75, 0.4, 0.3
_TITLE_LINE_INCHES, _BARE_CELL_INCHES, _NARROWEST_INCHES = 0.17, 0.06, 2.5


def draw_layout(layout: Any, element_bits: int | None = None, title: str = "") -> Any:
    """A figure of the grid of offsets: cells coloured by offset modulo 8, or by bank when ``element_bits`` is given."""
    offsets = offset_grid(layout)
    labels = offsets.astype(str)
    if element_bits is None:
        return _grid(_palette(offsets % 8), labels, title or str(layout))
    banks = offsets * element_bits // _BANK_BITS % _BANKS
    figure = _grid(_bank_colours(banks), labels, title or f"{layout}, {element_bits}-bit elements, coloured by bank")
    _add_bank_key(figure)
    return figure


def draw_tv(tv_layout: Layout, shape: IntTuple, title: str = "") -> Any:
    """A figure of a tile of ``shape`` whose cells name their thread and value, coloured by thread modulo 8."""
    owners = owner_grid(tv_layout, shape)
    threads, values = owners[..., 0], owners[..., 1]
    names = np.char.add(np.char.add(np.char.add("T", threads.astype(str)), "\nV"), values.astype(str))
    labels = np.where(threads >= 0, names, "")
    colours = np.where((threads >= 0)[..., None], _palette(threads % 8), 1.0)
    return _grid(colours, labels, title or f"{tv_layout} on {shape}")


def draw_bank_hits(hits: np.ndarray, title: str = "distinct words per bank") -> Any:
    """A heat map of an access: ``hits`` (phases, banks) counts the distinct words that a phase wants of each bank.

    A row's largest number is its ways; 1 is free of conflicts. Raises UserError where ``hits`` is no table.
    """
    import matplotlib

    if hits.ndim != 2:
        raise UserError("bank hits must be a table (phases, banks)", got=f"an array of shape {hits.shape}")
    scale = matplotlib.colormaps["OrRd"](np.clip(hits / max(int(hits.max()), 2), 0, 1) * 0.75)[..., :3]
    colours = np.where((hits > 0)[..., None], scale, 1.0)
    figure = _grid(colours, np.where(hits > 0, hits.astype(str), ""), title)
    figure.axes[0].set_xlabel("bank", fontsize=_LABEL_POINTS)
    figure.axes[0].set_ylabel("phase", fontsize=_LABEL_POINTS)
    return figure


def save(figure: Any, path: str | Path) -> None:
    """Write a figure to ``path``; the suffix picks SVG or PNG."""
    figure.savefig(path, dpi=150)


def _palette(index: np.ndarray) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(colour) for colour in _PASTELS])[index]


def _bank_colours(banks: np.ndarray) -> np.ndarray:
    """One light hue per bank, neighbours alike, bank 31 next to bank 0."""
    from matplotlib.colors import hsv_to_rgb

    hue = banks / _BANKS
    return hsv_to_rgb(np.stack([hue, np.full_like(hue, 0.35), np.full_like(hue, 0.97)], axis=-1))


def _grid(colours: np.ndarray, labels: np.ndarray, title: str) -> Any:
    """A figure with one square per cell, sized in inches so that no label leaves its cell."""
    from matplotlib.figure import Figure

    rows, columns = labels.shape
    labelled = labels.size <= _MAX_LABELLED_CELLS
    inches = _cell_inches(labels) if labelled else _BARE_CELL_INCHES
    text = _wrapped(title, columns * inches + _RIGHT_INCHES)
    box = (_LEFT_INCHES, _BOTTOM_INCHES, columns * inches, rows * inches)
    width = box[0] + max(box[2], _NARROWEST_INCHES) + _RIGHT_INCHES
    height = box[1] + box[3] + _TOP_INCHES + _TITLE_LINE_INCHES * (text.count("\n") + 1)
    figure = Figure(figsize=(width, height))
    axes = _axes_at(figure, *box)
    axes.imshow(colours, interpolation="nearest", aspect="auto")
    if labelled:
        _write_labels(axes, labels)
    _write_margins(axes, rows, columns, inches)
    figure.text(box[0] / width, (box[1] + box[3] + _TOP_INCHES) / height, text, va="bottom", fontsize=_TITLE_POINTS)
    return figure


def _axes_at(figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
    """Axes at a place given in inches."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def _cell_inches(labels: np.ndarray) -> float:
    lines = [line for label in labels.ravel() for line in str(label).split("\n")]
    per_cell = max(str(label).count("\n") + 1 for label in labels.ravel())
    widest = max(len(line) for line in lines) * 0.65 + 0.8
    return max(widest, per_cell * 1.35 + 0.5) * _LABEL_POINTS / _POINTS_PER_INCH


def _write_labels(axes: Any, labels: np.ndarray) -> None:
    rows, columns = labels.shape
    for (row, column), label in np.ndenumerate(labels):
        if label:
            axes.text(column, row, label, ha="center", va="center", fontsize=_LABEL_POINTS, color="#202020")
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#808080", linewidth=0.4)


def _write_margins(axes: Any, rows: int, columns: int, inches: float) -> None:
    """Coordinates on the top and left margins, as many as fit."""
    em = _LABEL_POINTS / _POINTS_PER_INCH
    axes.set_xticks(range(0, columns, _every(em * (0.65 * len(str(columns - 1)) + 0.6), inches)), minor=False)
    axes.set_yticks(range(0, rows, _every(em * 1.3, inches)), minor=False)
    axes.tick_params(labelsize=_LABEL_POINTS, length=0, top=False, labeltop=True, labelbottom=False)
    axes.tick_params(which="minor", length=0)
    for spine in axes.spines.values():
        spine.set_linewidth(0.4)


def _every(label_inches: float, cell_inches: float) -> int:
    """The smallest power of two of cells that has room for a label."""
    return 1 << max(0, int(np.ceil(np.log2(label_inches / cell_inches))))


def _add_bank_key(figure: Any) -> None:
    """A column of colours that names the banks, right of the grid."""
    grid = figure.axes[0]
    across, up = figure.get_size_inches()
    place = grid.get_position()
    key = _axes_at(figure, place.x1 * across + 0.25, place.y0 * up, 0.15, place.height * up)
    key.imshow(_bank_colours(np.arange(_BANKS))[:, None], aspect="auto", interpolation="nearest")
    step = _every(_LABEL_POINTS / _POINTS_PER_INCH * 1.3, place.height * up / _BANKS)
    key.set_xticks([])
    key.set_yticks(range(0, _BANKS, step))
    key.tick_params(labelsize=_LABEL_POINTS, length=0, left=False, labelleft=False, labelright=True)
    key.set_title("bank", fontsize=_LABEL_POINTS, pad=3)


def _wrapped(text: str, inches: float) -> str:
    import textwrap

    characters = int(max(inches, _NARROWEST_INCHES) * _POINTS_PER_INCH / _TITLE_POINTS / 0.62)
    return textwrap.fill(text, characters)
