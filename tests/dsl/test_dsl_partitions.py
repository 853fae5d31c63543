"""Partitions of tiled copies: they cover tiles, agree with CuTe, refuse what hardware refuses, cost by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim import cute
from gpusim.dsl import Context
from gpusim.dsl.mma_copies import cute_mma
from gpusim.dsl.partition import ldmatrix_accesses
from gpusim.dsl.partitions import Partition
from gpusim.program import Program

SPEC = gs.load_gpu("h200")
ATOM = gs.mma.SM80_16x8x16_F16F16F16F16_TN
COPIES = {"A": gs.tiled_copy_A, "B": gs.tiled_copy_B, "C": gs.tiled_copy_C}


def context(shape: tuple[int, int] = (64, 64), warps: int = 4) -> Context:
    """A CTA that sees one tile of a tensor A."""
    found = Context(SPEC, (gs.tensor("A", gs.f16, shape),), (0,), source_file=__file__)
    found.launch((1, 1), warps=warps)
    return found


def mma(warps: tuple[int, int] = (2, 2), tile: tuple[int, int] = (64, 64), interleaved: bool = True) -> Any:
    return gs.tiled_mma(ATOM, tile=tile, warps=warps, interleaved=interleaved)


def touched(part: Partition) -> Counter[tuple[int, int]]:
    """Elements of the tile, with how many instructions of threads move each."""
    along = (part.columns[..., None] + np.arange(part.elements)).reshape(-1)
    return Counter(zip(np.repeat(part.rows.reshape(-1), part.elements).tolist(), along.tolist(), strict=True))


@settings(max_examples=30, deadline=None)
@given(bits=st.sampled_from([16, 32, 64, 128]), chunks=st.sampled_from([1, 2, 4, 8]), warps=st.sampled_from([1, 2, 4]),
       rows=st.integers(1, 3), columns=st.integers(1, 3))
def test_a_partition_covers_its_tile_exactly_once(bits: int, chunks: int, warps: int, rows: int, columns: int) -> None:
    values, threads = bits // 16, 32 * warps
    shape = (rows * threads // chunks, columns * chunks * values)
    atom, grid = getattr(gs.copy, f"UniversalCopy_{bits}b"), cute.Layout((threads // chunks, chunks), (chunks, 1))
    copy = gs.tiled_copy(atom, grid, cute.Layout((1, values), (values, 1)))
    ctx = context(shape, warps)
    part = ctx.partition(copy, ctx.smem("sA", gs.f16, (*shape, 1))[..., 0])
    assert touched(part) == Counter(np.ndindex(*shape))
    assert len(part) == rows * columns


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("warps", [(1, 1), (2, 2), (4, 1), (1, 4)])
def test_accumulators_of_all_warps_cover_the_tile_exactly_once(warps: tuple[int, int], interleaved: bool) -> None:
    copy = gs.tiled_copy_C(gs.copy.UniversalCopy_32b, mma(warps, interleaved=interleaved))
    ctx = context(warps=warps[0] * warps[1])
    assert touched(ctx.partition(copy, ctx.smem("sC", gs.f16, (64, 64, 1))[..., 0])) == Counter(np.ndindex(64, 64))


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("warps", [(1, 2), (2, 2), (4, 1)])
@pytest.mark.parametrize("operand", ["A", "B"])
def test_ldmatrix_of_the_main_loop_addresses_what_cute_addresses(operand: str, warps: tuple, interleaved: bool) -> None:
    """Two ways to the same rows: closed formulae (calibrated main loops) and CuTe's layout algebra."""
    tiled, ctx = mma(warps, interleaved=interleaved), context(warps=warps[0] * warps[1])
    tile = ctx.smem("sA", gs.f16, (64, 64, 1), swizzle="128B").tile().blocks(16)[..., 1, 0]
    direct = ldmatrix_accesses(tiled, operand, tile, tile.offset, "LDSM4")
    part = ctx.partition(COPIES[operand](gs.copy.SM75_U32x4_LDSM_N, tiled), tile)
    assert np.array_equal(np.stack([access.shared_address.reshape(-1) for access in direct]),
                          part.bytes_at(tile.offset))


