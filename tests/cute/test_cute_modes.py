"""Integer tuples and the operations on the modes of one layout."""

from __future__ import annotations

import numpy as np
import pytest
from cute_strategies import layouts, natural_coordinates, nested_shapes
from hypothesis import given

from gpusim.cute import (
    ComposedLayout,
    Layout,
    Swizzle,
    append,
    composition,
    congruent,
    cosize,
    crd2crd,
    crd2idx,
    depth,
    dice_,
    elem_scale,
    flatten,
    flatten_layout,
    group,
    has_none,
    idx2crd,
    inner_product,
    is_int,
    make_layout,
    make_tensor,
    prefix_product,
    prepend,
    product,
    rank,
    select,
    shape_div,
    signum,
    size,
    slice_,
    tiled_divide,
    tuple_max,
)
from gpusim.errors import UserError


@given(nested_shapes())
def test_indices_and_coordinates_are_one_to_one(shape):
    coordinates = list(natural_coordinates(shape))
    assert [idx2crd(i, shape) for i in range(product(shape))] == coordinates
    assert [crd2idx(crd, shape) for crd in coordinates] == list(range(product(shape)))
    assert all(crd2crd(i, shape) == crd for i, crd in enumerate(coordinates))
    assert inner_product(shape, shape) == sum(extent**2 for extent in flatten(shape))
    assert tuple_max(shape) == max(flatten(shape)) and congruent(shape, prefix_product(shape))


@given(layouts())
def test_flattening_keeps_the_function_and_loses_the_depth(layout):
    flat = flatten_layout(layout)
    assert depth(flat) <= 1 and rank(flat) == len(flatten(layout.shape))
    assert np.array_equal(flat(np.arange(size(flat))), layout(np.arange(size(layout))))
    assert cosize(flat) == cosize(layout)


def test_shapes_divide_from_the_left():
    assert shape_div((3, 4), 6) == (1, 2)
    assert shape_div(((3, 4), 6), 36) == ((1, 1), 2)
    assert shape_div((6, (3, 4)), 36) == (1, (1, 2))
    assert shape_div((12, 4), (3, 8)) == (4, 1)
    assert elem_scale((2, 3), (4, (5, 2))) == (8, 30)
    assert (signum(-3), signum(0), signum(7)) == (-1, 0, 1)


def test_slices_keep_and_dices_drop_the_open_modes():
    shape = (8, (4, 2), 3)
    assert slice_((None, (1, None), 0), shape) == (8, 2)
    assert dice_((None, (1, None), 0), shape) == (4, 3)
    assert has_none((0, (1, None))) and not has_none((0, (1, 2)))
    assert Layout(shape)(None, 5, None) == Layout((8, 3), (1, 64))


def test_integers_are_pythons_and_numpys_but_no_booleans():
    assert is_int(3) and is_int(np.int32(3)) and not is_int(True) and not is_int(3.0)
    assert Layout([np.int64(4), 2]) == Layout((4, 2))
    assert len({Layout((4, 2)), Layout((4, 2), (1, 4))}) == 1


MODES = Layout((2, (3, 4), 5), (1, (2, 6), 24))


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (select(MODES, 2, 0), "(5, 2):(24, 1)"),
        (group(MODES, 0, 2), "((2, (3, 4)), 5):((1, (2, 6)), 24)"),
        (append(MODES, Layout(7, 0)), "(2, (3, 4), 5, 7):(1, (2, 6), 24, 0)"),
        (append(Layout(4, 2), Layout(1, 0), 3), "(4, 1, 1):(2, 0, 0)"),
        (prepend(MODES, Layout(1, 0), 3), str(MODES)),
        (prepend(Layout(4, 2), Layout(9, 1)), "(9, 4):(1, 2)"),
        (flatten_layout(MODES), "(2, 3, 4, 5):(1, 2, 6, 24)"),
        (MODES[1, 0], "3:2"),
        (MODES[0:2], "(2, (3, 4)):(1, (2, 6))"),
        (make_layout((4, 2), stride=(2, 1)), "(4, 2):(2, 1)"),
        (make_layout(8), "8:1"),
    ],
)
def test_modes_are_selected_grouped_and_added(result, expected):
    assert str(result) == expected


def test_swizzled_layouts_and_tensors_are_regrouped_like_plain_layouts():
    swizzled = ComposedLayout(Swizzle(2, 0, 3), 4, Layout((8, 16), (16, 1)))
    assert str(tiled_divide(swizzled, (4, 8))) == "S<2,0,3> o 4 o ((4, 8), 2, 2):((16, 1), 64, 8)"
    assert str(select(swizzled, 1)) == "S<2,0,3> o 4 o (16,):(1,)"
    tensor = make_tensor(swizzled, 100)
    assert np.array_equal(tiled_divide(tensor, (4, 8)).offsets(), 100 + tiled_divide(swizzled, (4, 8)).offsets())
    assert tensor.compose((4, None)).shape == composition(tensor, (4, None)).shape == (4, 16)


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        (lambda: crd2idx((1, 2), 8), r"a coordinate must have the rank of the shape, got \(1, 2\) in 8"),
        (lambda: Layout((4, 2))(1, 2, 3), r"crd2idx: a coordinate must have the rank of the shape"),
        (lambda: idx2crd((1, 2), 8), "an index tuple must have the rank of the shape"),
        (lambda: crd2crd((1, 2), 8), "a tuple becomes an integer only with src_shape"),
        (lambda: crd2crd(9, 8), "the coordinate must be below 8, got 9"),
        (lambda: inner_product((1, 2), (3,)), "both tuples must have the same rank"),
        (lambda: shape_div(6, 4), "one extent must divide the other, got 6 and 4"),
        (lambda: Layout((4, 2.5)), "every extent of a layout must be an integer"),
    ],
)
def test_mismatched_tuples_are_refused(operation, sentence):
    with pytest.raises(UserError, match=sentence):
        operation()


def test_layouts_that_a_recorder_composes_take_microseconds(benchmark):
    a, b = Layout((8, 64), (64, 1)), Layout((4, 4), (2, 8))
    assert str(benchmark(composition, a, b)) == "(4, 4):(128, 1)"
