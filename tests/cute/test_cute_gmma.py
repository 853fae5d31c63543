"""wgmma's layouts: CUTLASS's atoms tiled over an operand, and descriptors that find every element of a tile."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.cute import Layout
from gpusim.cute.gmma import GMMA_SPANS, GmmaLayout, swizzle_of
from gpusim.errors import UserError

SHAPES = st.tuples(st.sampled_from(sorted(GMMA_SPANS)), st.sampled_from(["K", "MN"]), st.sampled_from([64, 128, 192]),
                   st.sampled_from([64, 128]))


@given(SHAPES)
def test_a_tile_is_cutlass_s_atom_repeated_along_its_rows_first(shape):
    """GMMA::Layout_K_SW128_Atom<half_t> is Swizzle<3,4,3> over (8, 64):(64, 1), and so on down to 8 x 8 without."""
    swizzle, major, mn, k = shape
    width = GMMA_SPANS[swizzle] // 2
    columns, rows = (k, mn) if major == "K" else (mn, k)
    tiled = Layout(((8, rows // 8), (width, columns // width)), ((width, 8 * width), (1, rows * width)))
    expected = swizzle_of(swizzle)(2 * tiled.offsets().reshape(rows, columns, order="F"))
    row, column = np.indices((rows, columns))
    index = (row, column) if major == "K" else (column, row)
    found = GmmaLayout((mn, k), 2, swizzle, major).descriptor(0, 0).addresses(*index, 2)
    np.testing.assert_array_equal(found, expected)


@given(SHAPES, st.data())
def test_every_k_step_s_descriptor_finds_its_part_of_the_tile(shape, data):
    swizzle, major, mn, k = shape
    layout = GmmaLayout((mn, k), 2, swizzle, major)
    first_mn = data.draw(st.sampled_from(range(0, mn, 64)))
    first_k = data.draw(st.sampled_from(range(0, k, 16)))
    m, kk = np.indices((64, 16))
    whole = layout.descriptor(0, 0, 4096).addresses(m + first_mn, kk + first_k, 2)
    part = layout.descriptor(first_mn, first_k, 4096).addresses(m, kk, 2)
    np.testing.assert_array_equal(part, whole)


@given(SHAPES)
def test_a_tile_fills_its_bytes_once(shape):
    swizzle, major, mn, k = shape
    layout = GmmaLayout((mn, k), 2, swizzle, major)
    found = layout.descriptor(0, 0).addresses(*np.indices((mn, k)), 2)
    assert sorted(found.ravel()) == list(range(0, layout.size_bytes, 2))


def test_tiles_that_blocks_do_not_make_up_are_refused():
    with pytest.raises(UserError, match="whole blocks of 64"):
        GmmaLayout((128, 32), 2, "128B")
    with pytest.raises(UserError, match="four kinds"):
        GmmaLayout((128, 64), 2, "256B")
