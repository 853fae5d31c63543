"""Models how a layout is shown: as a text table, as CuTe's coloured grid, as thread-value grid, as bank heat map.
Leaves out counting bank conflicts (gpusim.memory); the heat map draws counts it is given.
"""

from __future__ import annotations

from gpusim.cute.drawing.figures import draw_bank_hits, draw_copy, draw_layout, draw_mma, draw_tv, save
from gpusim.cute.drawing.text import layout_table, tv_table

__all__ = ["draw_bank_hits", "draw_copy", "draw_layout", "draw_mma", "draw_tv", "layout_table", "save", "tv_table"]
