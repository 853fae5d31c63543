"""Drawings: tables say what the layout maps, and no label of a picture leaves its cell or meets another."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from gpusim.cute import ComposedLayout, Layout, Swizzle
from gpusim.cute.drawing import draw_bank_hits, draw_layout, draw_tv, layout_table, save, tv_table
from gpusim.errors import UserError

SWIZZLED = ComposedLayout(Swizzle(2, 0, 3), 0, Layout((4, 8), (8, 1)))
FRAGMENT = Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))


def test_a_text_table_has_coordinates_on_the_margins_and_offsets_in_the_cells():
    assert layout_table(SWIZZLED).splitlines() == [
        "S<2,0,3> o 0 o (4, 8):(8, 1)",
        "  |  0  1  2  3  4  5  6  7",
        "--+------------------------",
        "0 |  0  1  2  3  4  5  6  7",
        "1 |  9  8 11 10 13 12 15 14",
        "2 | 18 19 16 17 22 23 20 21",
        "3 | 27 26 25 24 31 30 29 28",
    ]
    assert layout_table(Layout(4, 3)).splitlines()[-1] == "0 | 0 3 6 9"
    assert layout_table(Layout((2, 2, 2))).splitlines()[-1] == "1 | 1 3 5 7"


def test_a_thread_value_table_names_the_owner_of_every_element():
    rows = tv_table(FRAGMENT, (16, 8)).splitlines()
    assert rows[3].split()[2:] == ["T0V0", "T0V1", "T1V0", "T1V1", "T2V0", "T2V1", "T3V0", "T3V1"]
    assert rows[3 + 15].split()[2:] == ["T28V2", "T28V3", "T29V2", "T29V3", "T30V2", "T30V3", "T31V2", "T31V3"]
    assert tv_table(Layout((2, 2), (0, 1)), (2, 2)).splitlines()[3:] == ["0 | T0V0    -", "1 | T0V1    -"]
    with pytest.raises(UserError, match="the thread-value layout must stay within the tile"):
        tv_table(FRAGMENT, (8, 8))


FIGURES = [
    lambda: draw_layout(Layout((4, (2, 4)), (2, (1, 8)))),
    lambda: draw_layout(Layout((8, 16), (4096, 256))),
    lambda: draw_layout(ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 32), (32, 1))), 16),
    lambda: draw_layout(Layout(5, 7)),
    lambda: draw_tv(FRAGMENT, (16, 8)),
    lambda: draw_bank_hits(np.arange(128).reshape(4, 32) % 5, "hits"),
]


def extent(artist, figure):
    return artist.get_window_extent(figure.canvas.get_renderer())


@pytest.mark.parametrize("draw", FIGURES)
def test_every_label_stays_in_its_cell_and_the_figure(draw):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = draw()
    FigureCanvasAgg(figure).draw()
    axes = figure.axes[0]
    for label in axes.texts:
        column, row = label.get_position()
        (left, bottom), (right, top) = axes.transData.transform([(column - 0.5, row + 0.5), (column + 0.5, row - 0.5)])
        box = extent(label, figure)
        assert left <= box.x0 and box.x1 <= right and bottom <= box.y0 and box.y1 <= top
    margin = [extent(tick, figure) for tick in axes.get_xticklabels() + axes.get_yticklabels()]
    title = extent(figure.texts[0], figure)
    assert not any(title.overlaps(box) for box in margin)
    assert figure.bbox.x0 <= title.x0 and title.x1 <= figure.bbox.x1 and title.y1 <= figure.bbox.y1
    across = [extent(tick, figure) for tick in axes.get_xticklabels()]
    assert all(first.x1 < second.x0 for first, second in pairwise(across))


def test_cells_are_coloured_by_bank_and_large_grids_lose_their_labels():
    figure = draw_layout(Layout((128, 64), (64, 1)), 16)
    colours = figure.axes[0].images[0].get_array()
    assert np.array_equal(colours[0], colours[127]) and np.array_equal(colours[0, 0], colours[0, 1])
    assert len(np.unique(colours[0], axis=0)) == 32
    assert not figure.axes[0].texts


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_pictures_are_written_by_suffix(tmp_path, suffix):
    path = tmp_path / f"layout.{suffix}"
    save(draw_layout(SWIZZLED), path)
    assert path.read_bytes().startswith({"svg": b"<?xml", "png": b"\x89PNG"}[suffix])


def test_bank_hits_are_a_table():
    with pytest.raises(UserError, match=r"bank hits must be a table \(phases, banks\), got an array of shape \(32,\)"):
        draw_bank_hits(np.zeros(32, int))


def test_importing_the_drawing_does_not_import_matplotlib():
    code = "import sys, gpusim.cute.drawing; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
