"""Tiled MMA and tiled copy: the vectors of the CuTe notes, and laws that hold for every thread at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from gpusim.cute import (
    ComposedLayout,
    Layout,
    Swizzle,
    Tensor,
    make_identity_tensor,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_copy_D,
    make_tiled_copy_S,
    make_tiled_copy_tv,
    make_tiled_mma,
    size,
    zipped_divide,
)
from gpusim.errors import UserError


@dataclass(frozen=True)
class Mma:
    shape_mnk: tuple[int, int, int]
    A_tv: Layout
    B_tv: Layout
    C_tv: Layout


@dataclass(frozen=True)
class Copy:
    src_tv: Layout
    dst_tv: Layout
    ref_tv: Layout


M16N8K16 = Mma(
    (16, 8, 16),
    Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))),
    Layout(((4, 8), (2, 2)), ((16, 1), (8, 64))),
    Layout(((4, 8), (2, 2)), ((32, 1), (16, 8))),
)
LDSM_SRC, LDSM_DST = Layout((32, 128), (128, 1)), Layout((32, (32, 4)), (32, (1, 1024)))
LDSM = Copy(LDSM_SRC, LDSM_DST, LDSM_DST)


def universal(bits: int) -> Copy:
    return Copy(*[Layout((1, bits))] * 3)


MMA = make_tiled_mma(M16N8K16, (2, 2, 1))
WIDE = make_tiled_mma(M16N8K16, (2, 2, 1), (32, 32, 16))
ROW_MAJOR = Layout((128, 32), (32, 1))
STAGED = ComposedLayout(Swizzle(2, 3, 3), 0, Layout((128, 32, 3), (32, 1, 4096)))


def test_the_atom_spreads_its_tiles_over_the_lanes():  # T14
    t, v = np.mgrid[:32, :8]
    row, k = t // 4 + 8 * (v >> 1 & 1), 2 * (t % 4) + (v & 1) + 8 * (v >> 2)
    assert np.array_equal(M16N8K16.A_tv.offsets(), row + 16 * k)
    t, v = np.mgrid[:32, :4]
    assert np.array_equal(M16N8K16.B_tv.offsets(), t // 4 + 8 * (2 * (t % 4) + (v & 1) + 8 * (v >> 1)))
    assert np.array_equal(M16N8K16.C_tv.offsets(), t // 4 + 8 * (v >> 1) + 16 * (2 * (t % 4) + (v & 1)))


def test_tile_extents_with_and_without_permutation():  # T12
    assert (MMA.shape_mnk, MMA.size()) == ((32, 16, 16), 128)
    assert (WIDE.shape_mnk, WIDE.size()) == ((32, 32, 16), 128)


def test_quad_pairs_of_volta_are_lanes_apart():
    """SM70 m8n8k4: an atom is lanes 0-3 and 16-19; four of them make a warp that covers 16 x 16."""

    @dataclass(frozen=True)
    class QuadPair(Mma):
        thr_id: Layout

    row, column = Layout((8, 4), (1, 8)), Layout(((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))
    mma = make_tiled_mma(QuadPair((8, 8, 4), row, row, column, Layout((4, 2), (1, 16))), (2, 2, 1))
    assert str(mma.thr_layout_vmnk) == "((4, 2), 2, 2, 1):((1, 16), 4, 8, 0)"
    a = mma.tv_offsets("A", Layout((16, 4)))[:, :, 0, 0]
    assert a[[0, 3, 16, 19], 0].tolist() == [0, 3, 4, 7] and a[[4, 20], 0].tolist() == [8, 12]
    assert np.array_equal(np.sort(mma.tv_offsets("C", Layout((16, 16))), axis=None), np.arange(256))


def test_thread_value_layouts_of_b():  # T18
    assert str(MMA.tv_layout("B")) == "((4, 8, 2, 2), ((2, 2), (1, 1))):((32, 1, 0, 8), ((16, 128), (0, 0)))"
    wide = WIDE.tv_layout("B")
    assert str(wide) == "((4, 8, 2, 2), ((2, 2), (2, 1))):((64, 1, 0, 8), ((32, 256), (16, 0)))"
    offsets, times = np.unique(wide.offsets(), return_counts=True)
    assert np.array_equal(offsets, np.arange(32 * 16)) and (times == 2).all()


def test_fragment_shapes():  # T13, T20, T23
    assert MMA.partition_shape("B", (128, 32)) == ((2, 2), 8, 2)
    assert WIDE.partition_shape("A", (128, 32)) == ((2, 2, 2), 4, 2)
    assert WIDE.partition_shape("C", (128, 128)) == ((2, 2), 4, 8)


OPERANDS = [("A", (128, 32)), ("B", (64, 32)), ("C", (128, 64))]


@pytest.mark.parametrize("mma", [MMA, WIDE, make_tiled_mma(M16N8K16, Layout((2, 2, 2), (2, 1, 4)))])
@pytest.mark.parametrize(("operand", "shape"), OPERANDS)
def test_warps_share_an_operand_evenly_and_alike_for_all_threads_at_once(mma, operand, shape):
    tensor = Tensor(Layout(shape, (shape[1], 1)), 64)
    everyone = mma.tv_offsets(operand, tensor)
    offsets, times = np.unique(everyone, return_counts=True)
    assert np.array_equal(offsets, 64 + np.arange(shape[0] * shape[1])) and len(set(times)) == 1
    for thread in range(0, mma.size(), 7):
        part = mma.get_slice(thread).partition(operand, tensor)
        assert np.array_equal(part.offsets(), everyone[thread])


@pytest.mark.parametrize(("operand", "shape"), OPERANDS)
def test_the_fragment_of_a_lane_is_what_the_instruction_wants(operand, shape):
    """Golden: coordinates by the fragment formula, warp (m, n) at its atom, values of a permuted tile in between."""
    coordinates = MMA.tv_offsets(operand, make_identity_tensor(shape))
    atom = {"A": (16, 16), "B": (8, 16), "C": (16, 8)}[operand]
    linear = getattr(M16N8K16, f"{operand}_tv").offsets()
    for warp in range(4):
        first = {"A": warp % 2, "B": warp // 2, "C": warp % 2}[operand]
        second = warp // 2 if operand == "C" else 0
        lanes = coordinates[32 * warp : 32 * warp + 32, :, 0, 0]
        assert np.array_equal(lanes[..., 0], linear % atom[0] + first * atom[0])
        assert np.array_equal(lanes[..., 1], linear // atom[0] + second * atom[1])


def test_a_permutation_layout_reorders_columns():  # X8: (2,4,4):(1,8,2) gives a thread 8 contiguous columns
    mma = make_tiled_mma(M16N8K16, (1, 1, 1), (None, Layout((2, 4, 4), (1, 8, 2)), None))
    columns = mma.tv_offsets("C", make_identity_tensor((16, 32)))[..., 1]
    assert sorted(set(columns[0].ravel())) == list(range(8))
    assert sorted(set(columns[1].ravel())) == list(range(8, 16))


def test_copies_from_threads_and_values():  # T15, T16, T24
    copy = make_tiled_copy_tv(universal(128), Layout((32, 4), (4, 1)), Layout((1, 8)), 16)
    assert (str(copy.layout_tv), copy.shape_mn) == ("((4, 32), 8):((256, 1), 32)", (32, 32))
    assert np.array_equal(np.sort(copy.layout_tv.offsets(), axis=None), np.arange(1024))
    assert copy.get_slice(5).partition_S(ROW_MAJOR).shape == ((8, 1), 4, 1)
    narrow = make_tiled_copy_tv(universal(32), Layout((32, 4), (4, 1)), Layout((1, 2)), 16)
    assert copy.size() * 2 == 256 and narrow.tv_offsets("src", Layout((32, 32), (32, 1))).shape == (128, 2, 1, 4)
    explicit = make_tiled_copy(universal(128), copy.layout_tv, (32, 32), 16)
    assert np.array_equal(explicit.tv_offsets("dst", STAGED), copy.tv_offsets("dst", STAGED))


@pytest.mark.parametrize("layout", [ROW_MAJOR, STAGED])
def test_a_copy_moves_every_element_once_and_alike_for_all_threads_at_once(layout):
    copy = make_tiled_copy_tv(universal(128), Layout((32, 4), (4, 1)), Layout((1, 8)), 16)
    everyone = copy.tv_offsets("dst", layout)
    assert np.array_equal(np.sort(everyone, axis=None), np.sort(layout.offsets(), axis=None))
    for thread in (0, 5, 127):
        part = copy.get_slice(thread).partition_D(layout)
        assert np.array_equal(part.offsets().reshape(everyone[thread].shape, order="F"), everyone[thread])
    vectors = everyone.reshape(128, 8, -1)
    assert (np.diff(vectors, axis=1) == 1).all() and (vectors[:, 0] % 8 == 0).all()


def test_ldmatrix_hands_each_lane_what_eight_lanes_addressed():  # T17
    copy = make_tiled_copy(LDSM, Layout((32, 8), (8, 1)), (256,), 16)
    assert str(copy.atom_layout("src")) == "(32, 8):(8, 1)"
    assert str(copy.atom_layout("dst")) == "(32, (2, 4)):(2, (1, 64))"
    source, target = (copy.atom_layout(side).offsets() for side in ("src", "dst"))
    lane_of = np.empty(256, int)
    lane_of[source.ravel()] = np.repeat(np.arange(32), 8)
    assert lane_of[target[:4, :2]].tolist() == [[0, 0]] * 4
    assert lane_of[target[4:8, :2]].tolist() == [[1, 1]] * 4
    assert lane_of[target[:4, 2:4]].tolist() == [[8, 8]] * 4
    assert sorted(set(lane_of[target[0]])) == [0, 8, 16, 24]


@pytest.mark.parametrize(("make", "operand"), [(make_tiled_copy_A, "A"), (make_tiled_copy_B, "B")])
def test_ldmatrix_delivers_the_fragments_of_the_mma(make, operand):
    copy = make(LDSM, WIDE, 16)
    delivered = copy.tv_offsets("dst", STAGED)[..., 0]
    wanted = WIDE.tv_offsets(operand, STAGED)[..., 0]
    fragment = Tensor(Layout(wanted.shape[1:]))
    registers = copy.retile(fragment).offsets().reshape(delivered.shape[1:], order="F")
    by_register = wanted.reshape(128, -1, order="F")
    assert np.array_equal(by_register[:, registers], delivered)
    rows = copy.tv_offsets("src", STAGED)
    assert (np.diff(rows, axis=1) == 1).all() and (rows[:, 0] % 8 == 0).all()


def test_retile_of_the_accumulators():  # T23
    copy = make_tiled_copy_C(universal(32), WIDE, 16)
    fragment = Layout(((2, 2), 4, 8), ((1, 2), 4, 16))
    assert str(copy.retile(fragment).layout) == "((2, (2, 2)), 4, 4):((1, (2, 16)), 4, 32)"
    part = copy.get_slice(0).retile_S(fragment)
    assert np.array_equal(np.sort(part.offsets(), axis=None), np.arange(128))
    grouped = copy.get_slice(0).partition_D(Layout((128, 128), (128, 1)))
    assert grouped.shape == ((2, (2, 2)), 4, 4) and grouped.stride[1] == 4096  # W8: 32 rows of ldc 128


def test_copies_that_follow_other_copies():
    ldsm = make_tiled_copy_A(LDSM, WIDE, 16)
    stores = make_tiled_copy_D(universal(32), ldsm)
    stored, loaded = stores.tv_offsets("src", ROW_MAJOR), ldsm.tv_offsets("dst", ROW_MAJOR)
    assert np.array_equal(stored.reshape(128, -1), loaded.reshape(128, -1))
    vectors = make_tiled_copy_S(universal(128), ldsm)
    assert np.array_equal(vectors.side_tv("src").offsets(), ldsm.side_tv("src").offsets())


def ways(addresses: np.ndarray, width: int) -> int:
    """Naive bank conflicts of a warp's ``width``-byte accesses: worst bank of the worst phase of 128 bytes."""
    worst = 0
    for phase in addresses.reshape(-1, 128 // width):
        words = {int(word) for first in phase for word in range(first // 4, (first + width) // 4)}
        worst = max(worst, *np.bincount([word % 32 for word in words]))
    return worst


G2S = make_tiled_copy_tv(universal(128), Layout((32, 4), (4, 1)), Layout((1, 8)), 16)
HALF_TILE, HALF_TILE_64, OUTPUT = Layout((128, 32), (32, 1)), Layout((128, 64), (64, 1)), Layout((32, 32), (32, 1))


@pytest.mark.parametrize(
    ("bits", "expected"),
    [(0, (1, 4, 8, 4)), (1, (1, 2, 4, 2)), (2, (1, 1, 2, 1)), (3, (1, 1, 1, 1))],  # T29, T30, section 25 D
)
def test_conflicts_of_the_gemm_tiles_by_swizzle(bits, expected):
    """16-byte stores and ldmatrix of (128, 32) half, ldmatrix of (128, 64) half, 4-byte stores of the output."""
    swizzle = Swizzle(bits, 3, 3)
    ldmatrix, r2s = make_tiled_copy_A(LDSM, WIDE, 16), make_tiled_copy_C(universal(32), WIDE, 16)
    accesses = [
        (G2S.tv_offsets("dst", ComposedLayout(swizzle, 0, HALF_TILE))[:, ::8], 16),
        (ldmatrix.tv_offsets("src", ComposedLayout(swizzle, 0, HALF_TILE))[:, ::8], 16),
        (ldmatrix.tv_offsets("src", ComposedLayout(swizzle, 0, HALF_TILE_64))[:, ::8], 16),
        (r2s.tv_offsets("dst", ComposedLayout(swizzle, 0, OUTPUT))[:, ::2], 4),
    ]
    found = tuple(
        max(ways(2 * warp, width) for warp in offsets.reshape(4, 32, -1).transpose(0, 2, 1).reshape(-1, 32))
        for offsets, width in accesses
    )
    assert found == expected


def test_padding_a_row_by_one_vector_is_free_of_conflicts_too():
    padded = make_tiled_copy_A(LDSM, WIDE, 16).tv_offsets("src", Layout((128, 64), (72, 1)))[:, ::8]
    assert max(ways(2 * warp, 16) for warp in padded.reshape(4, 32, -1).transpose(0, 2, 1).reshape(-1, 32)) == 1


def test_a_tile_of_floats_leaves_in_four_phases():  # T32: 32 lanes x 16 bytes = 4 x 128 bytes, read by column: 8 ways
    columns = Layout((32, 32), (128, 1)).offsets()[:, 0] * 4
    assert len(columns.reshape(-1, 8)) == 4
    assert (ways(columns, 16), ways(columns, 4)) == (8, 32)  # T27, T26


def test_counts_of_the_notes_gemm():  # T19, T21: 512 x 512 x 512, CTA tile 128 x 128 x 32
    blocks = zipped_divide(Layout((512, 512)), (128, 128))[1].size()
    _, m, k = WIDE.partition_shape("A", (128, 32))
    _, m_again, n = WIDE.partition_shape("C", (128, 128))
    mma_per_warp = m * n * k * (512 // 32)
    assert (blocks, m, m_again, n, k, mma_per_warp) == (16, 4, 4, 8, 2, 1024)
    assert blocks * (WIDE.size() // 32) * mma_per_warp * (16 * 8 * 16) == 512**3
    assert 2 * 2 * Layout((128, 32, 3)).cosize() == 49152  # A and B, three stages of half
    fragments = [("A", (128, 32), 64), ("B", (128, 32), 64), ("C", (128, 128), 128)]
    assert all(size(WIDE.partition_shape(operand, shape)) == values for operand, shape, values in fragments)
    per_pass = [copy.layout_tv.size() for copy in (G2S, make_tiled_copy_A(LDSM, WIDE, 16))]
    assert per_pass == [1024, 1024] and 32 * 32 // (WIDE.size() * 2) == 4  # R2S moves 256 elements a pass
    passes = [make(LDSM, WIDE, 16).tv_offsets("src", ROW_MAJOR) for make in (make_tiled_copy_A, make_tiled_copy_B)]
    assert sum(addresses[0].size // 8 for addresses in passes) * (512 // 32) == 256


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: WIDE.tv_offsets("A", Layout((48, 32))), "extent 48 of mode 0 must be a multiple of"),
        (lambda: make_tiled_mma(M16N8K16, (2, 2)), "the atom layout of a tiled MMA has three modes M, N, K, got"),
        (
            lambda: make_tiled_copy_tv(universal(128), Layout((32, 4)), Layout((1, 4)), 16),
            "the values of a tiled copy must be a multiple of the atom's 8, got 4",
        ),
        (lambda: make_tiled_copy_A(LDSM, MMA, 16).tv_offsets("src", Layout((48, 16))), "must be a multiple of the"),
        (lambda: make_tiled_copy_B(LDSM, MMA, 16), "the values of a tiled copy must be a multiple of the atom's 8"),
        (lambda: make_tiled_copy(LDSM, Layout((32, 8)), (32, 32), 16), "thread-value layout must cover its tile"),
    ],
)
def test_tilings_that_do_not_divide_are_refused(build, sentence):
    with pytest.raises(UserError, match=sentence):
        build()
