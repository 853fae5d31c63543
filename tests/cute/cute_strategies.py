"""Hypothesis strategies and golden models for layouts, shared by the tests of gpusim.cute."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from gpusim.cute import Layout

settings.register_profile("cute", deadline=None)  # the first example of a run may compile or wait for a busy machine
settings.load_profile("cute")

EXTENTS = st.sampled_from([1, 2, 3, 4, 6, 8])


def nested_shapes(leaves: int = 4) -> st.SearchStrategy:
    """Integers and nested tuples of small extents."""
    return st.recursive(EXTENTS, lambda item: st.lists(item, min_size=1, max_size=3).map(tuple), max_leaves=leaves)


@st.composite
def layouts(draw: st.DrawFn, max_size: int = 512) -> Layout:
    """Layouts of any shape with small strides, overlapping or not."""
    shape = draw(nested_shapes().filter(lambda s: Layout(s).size() <= max_size))
    return Layout(shape, _strides(draw, shape))


def _strides(draw: st.DrawFn, shape):
    if isinstance(shape, tuple):
        return tuple(_strides(draw, item) for item in shape)
    return draw(st.sampled_from([0, 1, 2, 3, 4, 8, 16, 24, 64]))


@st.composite
def compact_layouts(draw: st.DrawFn) -> Layout:
    """Bijections of a shape onto 0 .. size-1: some order of the modes."""
    shape = draw(st.lists(EXTENTS, min_size=1, max_size=4).map(tuple))
    order = draw(st.permutations(range(len(shape))))
    return _ordered(shape, order, [1] * len(shape))


@st.composite
def injective_layouts(draw: st.DrawFn) -> Layout:
    """Layouts without two coordinates at one offset: compact, with holes between the modes."""
    shape = draw(st.lists(EXTENTS, min_size=1, max_size=4).map(tuple))
    order = draw(st.permutations(range(len(shape))))
    return _ordered(shape, order, draw(st.lists(st.sampled_from([1, 2, 3]), min_size=len(shape), max_size=len(shape))))


def _ordered(shape: tuple[int, ...], order: list[int], holes: list[int]) -> Layout:
    strides, current = [0] * len(shape), 1
    for mode in order:
        strides[mode] = current * holes[mode]
        current = strides[mode] * shape[mode]
    return Layout(shape, tuple(strides))


def natural_coordinates(shape) -> Iterator:
    """All coordinates of a shape in column-major order, by plain recursion (a golden model of the isomorphism)."""
    if not isinstance(shape, tuple):
        yield from range(shape)
    elif not shape:
        yield ()
    else:
        for last in natural_coordinates(shape[-1]):
            for head in natural_coordinates(shape[:-1]):
                yield (*head, last)


def naive_offset(coordinate, stride) -> int:
    """Inner product of a nested coordinate and a nested stride."""
    if isinstance(coordinate, tuple):
        return sum(naive_offset(c, d) for c, d in zip(coordinate, stride, strict=True))
    return coordinate * stride


def codomain(layout: Layout) -> list[int]:
    """Offsets of all linear coordinates."""
    return layout(np.arange(layout.size())).tolist()