def test_the_interleaved_mma_is_the_one_of_the_hgemm_notes() -> None:
    """Two by two warps of 16x8x16, two atoms each along n: tile 32x32x16, B fragments as the notes print them."""
    tiled = cute_mma(mma(tile=(128, 128)))
    assert tiled.shape_mnk == (32, 32, 16)
    printed = cute.Layout(((4, 8, 2, 2), ((2, 2), (2, 1))), ((64, 1, 0, 8), ((32, 256), (16, 0))))
    assert np.array_equal(tiled.tv_layout("B").offsets(), printed.offsets())
    assert tiled.partition_shape("C", (128, 128)) == ((2, 2), 4, 8)


def test_retiled_accumulators_pair_up_atoms_along_n() -> None:
    """tCrD ((2,2),4,8) becomes ((2,(2,2)),4,4): four 32-bit stores a tile, m first."""
    ctx, tiled = context(), mma(tile=(128, 128))
    accumulators = ctx.fragment(tiled, "C")
    tiles = gs.retile(gs.tiled_copy_C(gs.copy.UniversalCopy_32b, tiled), accumulators)
    assert [len(tile.groups) for tile in tiles] == [4] * 16
    first, below = tiles[0].groups, tiles[1].groups
    a, b = accumulators.groups[0], accumulators.groups[1]
    assert first == ((a, 1), (a + 1, 1), (b, 1), (b + 1, 1))
    assert below[0] == (accumulators.groups[8], 1)
    assert sorted(start for tile in tiles for start, _ in tile.groups) == sorted(
        start + n for start in accumulators.groups for n in range(2))


# cost: address code by rule


def recorded(body: Callable[..., None], shape: tuple[int, int] = (64, 64)) -> Program:
    return gs.kernel(body).record(SPEC, gs.tensor("A", gs.f16, shape), schedule="source")


def count(program: Program, mnemonic: str, scope: str = "") -> int:
    names = [program.statics[pc] for pc in program.classes[0].roles[0].ops["pc"]]
    return sum(name.mnemonic.startswith(mnemonic) and scope in ("", name.scope) for name in names)


@pytest.mark.parametrize(("swizzle", "xors"), [("none", 0), ("pad:16B", 0), ("128B", 3)])
def test_immediates_reach_other_columns_only_without_a_swizzle(swizzle: str, xors: int) -> None:
    """Four column blocks of 16 bytes under an XOR of three row bits: each after the first takes a LOP3."""

    def body(ctx: Context, A: Any) -> None:
        ctx.launch((1, 1), warps=2)
        tile = ctx.smem("sA", gs.f16, (64, 32, 1), swizzle=swizzle).tile().blocks(8)
        read = gs.tiled_copy(gs.copy.UniversalCopy_128b, cute.Layout((64, 1)), cute.Layout((1, 8), (8, 1)))
        with ctx.scope("partition"):
            part = ctx.partition(read, tile)
        registers = ctx.fragment_like(part)
        with ctx.scope("reads"):
            for block in range(4):
                ctx.copy(read, part[..., block, 0], registers)

    program = recorded(body)
    assert (count(program, "LDS.128", "reads"), count(program, "LOP3", "reads")) == (4, xors)


def test_stages_chosen_in_a_loop_cost_a_product_and_a_sum_and_unrolled_ones_nothing() -> None:
    def body(ctx: Context, A: Any) -> None:
        ctx.launch((1, 1), warps=4)
        copy = gs.tiled_copy(gs.copy.UniversalCopy_128b, cute.Layout((16, 8), (8, 1)), cute.Layout((1, 8), (8, 1)))
        part = ctx.partition(copy, ctx.smem("sA", gs.f16, (64, 64, 2)).tile())
        registers = ctx.fragment_like(part)
        with ctx.scope("unrolled"):
            for stage in range(2):
                ctx.copy(copy, part[..., stage], registers)
        for turn in ctx.range(6, name="loop"):
            ctx.copy(copy, part[..., turn % 2], registers)

    program = recorded(body)
    assert [count(program, "LDS.128", scope) for scope in ("unrolled", "loop")] == [8, 24]
    assert [count(program, "VIADD", scope) for scope in ("unrolled", "loop")] == [0, 6]
    assert count(program, "IMAD", "unrolled") == 0 and count(program, "IMAD", "loop") == 6


