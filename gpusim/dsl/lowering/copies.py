"""Models how cp.async statements become instructions: shared-memory and global addresses, guards, LDGSTS.
Leaves out which lanes address what (gpusim.dsl.partition); counts are those of gpusim.dsl.lowering.rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpusim.dsl.lowering.emitter import NONE, Emitter
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import AsyncCopy

__all__ = [
    "LoopCopies",
    "Slot",
    "dead_loads",
    "emit_loop_copy",
    "piece_predicate",
    "places_shared",
    "scaled_pointer",
    "swizzled",
    "wide_product",
    "write_key",
]

SWIZZLE_OPS = {"": (), "row": ("LOP3.LUT",), "shifted": ("SHF.R.U32.HI", "LOP3.LUT")}
"""Instructions that put an XOR into the column of a place."""
DEAD_LOADS = 3


@dataclass(frozen=True)
class Place:
    """Registers of a (row, column); the column has 64 bits where pointers are made of it."""

    row: Group
    column: Group


@dataclass(frozen=True)
class Slot:
    """Registers that the addresses of copies take one after the other: in shared memory, and the global pointer."""

    address: Group
    pointer: Group


@dataclass
class LoopCopies:
    """What the copies of one loop share between iterations and between statements of one iteration."""

    resident: bool
    write_stage: Group
    counter: Group
    offset: Group = NONE  # uniform, 64 bits: k in bytes, added to the pointers of all tensors but the first
    slot: Slot | None = None  # where registers are short, for copies that share their places with no other tensor's
    places_shared: frozenset[tuple[int, int]] = frozenset()  # (coordinates, stage bytes) of several tensors
    stage_term: Group = NONE
    pointers: dict[tuple[str, int], Group] = field(default_factory=dict)  # (tensor, piece): kept across iterations
    places: dict[tuple[int, int], Place] = field(default_factory=dict)  # (coordinates, piece): kept as well
    shared: dict[tuple[int, int, int], Group] = field(default_factory=dict)  # (coordinates, stage bytes, piece)
    columns: dict[tuple[int, int], Group] = field(default_factory=dict)  # (coordinates, piece)
    pitch: Group = NONE

    def begin_iteration(self) -> None:
        self.shared.clear()
        self.columns.clear()
        self.pitch = self.stage_term = NONE

    def slot_of(self, copy: AsyncCopy) -> Slot | None:
        """Where the addresses of a copy have no registers of their own, those they share."""
        return None if (copy.coordinates, copy.stage_bytes) in self.places_shared else self.slot

    def shares_offset(self, tensor: str) -> bool:
        """Whether the tensor's pointers stand still and the shared offset moves."""
        return bool(self.offset[1]) and bool(self.pointers) and next(iter(self.pointers))[0] != tensor

    def end_iteration(self, emit: Emitter) -> None:
        """Advance the shared offset."""
        if self.offset[1]:
            low, high = (self.offset[0], 1), (self.offset[0] + 1, 1)
            emit.op("UIADD3", low, dst=low)
            emit.op("UIADD3.X", high, low, dst=high)


def write_key(tensor_number: int) -> int:
    """Memory key of asynchronous writes to a shared tensor. They get a key apart from its reads: a read of the same
    bytes between the same two barriers would be a race that no instruction order cures."""
    return 2 * tensor_number + 1


def places_shared(copies: Sequence[AsyncCopy]) -> frozenset[tuple[int, int]]:
    """(coordinates, stage bytes) that several of them have in common."""
    counts = Counter((copy.coordinates, copy.stage_bytes) for copy in copies)
    return frozenset(place for place, count in counts.items() if count > 1)


def dead_loads(emit: Emitter) -> None:
    """ptxas puts these in front of a block's first LDGSTS; the guard is never true."""
    saved, emit.guard = emit.guard, None
    for _ in range(DEAD_LOADS):
        emit.op("LDS", active=False)
    emit.guard = saved


def emit_loop_copy(emit: Emitter, copy: AsyncCopy, state: LoopCopies, key: int) -> None:
    """One statement in a loop: addresses for its pieces, its LDGSTS, and the advance of resident pointers."""
    if not state.shared:
        _begin(emit, state)
    pointers = []
    for piece in range(copy.count):
        address, pointer = _shared_address(emit, copy, state, piece), _pointer(emit, copy, state, piece)
        pointers.append(pointer)
        guards = piece_predicate(emit, copy, _place(emit, copy, state, piece).row)
        emit.op(copy.mnemonic, address, pointer, *guards, piece=piece, memory_key=key)
    if state.resident and not state.shares_offset(copy.source):
        _advance(emit, pointers)


