"""Swizzles: laws, byte presets, the closed formula for the minimal one, and the corrected claims W1 to W3."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.cute import (
    ComposedLayout,
    Layout,
    Swizzle,
    column_ways,
    make_swizzle,
    minimal_swizzle,
    recast_layout,
    smem_layout,
    smem_swizzle,
)
from gpusim.errors import UserError

SWIZZLES = st.builds(
    lambda bits, base, extra, down: Swizzle(bits, base, -(bits + extra) if down else bits + extra),
    st.integers(0, 4), st.integers(0, 4), st.integers(0, 3), st.booleans(),
)  # fmt: skip


@given(SWIZZLES)
def test_a_swizzle_is_an_involution_that_keeps_its_base_and_period(swizzle):
    x = np.arange(2 * swizzle.size())
    y = swizzle(x)
    assert np.array_equal(swizzle(y), x)
    assert np.array_equal(y & ((1 << swizzle.base) - 1), x & ((1 << swizzle.base) - 1))
    assert np.array_equal(y[swizzle.size() :], y[: swizzle.size()] + swizzle.size())
    assert [swizzle(int(i)) for i in x[:64]] == y[:64].tolist()


@given(SWIZZLES)
def test_masks_text_and_repr_give_the_swizzle_back(swizzle):
    assert Swizzle.parse(str(swizzle)) == swizzle == eval(repr(swizzle))
    if swizzle.bits:
        assert make_swizzle(swizzle.yyy_msk, swizzle.zzz_msk) == swizzle


def test_the_comment_of_the_notes_moves_bits_14_to_16_onto_4_to_6():  # T25
    swizzle = Swizzle(3, 4, 10)
    assert (swizzle.yyy_msk, swizzle.zzz_msk) == (0b111 << 14, 0b111 << 4)
    assert swizzle(0b101 << 14) == 0b101 << 14 | 0b101 << 4


@pytest.mark.parametrize("parameters", [(3, 0, 2), (3, 0, 1), (4, 4, 3), (1, 0, 0), (2, 3, -1)])
def test_shift_below_bits_is_refused_because_the_fields_overlap(parameters):  # W1: not S <= B
    with pytest.raises(UserError, match=r"a swizzle needs abs\(shift\) >= bits, or its two bit fields overlap, got S<"):
        Swizzle(*parameters)


def test_overlapping_fields_would_not_be_an_involution():  # W1: why the rule is what it is
    def apply(x: int, bits: int, base: int, shift: int) -> int:
        return x ^ ((x & (((1 << bits) - 1) << (base + shift))) >> shift)

    assert any(apply(apply(x, 3, 0, 2), 3, 0, 2) != x for x in range(32))
    assert len({apply(x, 1, 0, 0) for x in range(4)}) < 4


@given(SWIZZLES, st.integers(0, 3), st.integers(0, 7))
def test_recasting_a_swizzled_layout_keeps_the_map_of_bytes(swizzle, log2_bytes, offset):
    swizzle = Swizzle(swizzle.bits, swizzle.base + 3, swizzle.shift)
    in_bytes = ComposedLayout(swizzle, offset << 3, Layout(1024))
    in_elements = recast_layout(8, 8 << log2_bytes, in_bytes)
    size = 1 << log2_bytes
    assert np.array_equal(in_elements.offsets() * size, in_bytes.offsets()[::size])
    assert recast_layout(8 << log2_bytes, 8, in_elements) == in_bytes


def test_a_swizzle_inside_an_element_cannot_be_recast():
    with pytest.raises(UserError, match=r"a swizzle of base 3 acts inside units of 2\*\*4, got S<2,3,3>"):
        recast_layout(1, 16, ComposedLayout(Swizzle(2, 3, 3), 0, Layout(256)))


def column_conflict(element_bits: int, row_elements: int, unit_log2: int, swizzle: Swizzle | None) -> int:
    """Naive ways of reading one column of units: one phase of 128 bytes, worst column."""
    bits = element_bits << unit_log2
    lanes, worst = 1024 // bits, 0
    for column in range(0, row_elements, 1 << unit_log2):
        slots: dict[int, set[int]] = {}
        for row in range(lanes):
            element = row * row_elements + column
            address = (swizzle(element) if swizzle else element) * element_bits
            slots.setdefault(address % 1024 // bits, set()).add(address // 1024)
        worst = max(worst, *(len(lines) for lines in slots.values()))
    return worst


FORMULA = {  # W2 corrected: (element bits, row elements, unit log2) -> (bits, shift), ways without
    (16, 16, 3): ((1, 3), 2), (16, 32, 3): ((2, 3), 4), (16, 64, 3): ((3, 3), 8), (16, 128, 3): ((3, 4), 8),
    (32, 128, 0): ((5, 7), 32), (32, 128, 1): ((4, 6), 16), (32, 128, 2): ((3, 5), 8), (8, 32, 4): ((1, 3), 2),
    (8, 64, 4): ((2, 3), 4), (8, 128, 4): ((3, 3), 8), (32, 16, 2): ((2, 3), 4), (32, 32, 2): ((3, 3), 8),
}  # fmt: skip


@pytest.mark.parametrize(("tile", "expected"), FORMULA.items())
def test_the_closed_formula_is_the_smallest_conflict_free_swizzle(tile, expected):
    (bits, shift), ways = expected
    swizzle = minimal_swizzle(*tile)
    assert swizzle == Swizzle(bits, tile[2], shift)
    assert column_conflict(*tile, None) == column_ways(*tile) == ways
    assert column_conflict(*tile, swizzle) == 1
    for fewer in range(bits):
        assert column_conflict(*tile, Swizzle(fewer, tile[2], shift)) == 1 << (bits - fewer)
    for more in range(bits, shift + 1):
        assert column_conflict(*tile, Swizzle(more, tile[2], shift)) == 1


@given(st.sampled_from([4, 8, 16, 32, 64]), st.integers(0, 4), st.integers(0, 6))
def test_the_closed_formula_holds_for_every_tile_it_accepts(element_bits, unit_log2, row_log2):
    if not 32 <= element_bits << unit_log2 <= 128:
        return
    tile = (element_bits, 1 << (unit_log2 + row_log2), unit_log2)
    assert column_conflict(*tile, None) == column_ways(*tile)
    assert column_conflict(*tile, minimal_swizzle(*tile)) == 1


def test_one_element_units_have_base_zero():  # T26 and W3: M = 1 as printed is two-way
    assert column_conflict(32, 128, 0, None) == 32
    assert column_conflict(32, 128, 0, Swizzle(5, 0, 7)) == 1
    assert column_conflict(32, 128, 0, Swizzle(5, 1, 7)) == 2


def test_the_half_tiles_of_the_notes():  # T27 to T31
    assert column_conflict(32, 128, 2, None) == 8
    assert [column_conflict(16, 32, 3, Swizzle(bits, 3, 3)) for bits in range(4)] == [4, 2, 1, 1]
    rows = np.arange(16) * 16 * 2  # (16, 16) half: rows 0, 4, 8, 12 start in the same bank
    assert set(np.flatnonzero(rows % 128 == 0)) == {0, 4, 8, 12}


@pytest.mark.parametrize("tile", [(16, 48, 3), (16, 4, 3), (24, 64, 2)])
def test_the_formula_refuses_what_is_no_power_of_two(tile):
    with pytest.raises(UserError, match="must hold a power of two of units, got"):
        minimal_swizzle(*tile)


PRESETS = {  # text -> in bytes, in 16-bit elements, in 8-bit, in 32-bit
    "32B": ("S<1,4,3>", "S<1,3,3>", "S<1,4,3>", "S<1,2,3>"),
    "64B": ("S<2,4,3>", "S<2,3,3>", "S<2,4,3>", "S<2,2,3>"),
    "128B": ("S<3,4,3>", "S<3,3,3>", "S<3,4,3>", "S<3,2,3>"),
    "S<2,4,4>": ("S<2,4,4>", "S<2,3,4>", "S<2,4,4>", "S<2,2,4>"),
}


@pytest.mark.parametrize(("text", "expected"), PRESETS.items())
def test_presets_are_byte_swizzles_shown_in_elements_too(text, expected):
    spec = smem_swizzle(text)
    assert (str(spec.swizzle), *(str(spec.in_elements(bits)) for bits in (16, 8, 32))) == expected
    assert spec.describe(16) == f"{expected[0]} on bytes, {expected[1]} on 16-bit elements"


def test_the_cutlass_preset_follows_the_row():
    assert [str(smem_swizzle("cutlass", row).swizzle) for row in (128, 64, 32, 16)] == ["S<3,4,3>"] + ["S<2,4,3>"] * 3
    with pytest.raises(UserError, match="needs rows of 16, 32, 64 or 128 bytes, got 256"):
        smem_swizzle("cutlass", 256)


def test_tiles_in_shared_memory_are_padded_or_swizzled():
    assert str(smem_layout((128, 32, 3), 16)) == "(128, 32, 3):(32, 1, 4096)"
    assert str(smem_layout((128, 32, 3), 16, "pad:16B")) == "(128, 32, 3):(40, 1, 5120)"
    assert str(smem_layout((128, 32, 3), 16, "64B")) == "S<2,3,3> o 0 o (128, 32, 3):(32, 1, 4096)"
    assert str(smem_layout((32, 128), 16, "none", contiguous=0)) == "(32, 128):(1, 32)"
    assert smem_swizzle("pad:16B").describe(16) == "rows padded by 16 B (8 elements)"
    assert smem_swizzle(None).describe(16) == "no swizzle"


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: smem_swizzle("126B"), "unknown shared-memory swizzle, got '126B'; did you mean '128B'?"),
        (lambda: smem_swizzle("S<3,4>"), "a swizzle is written S<bits,base,shift>, got 'S<3,4>'; e.g. S<3,4,3>"),
        (lambda: smem_layout((8, 8), 32, "pad:2B"), "padding must be a multiple of the 32-bit element, got 'pad:2B'"),
        (lambda: smem_swizzle("S<1,0,3>").in_elements(16), "a swizzle of base 0 acts inside units of 2**1"),
        (lambda: Swizzle(-1, 0, 3), "bits and base of a swizzle must not be negative"),
        (lambda: make_swizzle(0b101, 0b11), "a swizzle needs two contiguous bit fields of the same width"),
    ],
)
def test_bad_swizzles_say_what_is_wrong(build, sentence):
    with pytest.raises(UserError) as error:
        build()
    assert sentence in str(error.value)
