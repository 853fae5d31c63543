"""Models the way of a tile to shared memory: cp.async (MmaMultistage), or ld.global and st.shared (MmaPipelined).
Leaves out layouts and thread maps, which its operands bring along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

import gpusim as gs
from gpusim import (
    Code,
    Context,
    CopyAtom,
    GlobalIterator,
    Group,
    Line,
    SharedAccess,
    SmemArray,
    next_stage_lines,
    prefetching_mnemonic,
    read_key,
    stage_step_lines,
    write_key,
)

__all__ = ["StagedOperand", "TileCopy", "next_stage_code"]

WORD_BYTES = 4
ASYNC_BYTES = (4, 8, 16)
"""What cp.async moves (PTX ISA, cp.async)."""
KEEP_HIGH, BYTE_PAIR, HALF_PAIR = 0x7610, 0x3340, 0x5410
"""Selectors of PRMT: zeros under the upper half; two bytes side by side; two halves (CUTLASS 4, sm_90a)."""


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
    _loaded: list[Group] = field(default_factory=list)  # and per access: parts of those, or less than a register each
    _codes: dict[object, Code] = field(default_factory=dict)
    _store_access: SharedAccess = field(init=False)

    def __post_init__(self) -> None:
        registers = self.ctx.recorder.registers
        self.addresses = [registers.vector() for _ in range(min(self.num_addresses, len(self)))]
        self.write_stage = registers.uniform()
        self._store_access = SharedAccess(self.ctx, self.array, self.stored, f"STS{8 * self.vector_bytes}",
                                          self.vector_bytes)

    def __len__(self) -> int:
        """Pieces of a thread."""
        return len(self.stored)

    @property
    def vector_bytes(self) -> int:
        """Of a piece, in one access or several."""
        return self.source.access_bytes * self.source.accesses_per_vector

    def next_tile(self) -> list[Line]:
        return self.source.next_tile()

    def copy_async(self, number: int, stage: int, pieces: Sequence[int], *, zfill: bool) -> None:
        """cp.async of some pieces of tile ``number``; ``zfill``: zeros for what lies outside. 16 bytes go past L1
        unless the source is one that L1 is for."""
        if self.source.access_bytes not in ASYNC_BYTES:
            raise gs.UserError("cp.async moves 4, 8 or 16 bytes", place=self.source.tensor.name,
                               got=f"accesses of {self.source.access_bytes} bytes",
                               suggestion="a larger alignment, or a pipeline of two stages, which loads registers")
        cache = "GLOBAL" if self.source.access_bytes == 16 and not self.source.through_l1 else "ALWAYS"
        atom = getattr(gs.copy, f"SM80_CP_ASYNC_CACHE{cache}{'_ZFILL' if zfill else ''}_{self.source.access_bytes}B")
        self.ctx.require(atom)
        key = (atom.mnemonic, tuple(pieces))
        if key not in self._codes:
            self._codes[key] = Code(tuple(self._copy_lines(self._spelled(atom), pieces)))
        self.source.prepare(number, pieces)
        instance = self.source.access(atom.operation, number, pieces, zfill=zfill,
                                      shared=self.array.base_address + self.stored[list(pieces)],
                                      label=f"cp.async {self.source.tensor.name} -> {self.array.name}")
        self.ctx.code(self._codes[key], replace(instance, shared_offset=stage * self.stage_bytes))

    def _spelled(self, atom: CopyAtom) -> str:
        return prefetching_mnemonic(atom.mnemonic, self.source.access_bytes, self.ctx.spec.compute_capability)

    def _copy_lines(self, mnemonic: str, pieces: Sequence[int]) -> list[Line]:
        lines: list[Line] = []
        if 0 in pieces:
            lines, self._present = stage_step_lines(self.ctx.recorder.registers, self.addresses, self.write_stage)
        addresses = [self._present[piece % len(self._present)] for piece in pieces]
        return lines + self.source.lines(mnemonic, pieces, addresses=addresses, memory_key=write_key(self.array.number))

    def load(self, number: int) -> None:
        """Clear the registers, then load tile ``number``; what lies outside stays zero."""
        atom = getattr(gs.copy, f"UniversalCopy_{8 * self.source.access_bytes}b").bind("global", "register")
        pieces = range(len(self))
        if "load" not in self._codes:
            self._allocate()
            lines = self.source.lines(self._spelled(atom), pieces, registers=self._loaded)
            self._codes["load"] = Code((*self._clear(), *lines, *self.next_tile()))
        self.source.prepare(number, pieces)
        self.ctx.code(self._codes["load"], self.source.access(atom.operation, number, pieces,
                                                              label=f"ld.global {self.source.tensor.name}"))

    def _allocate(self) -> None:
        registers, width = self.ctx.recorder.registers, -(-self.vector_bytes // WORD_BYTES)
        first, _ = registers.vector(width * len(self))
        self._fragment = [(first + width * piece, width) for piece in range(len(self))]
        part = self.source.access_bytes // WORD_BYTES
        count = len(self) * self.source.accesses_per_vector
        if self._is_narrow:
            self._loaded = [registers.vector() for _ in range(count)]
        else:
            self._loaded = [(first + max(1, part) * number, max(1, part)) for number in range(count)]

    @property
    def _is_narrow(self) -> bool:
        """Whether several accesses fill a register: each has one of its own until they are put together."""
        return self.source.access_bytes < min(WORD_BYTES, self.vector_bytes)

    def _clear(self) -> list[Line]:
        if self._is_narrow:
            return [Line("PRMT", register, (register,), immediate=KEEP_HIGH) for register in self._loaded]
        start, end = self._fragment[0][0], sum(self._fragment[-1])
        pairs = [Line("CS2R", (register, 2)) for register in range(start, end - 1, 2)]
        return pairs + [Line("IMAD.MOV.U32", (end - 1, 1))] * ((end - start) % 2)

    def store(self, stage: int) -> None:
        """Store the registers to ``stage``."""
        if "store" not in self._codes:
            lines = [*self._packed(), *self._store_lines(self._fragment)]
            self._codes["store"] = Code(tuple(lines))
        self.ctx.code(self._codes["store"], self._store_access.instance(stage * self.stage_bytes))

    def _store_lines(self, data: Sequence[Group]) -> list[Line]:
        """Stores of a vector per piece to the stage that is written, which [R+UR] adds for the first."""
        kept = self.addresses[:1] if self.source.k_major else self.addresses
        lines, stepped = stage_step_lines(self.ctx.recorder.registers, self.addresses[len(kept):], self.write_stage)
        places = [*((address, self.write_stage) for address in kept), *((address,) for address in stepped)]
        width = {1: ".U8", 2: ".U16", 4: ""}.get(self.vector_bytes, f".{8 * self.vector_bytes}")
        return lines + [Line(f"STS{width}", (0, 0), (*places[piece % len(places)], group), piece,
                             read_key(self.array.number)) for piece, group in enumerate(data)]

    def _packed(self) -> list[Line]:
        """Accesses of less than a register, put together."""
        if not self._is_narrow:
            return []
        targets = [(start + n, 1) for start, width in self._fragment for n in range(width)]
        count, lines = WORD_BYTES // self.source.access_bytes, []
        for number, target in enumerate(targets):
            parts = self._loaded[number * count : (number + 1) * count]
            while len(parts) > 1:
                pairs = [(parts[n], parts[n + 1]) for n in range(0, len(parts), 2)]
                selector = BYTE_PAIR if len(pairs) == 2 else HALF_PAIR
                results = [target] if len(pairs) == 1 else [self.ctx.recorder.registers.vector() for _ in pairs]
                lines += [Line("PRMT", to, pair, immediate=selector) for to, pair in zip(results, pairs, strict=True)]
                parts = results
        return lines

    def clear_stage(self, stage: int) -> None:
        """Zeros for all of ``stage``, by ordinary stores (kClearLastStage)."""
        first, width = zeros = self.ctx.recorder.registers.vector(-(-self.vector_bytes // WORD_BYTES))
        clears = [Line("CS2R", (first + n, 2)) for n in range(0, width - 1, 2)]
        clears += [Line("IMAD.MOV.U32", (first + width - 1, 1))] * (width % 2)
        self.ctx.code([*clears, *self._store_lines([zeros] * len(self))],
                      self._store_access.instance(stage * self.stage_bytes))


class StagedOperand(Protocol):
    """What the pipelines know of an operand's stages."""

    copies: TileCopy
    read_stage: Group

    @property
    def k_major(self) -> bool: ...

    def setup(self) -> list[Line]:
        """Before the loop."""


def next_stage_code(ctx: Context, operands: Sequence[StagedOperand], *, stages: int, ldmatrix: bool) -> list[Line]:
    """The step of all operands to the next stage to write and to read."""
    counters = [*(operand.copies.write_stage for operand in operands), *(operand.read_stage for operand in operands)]
    return next_stage_lines(ctx.recorder.registers, counters, stages=stages, ldmatrix=ldmatrix,
                      k_major=any(operand.k_major for operand in operands))
