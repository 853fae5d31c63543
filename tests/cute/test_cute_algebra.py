"""Laws of the layout algebra, as post-conditions over every index, and the vectors of the CuTe notes."""

from __future__ import annotations

import numpy as np
import pytest
from cute_strategies import (
    codomain,
    compact_layouts,
    injective_layouts,
    layouts,
    naive_offset,
    natural_coordinates,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from gpusim.cute import (
    ComposedLayout,
    Layout,
    Swizzle,
    blocked_product,
    coalesce,
    complement,
    composition,
    filter,
    filter_zeros,
    flat_divide,
    flatten,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout,
    make_ordered_layout,
    max_common_vector,
    raked_product,
    recast_layout,
    right_inverse,
    tile_to_shape,
    tiled_divide,
    zipped_divide,
)
from gpusim.errors import UserError


@given(layouts())
def test_a_layout_is_the_inner_product_over_the_column_major_coordinates(layout):
    golden = [naive_offset(crd, layout.stride) for crd in natural_coordinates(layout.shape)]
    assert [layout(i) for i in range(layout.size())] == golden
    assert layout(np.arange(layout.size())).tolist() == golden
    assert layout.offsets().ravel(order="F").tolist() == golden


@given(layouts())
def test_str_parses_and_repr_evaluates_to_the_same_layout(layout):
    assert Layout.parse(str(layout)) == layout
    assert Layout.parse(str(layout).replace(" ", "")) == layout
    assert eval(repr(layout)) == layout


@given(layouts())
def test_coalesce_keeps_the_function_and_has_no_mergeable_modes(layout):
    result = coalesce(layout)
    assert result.size() == layout.size()
    assert codomain(result) == codomain(layout)
    extents, strides = flatten(result.shape), flatten(result.stride)
    if len(extents) > 1:
        assert 1 not in extents
        assert all(s * d != after for s, d, after in zip(extents, strides, strides[1:], strict=False))


@given(layouts())
def test_coalesce_by_mode_keeps_the_rank_and_every_mode(layout):
    if isinstance(layout.shape, tuple):
        result = coalesce(layout, (1,) * len(layout))
        assert [codomain(mode) for mode in result] == [codomain(mode) for mode in layout]


@given(layouts())
def test_filters_keep_the_set_of_offsets(layout):
    assert set(codomain(filter(layout))) == set(codomain(layout)) == set(codomain(filter_zeros(layout)))


@given(layouts(), layouts())
def test_composition_is_the_composed_function_or_an_error(a, b):
    try:
        result = composition(a, b)
    except UserError as error:
        assert "must" in str(error) and "composition of" in str(error)
        return
    if isinstance(b.shape, tuple):
        assert [mode.size() for mode in result] == [mode.size() for mode in b]
    assert codomain(result) == [a(b(i)) for i in range(b.size())]


@given(layouts(max_size=64), st.integers(0, 3), st.integers(0, 3), st.integers(3, 5))
def test_composition_with_a_swizzle_is_the_composed_function(layout, bits, base, shift):
    swizzle = Swizzle(bits, base, shift)
    result = composition(swizzle, layout)
    assert codomain(result) == [swizzle(offset) for offset in codomain(layout)]
    assert ComposedLayout.parse(str(result)) == result


@given(injective_layouts(), st.integers(1, 256))
def test_complement_fills_the_holes_without_overlap(layout, cotarget):
    rest = complement(layout, cotarget)
    both = codomain(make_layout(layout, rest))
    assert len(set(both)) == len(both)
    assert make_layout(layout, rest).cosize() >= cotarget
    assert rest.cosize() < cotarget + layout.cosize()


@given(injective_layouts())
def test_left_inverse_gives_back_every_coordinate(layout):
    inverse = left_inverse(layout)
    assert [inverse(offset) for offset in codomain(layout)] == list(range(layout.size()))


@given(layouts())
def test_right_inverse_gives_back_every_offset_it_reaches(layout):
    inverse = right_inverse(layout)
    assert [layout(inverse(i)) for i in range(inverse.size())] == list(range(inverse.size()))


@given(compact_layouts())
def test_a_bijection_has_full_inverses(layout):
    assert right_inverse(layout).size() == layout.size()
    assert codomain(left_inverse(layout)) == codomain(right_inverse(layout))


@given(compact_layouts(), st.integers(1, 8))
def test_divide_regroups_all_elements_tile_first(layout, tile):
    assume(layout.size() % tile == 0)
    try:
        divided = logical_divide(layout, tile)
    except UserError:
        return
    assert codomain(divided[0]) == codomain(layout)[:tile]
    assert sorted(codomain(divided)) == sorted(codomain(layout))


@given(injective_layouts(), st.integers(1, 6))
def test_product_repeats_the_block_without_overlap(layout, repeats):
    try:
        result = logical_product(layout, repeats)
    except UserError:
        return
    assert result[0] == layout and result.size() == layout.size() * repeats
    assert len(set(codomain(result))) == result.size()


def test_logical_divide_example_of_the_four_forms():
    layout = Layout((8, 12), (12, 1))
    assert str(logical_divide(layout, (4, 3))) == "((4, 2), (3, 4)):((12, 48), (1, 3))"
    assert str(zipped_divide(layout, (4, 3))) == "((4, 3), (2, 4)):((12, 1), (48, 3))"
    assert str(tiled_divide(layout, (4, 3))) == "((4, 3), 2, 4):((12, 1), 48, 3)"
    assert str(flat_divide(layout, (4, 3))) == "(4, 3, 2, 4):(12, 1, 48, 3)"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (coalesce(Layout((2, 3), (1, 2))), "6:1"),
        (make_layout(Layout((2, 3), (1, 2))[0], Layout(3, 2), Layout(4, 10)), "(2, 3, 4):(1, 2, 10)"),
        (complement(Layout(4, 2), 8), "2:1"),
        (complement(Layout((2, 3), (2, 4)), 24), "(2, 2):(1, 12)"),
        (composition(Layout((4, 4), (4, 1)), Layout((4, 2, 2), (2, 1, 8))), "((2, 2), 2, 2):((8, 1), 4, 2)"),
        (composition(right_inverse(Layout((2, 3), (3, 1))), Layout(6)), "(3, 2):(2, 1)"),
        (logical_product(Layout((32, 4), (4, 1)), Layout((2, 8), (8, 1))), "((32, 4), (2, 8)):((4, 1), (1024, 128))"),
        (raked_product(Layout((32, 4), (4, 1)), Layout((2, 8), (8, 1))), "((2, 32), (8, 4)):((1024, 4), (128, 1))"),
        (make_ordered_layout((4, 8, 2), (1, 0, 2)), "(4, 8, 2):(8, 1, 32)"),
        (tile_to_shape(Layout((8, 64), (64, 1)), (128, 64, 3)), "(128, 64, 3):(64, 1, 8192)"),
        (recast_layout(1, 16, Layout((32, 128), (128, 1))), "(32, 8):(8, 1)"),
        (recast_layout(16, 8, Layout((32, 8), (8, 1))), "(32, 16):(16, 1)"),
        (recast_layout(8, 16, recast_layout(16, 8, Layout((4, 8), (8, 1)))), "(4, 8):(8, 1)"),
    ],
)
def test_vectors_of_the_notes(result, expected):
    assert str(result) == expected


