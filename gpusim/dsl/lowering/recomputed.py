"""Models copies of a loop whose addresses are computed again in each turn, from a row and a column per place.
Leaves out pointers that stay in registers (gpusim.dsl.lowering.copies); counts are those of gpusim.dsl.lowering.rules.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from gpusim.dsl.lowering.copies import (
    SWIZZLE_OPS,
    LoopCopies,
    Place,
    PlaceName,
    Slot,
    into,
    same_place,
    scaled_pointer,
)
from gpusim.dsl.lowering.counters import Counter, TripTest
from gpusim.dsl.lowering.emitter import NONE, Emitter
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import AsyncCopy

__all__ = ["UniformCopies", "VectorCopies"]


class RecomputedCopies(LoopCopies):
    """Pointers are made of a row, the pitch, and a column and k."""

    def begin_turn(self, test: TripTest | None) -> None:
        super().begin_turn(test)
        self.pitch = self.k = NONE
        self.columns: dict[tuple[int, int], Group] = {}  # (coordinates, piece): with k, shared by the tensors

    def _pointer(self, emit: Emitter, copy: AsyncCopy, piece: int, place: Place, result: Group | None) -> Group:
        name = (copy.coordinates, piece)
        if name not in self.columns:
            self.columns[name] = self._column(emit, copy, place)
        offset = emit.wide("IMAD.WIDE", emit.new("VIADD", place.row), self.pitch, self.columns[name])
        return scaled_pointer(emit, offset, result, base=self._base(emit, copy))

    def _advance(self, emit: Emitter, copy: AsyncCopy, pointers: Sequence[Group]) -> None:
        pass  # nothing of them lives on

    @abstractmethod
    def _column(self, emit: Emitter, copy: AsyncCopy, place: Place) -> Group:
        """64-bit column + k of a place."""

    def _base(self, emit: Emitter, copy: AsyncCopy) -> Group:
        """The tensor's pointer, where it is no constant operand."""
        return NONE


class VectorCopies(RecomputedCopies):
    """What all pieces have in common stands in vector registers."""

    def __init__(self, write_stage: Counter, copies: Sequence[AsyncCopy], slot: Slot | None, counter: Counter) -> None:
        super().__init__(write_stage, copies, slot)
        self.counter = counter

    def _begin(self, emit: Emitter) -> None:
        self.stage_term = emit.new("IMAD.SHL.U32", self.write_stage.register)
        self.pitch = emit.new("LDC")
        self.k = emit.chain(("LEA", "SHF.R.S32.HI"), self.counter.register)  # both words are taken as one

    def _column_registers(self, copy: AsyncCopy) -> int:
        return 2

    def _sum(self, emit: Emitter, copy: AsyncCopy, piece: int, place: Place, result: Group | None) -> Group:
        column = (place.column[0], 1)
        if copy.xor:
            column = emit.chain(SWIZZLE_OPS[copy.xor], emit.new("IMAD.SHL.U32", column))
        return into(emit, result, "IMAD.IADD", column, emit.new("IMAD", place.row, self.stage_term))

    def _column(self, emit: Emitter, copy: AsyncCopy, place: Place) -> Group:
        return _wide_sum(emit, "IMAD.X", place, self.k)


