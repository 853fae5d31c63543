"""Models how cp.async statements become instructions: shared-memory and global addresses, guards, LDGSTS.
Leaves out which lanes address what (gpusim.dsl.partition); counts are those of gpusim.dsl.lowering.rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusim.dsl.lowering.counters import Counter, TripTest
from gpusim.dsl.lowering.emitter import NONE, Emitter
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import AsyncCopy

__all__ = [
    "SWIZZLE_OPS",
    "LoopCopies",
    "Place",
    "PlaceName",
    "ResidentCopies",
    "Slot",
    "dead_loads",
    "into",
    "piece_predicate",
    "same_place",
    "scaled_pointer",
    "shares_place",
    "swizzled",
    "wide_product",
    "write_key",
]

SWIZZLE_OPS = {"": (), "row": ("LOP3.LUT",), "shifted": ("SHF.R.U32.HI", "LOP3.LUT")}
"""Instructions that put an XOR into the column of a place."""
DEAD_LOADS = 3


PlaceName = tuple[int, int, int]
"""(coordinates, stage bytes, piece)"""


@dataclass(frozen=True)
class Place:
    """Registers of a (row, column); the column has two where pointers are made of it."""

    row: Group
    column: Group


@dataclass(frozen=True)
class Slot:
    """Registers that the addresses of copies take one after the other: in shared memory, and the global pointer."""

    address: Group
    pointer: Group


class LoopCopies(ABC):
    """What the copies of one loop share between turns (``places``, ``pointers``) and between statements of one turn.

    ``slot``: where registers are short, for copies that share their places with no other tensor's. ``shared_offset``:
    uniform, 64 bits: k in bytes, added to pointers that stand still.
    """

    def __init__(self, write_stage: Counter, copies: Sequence[AsyncCopy], slot: Slot | None,
                 shared_offset: Group = NONE) -> None:
        self.write_stage, self.copies, self.slot, self.shared_offset = write_stage, copies, slot, shared_offset
        self.pointers: dict[tuple[str, int], Group] = {}  # (tensor, piece)
        self.places: dict[tuple[int, int], Place] = {}  # (coordinates, piece)
        self.begin_turn(None)

    def begin_turn(self, test: TripTest | None) -> None:
        """``test``: whether there is anything to copy in this turn."""
        self.test = test
        self.addresses: dict[PlaceName, Group] = {}
        self.sums: dict[PlaceName, Group] = {}  # of places in their stages, in elements

    def copy(self, emit: Emitter, copy: AsyncCopy, key: int) -> None:
        """One statement: addresses for its pieces, its LDGSTS, and what advances its pointers."""
        if not self.addresses:
            dead_loads(emit)
            self._begin(emit)
        slot = None if shares_place(copy, self.copies) else self.slot
        pointers = []
        for piece in range(copy.count):
            place = self._place(emit, copy, piece)
            address = self._address(emit, copy, piece, place, slot.address if slot else None)
            pointers.append(self._pointer(emit, copy, piece, place, slot.pointer if slot else None))
            guards = piece_predicate(emit, copy, place.row)
            emit.op(copy.mnemonic, address, pointers[-1], *guards, piece=piece, memory_key=key)
        self._advance(emit, copy, pointers)

    def end_turn(self, emit: Emitter) -> None:
        """Behind the last copy: advance the shared offset."""
        if self.shared_offset[1]:
            low, high = (self.shared_offset[0], 1), (self.shared_offset[0] + 1, 1)
            emit.op("UIADD3", low, dst=low)
            emit.op("UIADD3.X", high, low, dst=high)

    def _place(self, emit: Emitter, copy: AsyncCopy, piece: int) -> Place:
        name = (copy.coordinates, piece)
        if name not in self.places:
            self.places[name] = Place(emit.registers.vector(), emit.registers.vector(self._column_registers(copy)))
        return self.places[name]

    def _address(self, emit: Emitter, copy: AsyncCopy, piece: int, place: Place, result: Group | None) -> Group:
        """In ``result``, if given; then its sum has no register either, and no other tensor finds it there."""
        name = (copy.coordinates, copy.stage_bytes, piece)
        if name not in self.addresses:
            total = self._sum(emit, copy, piece, place, result)
            if result is None:
                self.sums[name] = total
            self.addresses[name] = into(emit, result, "LEA", total)
        return self.addresses[name]

    @abstractmethod
    def _begin(self, emit: Emitter) -> None:
        """What all pieces of a turn have in common."""

    @abstractmethod
    def _advance(self, emit: Emitter, copy: AsyncCopy, pointers: Sequence[Group]) -> None:
        """Pointers, behind a statement."""

    @abstractmethod
    def _column_registers(self, copy: AsyncCopy) -> int:
        """Of a place, between turns."""

    @abstractmethod
    def _sum(self, emit: Emitter, copy: AsyncCopy, piece: int, place: Place, result: Group | None) -> Group:
        """A place in its stage, in elements."""

    @abstractmethod
    def _pointer(self, emit: Emitter, copy: AsyncCopy, piece: int, place: Place, result: Group | None) -> Group:
        """The global address of a piece."""


class ResidentCopies(LoopCopies):
    """Pointers stay in registers: those of the first tensor are advanced, of the others, too, if nothing is shared."""

    def _begin(self, emit: Emitter) -> None:
        pass  # stage and shared offset are there

    def _column_registers(self, copy: AsyncCopy) -> int:
        return 1

    def _sum(self, emit: Emitter, copy: AsyncCopy, piece: int, place: Place, result: Group | None) -> Group:
        """That of another tensor's stage differs by a multiple of the stage's number."""
        stage = self.write_stage.register
        other = same_place(self.sums, copy, piece)
        if other is not None:
            return into(emit, result, "IMAD", stage, other)
        return into(emit, result, "IMAD.U32", into(emit, result, "IMAD", stage, place.row), place.column)

    def _pointer(self, emit: Emitter, copy: AsyncCopy, piece: int, place: Place, result: Group | None) -> Group:
        name = (copy.source, piece)
        if name not in self.pointers:
            self.pointers[name] = emit.registers.vector(2)
        if not self._shares_offset(copy.source):
            return self.pointers[name]
        pointer, offset, pair = self.pointers[name], self.shared_offset, result or emit.registers.vector(2)
        emit.op("IADD3", (pointer[0], 1), (offset[0], 1), dst=(pair[0], 1))
        emit.op("IADD3.X", (pointer[0] + 1, 1), (offset[0] + 1, 1), (pair[0], 1), dst=(pair[0] + 1, 1))
        return pair

    def _advance(self, emit: Emitter, copy: AsyncCopy, pointers: Sequence[Group]) -> None:
        if self._shares_offset(copy.source):
            return
        with emit.unguarded():
            for low, _ in pointers:
                emit.op("IADD3", (low, 1), dst=(low, 1))
                emit.op("IMAD.X", (low + 1, 1), (low, 1), dst=(low + 1, 1))

    def _shares_offset(self, tensor: str) -> bool:
        """Whether the tensor's pointers stand still and the shared offset moves."""
        return bool(self.shared_offset[1]) and bool(self.pointers) and next(iter(self.pointers))[0] != tensor


