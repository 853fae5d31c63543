"""Models what tiled copies and tiled MMAs share: evaluating (thread, value) maps for all threads at once.
Leaves out the atoms and how they are tiled (gpusim.cute.tiled_mma, gpusim.cute.tiled_copy).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.cute.basis import ArithTuple
from gpusim.cute.layout import LayoutBase, size
from gpusim.cute.tensor import Tensor

__all__ = ["as_tensor", "offsets_of", "open_grid"]


def as_tensor(x: Tensor | LayoutBase) -> Tensor:
    return x if isinstance(x, Tensor) else Tensor(x)


def open_grid(values: Any, rest: Any) -> list[np.ndarray]:
    """Coordinates of all values and of every rest mode, as arrays that broadcast to ``(values, rest0, rest1, ...)``."""
    modes = [size(mode) for mode in rest] if isinstance(rest.shape, tuple) else [size(rest)]
    return list(np.ogrid[tuple(slice(extent) for extent in (size(values), *modes))])


def offsets_of(tensor: Tensor, *coordinate: Any) -> np.ndarray:
    """Offsets of broadcast arrays of coordinates; a coordinate tensor gives coordinates on one more axis."""
    value = tensor.offset + tensor.layout(*coordinate)
    return np.stack(value.as_tuple(), axis=-1) if isinstance(value, ArithTuple) else np.asarray(value)
