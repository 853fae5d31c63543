"""Models CuTe's tensors as pure index maps: an engine offset and a layout; tiling, slicing and partitioning them.
Leaves out data, element types and memory spaces, which the DSL binds to a tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.cute.basis import ArithTuple, E
from gpusim.cute.compose import composition
from gpusim.cute.divide import zipped_divide
from gpusim.cute.int_tuple import IntTuple, dice_, has_none, idx2crd, product
from gpusim.cute.layout import Layout, LayoutBase, make_layout, rank
from gpusim.cute.modes import open_modes
from gpusim.cute.swizzle import ComposedLayout, slice_and_offset
from gpusim.errors import UserError

__all__ = [
    "Tensor",
    "domain_offset",
    "local_partition",
    "local_tile",
    "make_identity_tensor",
    "make_tensor",
]


@dataclass(frozen=True, slots=True)
class Tensor:
    """``offset + layout(coordinate)``: a view of something that is addressed by element offsets.

    ``tensor[1, 2]`` is an element's offset; a None, ``:`` or ``...`` among the indices keeps modes and gives a smaller
    tensor. ``offset`` is the place of element 0 (outside of a swizzle); a coordinate tensor has coordinates instead.
    """

    layout: Any
    offset: Any = 0

    @property
    def shape(self) -> IntTuple:
        return self.layout.shape

    @property
    def stride(self) -> IntTuple:
        """Strides of a plain layout; UserError for a swizzled one."""
        if not isinstance(self.layout, Layout):
            raise UserError("a swizzled tensor has no strides", got=self.layout)
        return self.layout.stride

    def size(self) -> int:
        return self.layout.size()

    def __len__(self) -> int:
        return len(self.layout)

    def __getitem__(self, coordinate: Any) -> Any:
        crd = _keeping_nones(coordinate, len(self.layout))
        return self(*crd) if isinstance(crd, tuple) else self(crd)

    def __call__(self, *coordinate: Any) -> Any:
        """Element offset of a coordinate (or of arrays of coordinates), or the subtensor where it holds None."""
        crd = coordinate[0] if len(coordinate) == 1 else coordinate
        if has_none(crd):
            layout, offset = slice_and_offset(crd, self.layout)
            return Tensor(layout, self.offset + offset)
        value = self.offset + self.layout(crd)
        return value.as_tuple() if isinstance(value, ArithTuple) else value

    def offsets(self) -> np.ndarray:
        """Element offsets of all coordinates, one axis per top-level mode (coordinates: one more axis)."""
        offsets = self.layout.offsets()
        if isinstance(self.offset, ArithTuple):
            return offsets + np.array(self.offset.as_tuple(offsets.shape[-1]))
        return offsets + self.offset

    def compose(self, tiler: Any) -> Tensor:
        """The tensor seen through ``composition(layout, tiler)``."""
        return composition(self, tiler)

    def with_layout(self, layout: LayoutBase) -> Tensor:
        """The same place under another layout."""
        return Tensor(layout, self.offset)

    def __str__(self) -> str:
        return f"{self.offset} + {self.layout}"


def _keeping_nones(coordinate: Any, modes: int) -> Any:
    """NumPy-like sugar as CuTe's None: ``:`` for one mode, ``...`` for all modes not named."""
    if not isinstance(coordinate, tuple):
        coordinate = (coordinate,) if coordinate is Ellipsis or isinstance(coordinate, slice) else coordinate
    if not isinstance(coordinate, tuple):
        return coordinate
    if any(item is Ellipsis for item in coordinate):
        at = next(i for i, item in enumerate(coordinate) if item is Ellipsis)
        coordinate = coordinate[:at] + (None,) * (modes - len(coordinate) + 1) + coordinate[at + 1 :]
    return tuple(_none_for_slice(item) for item in coordinate)


def _none_for_slice(item: Any) -> Any:
    if isinstance(item, tuple):
        return tuple(_none_for_slice(part) for part in item)
    if not isinstance(item, slice):
        return item
    if item != slice(None):
        raise UserError("a tensor mode is kept whole or indexed", got=item, suggestion="cut it with local_tile")
    return None


def make_tensor(layout: Any, offset: Any = 0) -> Tensor:
    """A tensor of ``layout`` whose first element lies at ``offset``."""
    return Tensor(layout, offset)


def make_identity_tensor(shape: IntTuple) -> Tensor:
    """The tensor of ``shape`` whose elements are their own coordinates, one entry per top-level mode."""
    modes = shape if isinstance(shape, tuple) else (shape,)
    strides = [_scaled(Layout(mode).stride, E(i)) for i, mode in enumerate(modes)]
    return Tensor(Layout(shape, tuple(strides) if isinstance(shape, tuple) else strides[0]))


def _scaled(stride: IntTuple, unit: ArithTuple) -> Any:
    return tuple(_scaled(part, unit) for part in stride) if isinstance(stride, tuple) else stride * unit


def domain_offset(crd: Any, tensor: Tensor) -> Tensor:
    """``tensor`` starting at coordinate ``crd``."""
    layout = tensor.layout
    if isinstance(layout, ComposedLayout):
        inner = layout.layoutA
        return Tensor(ComposedLayout(layout.layoutB, layout.offset + inner(crd), inner), tensor.offset)
    return Tensor(layout, tensor.offset + layout(crd))


def local_tile(tensor: Tensor, tiler: Any, coord: Any, proj: tuple[Any, ...] | None = None) -> Tensor:
    """Tile ``coord`` of ``tensor`` cut by ``tiler``: modes ``(TileM, TileN, ..., kept rest modes)``.

    A None in ``coord`` keeps all tiles of that mode. ``proj`` (1 or None per mode) picks the modes of ``tiler`` and
    ``coord`` that concern this tensor, e.g. ``proj=(1, None, 1)`` for A of an (M, N, K) tiler.
    """
    if proj is not None:
        tiler, coord = dice_(proj, tiler), dice_(proj, coord)
    tiled = zipped_divide(tensor.layout, tiler)
    if isinstance(coord, tuple):
        coord = coord + (None,) * (rank(tiled[1]) - len(coord))
    return tensor.with_layout(tiled)(open_modes(tiled[0]), coord)


def local_partition(tensor: Tensor, thr_layout: Layout, index: int, proj: tuple[Any, ...] | None = None) -> Tensor:
    """What thread ``index`` of ``thr_layout`` owns of ``tensor``: one element of each tile of the layout's shape."""
    if proj is not None:
        thr_layout = make_layout([mode for mode, p in zip(thr_layout, proj, strict=True) if p is not None])
    tiler = tuple(product(mode.shape) for mode in thr_layout)
    coord = tuple(_flat_coordinate(index, mode) for mode in thr_layout)
    tiled = zipped_divide(tensor.layout, tiler)
    return tensor.with_layout(tiled)(coord, open_modes(tiled[1]))


def _flat_coordinate(index: int, mode: Layout) -> int:
    """The coordinate within ``mode`` of thread ``index``, as one integer."""
    crd = idx2crd(index, mode.shape, mode.stride)
    return Layout(mode.shape)(crd)
