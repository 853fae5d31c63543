"""Accesses narrower than a thread's vector, and rows that an index tensor picks: which bytes they touch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl import Context
from gpusim.dsl.gather import IndexedIterator, global_iterator
from gpusim.dsl.iterators import GlobalIterator, KRange, Pieces, widest_alignment
from gpusim.dsl.launch import CtaPlace, Visit

SPEC = gs.load_gpu("h200")


def pieces(rows: int, columns: int, elements: int) -> Pieces:
    """Vectors of a tile, row by row over 32 threads."""
    per_row = columns // elements
    index = np.arange(rows * per_row).reshape(-1, 32)
    return Pieces(index // per_row, index % per_row * elements, elements)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 100), st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 3))
def test_widest_alignment_divides_rows_pitches_and_offsets(columns: int, vector: int, offset: int) -> None:
    tensor = gs.tensor("A", gs.f16, (10, columns)).view((10, columns), (columns, 1), 4 * offset)
    naive = max(n for n in (1, 2, 4, 8, 16) if n <= vector and columns % n == 0 and 4 * offset % n == 0)
    assert widest_alignment(tensor, vector) == naive
    column_major = gs.tensor("A", gs.f16, (columns, 10), order="column")
    assert widest_alignment(column_major, vector) == math.gcd(vector, columns)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 64), st.sampled_from([1, 2, 4, 8]), st.integers(1, 16), st.booleans())
def test_split_vectors_touch_the_same_elements_once(rows: int, alignment: int, k_units: int, transposed: bool) -> None:
    columns = k_units * alignment
    assume(columns > 1 or not transposed)  # a matrix of one column counts as stored by row
    shape, order = ((rows, columns), "row") if not transposed else ((columns, rows), "column")
    tensor = gs.tensor("A", gs.f16, shape, order=order)
    ctx = Context(SPEC, (tensor,), (), place=CtaPlace((Visit((True, True)),)))
    m, n = ctx.launch((1, 1), warps=1)
    whole = pieces(64, 128, 8)
    chosen = Pieces(whole.columns, whole.rows, 8) if transposed else whole
    iterator = GlobalIterator(ctx, tensor, (128, 128), (m, n), chosen, alignment=alignment)
    offsets = iterator.offsets(0, range(len(iterator.parts)))[iterator.lanes(0)]
    elements = (offsets[:, None] // 2 + np.arange(alignment)).ravel()
    touched = np.bincount(elements, minlength=rows * columns)
    assert touched.max() <= 1 and touched.sum() == min(rows, 64) * min(columns, 128)
    assert iterator.accesses_per_vector == 8 // alignment


def test_the_shared_side_of_a_split_vector_is_one_stretch() -> None:
    tensor = gs.tensor("A", gs.f16, (64, 64))
    ctx = Context(SPEC, (tensor,), ())
    m, _ = ctx.launch((1, 1), warps=1)
    iterator = GlobalIterator(ctx, tensor, (64, 64), (m, None), pieces(64, 64, 8), KRange(0, 64, 64), alignment=2)
    assert iterator.parts_of([0, 2]) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert iterator.shared_parts(np.array([[0], [160]])).ravel().tolist() == [0, 4, 8, 12, 160, 164, 168, 172]
    with pytest.raises(gs.UserError, match="A: the alignment divides a vector of 8 elements, got 3; a power of two"):
        GlobalIterator(ctx, tensor, (64, 64), (m, None), pieces(64, 64, 8), alignment=3)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 150), st.integers(0, 5), st.integers(1, 4))
def test_gathered_rows_are_those_of_the_index(count: int, seed: int, vectors: int) -> None:
    values = np.random.default_rng(seed).integers(0, 300, count)
    tensor = gs.tensor("A", gs.f16, (300, 8 * vectors))
    index = gs.tensor("rows", gs.s32, (count, 1), values=values[:, None])
    tiles, seen = -(-count // 64), []
    for tile in range(tiles):
        ctx = Context(SPEC, (tensor, index), (), place=CtaPlace((Visit(tile=(tile, 0)),)))
        m, _ = ctx.launch((tiles, 1), warps=1, own_tiles="m")
        k = KRange(0, 8 * vectors, 64)
        iterator = global_iterator(ctx, tensor.indexed(index), (64, 64), (m, None), pieces(64, 64, 8), k)
        assert isinstance(iterator, IndexedIterator)
        offsets = iterator.offsets(0, range(len(iterator.parts)))[iterator.lanes(0)]
        seen += offsets.tolist()
        assert (ctx.grid.cta_addresses()[:, 0] == ctx.grid.addresses()[0]).all()
    wanted = [2 * (8 * vectors * row + 8 * column) for row in values.tolist() for column in range(vectors)]
    assert sorted(seen) == sorted(wanted)


def test_rows_that_follow_each_other_along_memory_cannot_be_gathered() -> None:
    tensor = gs.tensor("A", gs.f16, (64, 64), order="column")
    index = gs.tensor("rows", gs.s32, (64, 1), values=np.arange(64)[:, None])
    ctx = Context(SPEC, (tensor, index), ())
    m, _ = ctx.launch((1, 1), warps=1, own_tiles="m")
    whole = pieces(64, 64, 8)
    with pytest.raises(gs.UserError, match="A: rows are gathered and scattered where columns are contiguous"):
        global_iterator(ctx, tensor.indexed(index), (64, 64), (m, None), Pieces(whole.columns, whole.rows, 8))
