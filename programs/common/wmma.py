"""Models CUTLASS 2.x's WMMA path: operands in padded rows, wmma.load and wmma.mma of 16x16x16, its own epilogue.
Leaves out fragments that only Volta has: since Turing ptxas makes ldmatrix and mma.sync of them (CUDA 13.0).

Source: cutlass/gemm/threadblock/default_mma_core_wmma.h, gemm/warp/mma_tensor_op_wmma.h,
epilogue/threadblock/default_epilogue_wmma_tensor_op.h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import gpusim as gs
from common.epilogue import Epilogue, EpilogueTile, Push
from common.multiplicand import VECTOR_BITS, LdmatrixMultiplicand, Multiplicand, StagedTile
from common.operand import TensorOpOperand
from common.output_op import PLAIN, LinearCombination
from common.tensor_op import tensor_op_mma
from common.tensor_op_epilogue import push_rows, require_output, widest_thread_map
from common.tensor_op_loop import TensorOpLoop
from gpusim import BlockCoordinate, Context, GmemTensor, Group, Line, TiledMma
from gpusim.cute.cutlass2 import PitchLinearThreadMap, stripmined

__all__ = ["WmmaLoop", "wmma_epilogue", "wmma_mma"]

SIDE = 16  # of a wmma tile
EPILOGUE_PADDING = 8  # elements of a row


def wmma_mma(ctx: Context, tile: tuple[int, int, int], warp: tuple[int, int, int], input_type: str,
             accumulator_type: str) -> TiledMma:
    """The mma.sync that ptxas makes of wmma.mma.m16n16k16: two of m16n8k16, on Turing four of m16n8k8.

    Raises UserError for a warp tile that is no multiple of 16.
    """
    if any(extent % SIDE for extent in warp):
        raise gs.UserError("a warp tile of wmma is a multiple of 16x16x16", got=warp)
    depth = SIDE if ctx.spec.compute_capability >= 80 else SIDE // 2
    return tensor_op_mma(tile, warp, (16, 8, depth), input_type, accumulator_type)


@dataclass(frozen=True)
class PaddedMultiplicand(LdmatrixMultiplicand):
    """Rows of the contiguous mode, padded by 16 bytes against bank conflicts; K-major stages side by side in a row."""

    @property
    def padding(self) -> int:
        return VECTOR_BITS // self.tile.dtype.bits

    @property
    def pitch(self) -> int:
        rows, k = self.tile.shape
        return (k * self.tile.stages if self.tile.k_major else rows) + self.padding

    @property
    def stage_bytes(self) -> int:
        k = self.tile.shape[1]
        return k * (1 if self.tile.k_major else self.pitch) * self.tile.dtype.bytes

    @property
    def size_elements(self) -> int:
        rows, k = self.tile.shape
        return self.pitch * (rows if self.tile.k_major else k * self.tile.stages)

    def thread_map(self) -> PitchLinearThreadMap:
        return stripmined(self.tile.pitch_linear, self.tile.mma.num_threads, self.padding)

    def addresses(self, rows: np.ndarray, k: np.ndarray) -> np.ndarray:
        contiguous, strided = self.tile.offsets(rows, k)
        return np.asarray((strided * self.pitch + contiguous) * self.tile.dtype.bytes)


@dataclass(eq=False)
class WmmaOperand(TensorOpOperand):
    """Operand of 16-bit elements in padded rows."""

    def _multiplicand(self, tile: StagedTile) -> Multiplicand:
        if tile.dtype.bits != 16:
            raise gs.UserError("wmma.m16n16k16 takes f16 and bf16", place=self.name, got=tile.dtype)
        return PaddedMultiplicand(tile)

    def _fragment_address(self, step: int, piece: int) -> tuple[list[Line], tuple[Group, ...]]:
        """wmma.load takes a generic pointer, which ptxas computes anew for each."""
        stage, address = (self.ctx.recorder.registers.vector() for _ in range(2))
        return [Line("IMAD.U32", stage, (self.read_stage,)),
                Line("IADD3", address, (self._lanes[step], stage))], (address,)


@dataclass(eq=False)
class WmmaLoop(TensorOpLoop):
    """A threadblock tile by wmma: tile by tile of 16 columns, over the rows, each as mma.sync of 8 columns."""

    operand_type = WmmaOperand

    def multiply(self, buffer: int) -> None:
        a, b = (fragment[buffer].groups for fragment in self.fragments)
        mma, halves = self.mma, SIDE // self.mma.atom.shape_mnk[1]
        rows, columns = mma.atoms
        self.ctx.require(mma.atom)
        c = self.accumulators.groups
        triples = tuple((c[m * columns + n], a[m], b[n]) for first in range(0, columns, halves)
                        for m in range(rows) for n in range(first, first + halves))
        self.ctx.mma(mma.atom.mnemonic, triples, (mma.registers("C"), mma.registers("A"), mma.registers("B")))


def wmma_epilogue(ctx: Context, destination: GmemTensor, coords: tuple[BlockCoordinate, BlockCoordinate],
                  loop: WmmaLoop, op: LinearCombination = PLAIN, source: GmemTensor | None = None) -> Epilogue:
    """Steps of 16 rows of every warp: a row of wmma tiles. ``source``: tensor C, where ``op`` reads one."""
    mma, accumulators = loop.mma, loop.accumulators
    require_output(accumulators.dtype, destination.dtype)
    tile = EpilogueTile(
        widest_thread_map(mma, destination, SIDE), mma.warp_tile[0] // SIDE, SIDE * mma.warps[0],
        mma.tile[1] + EPILOGUE_PADDING, accumulators.dtype, lambda step: _push_tiles(loop, step))
    return Epilogue(ctx, destination, mma.tile, coords, tile, loop.a.array, op, source)


def _push_tiles(loop: WmmaLoop, step: int) -> Push:
    """wmma.store of a row of tiles: each 8 columns twice, for the upper and the lower 8 rows."""
    halves = [push_rows(loop.mma, loop.accumulators, 2 * step + half) for half in range(2)]
    warp_rows = loop.mma.warp_rows("A") // loop.mma.warp_tile[0] * 8  # both halves of a warp's rows lie together
    lower = np.repeat(warp_rows, 32)
    rows = np.stack([halves[half].rows + lower + 8 * half for half in range(2)], axis=1)
    columns = np.stack([half.columns for half in halves], axis=1)
    groups = [group for pair in zip(*(half.registers for half in halves), strict=True) for group in pair]
    threads = rows.shape[-1]
    return Push(rows.reshape(-1, threads), columns.reshape(-1, threads), groups)