def test_two_small_matrices_print_the_tables_of_the_notes():  # T2, and T6: inverse of a value list
    assert Layout((2, 3), (1, 2)).offsets().tolist() == [[0, 2, 4], [1, 3, 5]]
    assert Layout((2, 3), (3, 1)).offsets().tolist() == [[0, 1, 2], [3, 4, 5]]
    layout = Layout((2, 3), (3, 1))
    assert codomain(layout) == [0, 3, 1, 4, 2, 5]
    assert codomain(right_inverse(layout)) == [0, 2, 4, 1, 3, 5]


def test_complement_of_the_notes_covers_everything():  # T3, T4
    assert sorted(codomain(make_layout(Layout(4, 2), complement(Layout(4, 2), 8)))) == list(range(8))
    tile = Layout((2, 3), (2, 4))
    assert tile.offsets().tolist() == [[0, 4, 8], [2, 6, 10]]
    assert sorted(codomain(make_layout(tile, complement(tile, 24)))) == list(range(24))


def test_thread_value_composition_of_the_notes_is_the_corrected_one():  # T5 and W5
    tv = Layout((4, 2, 2), (2, 1, 8))
    rows = tv.offsets().reshape(4, 4, order="F").tolist()
    assert rows == [[0, 1, 8, 9], [2, 3, 10, 11], [4, 5, 12, 13], [6, 7, 14, 15]]
    memory = composition(Layout((4, 4), (4, 1)), tv)
    rows = memory.offsets().reshape(4, 4, order="F").tolist()
    assert rows == [[0, 4, 2, 6], [8, 12, 10, 14], [1, 5, 3, 7], [9, 13, 11, 15]]
    assert codomain(Layout((2, 2, 4), (1, 8, 2)))[:4] == [0, 1, 8, 9] != codomain(memory)[:4]