# errors


def partition_error(copy: Any, swizzle: str = "none", transposed: bool = False, columns: int = 64) -> str:
    ctx = context()
    tile = ctx.smem("sA", gs.f16, (64, columns, 1), swizzle=swizzle)[..., 0]
    with pytest.raises(gs.UserError) as found:
        ctx.partition(copy, tile.transposed() if transposed else tile)
    return str(found.value)


def rows_of(atom: Any, values: int) -> Any:
    return gs.tiled_copy(atom, cute.Layout((16, 8), (8, 1)), cute.Layout((1, values), (values, 1)))


def test_vectors_must_be_neighbours_and_fill_the_atom() -> None:
    wide = rows_of(gs.copy.UniversalCopy_128b, 8)
    assert "must be neighbours in memory" in partition_error(wide, transposed=True)
    assert "must fill its atom" in partition_error(rows_of(gs.copy.UniversalCopy_64b, 8))
    assert "must divide the tile" in partition_error(wide, columns=32)
    assert "gs.tiled_copy_A" in partition_error(rows_of(gs.copy.SM75_U32x4_LDSM_N, 8))


def test_a_swizzle_below_the_vector_is_refused_with_one_that_serves() -> None:
    message = partition_error(rows_of(gs.copy.UniversalCopy_128b, 8), swizzle="S<3,1,6>")
    assert "base >= 4" in message and "S<3,4,6>" in message
    assert "aligned to 16 bytes" in partition_error(rows_of(gs.copy.UniversalCopy_128b, 8), swizzle="pad:4B")


def test_both_sides_of_a_copy_must_fit() -> None:
    ctx = context()
    copy = rows_of(gs.copy.UniversalCopy_128b, 8)
    sA, sB = ctx.smem("sA", gs.f16, (64, 64, 1))[..., 0], ctx.smem("sB", gs.f16, (32, 64, 1))[..., 0]
    a, b = ctx.partition(copy, sA), ctx.partition(copy, sB)
    with pytest.raises(gs.UserError, match="as many instructions, got 4 and 2"):
        ctx.copy(copy, a, b)
    with pytest.raises(gs.UserError, match=r"ctx\.fragment_like"):
        ctx.copy(copy, a, ctx.fragment_like(b))
    with pytest.raises(gs.UserError, match="no copy between these"):
        ctx.copy(copy, ctx.fragment_like(a), ctx.fragment_like(a))
    with pytest.raises(gs.UserError, match=r"Partition to SmemTensor; partition the tile"):
        ctx.copy(copy, a, ctx.shared.tensors[0])
    with pytest.raises(gs.UserError, match="accumulators are regrouped for a copy first"):
        ctx.copy(copy, ctx.fragment(mma(), "C"), a)


def test_an_index_out_of_range_needs_a_predicate() -> None:
    ctx = context()
    copy = rows_of(gs.copy.UniversalCopy_128b, 8)
    part = ctx.partition(copy, ctx.smem("sA", gs.f16, (64, 64, 2)).tile())
    with pytest.raises(gs.UserError, match="guard it with pred="):
        ctx.copy(copy, part[..., 2], ctx.fragment_like(part))
    ctx.copy(copy, part[..., 2], ctx.fragment_like(part), pred=False)


def test_a_partial_tile_must_end_with_a_whole_vector() -> None:
    def body(ctx: Context, A: Any) -> None:
        copy, (m, n) = rows_of(gs.copy.UniversalCopy_128b, 8), ctx.launch((1, 1), warps=4)
        part = ctx.partition(copy, ctx.partial_tile(A, (64, 64), (m, n)))
        ctx.copy(copy, part, ctx.fragment_like(part))

    with pytest.raises(gs.UserError, match="whole vector of 8 elements, got 60; pad the problem or copy fewer bits"):
        gs.kernel(body).record(SPEC, gs.tensor("A", gs.f16, (64, 60), strides=(64, 1)))
