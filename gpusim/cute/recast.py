"""Models a layout seen through another element width, and how long a vector two layouts have in common.
Leaves out element types: widths are in bits.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from gpusim.cute.compose import composition, right_inverse
from gpusim.cute.int_tuple import IntTuple, shape_div
from gpusim.cute.layout import Layout
from gpusim.cute.modes import coalesce
from gpusim.cute.swizzle import ComposedLayout, Swizzle
from gpusim.errors import UserError

__all__ = ["downcast", "max_common_layout", "max_common_vector", "recast_layout", "upcast"]


def upcast(layout: Any, factor: int) -> Any:
    """The layout of units of ``factor`` elements.

    Raises UserError where elements of one unit are not contiguous, or a swizzle acts inside a unit.
    """
    if isinstance(layout, ComposedLayout):
        return _recast_composed(layout, upcast, factor, (factor - 1).bit_length())
    return _leafwise(lambda shape, stride: _upcast_leaf(shape, stride, factor), layout)


def _upcast_leaf(shape: int, stride: int, factor: int) -> tuple[int, int]:
    if stride == 0:
        return shape, 0
    return shape_div(shape, shape_div(factor, stride)), shape_div(stride, factor)


def downcast(layout: Any, factor: int) -> Any:
    """The layout of elements that are ``factor`` times smaller: contiguous modes grow, strides of others scale."""
    if isinstance(layout, ComposedLayout):
        return _recast_composed(layout, downcast, factor, -(factor - 1).bit_length())
    return _leafwise(lambda n, d: (n * factor, d) if d == 1 else (n, d * factor), layout)


def _leafwise(recast: Callable[[int, int], tuple[int, int]], layout: Layout) -> Layout:
    def descend(shape: IntTuple, stride: IntTuple) -> tuple[IntTuple, IntTuple]:
        if not isinstance(shape, tuple):
            return recast(shape, stride)
        pairs = [descend(s, d) for s, d in zip(shape, stride, strict=True)]
        return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)

    return Layout(*descend(layout.shape, layout.stride))


def _recast_composed(layout: ComposedLayout, recast: Any, factor: int, bits: int) -> ComposedLayout:
    if factor & (factor - 1):
        raise UserError("a swizzled layout is recast by powers of two only", got=f"{factor} for {layout}")
    offset = layout.offset >> bits if bits > 0 else layout.offset << -bits
    return ComposedLayout(layout.layoutB.rebased(bits), offset, recast(layout.layoutA, factor))


def recast_layout(old_bits: int, new_bits: int, layout: Any) -> Any:
    """``layout`` of ``old_bits``-wide elements as a layout of ``new_bits``-wide elements."""
    common = gcd(old_bits, new_bits)
    up, down = new_bits // common, old_bits // common
    narrow = layout if down == 1 else downcast(layout, down)
    return narrow if up == 1 else upcast(narrow, up)


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The longest layout of coordinates on which ``a`` and ``b`` are both contiguous from 0."""
    inverse = right_inverse(b)
    common = coalesce(composition(a, inverse))
    first = common[0]
    return composition(inverse, first) if first.stride == 1 else Layout(1, 0)


def max_common_vector(a: Any, b: Any) -> int:
    """How many leading elements lie contiguously, in the same order, in both layouts."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, ComposedLayout):
            return gcd(max_common_vector(x.layoutA, y), _contiguous(x))
    return max_common_layout(a, b).size()


def _contiguous(layout: ComposedLayout) -> int:
    swizzle = layout.layoutB
    if isinstance(swizzle, Swizzle):
        return 0 if swizzle.bits == 0 else gcd(1 << swizzle.base, layout.offset)
    return 1
