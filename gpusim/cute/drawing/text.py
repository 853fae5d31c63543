"""Models a layout as a text table: coordinates on the margins, offsets or owners in the cells.
Leaves out pictures (gpusim.cute.drawing.figures).
"""

from __future__ import annotations

from typing import Any

from gpusim.cute.drawing.grid import offset_grid, owner_grid
from gpusim.cute.int_tuple import IntTuple
from gpusim.cute.layout import Layout

__all__ = ["layout_table", "tv_table"]


def layout_table(layout: Any) -> str:
    """The layout's text, then the offset of every coordinate: first mode downwards, the others to the right."""
    return f"{layout}\n{_table([[str(offset) for offset in row] for row in offset_grid(layout).tolist()])}"


def tv_table(tv_layout: Layout, shape: IntTuple) -> str:
    """The thread and value that own every element of a tile of ``shape``, as ``T5V2``."""
    owners = owner_grid(tv_layout, shape).tolist()
    cells = [[f"T{thread}V{value}" if thread >= 0 else "-" for thread, value in row] for row in owners]
    return f"{tv_layout} on {shape}\n{_table(cells)}"


def _table(cells: list[list[str]]) -> str:
    width = max(len(cell) for row in cells for cell in row)
    width = max(width, len(str(len(cells[0]) - 1)))
    margin = len(str(len(cells) - 1))
    head = " " * margin + " | " + " ".join(f"{column:>{width}}" for column in range(len(cells[0])))
    rule = "-" * margin + "-+-" + "-" * (len(head) - margin - 3)
    rows = [f"{i:>{margin}} | " + " ".join(f"{cell:>{width}}" for cell in row) for i, row in enumerate(cells)]
    return "\n".join([head, rule, *rows])