def shares_place(copy: AsyncCopy, copies: Sequence[AsyncCopy]) -> bool:
    """Whether another of a loop's tensors has its copies at the same places of stages as large."""
    return [(one.coordinates, one.stage_bytes) for one in copies].count((copy.coordinates, copy.stage_bytes)) > 1


def write_key(tensor_number: int) -> int:
    """Memory key of asynchronous writes to a shared tensor. They get a key apart from its reads: a read of the same
    bytes between the same two barriers would be a race that no instruction order cures."""
    return 2 * tensor_number + 1


def same_place(known: Mapping[PlaceName, Group], copy: AsyncCopy, piece: int) -> Group | None:
    """What is known of the place of a piece in a stage of another size."""
    return next((value for (coordinates, _, number), value in known.items()
                 if (coordinates, number) == (copy.coordinates, piece)), None)


def into(emit: Emitter, result: Group | None, mnemonic: str, *sources: Group) -> Group:
    """An instruction whose result takes a given register, or a fresh one."""
    return emit.op(mnemonic, *sources, dst=result or emit.registers.vector())


def dead_loads(emit: Emitter) -> None:
    """ptxas puts these in front of a block's first LDGSTS; the guard is never true."""
    with emit.unguarded():
        for _ in range(DEAD_LOADS):
            emit.op("LDS", active=False)


def piece_predicate(emit: Emitter, copy: AsyncCopy, place: Group) -> tuple[Group, ...]:
    """Of a piece of a partial tile: whether its place lies inside."""
    return (emit.op("ISETP.LT.AND", place, dst=emit.registers.predicate()),) if copy.partial else ()


def scaled_pointer(emit: Emitter, offset: Group, result: Group | None = None, base: Group = NONE) -> Group:
    """base + 2 * offset in 64 bits, in ``result`` or fresh registers; without ``base`` it is a constant."""
    pair = result or emit.registers.vector(2)
    low, high = ([(base[0] + half, 1)] if base[1] else [] for half in (0, 1))
    emit.op("LEA", (offset[0], 1), *low, dst=(pair[0], 1))
    emit.op("LEA.HI.X", offset, *high, (pair[0], 1), dst=(pair[0] + 1, 1))
    return pair


def wide_product(emit: Emitter, place: Group) -> Group:
    """(block + row) * pitch + column: a 64 x 64-bit product."""
    row = emit.new("IMAD", place)
    high = emit.new("IMAD", emit.chain(("SHF.R.S32.HI", "IMAD"), row), row)
    offset = emit.wide("IMAD.WIDE.U32", row, place)
    emit.op("IMAD.IADD", (offset[0] + 1, 1), high, dst=(offset[0] + 1, 1))
    return offset


def swizzled(emit: Emitter, xor: str, place: Group) -> Group:
    """A place with the XOR put into its column."""
    return emit.chain(SWIZZLE_OPS[xor], place)
