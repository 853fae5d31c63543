"""Models the way of a tile to shared memory: cp.async (MmaMultistage), or ld.global and st.shared (MmaPipelined).
Leaves out layouts and thread maps, which its operands bring along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

import gpusim as gs
from gpusim.dsl import Context, SmemArray
from gpusim.dsl.iterators import GlobalIterator, SharedAccess
from gpusim.dsl.lowering.copies import write_key
from gpusim.dsl.lowering.iterators import next_stage, stage_step
from gpusim.dsl.lowering.loads import read_key
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Code, Line

__all__ = ["StagedOperand", "TileCopy", "next_stage_code"]


@dataclass(eq=False)
class TileCopy:
    """Tiles of ``source`` on their way to ``stored``: (pieces, threads) byte addresses in a stage of ``array``.

    ``num_addresses``: registers that hold where a thread stores; the rest goes into immediates.
    """

    ctx: Context
    source: GlobalIterator
    array: SmemArray
    stored: np.ndarray
    stage_bytes: int
    num_addresses: int = 1
    addresses: list[Group] = field(init=False)
    write_stage: Group = field(init=False)
    _present: list[Group] = field(default_factory=list)  # addresses in the stage that is written
    _fragment: list[Group] = field(default_factory=list)  # registers on the way, one group per piece
    _codes: dict[object, Code] = field(default_factory=dict)
    _store_access: SharedAccess = field(init=False)

    def __post_init__(self) -> None:
        registers = self.ctx.recorder.registers
        self.addresses = [registers.vector() for _ in range(min(self.num_addresses, len(self)))]
        self.write_stage = registers.uniform()
        self._store_access = SharedAccess(self.ctx, self.array, self.stored, f"STS{self._bits}",
                                          self.source.access_bytes)

    def __len__(self) -> int:
        """Pieces of a thread."""
        return len(self.stored)

    @property
    def _bits(self) -> int:
        return 8 * self.source.access_bytes

    def next_tile(self) -> list[Line]:
        return self.source.next_tile()

    def copy_async(self, number: int, stage: int, pieces: Sequence[int], *, zfill: bool) -> None:
        """cp.async of some pieces of tile ``number``; ``zfill``: zeros for what lies outside. 16 bytes go past L1."""
        cache = "GLOBAL" if self.source.access_bytes == 16 else "ALWAYS"
        atom = getattr(gs.copy, f"SM80_CP_ASYNC_CACHE{cache}{'_ZFILL' if zfill else ''}_{self.source.access_bytes}B")
        self.ctx.require(atom)
        key = (atom.mnemonic, tuple(pieces))
        if key not in self._codes:
            self._codes[key] = Code(tuple(self._copy_lines(atom.mnemonic, pieces)))
        instance = self.source.access(atom.operation, number, pieces, zfill=zfill,
                                      shared=self.array.base_address + self.stored[list(pieces)],
                                      label=f"cp.async {self.source.tensor.name} -> {self.array.name}")
        self.ctx.code(self._codes[key], replace(instance, shared_offset=stage * self.stage_bytes))

    def _copy_lines(self, mnemonic: str, pieces: Sequence[int]) -> list[Line]:
        lines: list[Line] = []
        if 0 in pieces:
            lines, self._present = stage_step(self.ctx.recorder.registers, self.addresses, self.write_stage)
        addresses = [self._present[piece % len(self._present)] for piece in pieces]
        return lines + self.source.lines(mnemonic, pieces, addresses=addresses, memory_key=write_key(self.array.number))

    def load(self, number: int) -> None:
        """Clear the registers, then load tile ``number``; what lies outside stays zero."""
        atom = getattr(gs.copy, f"UniversalCopy_{self._bits}b").bind("global", "register")
        pieces = range(len(self))
        if "load" not in self._codes:
            self._fragment = self._allocate()
            lines = self.source.lines(atom.mnemonic, pieces, registers=self._fragment)
            self._codes["load"] = Code((*self._clear(), *lines, *self.next_tile()))
        self.ctx.code(self._codes["load"], self.source.access(atom.operation, number, pieces,
                                                              label=f"ld.global {self.source.tensor.name}"))

    def _allocate(self) -> list[Group]:
        width = self.source.access_bytes // 4
        first, _ = self.ctx.recorder.registers.vector(width * len(self))
        return [(first + width * piece, width) for piece in range(len(self))]

    def _clear(self) -> list[Line]:
        start, end = self._fragment[0][0], sum(self._fragment[-1])
        pairs = [Line("CS2R", (register, 2)) for register in range(start, end - 1, 2)]
        return pairs + [Line("IMAD.MOV.U32", (end - 1, 1))] * ((end - start) % 2)

    def store(self, stage: int) -> None:
        """Store the registers to ``stage``."""
        if "store" not in self._codes:
            lines, addresses = stage_step(self.ctx.recorder.registers, self.addresses, self.write_stage)
            mnemonic = "STS" if self._bits == 32 else f"STS.{self._bits}"
            lines += [Line(mnemonic, (0, 0), (addresses[piece % len(addresses)], group), piece,
                           read_key(self.array.number)) for piece, group in enumerate(self._fragment)]
            self._codes["store"] = Code(tuple(lines))
        self.ctx.code(self._codes["store"], self._store_access.instance(stage * self.stage_bytes))


class StagedOperand(Protocol):
    """What the pipelines know of an operand's stages."""

    copies: TileCopy
    read_stage: Group

    @property
    def k_major(self) -> bool: ...


def next_stage_code(ctx: Context, a: StagedOperand, b: StagedOperand, *, stages: int, ldmatrix: bool) -> list[Line]:
    """The step of both operands to the next stage to write and to read."""
    counters = [a.copies.write_stage, b.copies.write_stage, a.read_stage, b.read_stage]
    return next_stage(ctx.recorder.registers, counters, stages=stages, ldmatrix=ldmatrix,
                      k_major=a.k_major or b.k_major)
