"""Models CUTLASS 2.x's interleaved GEMM: k (and columns of D) in groups of 32 bytes, accumulators stored directly.
Leaves out the pipeline around it.

An interleaved matrix of R rows and groups of I columns is a matrix (columns / I, R * I) here. B comes with its columns
permuted inside each group (reorder_column), so that a lane's accumulators are I / 4 neighbours of a row of D.
Source: cutlass/gemm/threadblock/default_mma_core_sm80.h, epilogue/threadblock/interleaved_epilogue.h, host_reorder.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import gpusim as gs
from common.conversion import Vector
from common.direct import DirectEpilogue, warp_rows
from common.multiplicand import LdmatrixMultiplicand, Multiplicand, StagedTile
from common.operand import POINTERS, TensorOpOperand
from common.output_op import LinearCombination
from common.output_stream import OutputStream
from common.staging import TileCopy
from common.tensor_op_epilogue import ROWS_PER_STEP, push_rows
from common.tensor_op_loop import TensorOpLoop
from gpusim import LANES, BlockCoordinate, Context, GlobalIterator, GmemTensor, Pieces
from gpusim.cute.cutlass2 import PitchLinearThreadMap, TensorOpMultiplicand, warp_raked

__all__ = ["InterleavedLoop", "group_of", "interleaved_epilogue", "plain", "restored_columns", "stored"]

GROUP_BITS = 256
QUAD = 4  # lanes of a row
ATOM_COLUMNS = 8
VECTOR_BITS = 128


def group_of(dtype: gs.DType) -> int:
    """Elements of a group: 32 of 8 bits, 64 of 4. Raises UserError for other types."""
    if dtype.name not in ("s8", "u8", "s4", "u4"):
        raise gs.UserError("interleaved layouts are for integers of 8 and 4 bits", got=dtype)
    return GROUP_BITS // dtype.bits


def plain(matrix: np.ndarray, group: int) -> np.ndarray:
    """(rows, columns) of an interleaved (columns / group, rows * group)."""
    groups = len(matrix)
    return matrix.reshape(groups, -1, group).swapaxes(0, 1).reshape(-1, groups * group)


def stored(matrix: np.ndarray, group: int) -> np.ndarray:
    """The inverse of ``plain``."""
    rows = len(matrix)
    return matrix.reshape(rows, -1, group).swapaxes(0, 1).reshape(-1, rows * group)


def restored_columns(permuted: np.ndarray, group: int) -> np.ndarray:
    """Rows (the columns of B) in their own order, from that of reorder_column."""
    place = np.arange(len(permuted))
    atom, rest = place % group // ATOM_COLUMNS, place % ATOM_COLUMNS
    lane, element = rest // 2, rest % 2
    original = place // group * group + lane * (group // QUAD) + atom * 2 + element
    restored = np.empty_like(permuted)
    restored[original] = permuted
    return restored


@dataclass(frozen=True)
class InterleavedMultiplicand(LdmatrixMultiplicand):
    """Crosswise over a group rather than over the tile's k."""

    @cached_property
    def layout(self) -> TensorOpMultiplicand:
        return TensorOpMultiplicand(self.tile.dtype.bits, group_of(self.tile.dtype),
                                    self.tile.shape[1] * self.tile.stages)

    def thread_map(self) -> PitchLinearThreadMap:
        """On (rows * group, k / group): a warp's lanes are side by side in memory."""
        (rows, k), group = self.tile.shape, group_of(self.tile.dtype)
        return warp_raked((rows * group, k // group), self.tile.mma.num_threads, (LANES, 1),
                          VECTOR_BITS // self.tile.dtype.bits)


@dataclass(eq=False)
class InterleavedOperand(TensorOpOperand):
    """Operand whose tensor is (k / group, rows * group); its range of k counts groups."""

    def _multiplicand(self, tile: StagedTile) -> Multiplicand:
        return InterleavedMultiplicand(tile)

    def _copies(self) -> TileCopy:
        thread_map, group = self.shared.thread_map(), group_of(self.tensor.dtype)
        places = thread_map.accesses().reshape(thread_map.threads, -1, 2).transpose(1, 0, 2)
        contiguous, number = places[..., 0], places[..., 1]
        pieces = Pieces(number, contiguous, thread_map.elements_per_access)
        tile = self.tile[1] // group, self.tile[0] * group
        source = GlobalIterator(self.ctx, self.tensor, tile, (None, self.coord), pieces, self.k)
        stored_at = self.shared.addresses(contiguous // group, number * group + contiguous % group)
        return TileCopy(self.ctx, source, self.array, stored_at, self.stage_bytes, POINTERS)


@dataclass(eq=False)
class InterleavedLoop(TensorOpLoop):
    """A threadblock tile of interleaved operands."""

    operand_type = InterleavedOperand


def interleaved_epilogue(ctx: Context, destination: GmemTensor, coords: tuple[BlockCoordinate, BlockCoordinate],
                         loop: InterleavedLoop, op: LinearCombination, source: GmemTensor | None) -> DirectEpilogue:
    """Stores of 8 bytes: what a lane has of a row in a group. ``coords``: of m, n; D is (n / group, m * group)."""
    mma, group = loop.mma, group_of(destination.dtype)
    atoms, steps = group // ATOM_COLUMNS, mma.warp_tile[0] // ROWS_PER_STEP
    groups = mma.warp_tile[1] // group
    if mma.warp_tile[1] % group:
        raise gs.UserError("a warp tile has whole groups of columns", got=f"{mma.warp_tile[1]} columns",
                           suggestion=f"a multiple of {group}")
    lane = np.tile(np.arange(LANES), mma.num_warps)
    first_group = np.repeat(mma.warp_rows("B") // group, LANES)
    rows, columns, vectors = [], [], []
    for number in range(groups):
        for step in range(steps):
            registers = push_rows(mma, loop.accumulators, step).registers[number * atoms : (number + 1) * atoms]
            vectors.append(Vector(0, group // QUAD, gs.s32, tuple(
                (start + n, 1) for start, width in registers for n in range(width))))
            rows.append(first_group + number)
            columns.append(warp_rows(mma, step) * group + lane % QUAD * (group // QUAD))
    pieces = Pieces(np.stack(rows), np.stack(columns), group // QUAD)
    tile = mma.tile[1] // group, mma.tile[0] * group
    stream = OutputStream(ctx, destination, tile, coords[::-1], pieces, 1, gs.s32, op, source)
    return DirectEpilogue(stream, vectors)