def test_by_mode_product_repeats_a_matrix_by_three_and_four():  # T8
    block = Layout((2, 5), (5, 1))
    assert str(blocked_product(block, Layout((3, 4)))) == "((2, 3), (5, 4)):((5, 10), (1, 30))"


def test_repeating_a_matrix_in_two_steps_or_at_once():  # T10: 4 // 3 = 1 in the complement, cosize 15 counts as 16
    base = Layout((4, 3), (4, 1))
    once = blocked_product(base, Layout((1, 2)))
    assert str(once) == "((4, 1), (3, 2)):((4, 0), (1, 16))"
    twice = blocked_product(once, Layout((2, 1)))
    assert str(twice) == "(((4, 1), 2), ((3, 2), 1)):(((4, 0), 32), ((1, 16), 0))"
    at_once = blocked_product(base, Layout((2, 2)))
    assert str(at_once) == "((4, 2), (3, 2)):((4, 16), (1, 32))"
    assert set(codomain(twice)) == set(codomain(at_once))


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        (lambda: logical_divide(Layout((5, 4), (1, 30)), Layout(4)), "stride 4 and the extent 5 .* must divide"),
        (lambda: logical_product(Layout((4, 5), (30, 1)), Layout((2, 4))), "extent 4 must be a multiple of 3"),
        (lambda: complement(Layout((4, 4), (1, 2))), "modes must not overlap: 4:2 starts inside the 4 offsets below"),
        (lambda: Layout((4, 0)), "every extent of a layout must be an integer of at least 1, got shape"),
        (lambda: Layout((4, 8), (1, (2, 3))), "shape and stride of a layout must have the same nesting"),
        (lambda: Layout.parse("(4,x):(1,2)"), "expected an integer or a nested tuple of integers, got '\\(4,x\\)'"),
        (lambda: composition(Layout(4), (2, 2)), "a tiler must not have more modes than the layout, got 2"),
        (lambda: tile_to_shape(Layout((8, 64)), (12, 64)), "mode 0 must be a multiple of the block's 8, got 12"),
        (lambda: recast_layout(16, 32, Layout(4, 3)), "one extent must divide the other, got 2 and 3"),
        (lambda: left_inverse(ComposedLayout(Swizzle(1, 0, 1), 4, Layout(8))), "only a composed layout of offset 0"),
    ],
)
def test_illegal_operations_say_what_does_not_divide(operation, sentence):
    with pytest.raises(UserError, match=sentence):
        operation()


def test_common_vectors_stop_where_the_layouts_or_the_swizzle_part():
    rows, columns = Layout((8, 16), (16, 1)), Layout((8, 16), (1, 8))
    assert max_common_vector(rows, rows) == 128
    assert max_common_vector(rows, columns) == 1
    assert max_common_vector(Layout((8, 16), (32, 1)), rows) == 16
    assert max_common_vector(ComposedLayout(Swizzle(2, 3, 3), 0, rows), rows) == 8
    assert max_common_vector(rows, ComposedLayout(Swizzle(2, 3, 3), 4, rows)) == 4


@given(st.permutations((1, 2, 8)))
def test_a_swizzled_bijection_has_an_inverse(order):
    swizzled = ComposedLayout(Swizzle(2, 1, 3), 0, make_ordered_layout((2, 4, 8), tuple(order)))
    for inverse in (right_inverse(swizzled), left_inverse(swizzled)):
        assert [swizzled(inverse(i)) for i in range(64)] == [inverse(swizzled(i)) for i in range(64)] == list(range(64))


def test_a_swizzle_moves_through_a_layout_that_moves_bits():
    layout, swizzle = Layout((8, 8), (8, 1)), Swizzle(2, 0, 3)
    moved = composition(layout, swizzle)
    assert moved.layoutB == Swizzle(2, 0, -3)
    assert codomain(moved) == [layout(swizzle(i)) for i in range(64)]
