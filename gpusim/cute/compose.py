"""Models composition, complement and the inverses of layouts.
Leaves out the divides and products built from them (divide and product modules).

Every illegal operation raises a UserError that says which extent or stride fails to divide which.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Any

from gpusim.cute.int_tuple import IntTuple, ceil_div, flatten, is_int, prefix_product, product
from gpusim.cute.layout import Layout, make_layout
from gpusim.cute.modes import check_rank, coalesce, flat_modes, from_modes
from gpusim.cute.swizzle import ComposedLayout, Swizzle, lifted, through_layout
from gpusim.errors import UserError

__all__ = ["by_mode", "complement", "composition", "left_inverse", "right_inverse"]


@lifted
def composition(layoutA: Any, layoutB: Any) -> Any:
    """``R(c) = A(B(c))`` with the domain of ``B``.

    ``A`` is a layout, a swizzle, a composed layout or a tensor. ``B`` is a layout, an integer ``n`` (the layout
    ``n:1``), None (no change), a swizzle, or a tuple of these applied mode by mode. Raises UserError where the extents
    or strides of ``B`` do not divide those of ``A``, so that no layout is that function.
    """
    if layoutB is None:
        return layoutA
    if isinstance(layoutA, Swizzle):
        return ComposedLayout(layoutA, 0, Layout(layoutB) if is_int(layoutB) else layoutB)
    if isinstance(layoutB, Swizzle):
        return ComposedLayout(through_layout(layoutB, layoutA), 0, layoutA)
    if isinstance(layoutB, ComposedLayout):
        return ComposedLayout(layoutA, 0, layoutB)
    if isinstance(layoutB, tuple):
        return by_mode(composition, layoutA, layoutB)
    return _compose(layoutA, Layout(layoutB) if is_int(layoutB) else layoutB)


def by_mode(operation: Any, layout: Any, tiler: tuple[Any, ...]) -> Layout:
    """Apply ``operation`` to the leading modes of ``layout`` and keep the others."""
    check_rank(operation.__name__, layout, tiler)
    head = [operation(layout[i], item) for i, item in enumerate(tiler)]
    return make_layout(head + [layout[i] for i in range(len(tiler), len(layout))])


@lru_cache(maxsize=8192)
def _compose(layoutA: Layout, layoutB: Layout) -> Layout:
    modes = _left_modes(layoutA, layoutB)
    try:
        result = _composed(modes, layoutB)
        _check_no_carry(modes, flat_modes(layoutB))
    except _Indivisible as problem:
        raise UserError(str(problem), place=f"composition of {layoutA} with {layoutB}") from None
    return result


def _composed(modes: list[tuple[int, Any]], layoutB: Layout) -> Layout:
    if isinstance(layoutB.shape, tuple):
        return make_layout([_composed(modes, mode) for mode in layoutB])
    return from_modes(_compose_leaf(modes, layoutB.shape, layoutB.stride))


def _left_modes(layoutA: Layout, layoutB: Layout) -> list[tuple[int, Any]]:
    """The coalesced modes of ``layoutA``; its last stride is kept where ``layoutB`` runs past the end of its domain."""
    *head, last = flat_modes(layoutA)
    if last[0] != 1 or layoutB(layoutB.size() - 1) < layoutA.size():
        return flat_modes(coalesce(layoutA))
    return [mode for mode in flat_modes(coalesce(from_modes(head))) if mode[0] != 1] + [last]


def _check_no_carry(modes: list[tuple[int, Any]], leaves: list[tuple[int, int]]) -> None:
    """Refuse right layouts whose modes, added up, step from one left mode into the next: no layout does that."""
    boundary = 1
    for size, _ in modes[:-1]:
        boundary *= size
        reach = sum(_largest_residue(extent, stride, boundary) for extent, stride in leaves)
        if reach >= boundary:
            raise _Indivisible(
                f"the right layout's modes must not add up across the left layout's mode boundary at {boundary}"
            )


def _largest_residue(extent: int, stride: int, boundary: int) -> int:
    """The largest remainder modulo ``boundary`` over the multiples of ``stride``."""
    if stride % boundary == 0:
        return 0
    last = (extent - 1) * stride
    return last if last < boundary else boundary - gcd(stride, boundary)


class _Indivisible(Exception):
    """The rule that the right layout of a composition breaks."""


def _compose_leaf(modes: list[tuple[int, Any]], extent: int, stride: Any) -> list[tuple[int, Any]]:
    """The modes of ``extent:stride`` seen through the coalesced left-hand ``modes``."""
    if stride == 0 or extent == 1:
        return [(extent, 0)]
    result: list[tuple[int, Any]] = []
    rest, step = extent, stride
    for size, weight in modes[:-1]:
        take = _taken(size, rest, step)
        if take != 1:
            result.append((take, step * weight))
        rest //= take
        step = ceil_div(step, size)
    if rest != 1:
        result.append((rest, step * modes[-1][1]))
    return result


def _taken(size: int, rest: int, step: int) -> int:
    """How many of ``rest`` steps of width ``step`` fall into a left-hand mode of extent ``size``."""
    if rest == 1 or (rest - 1) * step < size:
        return rest
    if step % size and size % step:
        raise _Indivisible(f"stride {step} and the extent {size} of the left mode it meets must divide one another")
    take = max(1, size // step)
    if rest % take:
        raise _Indivisible(f"extent {rest} must be a multiple of {take}, what stride {step} leaves of left mode {size}")
    return take


@lru_cache(maxsize=4096)
def complement(layout: Any, max_idx: IntTuple = 1) -> Layout:
    """The layout of the offsets that ``layout`` skips, so that both together reach ``max_idx`` offsets or more.

    Raises UserError where two modes overlap. A gap that is no whole multiple is rounded down, as in CuTe.
    """
    if is_int(layout):
        layout = Layout(layout)
    if isinstance(layout, ComposedLayout):
        return complement(layout.layoutA, max_idx)
    used = sorted((stride, extent) for extent, stride in flat_modes(layout) if stride != 0 and extent != 1)
    result, covered = [], 1
    for stride, extent in used:
        if stride < covered:
            rule = f"modes must not overlap: {extent}:{stride} starts inside the {covered} offsets below it"
            raise UserError(rule, place=f"complement of {layout}")
        result.append((stride // covered, covered))
        covered = stride * extent
    return coalesce(from_modes([*result, (ceil_div(product(max_idx), covered), covered)]))


@lru_cache(maxsize=4096)
def right_inverse(layout: Any) -> Any:
    """The longest ``R`` with ``layout(R(i)) == i``; a layout that never gives 1 has ``1:0``."""
    if layout is None or isinstance(layout, Swizzle):
        return layout  # a swizzle is its own inverse
    if is_int(layout):
        return Layout(layout)
    if isinstance(layout, ComposedLayout):
        return _inverted(right_inverse, layout)
    shape = flatten(layout.shape)
    modes = sorted(zip(flatten(layout.stride), shape, prefix_product(shape), strict=True))
    result, covered = [], 1
    for stride, extent, index_stride in modes:
        if extent != 1 and stride == covered:
            result.append((extent, index_stride))
            covered *= extent
    return coalesce(from_modes(result))


def left_inverse(layout: Any) -> Any:
    """An ``L`` with ``L(layout(i)) == i`` for an injective layout."""
    if layout is None or isinstance(layout, Swizzle):
        return layout
    if is_int(layout):
        return Layout(layout)
    if isinstance(layout, ComposedLayout):
        return _inverted(left_inverse, layout)
    return right_inverse(make_layout(layout, complement(layout)))


def _inverted(inverse: Any, layout: ComposedLayout) -> ComposedLayout:
    if layout.offset != 0:
        raise UserError("only a composed layout of offset 0 has an inverse", place=inverse.__name__, got=layout)
    return ComposedLayout(inverse(layout.layoutA), 0, inverse(layout.layoutB))
