"""Index tensors: slicing, tiling and partitioning agree with indexing the whole tensor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.cute import (
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    Tensor,
    composition,
    domain_offset,
    local_partition,
    local_tile,
    make_identity_tensor,
    make_tensor,
    zipped_divide,
)
from gpusim.errors import UserError

PLAIN = make_tensor(Layout((128, 64, 3), (64, 1, 8192)), 256)
SWIZZLED = make_tensor(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((128, 64, 3), (64, 1, 8192))), 256)


@pytest.mark.parametrize("tensor", [PLAIN, SWIZZLED])
def test_slices_are_views_of_the_same_elements(tensor):
    whole = tensor.offsets()
    assert np.array_equal(tensor[:, :, 1].offsets(), whole[:, :, 1])
    assert np.array_equal(tensor[..., 2].offsets(), whole[:, :, 2])
    assert np.array_equal(tensor[None, 5, None].offsets(), whole[:, 5, :])
    assert np.array_equal(tensor[7, ...][5, :].offsets(), whole[7, 5, :])
    assert tensor[3, 4, 2] == tensor(3, 4, 2) == whole[3, 4, 2]
    assert np.array_equal(tensor(np.arange(8), 4, 2), whole[:8, 4, 2])
    assert len(tensor[..., 0]) == 2 and tensor[..., 0].shape == (128, 64)


@pytest.mark.parametrize("tensor", [PLAIN, SWIZZLED])
def test_a_moved_domain_starts_at_its_coordinate(tensor):
    moved = domain_offset((64, 32, 1), tensor)
    assert np.array_equal(moved.offsets()[:64, :32, :2], tensor.offsets()[64:, 32:, 1:])


@pytest.mark.parametrize("tensor", [PLAIN, SWIZZLED])
def test_local_tiles_are_the_blocks_of_the_tensor(tensor):
    whole = tensor.offsets()
    assert np.array_equal(local_tile(tensor, (32, 16), (1, 2, 0)).offsets(), whole[32:64, 32:48, 0])
    tiles = local_tile(tensor, (32, 16), (1, None, 2))
    assert tiles.shape == (32, 16, 4)
    for k in range(4):
        assert np.array_equal(tiles[..., k].offsets(), whole[32:64, 16 * k : 16 * k + 16, 2])


def test_projection_picks_the_modes_of_an_mnk_tiler():
    a = make_tensor(Layout((256, 64), (64, 1)))
    tile = local_tile(a, (128, 99, 32), (1, 0, None), proj=(1, None, 1))
    assert str(tile) == "8192 + (128, 32, 2):(64, 1, 32)"


@pytest.mark.parametrize("tensor", [PLAIN[..., 0], SWIZZLED[..., 0]])
def test_local_partitions_share_out_every_element_once(tensor):
    threads = Layout((32, 4), (4, 1))
    parts = [local_partition(tensor, threads, thread).offsets() for thread in range(128)]
    assert np.array_equal(np.sort(np.concatenate(parts, axis=None)), np.sort(tensor.offsets(), axis=None))
    assert np.array_equal(parts[6], tensor.offsets()[1::32, 2::4])


def test_partition_by_projected_threads_repeats_what_the_other_mode_shares():
    a = make_tensor(Layout((128, 8)))
    threads = Layout((16, 16, 1))
    first, same_row = (local_partition(a, threads, t, proj=(1, None, 1)) for t in (3, 3 + 16))
    assert str(first) == str(same_row) == "3 + (8, 8):(16, 128)"


@given(st.integers(0, 127), st.integers(0, 63))
def test_identity_tensors_give_coordinates_through_any_tiling(row, column):
    identity = make_identity_tensor((128, 64))
    assert identity[row, column] == (row, column)
    tile = local_tile(identity, (32, 16), (row // 32, None))
    assert tile[row % 32, column % 16, column // 16] == (row, column)
    assert tile.offsets()[row % 32, column % 16, column // 16].tolist() == [row, column]
    assert Tensor(zipped_divide(identity.layout, (32, 16)))((row % 32, column % 16), (row // 32, column // 16)) == (
        row,
        column,
    )


def test_coordinates_print_and_compose_as_basis_elements():
    identity = make_identity_tensor((4, (2, 4)))
    assert str(identity.layout) == "(4, (2, 4)):(1@0, (1@1, 2@1))"
    assert str(composition(identity.layout, Layout((2, 4), (2, 8)))) == "(2, 4):(2@0, 2@1)"
    assert identity[3, 7] == (3, 7)
    assert (E(0) * 2 + E(1) + E(0)).as_tuple(3) == (3, 1, 0)
    assert np.array_equal(identity.offsets().sum(axis=-1), np.arange(4)[:, None] + np.arange(8))


def test_a_tensor_is_cut_with_tiles_not_ranges():
    with pytest.raises(UserError, match=r"kept whole or indexed, got slice\(0, 8, None\); cut it with local_tile"):
        PLAIN[0:8, 0, 0]
    with pytest.raises(UserError, match="a swizzled tensor has no strides, got S<3,3,3>"):
        _ = SWIZZLED.stride
    with pytest.raises(UserError, match="stride 2 and the extent 3 of the left mode it meets must divide one another"):
        local_tile(make_tensor(Layout(((3, 4), 64), ((1, 100), 1000))), (2, 16), (0, 0))


@pytest.mark.parametrize("tensor", [PLAIN, SWIZZLED])
def test_composing_a_tensor_takes_the_elements_the_tiler_names(tensor):
    seen = tensor.compose((Layout(64, 2), None, Layout(2)))
    assert np.array_equal(seen.offsets(), tensor.offsets()[::2, :, :2])
