"""Models how figures look and are saved: one style, and SVG files that are equal when their data are.
Leaves out what is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline

from gpusim.files import replacing, write_whole

__all__ = [
    "ACCENT", "CLASS_COLORS", "SERIES", "STAGE_COLORS", "TICKS", "UNIT_COLORS", "draw_bars", "draw_title", "figure",
    "save_figure", "svg_text",
]

ACCENT = "#0072b2"
CLASS_COLORS = ("#0072b2", "#e69f00", "#d55e00", "#7b3294", "#009e73", "#b0b0b0")
"""Issue classes of gpusim.report.timeline, in its order (Okabe and Ito's palette)."""
SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7b3294", "#555555")
UNIT_COLORS = {
    "tensor": "#0072b2", "issue": "#555555", "shared": "#e69f00", "copies": "#d55e00", "l1": "#f0c34a",
    "xbar": "#9fe8c9", "l2": "#009e73", "dram": "#cc79a7", "lsu": "#999933", "fma": "#56b4e9", "alu": "#7b3294",
    "fp16": "#332288", "fp16_mma": "#88ccee", "fp64": "#661100", "xu": "#ddcc77", "uniform": "#aa7744",
    "cbu": "#888888", "adu": "#bbbbbb", "operands": "#7a5200",
}
"""One colour per unit of the chip; what feeds a unit (an issue class, a stage) shares its colour."""
STAGE_COLORS = {"filling": "#d55e00", "full": "#f4d58d", "being read": "#e69f00"}
"""States of a pipeline stage: asynchronous copies and shared loads have the colours of their issue classes."""

_STYLE = {
    "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 11, "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#666666", "axes.linewidth": 0.7,
    "xtick.color": "#444444", "ytick.color": "#444444", "legend.frameon": False, "legend.fontsize": 8,
    "svg.hashsalt": "gpusim", "svg.fonttype": "none", "figure.dpi": 150,
    "figure.constrained_layout.w_pad": 0.1,
}
_DPI = 150
TICKS = 6
"""Numbers below an axis: so many of seven digits stand beside each other."""
_TITLE_POINTS, _CHARACTER_EM = 10, 0.62
"""Size of a title; width of a character by height, on the average of a sentence with figures."""


class Drawing(Figure):
    """A figure that notebooks show by themselves: pyplot, which usually sees to it, is never imported."""

    def _repr_svg_(self) -> str:
        return svg_text(self)


@contextmanager
def figure(width_inches: float, height_inches: float) -> Iterator[Figure]:
    """A figure in the house style that belongs to no window system; it is laid out once, when the block ends."""
    with matplotlib.rc_context(_STYLE):
        drawn = Drawing(figsize=(width_inches, height_inches), layout="constrained")
        yield drawn
        drawn.draw_without_rendering()
        drawn.set_layout_engine("none")


def draw_title(drawn: Figure, text: str) -> None:
    """A title above all axes, in as many lines as the width of the figure asks for."""
    characters = int(drawn.get_figwidth() * 72 / (_TITLE_POINTS * _CHARACTER_EM))
    drawn.suptitle(textwrap.fill(text, characters), x=0.01, ha="left", fontsize=_TITLE_POINTS)


def svg_text(drawn: Figure) -> str:
    """The figure as SVG without dates: equal data give equal text."""
    buffer = BytesIO()
    with matplotlib.rc_context(_STYLE):
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "gpusim"})
    text = buffer.getvalue().decode()
    return text[text.index("<svg") :]


def save_figure(drawn: Figure, stem: Path) -> tuple[Path, Path]:
    """Write ``stem.svg`` and ``stem.png``."""
    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    write_whole(svg, '<?xml version="1.0" encoding="utf-8"?>\n' + svg_text(drawn))
    with replacing(png) as place:
        drawn.savefig(place, format="png", dpi=_DPI, metadata={"Software": "gpusim"})
    return svg, png


def draw_bars(
    axes: Axes, start: np.ndarray, end: np.ndarray, bottom: np.ndarray, height: float, *, color: str,
    label: str | None = None, alpha: float = 1.0,
) -> None:
    """Many rectangles [start, end) x [bottom, bottom + height) as one path: thousands stay small in an SVG.

    The limits of the axes are the caller's: finding them from the path takes longer than drawing it.
    """
    if not len(start):
        return
    corners = np.empty((len(start), 5, 2))
    corners[:, :, 0] = np.stack([start, end, end, start, start], axis=1)
    corners[:, :, 1] = np.stack([bottom, bottom, bottom + height, bottom + height, bottom], axis=1)
    codes = np.tile([Outline.MOVETO, Outline.LINETO, Outline.LINETO, Outline.LINETO, Outline.CLOSEPOLY], len(start))
    patch = PathPatch(Outline(corners.reshape(-1, 2), codes), facecolor=color, linewidth=0, alpha=alpha, label=label)
    patch.set_in_layout(False)
    axes.add_artist(patch)