class UniformCopies(RecomputedCopies):
    """What all pieces have in common stands in uniform registers: pitch, k, stage and pointers of the tensors."""

    def __init__(self, write_stage: Counter, copies: Sequence[AsyncCopy], slot: Slot | None, trip: Counter) -> None:
        super().__init__(write_stage, copies, slot)
        self.trip = trip

    def begin_turn(self, test: TripTest | None) -> None:
        super().begin_turn(test)
        self.bases: dict[str, Group] = {}  # tensor: its pointer
        self.stage_terms: dict[int, Group] = {}  # stage bytes: stage x elements of a stage
        self.rows: dict[PlaceName, Group] = {}  # row and stage of a place, in elements
        self.swizzled: dict[tuple[int, int], Group] = {}  # (coordinates, piece)

    def _begin(self, emit: Emitter) -> None:
        self.pitch = self._common(emit, "ULDC")
        self.k = self._common(emit, "ULEA", self.trip.register)
        self.k_sign = self._common(emit, "USHF.R.S32.HI", self.k)

    def _common(self, emit: Emitter, mnemonic: str, *sources: Group, count: int = 1) -> Group:
        guards = [self.test.uniform] if self.test and self.test.uniform else []
        with emit.unguarded():
            return emit.uniform(mnemonic, *sources, *guards, count=count)

    def _column_registers(self, copy: AsyncCopy) -> int:
        """Under an XOR, the number of a piece in its row."""
        return 1 if copy.xor else 2

    def _sum(self, emit: Emitter, copy: AsyncCopy, piece: int, place: Place, result: Group | None) -> Group:
        """From the same place in another tensor's stage, where there is one: it differs by a multiple of the stage's
        number, which goes before the column where the row is shifted."""
        shifts = _is_power_of_two(copy.stage_bytes)
        other = same_place(self.rows if shifts else self.sums, copy, piece)
        if other is None:
            row = emit.new("LEA" if shifts else "IMAD", place.row, self._stage_term(emit, copy))
        elif shifts:
            row = emit.new("IMAD", self.write_stage.in_vector(emit), other)
        else:
            return into(emit, result, "IMAD", self.write_stage.in_vector(emit), other)
        column = self._swizzled(emit, copy, piece, place) if copy.xor else (place.column[0], 1)
        self.rows[copy.coordinates, copy.stage_bytes, piece] = row
        return into(emit, result, "IMAD" if copy.xor else "IMAD.IADD", column, row)

    def _stage_term(self, emit: Emitter, copy: AsyncCopy) -> Group:
        if copy.stage_bytes not in self.stage_terms:
            mnemonic = "USHF.L.U32" if _is_power_of_two(copy.stage_bytes) else "UIMAD"
            self.stage_terms[copy.stage_bytes] = self._common(emit, mnemonic, self.write_stage.register)
        return self.stage_terms[copy.stage_bytes]

    def _swizzled(self, emit: Emitter, copy: AsyncCopy, piece: int, place: Place) -> Group:
        """Number of a piece in its row under the XOR, shared by the tensors."""
        name = (copy.coordinates, piece)
        if name not in self.swizzled:
            *shift, xor = SWIZZLE_OPS[copy.xor]
            self.swizzled[name] = emit.new(xor, place.column, emit.chain(shift, place.row))
        return self.swizzled[name]

    def _column(self, emit: Emitter, copy: AsyncCopy, place: Place) -> Group:
        if not copy.xor:
            return _wide_sum(emit, "IADD3.X", place, self.k, self.k_sign)
        elements, pair = emit.new("IMAD.SHL.U32", place.column), emit.registers.vector(2)
        emit.op("IADD3", elements, self.k, dst=(pair[0], 1))
        emit.op("LEA.HI.X.SX32", elements, self.k_sign, (pair[0], 1), dst=(pair[0] + 1, 1))
        return pair

    def _base(self, emit: Emitter, copy: AsyncCopy) -> Group:
        if copy.source not in self.bases:
            self.bases[copy.source] = self._common(emit, "ULDC.64", count=2)
        return self.bases[copy.source]


def _wide_sum(emit: Emitter, carry: str, place: Place, k: Group, *sign: Group) -> Group:
    """A 64-bit column and k."""
    low, high = ((register, 1) for register in range(place.column[0], place.column[0] + 2))
    pair = emit.registers.vector(2)
    emit.op("IADD3", low, k, dst=(pair[0], 1))
    emit.op(carry, high, *sign, (pair[0], 1), dst=(pair[0] + 1, 1))
    return pair


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
