"""CUTLASS 2.x layouts and thread maps: vectors of the notes, inverses, equality with CuTe swizzles, exact coverage."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.cute.cutlass2 import (
    AffineRankN,
    ColumnMajor,
    ColumnMajorInterleaved,
    ColumnMajorTensorOpMultiplicand,
    OutputTileShape,
    PitchLinear,
    RowMajor,
    RowMajorInterleaved,
    RowMajorTensorOpMultiplicand,
    TensorOpMultiplicand,
    congruous_crosswise,
    optimal_thread_map,
    stripmined,
    transposed,
    warp_raked,
)
from gpusim.errors import UserError

EXTENTS = st.tuples(st.integers(1, 6), st.integers(1, 6)).map(lambda e: (e[0] * 4, e[1] * 4))


@given(EXTENTS, st.sampled_from([1, 2, 4]), st.integers(0, 3))
def test_plain_layouts_are_injective_invertible_and_equal_to_cute(extent, interleave, gap):
    packed = [
        RowMajor.packed(extent),
        ColumnMajor.packed(extent),
        PitchLinear.packed(extent),
        RowMajorInterleaved.packed(extent, interleave),
        ColumnMajorInterleaved.packed(extent, interleave),
    ]
    loose = [RowMajor(extent[1] + gap), ColumnMajor(extent[0] + gap), AffineRankN((1, extent[0] + gap))]
    i, j = np.mgrid[: extent[0], : extent[1]]
    for layout in packed + loose:
        offsets = layout(i, j)
        assert np.array_equal(offsets, layout.to_cute(extent).offsets())
        assert offsets.max() < layout.capacity(extent) and len(np.unique(offsets)) == offsets.size
        if hasattr(layout, "inverse"):
            assert np.array_equal(layout.inverse(offsets), (i, j))
    assert all(layout.capacity(extent) == extent[0] * extent[1] for layout in packed)


def test_vectors_of_the_plain_layouts():  # L1, L2, L4 with the corrected W13
    assert (ColumnMajor(32)(7, 23), RowMajor(32)(7, 23)) == (743, 247)
    assert np.arange(16 * 9)[ColumnMajor(16)(9, 5)] == 89
    layout = ColumnMajorInterleaved.packed((2, 3), 2)
    memory = np.zeros(layout.capacity((2, 3)), int)
    for number, (row, column) in enumerate(product(range(2), range(3)), start=1):
        memory[layout(row, column)] = number
    assert memory.tolist() == [1, 2, 4, 5, 3, 0, 6, 0]
    with pytest.raises(UserError, match="interleaved extent must be a multiple of 2 to be a CuTe layout, got 3"):
        layout.to_cute((2, 3))


INSTANCES = {  # S5: (element bits, crosswise) -> rows that share a line
    (16, 64): 1, (16, 32): 2, (16, 16): 4, (16, 8): 8, (8, 128): 1, (8, 64): 2, (8, 32): 4, (8, 16): 8,
    (32, 32): 1, (32, 16): 2, (32, 8): 4, (4, 256): 1, (4, 128): 2, (4, 64): 4, (1, 1024): 1,
    (1, 512): 2,
}  # fmt: skip


@pytest.mark.parametrize(("instance", "factor"), INSTANCES.items())
@pytest.mark.parametrize("stages", [1, 3])
def test_every_operand_layout_is_a_bijection_with_an_inverse(instance, factor, stages):
    bits, crosswise = instance
    layout = TensorOpMultiplicand.packed(bits, crosswise, (crosswise * stages, 32))
    assert layout.factor == factor
    assert layout.tile_shape == ((8, 8) if factor == 1 else (8, 4))
    contiguous, strided = np.mgrid[: crosswise * stages, :32]
    offsets = layout(contiguous, strided)
    assert np.array_equal(np.sort(offsets, axis=None), np.arange(offsets.size))
    assert np.array_equal(layout.inverse(offsets), (contiguous, strided))


@pytest.mark.parametrize("instance", INSTANCES)
def test_a_single_stage_operand_layout_is_a_cute_byte_swizzle(instance):  # S9
    bits, crosswise = instance
    layout = TensorOpMultiplicand.packed(bits, crosswise, (crosswise, 64))
    contiguous, strided = np.mgrid[: crosswise * bits // 128, :64]
    swizzle = layout.byte_swizzle()
    assert str(swizzle) == ("S<3,4,3>" if layout.factor == 1 else "S<2,4,3>")
    linear_bytes = contiguous * 16 + strided * crosswise * bits // 8
    assert np.array_equal(layout(contiguous * 128 // bits, strided) * bits // 8, swizzle(linear_bytes))


@pytest.mark.parametrize(
    ("parameters", "offsets"),
    [  # S6
        ((16, 64, 64), {(0, 1): 72, (8, 1): 64, (0, 4): 288, (0, 7): 504, (13, 5): 357}),
        ((16, 64, 128), {(72, 3): 464, (127, 7): 967}),
        ((16, 32, 32), {(0, 2): 72, (8, 6): 208, (31, 7): 231}),
        ((16, 32, 96), {(8, 6): 592}),
        ((8, 128, 128), {(16, 3): 416}),
        ((8, 64, 64), {(17, 5): 369}),
        ((32, 32, 32), {(4, 6): 220}),
        ((32, 16, 16), {(5, 9): 149}),
    ],
)
def test_vectors_of_the_operand_layouts(parameters, offsets):
    layout = TensorOpMultiplicand(*parameters)
    assert {crd: layout(*crd) for crd in offsets} == offsets


def test_xor_tables_of_the_operand_layouts():  # S7, S8
    slots = TensorOpMultiplicand(16, 64, 64)(np.arange(8)[None] * 8, np.arange(8)[:, None]) // 8 % 8
    assert np.array_equal(slots, np.arange(8)[None] ^ np.arange(8)[:, None])
    folded = TensorOpMultiplicand(16, 32, 32)(np.arange(4)[None] * 8, np.arange(8)[:, None]) // 8
    table = {0: [0, 1, 2, 3], 1: [4, 5, 6, 7], 2: [9, 8, 11, 10], 3: [13, 12, 15, 14], 4: [18, 19, 16, 17]}
    table |= {6: [27, 26, 25, 24], 7: [31, 30, 29, 28]}
    assert {row: folded[row].tolist() for row in table} == table


def _ways(byte_addresses: np.ndarray) -> int:
    """Ways of 16-byte accesses in phases of 8: vectors of one phase in the same eighth of a 128-byte line."""
    slots = byte_addresses.reshape(-1, 8) // 16 % 8
    return max(np.bincount(phase).max() for phase in slots)


@pytest.mark.parametrize("instance", INSTANCES)
@pytest.mark.parametrize("stages", [1, 3])
def test_eight_strided_rows_of_an_operand_never_conflict(instance, stages):  # S10: ldmatrix
    bits, crosswise = instance
    layout = TensorOpMultiplicand.packed(bits, crosswise, (crosswise * stages, 32))
    vectors, rows = np.mgrid[: crosswise * stages * bits // 128, :32]
    assert _ways(layout(vectors * 128 // bits, rows) * bits // 8) == 1


@pytest.mark.parametrize(("crosswise", "ways"), [(64, 8), (32, 4), (16, 2)])
def test_eight_strided_rows_without_the_xor_conflict(crosswise, ways):
    assert _ways(np.arange(8) * crosswise * 2) == ways


@pytest.mark.parametrize("instance", INSTANCES)
@pytest.mark.parametrize("stages", [1, 3])
def test_stores_of_a_warp_raked_map_never_conflict(instance, stages):  # S10: 16-byte stores through the K-major map
    bits, crosswise = instance
    vectors = crosswise * bits // 128
    load = warp_raked((crosswise, 128), 128, (vectors, 32 // vectors), 128 // bits)
    layout = TensorOpMultiplicand.packed(bits, crosswise, (crosswise * stages, 128))
    first = load.accesses()
    for stage, *step in np.ndindex(stages, *first.shape[1:3]):
        contiguous, strided = first[(slice(None), *step)].T
        assert _ways(layout(contiguous + stage * crosswise, strided) * bits // 8) == 1


def test_operand_matrices_name_their_contiguous_mode():  # S3, S4
    base = TensorOpMultiplicand(16, 64, 64)
    assert RowMajorTensorOpMultiplicand(base)(5, 13) == ColumnMajorTensorOpMultiplicand(base)(13, 5) == 357
    assert RowMajorTensorOpMultiplicand(base).inverse(357) == (5, 13)
    assert ColumnMajorTensorOpMultiplicand(base).inverse(357) == (13, 5)
    assert [congruous_crosswise(bits, 128) for bits in (8, 16, 32)] == [128, 64, 32]  # Q 003:1431
    assert congruous_crosswise(16, 32) == 32


def test_a_crosswise_row_must_fold_into_a_line():
    with pytest.raises(UserError, match="must hold 1, 2, 4 or 8 vectors of 16 bytes, got 48 x 16 bits"):
        TensorOpMultiplicand(16, 48, 48)


THREAD_MAPS = [  # TR1, TR2, TR3, TR4: map, iterations, delta, thread -> initial offset
    (stripmined((8, 128), 256), (1, 4), (1, 32), {0: (0, 0), 8: (0, 1), 31: (7, 3), 255: (7, 31)}),
    (stripmined((128, 8), 256), (1, 4), (1, 2), {128: (0, 1)}),
    (stripmined((128, 8), 32, 2), (2, 8), (64, 1), {31: (62, 0)}),
    (transposed(stripmined((8, 128), 256)), (4, 1), (32, 1), {8: (1, 0), 255: (31, 7)}),
    (warp_raked((128, 32), 256, (8, 4), 8), (2, 1), (64, 4), {8: (0, 1), 32: (0, 4), 255: (56, 31)}),
    (warp_raked((128, 32), 128, (8, 4), 8), (2, 2), (64, 4), {32: (0, 8), 127: (56, 27)}),
    (warp_raked((64, 32), 128, (8, 4), 8), (1, 2), (64, 4), {}),
    (warp_raked((128, 16), 256, (8, 4), 8), (1, 1), (64, 4), {32: (64, 0)}),
    (warp_raked((128, 64), 256, (8, 4), 8), (2, 2), (64, 4), {}),
    (warp_raked((32, 128), 128, (4, 8), 8), (1, 4), (32, 8), {4: (0, 1), 32: (0, 32), 127: (24, 103)}),
    (warp_raked((32, 128), 256, (4, 8), 8), (1, 2), (32, 8), {}),
    (warp_raked((64, 128), 256, (8, 4), 8), (1, 4), (64, 4), {}),
]


@pytest.mark.parametrize(("thread_map", "iterations", "delta", "initial"), THREAD_MAPS)
def test_thread_maps_have_the_vectors_of_the_notes_and_cover_their_tile_once(thread_map, iterations, delta, initial):
    assert (thread_map.iterations, thread_map.delta) == (iterations, delta)
    assert {thread: thread_map.initial_offset(thread) for thread in initial} == initial
    contiguous, strided = np.moveaxis(thread_map.accesses(), -1, 0)
    elements = contiguous[..., None] + np.arange(thread_map.elements_per_access)
    touched = np.zeros(thread_map.shape, int)
    np.add.at(touched, (elements, strided[..., None]), 1)
    assert (touched == 1).all()


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: stripmined((96, 8), 64), "64 threads and 96 vectors of a row must divide one another"),
        (lambda: transposed(stripmined((8, 8), 32, 2)), "only single elements can be transposed, got 2"),
        (lambda: warp_raked((32, 128), 128, (4, 4), 8), "must form an arrangement of 32, got \\(4, 4\\)"),
        (lambda: warp_raked((32, 100), 128, (4, 8), 8), "without rest .vectors by lanes., got 100 / 8"),
    ],
)
def test_thread_maps_that_do_not_fit_are_refused(build, sentence):
    with pytest.raises(UserError, match=sentence):
        build()


OUTPUT_TILES = {  # E11a..e: (shape, count, threads, elements, bits) -> iterations, delta, thread -> start, CTA tile
    "128x128 half": (
        ((128, 8, 2, 1, 1), (1, 8, 1, 1, 8), 128, 8, 16), (1, 2, 1, 1), (128, 2), (128, 128),
        {0: (0, 0), 1: (0, 8), 16: (1, 0), 32: (4, 0), 64: (64, 0), 96: (68, 0)}, [0, 8, 16, 24, 32, 40, 48, 56],
    ),
    "128x128 float": (
        ((128, 8, 2, 1, 1), (1, 8, 1, 1, 8), 128, 4, 32), (2, 2, 1, 1), (64, 2), (128, 128), {1: (0, 4)}, None,
    ),
    "128x256 half": (
        ((256, 8, 2, 1, 1), (1, 8, 1, 1, 8), 256, 8, 16), (2, 1, 1, 1), (128, 2), (128, 256),
        {32: (2, 0), 64: (4, 0)}, None,
    ),
    "64x64 half": (
        ((64, 8, 2, 1, 1), (1, 4, 1, 1, 4), 128, 8, 16), (1, 1, 1, 1), (64, 4), (64, 64),
        {32: (4, 0), 64: (32, 0)}, None,
    ),
    "128x128 simt": (
        ((128, 1, 4, 4, 1), (1, 4, 2, 1, 8), 256, 1, 32), (4, 1, 2, 1), (32, 1), (128, 128),
        {32: (4, 0), 64: (32, 0)}, [0, 1, 2, 3, 16, 17, 18, 19],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTPUT_TILES)
def test_output_tiles_have_the_vectors_of_the_notes_and_cover_the_cta_tile_once(name):
    (shape, count, threads, elements, bits), iterations, delta, tile, initial, step_rows = OUTPUT_TILES[name]
    thread_map = optimal_thread_map(OutputTileShape(*shape), OutputTileShape(*count), threads, elements, bits)
    its = thread_map.iterations
    assert (its.column, its.row, its.group, its.cluster) == iterations
    assert (thread_map.delta.column, thread_map.delta.row) == delta
    assert {thread: thread_map.initial_offset(thread) for thread in initial} == initial
    steps = thread_map.step_rows(np.arange(count[4]))
    assert step_rows is None or steps.tolist() == step_rows
    row, column = np.moveaxis(thread_map.accesses(), -1, 0)
    touched = np.zeros(tile, int)
    rows = steps[:, None, None] + row
    np.add.at(touched, (rows[..., None], column[..., None] + np.arange(elements)), 1)
    assert (touched == 1).all()


def test_simt_groups_are_closer_together_in_the_compact_tile():  # E11e
    thread_map = optimal_thread_map(OutputTileShape(128, 1, 4, 4), OutputTileShape(1, 4, 2, 1, 8), 256, 1, 32)
    assert (thread_map.delta.group, thread_map.compact_delta.group) == (8, 2)
    row, column = np.moveaxis(thread_map.accesses(compact=True), -1, 0)
    touched = np.zeros((16, 128), int)
    np.add.at(touched, (row, column), 1)
    assert (touched == 1).all()


@given(st.integers(0, 63), st.tuples(*[st.integers(1, 4)] * 3), st.tuples(*[st.integers(1, 4)] * 3))
def test_steps_in_closed_form_are_the_repeated_increment(step, extents, count):
    """W11: CUTLASS's += takes the modulo before dividing and loses the carries; the increment is the truth."""
    row, group, cluster = extents
    shape, counts = OutputTileShape(32, row, group, cluster), OutputTileShape(1, *count)
    thread_map = optimal_thread_map(shape, counts, 32 * 64, 1, 32)
    rows, state = 0, [0, 0, 0]
    jumps = (
        (shape.group - 1) * row * counts.row,
        counts.group * group * counts.row * row,
        group * row * cluster,
    )
    for _ in range(step):
        rows += row
        for level, limit in enumerate((counts.row, counts.group, counts.cluster)):
            state[level] += 1
            if state[level] < limit:
                break
            state[level] = 0
            rows += jumps[level]
    assert thread_map.step_rows(step) == rows


def test_eight_steps_jump_to_the_next_group_of_rows():  # W11
    thread_map = optimal_thread_map(OutputTileShape(128, 8, 2), OutputTileShape(1, 8, 2, 1, 16), 128, 8, 16)
    assert thread_map.step_rows(8) == 128
