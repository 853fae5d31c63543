"""Models CUTLASS 2.x's SIMT integer GEMM: four k of a row to a word, 4 x 4 bytes a thread, products by IDP.4A.
Leaves out the pipeline around it. Source: cutlass/gemm/threadblock/default_mma_core_simt.h, mma_sm61.h.

Counted in words, shared memory, lanes and fragments are those of the f32 GEMM (common.simt).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import gpusim as gs
from common.simt import SimtOperand, SimtShape
from common.simt_loop import SimtLoop
from common.staging import TileCopy
from gpusim import Code, GlobalIterator, Group, Line, Pieces
from gpusim.cute.cutlass2 import ColumnMajorInterleaved

__all__ = ["IgemmLoop", "word_shape"]

SIDE = 4  # rows and k of what a thread moves at once; bytes in a word
TRANSPOSE = ((0x0040, 0x5410), (0x0051, 0x5410), (0x0062, 0x5410), (0x0073, 0x5410))
"""Selectors of PRMT for each row of the transpose: of two pairs of words, then of their results."""


def word_shape(tile: tuple[int, int, int], warp: tuple[int, int, int]) -> SimtShape:
    """The division of a tile, with k in words and lanes column by column. Raises UserError where k is no multiple of
    4."""
    if tile[2] % SIDE or warp[2] % SIDE:
        raise gs.UserError("dp4a multiplies four k at once", got=f"tile k {tile[2]}", suggestion="a multiple of 4")
    return SimtShape((*tile[:2], tile[2] // SIDE), (*warp[:2], warp[2] // SIDE), lane_layout=ColumnMajorInterleaved)


@dataclass(eq=False)
class ThreadTileCopy(TileCopy):
    """Every four loads of a word become one store of 16 bytes, 4 rows of 4 k; ``transposes``: a load holds 4 rows."""

    transposes: bool = False

    @property
    def vector_bytes(self) -> int:
        return SIDE * self.source.access_bytes

    def load(self, number: int) -> None:
        """Clear the registers, then load tile ``number``; what lies outside stays zero."""
        pieces = range(len(self.source.pieces))
        atom = gs.copy.UniversalCopy_32b.bind("global", "register")
        if "load" not in self._codes:
            self._allocate()
            lines = self.source.lines(atom.mnemonic, pieces, registers=self._loaded)
            self._codes["load"] = Code((*self._clear(), *lines, *self.next_tile()))
        self.ctx.code(self._codes["load"], self.source.access(atom.operation, number, pieces,
                                                              label=f"ld.global {self.source.tensor.name}"))

    def _allocate(self) -> None:
        registers = self.ctx.recorder.registers
        self._fragment = [registers.vector(SIDE) for _ in range(len(self))]
        self._loaded = [(start + n, 1) for start, _ in self._fragment for n in range(SIDE)]

    def store(self, stage: int) -> None:
        """Store the registers to ``stage``."""
        if "store" not in self._codes:
            turned = [self._turned(group) for group in self._fragment] if self.transposes else []
            data = [group for _, group in turned] or self._fragment
            self._codes["store"] = Code((*(line for lines, _ in turned for line in lines), *self._store_lines(data)))
        self.ctx.code(self._codes["store"], self._store_access.instance(stage * self.stage_bytes))

    def _turned(self, group: Group) -> tuple[list[Line], Group]:
        """The transpose of 4 x 4 bytes: twelve PRMT."""
        words = [(group[0] + n, 1) for n in range(SIDE)]
        registers, lines = self.ctx.recorder.registers, []
        result = registers.vector(SIDE)
        for n, (of_pairs, of_results) in enumerate(TRANSPOSE):
            low, high = registers.vector(), registers.vector()
            lines += [Line("PRMT", low, (words[0], words[1]), immediate=of_pairs),
                      Line("PRMT", high, (words[2], words[3]), immediate=of_pairs),
                      Line("PRMT", (result[0] + n, 1), (low, high), immediate=of_results)]
        return lines, result


@dataclass(eq=False)
class IgemmOperand(SimtOperand):
    """Operand "A" or "B" of bytes: words of four k, rows contiguous, padded where k is contiguous in global memory."""

    def _copies(self) -> TileCopy:
        tile_k = SIDE * self.shape.tile[2]
        contiguous, strided = (tile_k, self.extent) if self.k_major else (self.extent, tile_k)
        along, across = self._thread_tiles(contiguous, strided)
        side = np.arange(SIDE)[None, :, None]
        lines = (across[:, None, :] + side).reshape(-1, self.shape.threads)
        vectors = np.repeat(along, SIDE, axis=0)
        rows, k = (lines, vectors) if self.k_major else (vectors, lines)
        first_rows, first_k = (across, along) if self.k_major else (along, across)
        source = GlobalIterator(self.ctx, self.tensor, (self.extent, tile_k), (self.coord, None),
                                Pieces(rows, k, SIDE), self.k)
        stored = self._bytes(first_rows, first_k // SIDE)
        return ThreadTileCopy(self.ctx, source, self.array, stored, self.stage_bytes, transposes=not self.k_major)

    def _thread_tiles(self, contiguous: int, strided: int) -> tuple[np.ndarray, np.ndarray]:
        """(tiles of a thread, threads) contiguous and strided coordinate of its 4 x 4 elements, in strips."""
        threads, across = self.shape.threads, contiguous // SIDE
        rows_at_once = threads // across
        if not rows_at_once or threads % across or strided // SIDE % rows_at_once:
            raise gs.UserError("threads and 4 x 4 parts of a tile must divide one another", place=self.tensor.name,
                               got=f"{threads} threads for {contiguous} x {strided}")
        thread, first = np.arange(threads), np.arange(strided // SIDE // rows_at_once)[:, None] * rows_at_once
        return np.broadcast_to(thread % across * SIDE, (len(first), threads)), (first + thread // across) * SIDE


@dataclass(eq=False)
class IgemmLoop(SimtLoop):
    """The SIMT loop for A and B of s8, four k to a word."""

    operand_type = IgemmOperand

    def multiply(self, buffer: int) -> None:
        """n by n, over m: CUTLASS's order, without turning back."""
        self.ctx.require(gs.mma.SM61_DP4A)
        a, b, columns = self.a.buffers[buffer], self.b.buffers[buffer], self.shape.thread_tile[1]
        triples = tuple((self.accumulators[m * columns + n], a[m], b[n])
                        for n in range(len(b)) for m in range(len(a)))
        self.ctx.mma(gs.mma.SM61_DP4A.mnemonic, triples, (1, 1, 1))
