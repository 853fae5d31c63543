"""Models a layout as a picture: a grid of coloured, labelled cells, for SVG or PNG through matplotlib.
Leaves out text tables (gpusim.cute.drawing.text) and how bank hits are counted (gpusim.memory).

matplotlib is imported inside the functions, so that importing gpusim.cute stays cheap.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpusim.cute.drawing.cells import LABEL_POINTS, POINTS_PER_INCH, Panel, axes_at, every, panels_figure
from gpusim.cute.drawing.grid import offset_grid, owner_grid
from gpusim.cute.int_tuple import IntTuple
from gpusim.cute.layout import Layout
from gpusim.errors import UserError
from gpusim.files import replacing

__all__ = ["draw_bank_hits", "draw_copy", "draw_layout", "draw_mma", "draw_tv", "save"]

_BANKS, _BANK_BITS = 32, 32
_TINT = 0.5
"""How much of a colour is left beside white."""
_PASTELS = ("#c8d8f8", "#f8d0c8", "#d0efc8", "#f3e3b0", "#e2cdf2", "#c5ecec", "#f6cfe3", "#dedede")


def draw_layout(layout: Any, element_bits: int | None = None, title: str = "") -> Any:
    """A figure of the grid of offsets: cells coloured by offset modulo 8, or by bank when ``element_bits`` is given."""
    offsets = offset_grid(layout)
    labels = offsets.astype(str)
    if element_bits is None:
        return panels_figure([Panel(_palette(offsets % 8), labels)], title or str(layout))
    banks = offsets * element_bits // _BANK_BITS % _BANKS
    text = title or f"{layout}, {element_bits}-bit elements, coloured by bank"
    figure = panels_figure([Panel(_bank_colours(banks), labels)], text)
    _add_bank_key(figure)
    return figure


def draw_tv(tv_layout: Layout, shape: IntTuple, title: str = "") -> Any:
    """A figure of a tile of ``shape`` whose cells name their thread and value, coloured by thread modulo 8."""
    return panels_figure([_owners(owner_grid(tv_layout, shape))], title or f"{tv_layout} on {shape}")


def draw_mma(A_tv: Layout, B_tv: Layout, C_tv: Layout, shape_mnk: tuple[int, int, int], title: str) -> Any:
    """A figure of an MMA as CuTe prints it: A (M, K) left of C (M, N), B above it with K downwards."""
    m, n, k = shape_mnk
    above = owner_grid(B_tv, (n, k)).transpose(1, 0, 2)
    panels = [
        _owners(owner_grid(A_tv, (m, k)), f"A: {m} x {k}", 0, 1), _owners(above, f"B: {k} x {n}", 1, 0),
        _owners(owner_grid(C_tv, (m, n)), f"C: {m} x {n}", 1, 1),
    ]
    return panels_figure(panels, title)


def draw_copy(src_tv: Layout, dst_tv: Layout, shape: IntTuple, title: str) -> Any:
    """A figure of a copy of a tile: who reads each element on the left, who receives it on the right."""
    sides = ((src_tv, "source"), (dst_tv, "destination"))
    return panels_figure([_owners(owner_grid(tv, shape), name, i) for i, (tv, name) in enumerate(sides)], title)


def draw_bank_hits(hits: np.ndarray, title: str = "distinct words per bank") -> Any:
    """A heat map of an access: ``hits`` (phases, banks) counts the distinct words that a phase wants of each bank.

    A row's largest number is its ways; 1 is free of conflicts. Raises UserError where ``hits`` is no table.
    """
    import matplotlib

    if hits.ndim != 2:
        raise UserError("bank hits must be a table (phases, banks)", got=f"an array of shape {hits.shape}")
    scale = matplotlib.colormaps["OrRd"](np.clip(hits / max(int(hits.max()), 2), 0, 1) * 0.75)[..., :3]
    colours = np.where((hits > 0)[..., None], scale, 1.0)
    figure = panels_figure([Panel(colours, np.where(hits > 0, hits.astype(str), ""), "bank")], title)
    figure.axes[0].set_ylabel("phase", fontsize=LABEL_POINTS)
    return figure


def save(figure: Any, path: str | Path) -> None:
    """Write a figure to ``path``; the suffix picks SVG or PNG."""
    with replacing(Path(path)) as place:
        figure.savefig(place, dpi=150)


def _owners(owners: np.ndarray, name: str = "", across: int = 0, down: int = 0) -> Panel:
    """A panel of the (rows, columns, 2) threads and values of `owner_grid`."""
    threads, values = owners[..., 0], owners[..., 1]
    names = np.char.add(np.char.add(np.char.add("T", threads.astype(str)), "\nV"), values.astype(str))
    labels = np.where(threads >= 0, names, "")
    colours = np.where((threads >= 0)[..., None], _palette(threads % 8), 1.0)
    return Panel(colours, labels, name, across, down)


def _palette(index: np.ndarray) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(colour) for colour in _PASTELS])[index]


def _bank_colours(banks: np.ndarray) -> np.ndarray:
    """From bank 0, dark, to bank 31, light: colour-blind readers and grey prints tell them apart; ink stays legible."""
    import matplotlib

    scale = matplotlib.colormaps["cividis"](banks / (_BANKS - 1))[..., :3]
    return 1 - _TINT * (1 - scale)


def _add_bank_key(figure: Any) -> None:
    """A column of colours that names the banks, right of the grid."""
    grid = figure.axes[0]
    across, up = figure.get_size_inches()
    place = grid.get_position()
    key = axes_at(figure, place.x1 * across + 0.25, place.y0 * up, 0.15, place.height * up)
    key.imshow(_bank_colours(np.arange(_BANKS))[:, None], aspect="auto", interpolation="nearest")
    step = every(LABEL_POINTS / POINTS_PER_INCH * 1.3, place.height * up / _BANKS)
    key.set_xticks([])
    key.set_yticks(range(0, _BANKS, step))
    key.tick_params(labelsize=LABEL_POINTS, length=0, left=False, labelleft=False, labelright=True)
    key.set_title("bank", fontsize=LABEL_POINTS, pad=3)
