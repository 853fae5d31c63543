"""Models the way of MmaPipelined's tiles: ld.global into registers, st.shared into the other stage.
Leaves out layouts and thread maps, which its operands bring along."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import gpusim as gs
from gpusim.dsl import Context, SmemArray
from gpusim.dsl.iterators import GlobalIterator, SharedAccess
from gpusim.dsl.lowering.iterators import stage_step
from gpusim.dsl.lowering.loads import read_key
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Code, Line

__all__ = ["StagedTile"]


@dataclass(eq=False)
class StagedTile:
    """A tile of ``source`` on its way to ``stored``: (pieces, threads) byte addresses in a stage of ``array``."""

    ctx: Context
    source: GlobalIterator
    array: SmemArray
    stored: np.ndarray
    stage_bytes: int
    addresses: list[Group]  # registers that hold where a thread stores
    write_stage: Group
    _fragment: list[Group] = field(init=False)
    _loads: Code | None = None
    _stores: Code | None = None
    _store_access: SharedAccess = field(init=False)

    def __post_init__(self) -> None:
        width = max(1, self.source.access_bytes // 4)
        first, _ = self.ctx.recorder.registers.vector(width * len(self.stored))
        self._fragment = [(first + width * piece, width) for piece in range(len(self.stored))]
        self._store_access = SharedAccess(self.ctx, self.array, self.stored, f"STS{self._bits}",
                                          self.source.access_bytes)

    @property
    def _bits(self) -> int:
        return 8 * self.source.access_bytes

    def load(self, number: int) -> None:
        """Clear the registers, then load tile ``number``; what lies outside stays zero."""
        atom = getattr(gs.copy, f"UniversalCopy_{self._bits}b").bind("global", "register")
        pieces = range(len(self.stored))
        if self._loads is None:
            lines = self.source.lines(atom.mnemonic, pieces, registers=self._fragment)
            self._loads = Code((*self._clear(), *lines, *self.source.next_tile()))
        self.ctx.code(self._loads, self.source.access(atom.operation, number, pieces,
                                                      label=f"ld.global {self.source.tensor.name}"))

    def _clear(self) -> list[Line]:
        start, end = self._fragment[0][0], sum(self._fragment[-1])
        pairs = [Line("CS2R", (register, 2)) for register in range(start, end - 1, 2)]
        return pairs + [Line("IMAD.MOV.U32", (end - 1, 1))] * ((end - start) % 2)

    def store(self, stage: int) -> None:
        """Store the registers to ``stage``."""
        if self._stores is None:
            lines, addresses = stage_step(self.ctx.recorder.registers, self.addresses, self.write_stage)
            mnemonic = "STS" if self._bits == 32 else f"STS.{self._bits}"
            lines += [Line(mnemonic, (0, 0), (addresses[piece % len(addresses)], group), piece,
                           read_key(self.array.number)) for piece, group in enumerate(self._fragment)]
            self._stores = Code(tuple(lines))
        self.ctx.code(self._stores, self._store_access.instance(stage * self.stage_bytes))
