"""Models how stream-K blocks hand partial sums to each other: stripes of accumulators in a workspace, one per peer.
Leaves out who hands what to whom (common.streamk) and waiting (common.semaphore).

Source: cutlass/block_striped.h, epilogue/threadblock/epilogue_base_streamk.h, gemm/kernel/gemm_universal_streamk.h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import gpusim as gs
from common.epilogue import Epilogue, Push
from gpusim import LANES, Access, Context, GmemTensor, Group, Instance, Line

__all__ = ["Workspace", "access_width", "partial_sums"]

WORD_BYTES, WIDEST_BYTES = 4, 16
ALL_LANES = 0xFFFFFFFF
STORE, LOAD, ADD = "STG.E", "LDG.E", "RED.E.ADD.F32.FTZ.RN.STRONG.GPU"


def partial_sums(tiles: int, tile_elements: int) -> GmemTensor:
    """Room for the f32 sums of so many whole tiles."""
    return gs.tensor("workspace", gs.f32, (tiles, 1, tile_elements), scratch=True)


@dataclass(eq=False)
class Workspace:
    """The part of the workspace that a threadblock is at: an access of all threads, behind it their next one."""

    ctx: Context
    tensor: GmemTensor
    threads: int

    def __post_init__(self) -> None:
        matrix = self.tensor.batch()
        self.ctx.grid.partial_tile(matrix, (matrix.shape[0], matrix.shape[1]), (None, None))

    @property
    def tile_elements(self) -> int:
        return self.tensor.shape[-1]

    # whole tiles, register by register

    def store(self, registers: Sequence[Group]) -> None:
        """The first peer's sums."""
        self._move(STORE, registers)

    def reduce(self, registers: Sequence[Group]) -> None:
        """Add to what the peers before have left."""
        self._move(ADD, registers)

    def load_add(self, registers: Sequence[Group]) -> None:
        """Add all peers' sums to the registers."""
        loaded = [self.ctx.recorder.registers.vector() for _ in registers]
        self._move(LOAD, loaded)
        self.ctx.code([Line("FADD", to, (to, other)) for to, other in zip(registers, loaded, strict=True)])

    def _move(self, mnemonic: str, registers: Sequence[Group]) -> None:
        row = self._rows("LDG" if mnemonic == LOAD else "STG", len(registers), 1)
        pointer = self._pointer()
        lines = [Line(mnemonic, register if mnemonic == LOAD else (0, 0),
                      (pointer,) if mnemonic == LOAD else (pointer, register), piece)
                 for piece, register in enumerate(registers)]
        self.ctx.code(lines, Instance(row))

    # fragments of a tile, in the widest accesses

    def store_fragments(self, epilogue: Epilogue) -> None:
        """Every slice of the accumulators that the epilogue would push, one behind the other."""
        for step in range(epilogue.shape.steps):
            parts = _single(epilogue.shape.push(step).registers)
            stripes = self._stripes(len(parts))
            moves = [Line("MOV", to, (part,)) for to, part in zip(_single(stripes), parts, strict=True)]
            row, pointer = self._rows("STG", len(stripes), stripes[0][1]), self._pointer()
            stores = [Line(_mnemonic("STG", stripe[1]), (0, 0), (pointer, stripe), piece)
                      for piece, stripe in enumerate(stripes)]
            self.ctx.code([*moves, *stores], Instance(row, 0, self._fragment_bytes(step, len(parts))))

    def reduce_fragment(self, epilogue: Epilogue, step: int, peers: int) -> None:
        """Sum one slice over all peers into what the epilogue pushes in that step. The first peer's lies in the first
        of its two tiles, those of the others, who did not start the tile, in the second one."""
        push = epilogue.shape.push(step)
        count = len(_single(push.registers))
        totals = self._stripes(count)
        for peer in range(peers):
            stripes = self._stripes(count) if peer else totals
            row, pointer = self._rows("LDG", len(stripes), stripes[0][1]), self._pointer()
            lines = [Line(_mnemonic("LDG", stripe[1]), stripe, (pointer,), piece)
                     for piece, stripe in enumerate(stripes)]
            tiles = (2 * peer + 1 if peer else 0) * self.tensor.bytes_of(self.tile_elements)
            self.ctx.code(lines, Instance(row, 0, tiles + self._fragment_bytes(step, count)))
            if peer:
                self.ctx.code([Line("FADD", to, (to, other)) for to, other in zip(
                    _single(totals), _single(stripes), strict=True)])
        epilogue.shape = replace(epilogue.shape, push=lambda _: Push(push.rows, push.columns,
                                                                     _regrouped(totals, push.registers)))

    def _stripes(self, registers: int) -> list[Group]:
        """A fragment in the widest accesses that divide it."""
        words = access_width(registers * WORD_BYTES) // WORD_BYTES
        return [self.ctx.recorder.registers.vector(words) for _ in range(registers // words)]

    def _fragment_bytes(self, step: int, registers: int) -> int:
        return step * registers * self.threads * self.tensor.dtype.bytes

    def _pointer(self) -> Group:
        registers = self.ctx.recorder.registers
        thread, pointer = registers.vector(), registers.vector(2)
        self.ctx.code([Line("S2R", thread), Line("IMAD.WIDE", pointer, (thread,))])
        return pointer

    def _rows(self, operation: str, count: int, words: int) -> int:
        key = (self.tensor.name, self.ctx.mover.row(self.tensor.name), operation, count, words)
        return self.ctx.recorder.access_row(key, lambda: [self._access(operation, n, words) for n in range(count)])

    def _access(self, operation: str, number: int, words: int) -> Access:
        """Access ``number`` of all threads: behind those of all lower numbers."""
        width = words * WORD_BYTES
        offsets = (number * self.threads + np.arange(self.threads)) * width
        warps = self.threads // LANES
        name = f"{'ld' if operation.startswith('LD') else 'st'}.global {self.tensor.name}"
        return Access(f"{operation}{8 * width}", name, width, None, offsets.reshape(warps, LANES),
                      self.ctx.mover.row(self.tensor.name), np.full(warps, ALL_LANES, np.uint32),
                      np.zeros(warps, np.uint32))


def access_width(size_bytes: int) -> int:
    """AccessWidth: the largest power of two, at most 16, that divides a size."""
    return math.gcd(size_bytes, WIDEST_BYTES)


def _mnemonic(operation: str, words: int) -> str:
    return f"{operation}.E" if words == 1 else f"{operation}.E.{8 * WORD_BYTES * words}"


def _single(groups: Sequence[Group]) -> list[Group]:
    """Register by register."""
    return [(start + n, 1) for start, count in groups for n in range(count)]


def _regrouped(stripes: Sequence[Group], like: Sequence[Group]) -> list[Group]:
    """The registers of ``stripes`` in groups as ``like`` has them."""
    singles, ends = _single(stripes), np.cumsum([count for _, count in like]).tolist()
    return [(singles[end - count][0], count) for end, (_, count) in zip(ends, like, strict=True)]
