"""Iterators: k ranges with the residue first, lanes at edges, classes of CTAs, swizzled grids, lines of the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl import Context
from gpusim.dsl.iterators import GlobalIterator, KRange, Pieces, lane_bits
from gpusim.dsl.launch import CtaPlace, Grid, Visit
from gpusim.dsl.lowering.iterators import TilePointer, next_stage, setup
from gpusim.dsl.raster import identity_log
from gpusim.dsl.registers import Registers
from gpusim.dsl.tensors import GmemTensor
from gpusim.program import UNIFORM_BASE

SPEC = gs.load_gpu("h200")


@pytest.mark.parametrize(("begin", "end", "tiles"), [
    (0, 100, [(0, 4), (4, 32), (36, 32), (68, 32)]), (0, 128, [(0, 32), (32, 32), (64, 32), (96, 32)]),
    (64, 100, [(64, 4), (68, 32)]), (0, 8, [(0, 8)]), (0, 0, []),
])
def test_the_residue_comes_first(begin: int, end: int, tiles: list) -> None:
    k = KRange(begin, end, 32)
    assert [(k.start(n), k.valid(n)) for n in range(k.tiles)] == tiles
    assert k.valid(k.tiles) == k.valid(-1) == 0


@given(st.integers(0, 300), st.integers(0, 300), st.integers(1, 64))
def test_tiles_cover_the_range_once(begin: int, length: int, tile: int) -> None:
    k = KRange(begin, begin + length, tile)
    covered = [n for number in range(k.tiles) for n in range(k.start(number), k.start(number) + k.valid(number))]
    assert covered == list(range(begin, begin + length))


def pieces(rows: int, columns: int, threads: int, elements: int) -> Pieces:
    """Vectors of a tile, row by row over the threads."""
    per_row = columns // elements
    index = np.arange(rows * per_row).reshape(-1, threads)
    return Pieces(index // per_row, index % per_row * elements, elements)


def context(*tensors: GmemTensor, last: tuple[bool, bool] = (False, False)) -> Context:
    return Context(SPEC, tensors, (0,) * len(tensors), place=CtaPlace((Visit(last),)))


@given(st.integers(1, 3), st.integers(1, 200), st.integers(1, 20), st.booleans())
def test_lanes_cover_the_tensor_once(row_tiles: int, rows: int, k_vectors: int, is_last: bool) -> None:
    tensor = gs.tensor("A", gs.f16, (rows, 8 * k_vectors))
    tiles = -(-rows // 64)
    ctx = context(tensor, last=(is_last, False))
    m, _ = ctx.launch((tiles, 1), warps=4)
    k = KRange(0, 8 * k_vectors, 32)
    iterator = GlobalIterator(ctx, tensor, (64, 32), (m, None), pieces(64, 32, 128, 8), k)
    inside = rows - 64 * (tiles - 1) if is_last else min(64, rows) if tiles == 1 else 64
    touched = np.zeros((64, 8 * k_vectors), int)
    for number in range(k.tiles):
        moved, left = iterator.place(number)
        offsets = moved + iterator.offsets(left, range(len(iterator.pieces)))
        for offset in offsets[iterator.lanes(number)].tolist():
            row, column = divmod(offset // 2, tensor.strides[0])
            touched[row, column : column + 8] += 1
    if tiles > 1 or is_last:
        assert (touched[:inside] == 1).all() and (touched[inside:] == 0).all()


def test_a_tensor_has_as_many_tiles_as_the_grid() -> None:
    tensor = gs.tensor("A", gs.f16, (100, 64))
    grid = Grid((tensor,))
    grid.launch((3, 1), 4)
    with pytest.raises(gs.UserError, match="as many tiles as the grid along m, got 100 elements, 3 CTAs of 64"):
        grid.partial_tile(tensor, (64, 32), (context(tensor).launch((3, 1), warps=4)[0], None))


def test_vectors_need_whole_and_aligned_rows() -> None:
    ragged = gs.tensor("A", gs.f16, (64, 36))
    ctx = context(ragged)
    m, _ = ctx.launch((1, 1), warps=4)
    iterator = GlobalIterator(ctx, ragged, (64, 32), (m, None), pieces(64, 32, 128, 8), KRange(0, 36, 32))
    with pytest.raises(gs.UserError, match="A: a tensor must end with a whole vector of 8 elements, got 4"):
        iterator.lanes(0)
    with pytest.raises(gs.UserError, match="accesses of 16 bytes need aligned rows, got a pitch of 72 bytes"):
        iterator.offsets(0, [0])


@pytest.mark.parametrize(("log", "tiles"), [(0, (3, 2)), (1, (4, 5)), (2, (3, 4)), (3, (2, 9)), (3, (5, 3))])
def test_a_swizzled_grid_visits_every_tile_once(log: int, tiles: tuple[int, int]) -> None:
    grid = Grid(())
    grid.launch(tiles, 4, "m", raster_log=log)
    idle, tiles_of = grid.cta_places()[:, 0], grid.schedule[:, 0, 1:3]
    busy = tiles_of[idle == 0].tolist()
    assert sorted(map(tuple, busy)) == [(m, n) for m in range(tiles[0]) for n in range(tiles[1])]
    assert len(busy) + idle.sum() == np.prod(grid.grid)


@given(st.integers(1, 100))
def test_identity_log_is_cutlass_s(tiles: int) -> None:
    naive = 3 if tiles >= 6 else 2 if tiles >= 3 else 1 if tiles >= 2 else 0
    assert identity_log(tiles) == naive


def test_pieces_of_a_row_share_a_pointer() -> None:
    iterator = TilePointer(Registers())
    counts = [len(iterator.piece(piece, same_row=same)[0]) for piece, same in enumerate([False, True, False, True])]
    assert counts == [1, 3, 5, 3]
    assert iterator.places[0][0] == iterator.places[1][0] != iterator.places[2][0]


@given(st.integers(5, 200), st.integers(0, 4))
def test_setup_is_as_long_as_asked_and_gives_every_result(count: int, results: int) -> None:
    registers = Registers()
    wanted = [registers.vector() for _ in range(results)]
    lines = setup(registers, count, wanted)
    assert len(lines) == max(count, results + 1)
    assert {line.dst for line in lines} >= set(wanted)


@pytest.mark.parametrize(("stages", "ldmatrix", "k_major", "count"), [
    (3, True, True, 17), (4, True, False, 11), (2, True, True, 13), (2, False, False, 7), (4, False, False, 13),
])
def test_stage_arithmetic_is_uniform(stages: int, ldmatrix: bool, k_major: bool, count: int) -> None:
    registers = Registers()
    results = [registers.uniform(), registers.uniform()]
    lines = next_stage(registers, results, stages=stages, ldmatrix=ldmatrix, k_major=k_major)
    assert len(lines) == count and [line.dst for line in lines[-2:]] == results
    assert all(line.dst[0] >= UNIFORM_BASE and line.mnemonic.startswith("U") for line in lines)


@given(st.lists(st.booleans(), min_size=64, max_size=64))
def test_lane_bits(flags: list[bool]) -> None:
    expected = [sum(flag << lane for lane, flag in enumerate(flags[w : w + 32])) for w in (0, 32)]
    assert lane_bits(np.array(flags)).tolist() == expected


def test_code_of_helpers_names_the_line_that_called_them() -> None:
    program = gs.load_program("gemm_multistage")
    source = (program.kernel.function.__code__.co_firstlineno, 200)
    lines = {static.line for static in program.record(SPEC, {"M": 128, "N": 128, "K": 64}).statics if static.line}
    assert lines and all(source[0] < line < source[1] for line in lines)
    assert len(lines) > 8
