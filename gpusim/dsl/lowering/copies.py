"""Models how cp.async statements become instructions: shared-memory and global addresses, guards, LDGSTS.
Leaves out which lanes address what (gpusim.dsl.partition); counts are those of gpusim.dsl.lowering.rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gpusim.dsl.lowering.counters import Counter, Test
from gpusim.dsl.lowering.emitter import NONE, Emitter
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import AsyncCopy

__all__ = [
    "SWIZZLE_OPS",
    "Place",
    "PlaceName",
    "ResidentCopies",
    "Slot",
    "dead_loads",
    "into",
    "piece_predicate",
    "same_place",
    "scaled_pointer",
    "slot_of",
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


@dataclass
class ResidentCopies:
    """Copies of a loop whose pointers stay in registers: what they share between turns and between statements of one.
    """

    write_stage: Counter
    copies: Sequence[AsyncCopy]
    offset: Group = NONE  # uniform, 64 bits: k in bytes, added to the pointers of all tensors but the first
    slot: Slot | None = None  # where registers are short, for copies that share their places with no other tensor's
    pointers: dict[tuple[str, int], Group] = field(default_factory=dict)  # (tensor, piece): kept between turns
    places: dict[tuple[int, int], Place] = field(default_factory=dict)  # (coordinates, piece): kept as well
    sums: dict[PlaceName, Group] = field(default_factory=dict)  # in elements
    addresses: dict[PlaceName, Group] = field(default_factory=dict)

    def begin_turn(self, test: Test | None) -> None:
        """``test``: whether there is anything to copy in this turn."""
        del test  # its predicate guards what is emitted
        self.sums.clear()
        self.addresses.clear()

    def copy(self, emit: Emitter, copy: AsyncCopy, key: int) -> None:
        """One statement: addresses for its pieces, its LDGSTS, and the advance of its pointers."""
        if not self.addresses:
            dead_loads(emit)
        pointers = []
        for piece in range(copy.count):
            address, pointer = self._address(emit, copy, piece), self._pointer(emit, copy, piece)
            pointers.append(pointer)
            guards = piece_predicate(emit, copy, self._place(emit, copy, piece).row)
            emit.op(copy.mnemonic, address, pointer, *guards, piece=piece, memory_key=key)
        if not self._shares_offset(copy.source):
            _advance(emit, pointers)

    def advance_offset(self, emit: Emitter) -> None:
        """Of the pointers that stand still."""
        if self.offset[1]:
            low, high = (self.offset[0], 1), (self.offset[0] + 1, 1)
            emit.op("UIADD3", low, dst=low)
            emit.op("UIADD3.X", high, low, dst=high)

    def _place(self, emit: Emitter, copy: AsyncCopy, piece: int) -> Place:
        name = (copy.coordinates, piece)
        if name not in self.places:
            self.places[name] = Place(emit.registers.vector(), emit.registers.vector())
        return self.places[name]

    def _address(self, emit: Emitter, copy: AsyncCopy, piece: int) -> Group:
        name = (copy.coordinates, copy.stage_bytes, piece)
        if name not in self.addresses:
            slot = slot_of(copy, self.copies, self.slot)
            result = slot.address if slot else None
            self.sums[name] = self._sum(emit, copy, piece, result)
            self.addresses[name] = into(emit, result, "LEA", self.sums[name])
        return self.addresses[name]

    def _sum(self, emit: Emitter, copy: AsyncCopy, piece: int, result: Group | None) -> Group:
        """Of a place in its stage; that of another tensor's stage differs by a multiple of the stage's number."""
        stage = self.write_stage.register
        other = same_place(self.sums, copy, piece)
        if other is not None:
            return into(emit, result, "IMAD", stage, other)
        place = self._place(emit, copy, piece)
        return into(emit, result, "IMAD.U32", into(emit, result, "IMAD", stage, place.row), place.column)

    def _pointer(self, emit: Emitter, copy: AsyncCopy, piece: int) -> Group:
        name = (copy.source, piece)
        if name not in self.pointers:
            self.pointers[name] = emit.registers.vector(2)
        if not self._shares_offset(copy.source):
            return self.pointers[name]
        slot = slot_of(copy, self.copies, self.slot)
        return _advanced(emit, self.pointers[name], self.offset, slot.pointer if slot else None)

    def _shares_offset(self, tensor: str) -> bool:
        """Whether the tensor's pointers stand still and the shared offset moves."""
        return bool(self.offset[1]) and bool(self.pointers) and next(iter(self.pointers))[0] != tensor


def write_key(tensor_number: int) -> int:
    """Memory key of asynchronous writes to a shared tensor. They get a key apart from its reads: a read of the same
    bytes between the same two barriers would be a race that no instruction order cures."""
    return 2 * tensor_number + 1


def slot_of(copy: AsyncCopy, copies: Sequence[AsyncCopy], slot: Slot | None) -> Slot | None:
    """Where the addresses of one of a loop's copies have no registers of their own, those they share. Copies that share
    their places with another tensor's have."""
    place = (copy.coordinates, copy.stage_bytes)
    return None if [(one.coordinates, one.stage_bytes) for one in copies].count(place) > 1 else slot


_Value = TypeVar("_Value")


def same_place(known: Mapping[PlaceName, _Value], copy: AsyncCopy, piece: int) -> _Value | None:
    """What is known of the place of a piece in a stage of another size."""
    return next((value for (coordinates, _, number), value in known.items()
                 if (coordinates, number) == (copy.coordinates, piece)), None)


def into(emit: Emitter, result: Group | None, mnemonic: str, *sources: Group) -> Group:
    """An instruction whose result takes a given register, or a fresh one."""
    return emit.op(mnemonic, *sources, dst=result or emit.registers.vector())


def dead_loads(emit: Emitter) -> None:
    """ptxas puts these in front of a block's first LDGSTS; the guard is never true."""
    saved, emit.guard = emit.guard, None
    for _ in range(DEAD_LOADS):
        emit.op("LDS", active=False)
    emit.guard = saved


def piece_predicate(emit: Emitter, copy: AsyncCopy, place: Group) -> tuple[Group, ...]:
    """Of a piece of a partial tile: whether its place lies inside."""
    return (emit.op("ISETP.LT.AND", place, dst=emit.registers.predicate()),) if copy.partial else ()


def _advanced(emit: Emitter, pointer: Group, offset: Group, result: Group | None) -> Group:
    pair = result or emit.registers.vector(2)
    emit.op("IADD3", (pointer[0], 1), (offset[0], 1), dst=(pair[0], 1))
    emit.op("IADD3.X", (pointer[0] + 1, 1), (offset[0] + 1, 1), (pair[0], 1), dst=(pair[0] + 1, 1))
    return pair


def scaled_pointer(emit: Emitter, offset: Group, result: Group | None = None, base: Group = NONE) -> Group:
    """base + 2 * offset in 64 bits, in ``result`` or fresh registers; without ``base`` it is a constant."""
    pair = result or emit.registers.vector(2)
    low, high = ([(base[0] + half, 1)] if base[1] else [] for half in (0, 1))
    emit.op("LEA", (offset[0], 1), *low, dst=(pair[0], 1))
    emit.op("LEA.HI.X", offset, *high, (pair[0], 1), dst=(pair[0] + 1, 1))
    return pair


def _advance(emit: Emitter, pointers: list[Group]) -> None:
    saved, emit.guard = emit.guard, None
    for low, _ in pointers:
        emit.op("IADD3", (low, 1), dst=(low, 1))
        emit.op("IMAD.X", (low + 1, 1), (low, 1), dst=(low + 1, 1))
    emit.guard = saved


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
