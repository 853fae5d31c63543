"""Models a layout as a grid of cells: rows are the first mode, columns all others.
Leaves out how cells are printed or painted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.cute.int_tuple import IntTuple, product
from gpusim.cute.layout import Layout
from gpusim.errors import UserError

__all__ = ["grid_shape", "offset_grid", "owner_grid"]


def grid_shape(shape: IntTuple) -> tuple[int, int]:
    """(rows, columns) of the grid of ``shape``; a single mode is one row."""
    if not isinstance(shape, tuple) or len(shape) < 2:
        return 1, product(shape)
    return product(shape[0]), product(shape[1:])


def offset_grid(layout: Any) -> np.ndarray:
    """The offset of every cell."""
    return layout.offsets().reshape(grid_shape(layout.shape), order="F")


def owner_grid(tv_layout: Layout, shape: IntTuple) -> np.ndarray:
    """(thread, value) of every cell of a tile: an array (rows, columns, 2), -1 where nobody owns it.

    Where several threads share a cell the lowest one is shown. Raises UserError where the layout leaves the tile.
    """
    offsets = tv_layout.offsets()
    threads, values = offsets.shape
    if offsets.max() >= product(shape):
        raise UserError("the thread-value layout must stay within the tile", got=f"{tv_layout} in {shape}")
    owners = np.full((product(shape), 2), -1)
    order = np.argsort(offsets.ravel(), kind="stable")[::-1]  # the lowest thread is written last
    owners[offsets.ravel()[order]] = np.stack([order // values, order % values], axis=-1)
    return owners.reshape(*grid_shape(shape), 2, order="F") if threads else owners