def piece_predicate(emit: Emitter, copy: AsyncCopy, place: Group) -> tuple[Group, ...]:
    """Of a piece of a partial tile: whether its place lies inside."""
    return (emit.op("ISETP.LT.AND", place, dst=emit.registers.predicate()),) if copy.partial else ()


def _begin(emit: Emitter, state: LoopCopies) -> None:
    dead_loads(emit)
    if not state.resident:
        state.stage_term = emit.new("IMAD.SHL.U32", state.write_stage)
        state.pitch = emit.new("LDC")
        state.columns[-1, 0] = emit.chain(("LEA", "SHF.R.S32.HI"), state.counter)


def _shared_address(emit: Emitter, copy: AsyncCopy, state: LoopCopies, piece: int) -> Group:
    place = (copy.coordinates, copy.stage_bytes, piece)
    if place not in state.shared:
        known, slot = _place(emit, copy, state, piece), state.slot_of(copy)
        column, result = (known.column[0], 1), slot.address if slot else None
        if state.resident:
            row = _into(emit, result, "IMAD", state.write_stage, known.row)
            address = _into(emit, result, "IMAD.U32", row, column)
        else:
            column = swizzled(emit, copy.xor, emit.new("IMAD.SHL.U32", column) if copy.xor else column)
            row = emit.new("IMAD", known.row, state.stage_term)
            address = _into(emit, result, "IMAD.IADD", column, row)
        state.shared[place] = _into(emit, result, "LEA", address)
    return state.shared[place]


def _into(emit: Emitter, result: Group | None, mnemonic: str, *sources: Group) -> Group:
    """An instruction whose result takes a given register, or a fresh one."""
    return emit.op(mnemonic, *sources, dst=result or emit.registers.vector())


def _place(emit: Emitter, copy: AsyncCopy, state: LoopCopies, piece: int) -> Place:
    name = (copy.coordinates, piece)
    if name not in state.places:
        state.places[name] = Place(emit.registers.vector(), emit.registers.vector(1 if state.resident else 2))
    return state.places[name]


def _pointer(emit: Emitter, copy: AsyncCopy, state: LoopCopies, piece: int) -> Group:
    slot = state.slot_of(copy)
    result = slot.pointer if slot else None
    if state.resident:
        name = (copy.source, piece)
        if name not in state.pointers:
            state.pointers[name] = emit.registers.vector(2)
        fixed = state.pointers[name]
        return _sum(emit, fixed, state.offset, result) if state.shares_offset(copy.source) else fixed
    column = _column(emit, copy, state, piece)
    row = emit.new("VIADD", _place(emit, copy, state, piece).row)
    offset = emit.wide("IMAD.WIDE", row, state.pitch, column)
    return scaled_pointer(emit, offset, result)


def _sum(emit: Emitter, pointer: Group, offset: Group, result: Group | None) -> Group:
    pair = result or emit.registers.vector(2)
    emit.op("IADD3", (pointer[0], 1), (offset[0], 1), dst=(pair[0], 1))
    emit.op("IADD3.X", (pointer[0] + 1, 1), (offset[0] + 1, 1), (pair[0], 1), dst=(pair[0] + 1, 1))
    return pair


def _column(emit: Emitter, copy: AsyncCopy, state: LoopCopies, piece: int) -> Group:
    """64-bit column + k of a place, shared by the tensors."""
    name = (copy.coordinates, piece)
    if name not in state.columns:
        pair, start = emit.registers.vector(2), _place(emit, copy, state, piece).column[0]
        low, high = ((register, 1) for register in range(start, start + 2))
        emit.op("IADD3", low, state.columns[-1, 0], dst=(pair[0], 1))
        emit.op("IMAD.X", high, (pair[0], 1), dst=(pair[0] + 1, 1))
        state.columns[name] = pair
    return state.columns[name]


def scaled_pointer(emit: Emitter, offset: Group, result: Group | None = None) -> Group:
    """base + 2 * offset in 64 bits, in ``result`` or fresh registers."""
    pair = result or emit.registers.vector(2)
    emit.op("LEA", (offset[0], 1), dst=(pair[0], 1))
    emit.op("LEA.HI.X", offset, (pair[0], 1), dst=(pair[0] + 1, 1))
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
