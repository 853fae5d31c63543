"""gpusim.cute against NVIDIA's pycute, where that is installed: same names, same results, known defects by name."""

from __future__ import annotations

import pytest
from cute_strategies import injective_layouts, layouts
from hypothesis import given
from hypothesis import strategies as st

import gpusim.cute as ours
from gpusim.errors import UserError

pycute = pytest.importorskip("pycute")
if not hasattr(pycute, "ComposedLayout") or pycute is ours:
    pytest.skip("this pycute is not NVIDIA's", allow_module_level=True)

PUBLIC = [
    name
    for name in dir(pycute)
    if getattr(getattr(pycute, name), "__module__", "").startswith("pycute.") and not name.startswith("_")
]


def theirs(layout: ours.Layout):
    return pycute.Layout(layout.shape, layout.stride)


def comparable(layout) -> tuple:
    """Shape and stride; a mode of extent 1 has no meaningful stride (pycute keeps one, CuTe's C++ has 0)."""
    shape, stride = ours.flatten(layout.shape), ours.flatten(layout.stride)
    return layout.shape, tuple(0 if extent == 1 else step for extent, step in zip(shape, stride, strict=True))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_of_pycute_exists_and_is_exported(name):
    assert name in ours.__all__
    assert hasattr(ours, name)


@given(layouts())
def test_layouts_print_size_and_map_alike(layout):
    other = theirs(layout)
    assert (str(layout), repr(layout), len(layout)) == (str(other), repr(other), len(other))
    assert (layout.size(), layout.cosize()) == (other.size(), other.cosize())
    assert [layout(i) for i in range(layout.size())] == [other(i) for i in range(layout.size())]


@given(layouts())
def test_coalesce_and_filter_agree(layout):
    assert comparable(ours.coalesce(layout)) == comparable(pycute.coalesce(theirs(layout)))
    assert comparable(ours.filter(layout)) == comparable(pycute.filter(theirs(layout)))


@given(layouts(), layouts(max_size=64))
def test_composition_agrees_wherever_pycute_gives_the_composed_function(a, b):
    try:
        expected = pycute.composition(theirs(a), theirs(b))
    except AssertionError:
        return
    right = expected.size() == b.size() and all(expected(i) == a(b(i)) for i in range(b.size()))
    if right and b.cosize() <= a.size():
        assert comparable(ours.composition(a, b)) == comparable(expected)


@given(injective_layouts(), st.integers(1, 128))
def test_complement_and_left_inverse_agree(layout, cotarget):
    assert comparable(ours.complement(layout, cotarget)) == comparable(pycute.complement(theirs(layout), cotarget))
    assert comparable(ours.left_inverse(layout)) == comparable(pycute.left_inverse(theirs(layout)))


@given(injective_layouts(), st.integers(1, 4), st.integers(1, 4))
def test_divides_and_products_agree(layout, first, second):
    tiler = (first, second)
    if len(layout) < 2:
        return
    divides = all(layout[mode].size() % tile == 0 for mode, tile in enumerate(tiler))
    for name in ("logical_divide", "zipped_divide", "tiled_divide") if divides else ():
        expected = getattr(pycute, name)(theirs(layout), tiler)
        assert comparable(getattr(ours, name)(layout, tiler)) == comparable(expected)
    for name in ("logical_product", "zipped_product", "tiled_product"):
        tilers = (ours.Layout(first), ours.Layout(second))
        expected = getattr(pycute, name)(theirs(layout), tuple(map(theirs, tilers)))
        try:
            assert comparable(getattr(ours, name)(layout, tilers)) == comparable(expected)
        except UserError:  # pycute drops elements where the holes do not divide
            assert expected.size() < layout.size() * first * second


@given(st.integers(0, 4), st.integers(0, 4), st.integers(4, 6), st.booleans())
def test_swizzles_agree(bits, base, shift, down):
    shift = -shift if down else shift
    swizzle, other = ours.Swizzle(bits, base, shift), pycute.Swizzle(bits, base, shift)
    assert [swizzle(i) for i in range(2048)] == [other(i) for i in range(2048)]
    assert (repr(swizzle), swizzle.size()) == (repr(other), other.size())
    assert ours.Swizzle.parse(str(other)) == swizzle


@given(st.tuples(st.integers(0, 7), st.integers(0, 7)))
def test_slices_of_integer_tuples_agree(indices):
    for crd in ((indices[0], (None, indices[1])), (None, (None, indices[1])), (indices[0], None), (None, None)):
        assert ours.slice_(crd, (8, (4, 2))) == pycute.slice_(crd, (8, (4, 2)))
        layout = ours.Layout((8, (4, 2)), (2, (16, 1)))
        rest, offset = ours.slice_and_offset(crd, layout)
        expected, expected_offset = pycute.slice_and_offset(crd, theirs(layout))
        assert (str(rest), offset) == (str(expected), expected_offset)


def test_pycute_divides_where_an_integer_should_multiply():
    assert str(pycute.logical_product(pycute.Layout(4), 2)) == "(2, 2):(1, 2)"
    assert str(ours.logical_product(ours.Layout(4), 2)) == "(4, 2):(1, 4)"


def test_pycute_cannot_compose_a_swizzle():
    with pytest.raises(AttributeError):
        pycute.composition(pycute.Swizzle(2, 0, 3), pycute.Layout(8))
    assert str(ours.composition(ours.Swizzle(2, 0, 3), ours.Layout(8))) == "S<2,0,3> o 0 o 8:1"


def test_pycute_takes_the_period_of_a_swizzle_for_its_codomain():
    layout = ours.ComposedLayout(ours.Swizzle(1, 0, 1), 0, ours.Layout(64))
    other = pycute.ComposedLayout(pycute.Swizzle(1, 0, 1), 0, pycute.Layout(64))
    assert other.cosize() == 4 < max(other(i) for i in range(64)) + 1 == layout.cosize()
    assert [layout(i) for i in range(64)] == [other(i) for i in range(64)]
    assert (str(layout), str(other)) == ("S<1,0,1> o 0 o 64:1", "SW_1_0_1 o 0 o 64:1")  # ours is CuTe's spelling


def test_pycute_cannot_shift_by_zero():
    with pytest.raises(RecursionError):
        pycute.Swizzle(0, 4, 0)(5)
    assert ours.Swizzle(0, 4, 0)(5) == 5


def test_pycute_ends_a_right_inverse_at_the_first_broadcast_mode():
    layout = ours.Layout((2, 4), (0, 1))
    assert str(pycute.right_inverse(theirs(layout))) == "1:0"
    assert str(ours.right_inverse(layout)) == "4:2"


def test_pycute_composes_silently_where_no_layout_is_the_composed_function():
    a, b = ours.Layout((2, 4), (7, 1)), ours.Layout((2, 2), (1, 1))
    wrong = pycute.composition(theirs(a), theirs(b))
    assert wrong(3) != a(b(3))
    with pytest.raises(UserError, match="must not add up across the left layout's mode boundary at 2"):
        ours.composition(a, b)
