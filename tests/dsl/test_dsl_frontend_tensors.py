"""Tensors, tiles and swizzled addresses of the DSL against naive element-by-element goldens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusim as gs
from gpusim.cute import Layout
from gpusim.dsl.launch import BlockCoordinate, Grid
from gpusim.dsl.partition import async_copy_accesses, ldmatrix_accesses, store_accesses
from gpusim.dsl.shared import SharedMemory
from gpusim.dsl.tensors import SmemTensor

LIMIT_BYTES = 232448
SWIZZLES = ["none", "32B", "64B", "128B", "pad:16B", "S<1,4,4>", "S<2,4,4>"]


def staged(rows: int, columns: int, stages: int, swizzle: str) -> SmemTensor:
    return SharedMemory(LIMIT_BYTES).allocate("sA", gs.f16, (rows, columns, stages), swizzle)


def naive_address(rows: int, columns: int, swizzle: str, row: int, column: int, stage: int) -> int:
    """Byte address of an f16 element, bit by bit from the text of the swizzle."""
    pad = 16 if swizzle == "pad:16B" else 0
    offset = stage * rows * (2 * columns + pad) + row * (2 * columns + pad) + 2 * column
    fields = {"32B": (1, 4, 3), "64B": (2, 4, 3), "128B": (3, 4, 3), "S<1,4,4>": (1, 4, 4), "S<2,4,4>": (2, 4, 4)}
    bits, base, shift = fields.get(swizzle, (0, 0, 0))
    for bit in range(bits):
        offset ^= (offset >> (base + shift + bit) & 1) << (base + bit)
    return offset


@given(st.sampled_from(SWIZZLES), st.sampled_from([8, 16, 64]), st.sampled_from([32, 64]), st.integers(2, 5), st.data())
def test_an_address_is_what_the_text_of_the_swizzle_says(swizzle: str, rows: int, columns: int, stages: int,
                                                         data: st.DataObject) -> None:
    tensor = staged(rows, columns, stages, swizzle)
    row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    stage = data.draw(st.integers(0, stages - 1))
    tile = tensor[..., stage]
    address = tensor.addresses(tile.offset + tile.byte_offsets(np.array([row]), np.array([column])))
    assert address[0] == naive_address(rows, columns, swizzle, row, column, stage)


@given(st.sampled_from(SWIZZLES), st.sampled_from([8, 24, 64]), st.integers(2, 4))
def test_every_byte_of_a_staged_tensor_has_one_address(swizzle: str, rows: int, stages: int) -> None:
    tensor = staged(rows, 32, stages, swizzle)
    every = np.arange(0, tensor.size_bytes - tensor.size_bytes % tensor.swizzle.size())
    assert np.array_equal(np.sort(tensor.addresses(every)), every)


def test_allocations_follow_one_another_and_keep_the_swizzle_period() -> None:
    memory = SharedMemory(LIMIT_BYTES)
    first = memory.allocate("sA", gs.f16, (32, 32, 2), "pad:16B")
    second = memory.allocate("sB", gs.f16, (32, 64, 2), "128B")
    assert first.base_address == 0 and first.size_bytes == 2 * 32 * 80
    assert second.base_address == 5120 and second.base_address % second.swizzle.size() == 0
    assert memory.used_bytes == 5120 + 2 * 32 * 128


def test_blocks_cut_columns_into_a_mode() -> None:
    steps = staged(16, 64, 3, "none").tile().blocks(16)
    assert steps[..., 2, 1].offset == 2 * 32 + 1 * 16 * 128
    assert steps[:, :, 0, 2].shape == (16, 16)


@given(st.sampled_from(SWIZZLES))
def test_an_async_copy_moves_every_chunk_once(swizzle: str) -> None:
    shared = staged(64, 32, 2, swizzle)
    grid = Grid((gs.tensor("A", gs.f16, (64, 128)),))
    grid.launch((1, 1), 4)
    source = grid.local_tile(grid.tensors[0], (64, 32), (BlockCoordinate(0), None))
    copy = gs.tiled_copy(gs.copy.SM80_CP_ASYNC_CACHEGLOBAL_16B, Layout((32, 4), (4, 1)), Layout((1, 8), (8, 1)))
    accesses = async_copy_accesses(copy, source[..., 0], shared[..., 0], tensor=0, source_bytes=0, destination_bytes=0)
    moved = {(int(g), int(s)) for a in accesses for g, s in zip(a.global_offset.ravel(), a.shared_address.ravel(),
                                                                strict=True)}
    wanted = {(row * 256 + 16 * chunk, naive_address(64, 32, swizzle, row, 8 * chunk, 0))
              for row in range(64) for chunk in range(4)}
    assert moved == wanted and len(accesses) == 2


@pytest.mark.parametrize("operand", ["A", "B"])
def test_ldmatrix_rows_are_those_of_the_cuda_kernel(operand: str) -> None:
    """gemm.cu: A gives row lane & 15, chunk lane >> 4; B row (lane & 7) + 8 (lane >> 4), chunk (lane >> 3) & 1."""
    mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F32F16F16F32_TN, tile=(64, 64), warps=(2, 2))
    shared = staged(64, 32, 2, "64B")
    step = shared.tile().blocks(16)[..., 1, 0]
    accesses = ldmatrix_accesses(mma, operand, step, step.offset, "LDSM4")
    lane, warp = np.arange(32), np.arange(4)[:, None]
    row = lane & 15 if operand == "A" else (lane & 7) + (lane >> 4 << 3)
    chunk = lane >> 4 if operand == "A" else lane >> 3 & 1
    warp_row = (warp % 2 if operand == "A" else warp // 2) * 32
    for number, access in enumerate(accesses):
        rows = warp_row + 16 * number + row
        wanted = [[naive_address(64, 32, "64B", int(r), 16 + 8 * int(c), 0) for r, c in zip(line, chunk, strict=True)]
                  for line in rows]
        assert np.array_equal(access.shared_address, wanted)
    assert len(accesses) == 2


def test_stores_cover_the_tile_once() -> None:
    mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F32F16F16F32_TN, tile=(64, 32), warps=(2, 1))
    grid = Grid((gs.tensor("D", gs.f16, (64, 96)),))
    grid.launch((1, 3), 2)
    tile = grid.local_tile(grid.tensors[0], (64, 32), (BlockCoordinate(0), BlockCoordinate(1)))
    accesses = store_accesses(mma, tile, 64, tensor=0, operation="STG32", width=4)
    offsets = np.concatenate([access.global_offset.ravel() for access in accesses])
    wanted = [64 + row * 192 + 4 * pair for row in range(64) for pair in range(16)]
    assert sorted(offsets.tolist()) == wanted


@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from(["m", "n"]))
def test_a_cta_starts_where_its_tile_starts(m: int, n: int, raster: str) -> None:
    tensors = (gs.tensor("A", gs.f16, (32 * m, 64)), gs.tensor("D", gs.f16, (32 * m, 32 * n)))
    grid = Grid(tensors)
    grid.launch((m, n), 1, raster)
    grid.local_tile(tensors[0], (32, 32), (BlockCoordinate(0), None))
    grid.local_tile(tensors[1], (32, 32), (BlockCoordinate(0), BlockCoordinate(1)))
    bases, addresses = grid.addresses(), grid.cta_addresses()
    fast_m, fast_n = [(i, j) for j in range(n) for i in range(m)], [(i, j) for i in range(m) for j in range(n)]
    order = fast_m if raster == "m" else fast_n
    for row, (i, j) in zip(addresses, order, strict=True):
        assert row.tolist() == [bases[0] + 32 * i * 128, bases[1] + 32 * i * 64 * n + 64 * j]
    assert bases[0] % 256 == bases[1] % 256 == 0 and bases[1] >= bases[0] + tensors[0].size_bytes


def test_row_and_column_order() -> None:
    assert gs.tensor("A", gs.f16, (4, 8)).strides == (8, 1)
    assert gs.tensor("A", gs.f16, (4, 8), order="column").strides == (1, 4)
    assert gs.tensor("A", gs.f32, (2, 3, 4)).strides == (12, 4, 1)
    assert gs.tensor("A", gs.f32, (2, 3, 4), order="column").size_bytes == 96
