"""Orders of CTAs: CUTLASS's threadblock swizzles, batches along z, schedules of persistent CTAs, classes of visits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl import Context
from gpusim.dsl.launch import CtaPlace, Grid, Visit, place_of
from gpusim.dsl.raster import MAX_GRID_Z, Raster, identity_log, raster_of

SPEC = gs.load_gpu("h200")


def naive_identity(tiles: tuple[int, int], width: int) -> list[tuple[int, int]]:
    """Bands of ``width`` tiles of n; inside a band n runs first, then m."""
    return [(m, first + n) for first in range(0, tiles[1], width) for m in range(tiles[0]) for n in range(width)]


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 3), st.integers(1, 3))
def test_identity_goes_in_bands_and_horizontal_along_n(m: int, n: int, log: int, depth: int) -> None:
    raster = raster_of((m, n), "m", log, depth)
    order = naive_identity((m, n), 1 << min(log, identity_log(n)))
    assert raster.coordinates().tolist() == [[*tile, z] for z in range(depth) for tile in order]
    across = raster_of((m, n), "n", log, depth)
    assert across.grid == (n, m, depth)
    assert across.coordinates().tolist() == [[i, j, z] for z in range(depth) for i in range(m) for j in range(n)]


@pytest.mark.parametrize(("tiles", "log", "grid", "first"), [
    ((4, 4), 0, (4, 4), [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]),
    ((4, 4), 1, (8, 2), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]),
    ((4, 4), 3, (16, 1), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]),
    ((4, 6), 3, (32, 1), [(0, 0), (0, 1), (0, 2)]), ((2, 5), 2, (8, 2), [(0, 0), (0, 1), (0, 2)]),
])
def test_the_vectors_of_the_source(tiles: tuple, log: int, grid: tuple, first: list) -> None:
    raster = raster_of(tiles, "m", log)
    assert raster.grid == (*grid, 1)
    assert [tuple(row[:2]) for row in raster.coordinates()[: len(first)].tolist()] == first


@pytest.mark.parametrize(("arguments", "sentence"), [
    (((0, 4),), "at least one CTA tile along m and n, got 0 x 4 tiles"),
    (((4, 4), "k"), "the raster names the axis along which CTAs start first, got 'k'"),
    (((4, 4), "m", -1), "a band is 2 \\*\\* raster_log tiles wide, got raster_log=-1"),
    (((1, 70000),), "a grid has at most 65535 CTAs along y, got 70000; raster='n'"),
    (((1, 1), "m", 0, 65536), "a grid has at most 65535 CTAs along z, got 65536"),
])
def test_what_a_launch_refuses(arguments: tuple, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        raster_of(*arguments)


@pytest.mark.parametrize("batches", [1, 5, 65535, 65536, 65537, 131073])
def test_every_batch_is_visited_once_also_beyond_the_largest_grid(batches: int) -> None:
    """CUTLASS takes batch % 65536 CTAs: none for 65536 batches, one for 65537."""
    grid = Grid(())
    grid.launch_batches(Raster((1, 1), depth=min(batches, MAX_GRID_Z)), batches, 4)
    present = grid.schedule[grid.schedule[..., 0] >= 0]
    assert grid.grid == (1, 1, min(batches, 65535))
    assert np.array_equal(np.sort(present[:, 3]), np.arange(batches))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=3), st.integers(1, 5),
       st.integers(1, 3))
def test_classes_say_what_their_visits_have_in_common(tiles: list, ctas: int, columns: int) -> None:
    """Rows of cta_places, read back, tell of every CTA which of its tiles are partial, and of which problem."""
    work = [(problem, m, n) for problem, (rows, cols) in enumerate(tiles) for m in range(rows) for n in range(cols)]
    visits = -(-len(work) // ctas)
    schedule = np.full((visits * ctas, 5), -1)
    schedule[: len(work)] = [(problem, m, n, 0, 0) for problem, m, n in work]
    schedule = schedule.reshape(visits, ctas, 5).transpose(1, 0, 2)
    tensor = gs.tensor("A", gs.f16, (1000, 64 * columns))
    ctx = Context(SPEC, (tensor,), ())
    m, n = ctx.persist(schedule, tiles, warps=1)
    for visit in ctx.visits():
        rows, cols = tiles[visit.problem]
        view = tensor.view((64 * rows - 8, 64 * cols), (64 * cols, 1), 0)
        ctx.grid.partial_tile(view, (64, 64), (m, n))
    for cta, row in zip(schedule.tolist(), ctx.grid.cta_places().tolist(), strict=True):
        found = place_of(row).visits
        assert [v.number for v in found] == list(range(len(found)))
        assert [(v.problem, v.last) for v in found] == [
            (problem, (i == tiles[problem][0] - 1, False)) for problem, i, *_ in cta if problem >= 0]


def test_bases_of_a_visit_are_those_of_its_tile_in_its_problem() -> None:
    tensor = gs.tensor("A", gs.f16, (4096,))
    ctx = Context(SPEC, (tensor,), ())
    schedule = np.array([[[1, 1, 0, 0, 0], [0, 0, 1, 0, 0]], [[0, 1, 1, 0, 0], [-1, 0, 0, 0, 0]]])
    m, n = ctx.persist(schedule, [(2, 2), (2, 1)], warps=1)
    for visit in ctx.visits():
        pitch = 64 if visit.problem == 0 else 32
        ctx.grid.partial_tile(tensor.view((32, pitch), (pitch, 1), 2048 * visit.problem), (16, 32), (m, n))
    base = ctx.grid.addresses()[0]
    assert (ctx.grid.cta_addresses() - base).tolist() == [[2 * (2048 + 16 * 32), 2 * 32], [2 * (16 * 64 + 32), 0]]


def test_fragments_of_every_tile_of_a_cta_have_the_registers_of_the_first() -> None:
    """They are one loop's: otherwise sums of one tile would be live in the main loop of another."""
    tensor = gs.tensor("A", gs.f16, (4096,))
    ctx = Context(SPEC, (tensor,), ())
    ctx.persist(np.array([[[problem, 0, 0, 0, 0] for problem in range(3)]]), [(1, 1)] * 3, warps=4)
    mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F32F16F16F32_TN, tile=(64, 64), warps=(2, 2))
    before, found = ctx.fragment(mma, "C"), []
    for visit in ctx.visits():
        found.append([ctx.fragment(mma, operand, buffers=2).starts for operand in "AB"]
                     + [ctx.fragment(mma, "C", buffers=1 + visit.problem // 2).starts])
    assert found[0] == found[1] and found[2][:2] == found[0][:2]
    assert len(found[2][2]) == 2 and found[2][2] != found[0][2]
    assert not set(before.groups) & {start for fragment in found[0] for buffer in fragment for start in buffer}


def test_a_batch_moves_every_tensor_by_its_own_stride() -> None:
    tensor = gs.tensor("A", gs.f16, (3, 64, 64), strides=(5000, 64, 1))
    ctx = Context(SPEC, (tensor,), ())
    m, _ = ctx.launch_batches((1, 1), 3, warps=1)
    ctx.grid.partial_tile(tensor.batch(), (64, 64), (m, None))
    assert np.diff(ctx.grid.cta_addresses()[:, 0]).tolist() == [10000, 10000]
    assert tensor.size_bytes == 2 * (2 * 5000 + 64 * 64)


def test_names_of_classes() -> None:
    edge = Visit((True, False), slice=2)
    assert CtaPlace((edge,)).name == "edge m slice 2"
    assert CtaPlace((Visit(), edge)).name == "interior, edge m slice 2"
    assert CtaPlace((Visit(problem=1), Visit(problem=1, number=1))).name == "interior problem 1"
    assert CtaPlace(()).name == "idle" and CtaPlace(()).idle
