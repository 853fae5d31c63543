"""What is shown of layouts and atoms: swizzles act on bytes, tables name owners, an access hits banks as counted."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.arch.atoms import COPY_ATOMS, MMA_ATOMS
from gpusim.cute import ComposedLayout, Layout, Swizzle
from gpusim.errors import UserError
from gpusim.experiments.layout_access import access_addresses, bank_hits, view_access
from gpusim.experiments.layout_view import element_bits, parse_layout, view_atom, view_layout, view_tv
from gpusim.memory import shared_cost


@pytest.mark.parametrize(
    ("text", "swizzle", "bits", "layout"),
    [
        ("(8,64):(64,1)", "128B", 16, ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))),
        ("(8,64):(64,1)", "S<3,4,3>", 32, ComposedLayout(Swizzle(3, 2, 3), 0, Layout((8, 64), (64, 1)))),
        ("(8,64):(64,1)", "pad:16B", 16, Layout((8, 64), (72, 1))),
        ("(64,8):(1,64)", "pad:16B", 8, Layout((64, 8), (1, 80))),
        ("(8,32):(32,1)", "cutlass", 16, ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 32), (32, 1)))),
        ("((2,4),64):((64,128),1)", "32B", 16,
         ComposedLayout(Swizzle(1, 3, 3), 0, Layout(((2, 4), 64), ((64, 128), 1)))),
        ("S<1,2,3> o 0 o 64:1", "none", 16, ComposedLayout(Swizzle(1, 2, 3), 0, Layout(64, 1))),
    ],
)
def test_swizzles_are_in_bytes_and_layouts_in_elements(text: str, swizzle: str, bits: int, layout: object):
    assert parse_layout(text, swizzle, bits) == layout


@pytest.mark.parametrize(
    ("text", "swizzle", "sentence"),
    [
        ("(8,64):(64,1", "none", "expected an integer or a nested tuple of integers"),
        ("(8,64):(64,1)", "64", "unknown shared-memory swizzle, got '64'"),
        ("(8,64):(64,1)", "S<1,0,3>", "a swizzle of base 0 acts inside units"),
        ("((2,4),64):((64,128),1)", "pad:16B", "only a compact tile of two modes can be padded"),
        ("S<1,2,3> o 0 o 64:1", "64B", "a layout has one swizzle, got 64B on"),
    ],
)
def test_what_cannot_be_swizzled_is_a_sentence(text: str, swizzle: str, sentence: str):
    with pytest.raises(UserError, match=sentence):
        parse_layout(text, swizzle, 16)


def test_a_layout_is_a_table_with_both_units():
    view = view_layout(parse_layout("(8,64):(64,1)", "128B", 16), 16, swizzle="128B")
    assert view.data["offsets"][1][:9] == [72, 73, 74, 75, 76, 77, 78, 79, 64]
    assert view.text.splitlines()[-1] == "128B: S<3,4,3> on bytes, S<3,3,3> on 16-bit elements"


def test_a_thread_value_layout_needs_two_modes_and_a_tile():
    view = view_tv("((4,8),2):((16,1),8)", "(8,8)")
    assert view.data["thread_value"][1][2] == [5, 0]
    with pytest.raises(UserError, match="a thread-value layout has two modes"):
        view_tv("(4,8,2):(16,1,8)", "(8,8)")
    with pytest.raises(UserError, match="must stay within the tile"):
        view_tv("((4,8),2):((16,1),8)", "(4,8)")


@pytest.mark.parametrize("name", sorted(MMA_ATOMS))
def test_every_operand_of_every_mma_has_owners(name: str):
    view = view_atom(name, 16)
    for operand in "ABC":
        owners = np.array(view.data[operand]["thread_value"])
        assert owners.min() >= 0 and owners.shape[:2] == tuple(view.data[operand]["shape"])


@pytest.mark.parametrize("name", sorted(COPY_ATOMS))
def test_both_sides_of_every_copy_have_owners(name: str):
    view = view_atom(name, 8 if "_8b" in name or name.endswith("_1B") else 16)
    for side in ("source", "destination"):
        assert np.array(view.data[side]["thread_value"]).min() >= 0


def test_ldmatrix_gives_thread_t_two_neighbours_of_row_t_over_4():
    destination = view_atom("SM75_U32x4_LDSM_N", 16).data["destination"]["thread_value"]
    assert destination[5][2:4] == [[21, 0], [21, 1]] and destination[13][2] == [21, 2]


def test_unknown_names_are_sentences():
    with pytest.raises(UserError, match=r"neither a layout nor an atom, got 'ldsm_t'; there is SM75_U16x2_LDSM_T, .*"):
        view_atom("ldsm_t", 16)
    with pytest.raises(UserError, match=r"did you mean 'SM75_U32x4_LDSM_N'\?"):
        view_atom("SM75_U32x4_LDMS_N", 16)
    with pytest.raises(UserError, match="a layout is written SHAPE:STRIDE"):
        view_atom("8,64", 16)
    with pytest.raises(UserError, match="--element: no such element type, got 'half'"):
        element_bits("half")
    with pytest.raises(UserError, match="an element is wider than the copy, got 16 bits"):
        view_atom("UniversalCopy_8b", 16)


@pytest.mark.parametrize(("swizzle", "wavefronts"), [("none", 32), ("64B", 8), ("128B", 4), ("pad:16B", 4)])
def test_ldmatrix_down_the_rows_of_128_bytes(swizzle: str, wavefronts: int):
    view = view_access(parse_layout("(8,64):(64,1)", swizzle, 16), 16, "LDSM4")
    assert view.data["wavefronts"] == wavefronts


@pytest.mark.parametrize("operation", ["LDS32", "STS64", "LDS128", "LDSM2", "STS16"])
def test_a_row_of_hits_has_the_phases_wavefronts(operation: str):
    addresses = access_addresses(parse_layout("(32,64):(64,1)", "64B", 16), 16, operation)
    cost = shared_cost(operation, addresses[None], np.array([0xFFFFFFFF], np.uint32))
    assert bank_hits(operation, addresses).max(axis=1).sum() == cost.wavefronts[0]


def test_lanes_can_be_placed_by_a_layout():
    layout = parse_layout("(32,32):(32,1)", "none", 32)
    by_row, by_column = (view_access(layout, 32, "LDS32", lanes).data["wavefronts"] for lanes in ("32:32", "32:1"))
    assert (by_row, by_column) == (1, 32)


@pytest.mark.parametrize(
    ("operation", "lanes", "sentence"),
    [
        ("CPA16", "", "--access: an asynchronous copy has a global side as well, got CPA16; use gpusim banks --op"),
        ("LDS31", "", "unknown shared-memory operation, got 'LDS31'"),
        ("LDSM4", "", "lanes must stay within the 64 coordinates of the tile"),
        ("LDSM1", "4:1", "--lanes: LDSM1 needs a coordinate for each of 8 lanes, got 4:1"),
        ("LDSM1", "8:1", "a 16-byte access needs an address that is a multiple of 16"),
    ],
)
def test_impossible_accesses_are_sentences(operation: str, lanes: str, sentence: str):
    layout = parse_layout("(8,8):(1,8)", "none", 16)
    with pytest.raises(UserError, match=sentence):
        view_access(layout, 16, operation, lanes)
