"""Models CuTe's Layout: a shape and a congruent stride, i.e. a function from coordinates to offsets.
Leaves out the algebra on layouts (composition, divide, product modules), swizzles and data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.cute.basis import ArithTuple
from gpusim.cute.int_tuple import (
    IntTuple,
    congruent,
    crd2idx,
    depth_of,
    flatten,
    has_none,
    idx2crd,
    is_int,
    normalized,
    prefix_product,
    product,
    slice_,
)
from gpusim.cute.parse import parse_int_tuple
from gpusim.errors import UserError

__all__ = ["Layout", "LayoutBase", "cosize", "depth", "is_layout", "make_layout", "make_ordered_layout", "rank", "size"]


class LayoutBase:
    """What every layout can do, from ``__call__``, ``__getitem__``, ``shape`` and ``size()`` of the subclass."""

    __slots__ = ()
    shape: IntTuple

    def __call__(self, *coordinate: Any) -> Any:
        raise NotImplementedError

    def __getitem__(self, mode: Any) -> LayoutBase:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    def __iter__(self) -> Iterator[Any]:
        return (self[mode] for mode in range(len(self)))

    def size(self) -> int:
        """Number of coordinates."""
        return product(self.shape)

    def cosize(self) -> int:
        raise NotImplementedError

    def offsets(self) -> np.ndarray:
        """Offsets of all coordinates: an array with one axis per top-level mode, indexed ``[i0, i1, ...]``.

        Coordinate layouts (strides of basis elements) give their coordinates on one more axis.
        """
        extents = tuple(product(mode) for mode in self.shape) if isinstance(self.shape, tuple) else (self.shape,)
        offsets = self(np.arange(self.size()))
        if isinstance(offsets, ArithTuple):
            return np.stack([part.reshape(extents, order="F") for part in offsets.as_tuple()], axis=-1)
        return np.asarray(offsets).reshape(extents, order="F")


@dataclass(frozen=True, slots=True, repr=False)
class Layout(LayoutBase):
    """``Layout(shape, stride)``: offset = inner product of the natural coordinate with ``stride``.

    ``shape`` is an integer or a nested tuple of positive integers, ``stride`` has the same nesting (elements, may be
    0); without it the layout is compact column-major. Prints as pycute does: ``(8, 64):(64, 1)``.
    Raises UserError for extents below 1 and for strides that do not match the shape.
    """

    shape: IntTuple
    stride: IntTuple = None

    def __post_init__(self) -> None:
        shape = normalized(self.shape)
        stride = prefix_product(shape) if self.stride is None else normalized(self.stride)
        _check(shape, stride)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", stride)

    @classmethod
    def parse(cls, text: str) -> Layout:
        """A layout from its printed form, ``(8,64):(64,1)``; the stride may be missing (column-major)."""
        shape, colon, stride = text.partition(":")
        return cls(parse_int_tuple(shape, text), parse_int_tuple(stride, text) if colon else None)

    def __call__(self, *coordinate: Any) -> Any:
        """The offset of a coordinate, or the sublayout where the coordinate holds None.

        Takes ``layout(i)`` (linear), ``layout(i, j)`` or ``layout((i, (j, k)))``; integers may be NumPy arrays.
        """
        crd = coordinate[0] if len(coordinate) == 1 else coordinate
        if has_none(crd):
            return Layout(slice_(crd, self.shape), slice_(crd, self.stride))
        return crd2idx(crd, self.shape, self.stride)

    def __getitem__(self, mode: Any) -> Layout:
        """Top-level mode ``mode`` (an index, a slice, or a tuple of indices that descends the hierarchy)."""
        layout = self
        for i in mode if isinstance(mode, tuple) else (mode,):
            layout = layout._mode(i)
        return layout

    def _mode(self, i: int | slice) -> Layout:
        if isinstance(self.shape, tuple):
            return Layout(self.shape[i], self.stride[i])
        if i not in (0, -1):
            raise IndexError(f"layout {self} has a single mode, no mode {i}")
        return self

    def cosize(self) -> int:
        """One more than the largest offset (the offset of the last coordinate plus one, as in CuTe)."""
        return self(self.size() - 1) + 1

    def coordinate(self, index: int | np.ndarray) -> IntTuple:
        """The natural coordinate of linear coordinate ``index``."""
        return idx2crd(index, self.shape)

    def __str__(self) -> str:
        return f"{self.shape}:{self.stride}"

    def __repr__(self) -> str:
        return f"Layout({self.shape},{self.stride})"


def _check(shape: IntTuple, stride: IntTuple) -> None:
    for extent in flatten(shape):
        if not is_int(extent) or extent < 1:
            raise UserError("every extent of a layout must be an integer of at least 1", got=f"shape {shape}")
    if not congruent(shape, stride):
        raise UserError("shape and stride of a layout must have the same nesting", got=f"{shape}:{stride}")


def is_layout(x: object) -> bool:
    return isinstance(x, LayoutBase)


def make_layout(*layouts: Any, stride: IntTuple = None) -> Layout:
    """A layout with one mode per argument; also takes one iterable of layouts, or a shape and a stride as CuTe does."""
    if len(layouts) == 1 and (is_int(layouts[0]) or (isinstance(layouts[0], tuple) and not _holds_layouts(layouts[0]))):
        return Layout(layouts[0], stride)
    modes: Iterable[Layout] = layouts[0] if len(layouts) == 1 and not is_layout(layouts[0]) else layouts
    pairs = [(mode.shape, mode.stride) for mode in modes]
    return Layout(tuple(shape for shape, _ in pairs), tuple(stride for _, stride in pairs))


def _holds_layouts(items: tuple[Any, ...]) -> bool:
    return any(is_layout(item) for item in items)


def make_ordered_layout(shape: IntTuple, order: IntTuple) -> Layout:
    """The compact layout of ``shape`` whose modes get strides by rising ``order`` (0 runs fastest)."""
    extents, ranks = flatten(shape), flatten(order)
    if len(extents) != len(ranks):
        raise UserError("the order must have one entry per mode", place="make_ordered_layout", got=f"{shape}, {order}")
    strides, current = [0] * len(extents), 1
    for i in sorted(range(len(extents)), key=lambda i: (ranks[i], i)):
        strides[i] = current
        current *= extents[i]
    return Layout(shape, _nested(iter(strides), shape))


def _nested(leaves: Iterator[int], profile: IntTuple) -> IntTuple:
    return tuple(_nested(leaves, item) for item in profile) if isinstance(profile, tuple) else next(leaves)


def size(x: Any) -> int:
    """Number of coordinates of a layout, or the product of an IntTuple."""
    return x.size() if is_layout(x) else product(x)


def cosize(layout: LayoutBase) -> int:
    return layout.cosize()


def rank(x: Any) -> int:
    """Number of top-level modes of a layout or an IntTuple."""
    shape = x.shape if is_layout(x) else x
    return len(shape) if isinstance(shape, tuple) else 1


def depth(x: Any) -> int:
    """Levels of nesting of a layout or an IntTuple."""
    return depth_of(x.shape if is_layout(x) else x)
