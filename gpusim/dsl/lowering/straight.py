"""Models code outside loops: stages of copies with their guards, first fragments, and everything that needs no address.
Leaves out loops (gpusim.dsl.lowering.loops); counts are those of gpusim.dsl.lowering.rules."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.dsl.lowering.compute import emit_simple
from gpusim.dsl.lowering.copies import (
    dead_loads,
    piece_predicate,
    scaled_pointer,
    swizzled,
    wide_product,
    write_key,
)
from gpusim.dsl.lowering.emitter import NONE, Emitter, Instruction
from gpusim.dsl.lowering.loads import emit_prologue_load, read_key
from gpusim.dsl.registers import Group, Registers
from gpusim.dsl.statements import AsyncCopy, BasicBlock, LoadMatrix, Statement, Sync

__all__ = ["PLACE_OPS", "StraightCode", "keeps_addresses"]

PLACE_OPS = ("VIADD", "SHF.R.S32.HI", "LEA.HI", "LOP3.LUT", "IMAD.IADD", "IMAD.SHL.U32", "SHF.R.S32.HI", "VIADD",
             "SHF.R.S32.HI")
"""threadIdx to (row, column) of a place: signed division by the pieces of a row."""
SHARED_OPS = ("IMAD", "LEA", "VIADD")
STACK_POINTER, DESCRIPTOR, EXTENTS = -0x1E8, -8, 0
"""What code reads first of the constants, in bytes from its parameters on: c[0x0][0x28], c[0x0][0x208] and the problem
size, on whose k the first guard waits (20 loops of h200/sass)."""
IF_CONVERTED_PIECES = 2
"""A guard around at most so many copies becomes a predicate instead of a branch, and stages share their addresses."""


def is_if_converted(stage: Sequence[Statement]) -> bool:
    """Whether the copies of a stage are predicated rather than jumped over."""
    copies = [statement for statement in stage if isinstance(statement.spec, AsyncCopy)]
    pieces = sum(statement.spec.count for statement in copies if isinstance(statement.spec, AsyncCopy))
    return pieces <= IF_CONVERTED_PIECES and any(statement.predicated for statement in copies)


def keeps_addresses(block: BasicBlock) -> bool:
    """Whether a loop that follows finds places and products of the block's copies in registers: they are predicated, or
    of a single stage, whose guard is that of the loop."""
    stages = sum(isinstance(statement.spec, Sync) and statement.spec.ends_stage for statement in block.statements)
    return block.loop < 0 and stages > 0 and (stages == 1 or is_if_converted(first_stage(block.statements)))


def first_stage(statements: Sequence[Statement]) -> Sequence[Statement]:
    """Statements up to the first synchronisation."""
    return statements[: next((n for n, s in enumerate(statements) if isinstance(s.spec, Sync)), len(statements))]


class StraightCode:
    """Emits one block without a loop; values a compiler recomputes for every stage are forgotten at its commit. It puts
    the first of them where the last copy has its address, so that a stage begins when those before have been read."""

    def __init__(self, registers: Registers, tensors: dict[str, int]) -> None:
        self.emit = Emitter(registers)
        self.tensors = tensors
        self.places: dict[tuple[int, int], Group] = {}  # (coordinates, piece)
        self.shared: dict[tuple[int, int, int], Group] = {}  # (coordinates, stage bytes, piece)
        self.offsets: dict[tuple[str, int], Group] = {}  # (tensor, piece), kept where stages share them
        self.thread: Group | None = None
        self.extents: Group = NONE
        self.address: Group = NONE  # of the last copy
        self.spent: Group = NONE  # the same, when its stage has ended
        self.converted = self.in_stage = self.has_copies = False

    def block(self, block: BasicBlock, *, is_first: bool) -> list[Instruction]:
        """Instructions of a block in source order."""
        self.emit.line = block.statements[0].line
        if is_first:
            self._launch_values()
        for number, statement in enumerate(block.statements):
            self.emit.line, self.emit.statement = statement.line, number
            self._statement(statement, block.statements[number:])
        return self.emit.instructions

    def _statement(self, statement: Statement, rest: Sequence[Statement]) -> None:
        spec = statement.spec
        if isinstance(spec, AsyncCopy):
            if not self.in_stage:
                self._begin_stage(rest)
            self._copy(spec)
        elif isinstance(spec, LoadMatrix):
            emit_prologue_load(self.emit, spec, self._thread(), read_key(self.tensors[spec.source]))
        else:
            emit_simple(self.emit, spec)
            if isinstance(spec, Sync) and spec.ends_stage:
                self._end_stage()

    def _thread(self) -> Group:
        if self.thread is None:
            self.thread = self.emit.new("S2R")
        return self.thread

    def _launch_values(self) -> None:
        """Stack pointer, block numbers, problem size, descriptor."""
        self.emit.new("LDC", parameter=STACK_POINTER)
        for _ in range(2):
            self.emit.new("S2R")
        self.extents = self.emit.new("LDC", parameter=EXTENTS)
        self.emit.uniform("ULDC.64", count=2, parameter=DESCRIPTOR)

    def _begin_stage(self, rest: Sequence[Statement]) -> None:
        stage = first_stage(rest)
        self.in_stage, self.converted = True, is_if_converted(stage)
        emit, guarded = self.emit, any(statement.predicated for statement in stage)
        predicate = emit.op("ISETP.GE.AND", self.extents, dst=emit.registers.predicate()) if guarded else None
        if not (self.converted and self.has_copies):
            dead_loads(emit)
        if self.converted:
            emit.guard = predicate
            emit.new("LEA", emit.new("S2R"), emit.new("MOV"))
        else:
            if predicate is not None:
                emit.op("BRA", predicate)
            emit.uniform("ULEA", emit.uniform("S2UR"), emit.uniform("UMOV"))
        for _ in {statement.spec.source for statement in stage if isinstance(statement.spec, AsyncCopy)}:
            self._base_pointer()
        self.has_copies = True

    def _base_pointer(self) -> None:
        if self.converted:
            self.emit.wide("LDC.64")
        else:
            self.emit.uniform("ULDC.64", count=2)

    def _end_stage(self) -> None:
        self.in_stage, self.emit.guard = False, None
        self.shared.clear()
        if not self.converted:
            self.places.clear()
            self.spent = self.address

    def _copy(self, copy: AsyncCopy) -> None:
        pieces = [(self._shared_address(copy, piece), self._pointer(copy, piece)) for piece in range(copy.count)]
        key = write_key(self.tensors[copy.destination])
        for piece, (address, pointer) in enumerate(pieces):
            guards = piece_predicate(self.emit, copy, self._place(copy, piece))
            self.emit.op(copy.mnemonic, address, pointer, *guards, piece=piece, memory_key=key)
            self.address = address

    def _place(self, copy: AsyncCopy, piece: int) -> Group:
        name = (copy.coordinates, piece)
        if name not in self.places:
            self.places[name] = self._unguarded(PLACE_OPS, self._thread())
        return self.places[name]

    def _unguarded(self, mnemonics: Sequence[str], source: Group) -> Group:
        guard, self.emit.guard = self.emit.guard, None
        first = self.emit.registers.vector() if self.spent == NONE else self.spent
        self.emit.op(mnemonics[0], source, dst=first)
        result, self.spent = self.emit.chain(mnemonics[1:], first), NONE
        self.emit.guard = guard
        return result

    def _shared_address(self, copy: AsyncCopy, piece: int) -> Group:
        name = (copy.coordinates, copy.stage_bytes, piece)
        if name not in self.shared:
            place = self._place(copy, piece)
            column = place if self.converted else swizzled(self.emit, copy.xor, place)
            self.shared[name] = self.emit.chain(SHARED_OPS[: 1 if self.converted else None], column)
        return self.shared[name]

    def _pointer(self, copy: AsyncCopy, piece: int) -> Group:
        place = self._place(copy, piece)
        if not self.converted:
            return scaled_pointer(self.emit, wide_product(self.emit, place))
        name = (copy.source, piece)
        if name not in self.offsets:
            guard, self.emit.guard = self.emit.guard, None
            self.offsets[name] = self.emit.wide("IMAD.WIDE", self.emit.new("IMAD", place), place)
            self.emit.guard = guard
        return scaled_pointer(self.emit, self.offsets[name])
