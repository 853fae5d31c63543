"""Models register contents of many threads at once: slots of one register file, and fetching operands from it.
Leaves out arithmetic (gpusim.sass.integer) and who writes when (gpusim.sass.emulator)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.sass.operands import PREDICATES, REGISTERS, UNIFORM_PREDICATES, UNIFORM_REGISTERS, Operand

__all__ = ["LOCAL_SLOTS", "MASK32", "Fetch", "Slots", "Value", "constant_word", "fetch", "fetch_address", "fetch_pair",
           "slot_of", "to_signed", "word"]

MASK32 = 0xFFFF_FFFF
SIGN32 = 0x8000_0000
LOCAL_SLOTS = 1 << 12
"""Slots from here on are words of local memory: LOCAL_SLOTS + byte address / 4."""
FIRST_SLOT = {REGISTERS: 0, UNIFORM_REGISTERS: 256, PREDICATES: 320, UNIFORM_PREDICATES: 328}

Value = np.ndarray | None
"""Contents of a register over the threads: (threads,), or (1,) when all agree; int64 in [0, 2**32), predicates bool.
None: not known (floating point, loaded data, never written)."""


class Slots(dict[int, Value]):
    """Register file and local memory of a group of threads; a slot never written is unknown."""

    def __init__(self, contents: dict[int, Value] | None = None) -> None:
        super().__init__(contents or {})
        self.update({255: word(0), 256 + 63: word(0), 320 + 7: np.ones(1, bool), 328 + 7: np.ones(1, bool)})

    def __missing__(self, slot: int) -> Value:
        return None


Fetch = Callable[[Slots], Value]


def word(value: int) -> np.ndarray:
    """The 32-bit value that all threads share."""
    return np.array([value & MASK32], np.int64)


def to_signed(value: np.ndarray) -> np.ndarray:
    return (value ^ SIGN32) - SIGN32


def slot_of(operand: Operand) -> int:
    """The slot of a register or predicate."""
    return FIRST_SLOT[operand.kind] + operand.number


def constant_word(bank: np.ndarray, number: int, offset: int) -> np.ndarray | None:
    """32-bit word of a constant bank; only bank 0 is known."""
    if number != 0 or not 0 <= offset <= len(bank) - 4:
        return None
    return word(int(bank[offset:offset + 4].view("<u4")[0]))


def fetch(operand: Operand, bank: np.ndarray, *, wide_negation: bool = False) -> Fetch:
    """How to read a 32-bit operand or a predicate.

    ``wide_negation``: -a is ~a + 1 without wrapping, as an adder with a carry out sees it.
    """
    if operand.is_predicate:
        return _fetch_predicate(slot_of(operand), operand.negated)
    read = _fetch_plain(operand, bank)
    if operand.absolute:
        read = _then(read, lambda v: np.abs(to_signed(v)))
    if operand.inverted:
        read = _then(read, lambda v: v ^ MASK32)
    if operand.negated:
        read = _then(read, (lambda v: (1 << 32) - v) if wide_negation else (lambda v: -v & MASK32))
    return read


def fetch_pair(operand: Operand, bank: np.ndarray) -> Fetch:
    """How to read a 64-bit operand: a register and its neighbour, or a sign-extended immediate."""
    if operand.kind == "immediate" or operand.is_zero:
        wide = np.array([operand.value], np.int64)
        return lambda slots: wide
    low, high = _neighbours(operand, bank)
    negated = operand.negated

    def read(slots: Slots) -> Value:
        a, b = low(slots), high(slots)
        if a is None or b is None:
            return None
        both = b << 32 | a
        return -both if negated else both

    return read


def fetch_address(operand: Operand, bank: np.ndarray, *, is_wide: bool) -> Fetch:
    """How to compute the byte addresses of ``[R1.X4+UR2+0x10]``; ``is_wide``: 64 bits, as global memory has."""
    reads = [_fetch_part(part, bank, is_wide=is_wide) for part in operand.parts]
    offset = np.array([operand.value], np.int64)

    def read(slots: Slots) -> Value:
        total = offset
        for part in reads:
            value = part(slots)
            if value is None:
                return None
            total = total + value
        return total if is_wide else total & MASK32

    return read


def _fetch_part(part: Operand, bank: np.ndarray, *, is_wide: bool) -> Fetch:
    if is_wide and "U32" not in part.modifiers:
        return fetch_pair(part, bank)
    read = _fetch_plain(part, bank)
    scale = next((int(m[1:]) for m in part.modifiers if m[0] == "X" and m[1:].isdigit()), 1)
    return read if scale == 1 else _then(read, lambda v: v * scale)


def _fetch_predicate(slot: int, negated: bool) -> Fetch:
    if not negated:
        return lambda slots: slots[slot]
    return _then(lambda slots: slots[slot], np.logical_not)


def _fetch_plain(operand: Operand, bank: np.ndarray) -> Fetch:
    if operand.is_register:
        slot = slot_of(operand)
        return lambda slots: slots[slot]
    fixed = word(operand.value) if operand.kind == "immediate" else None
    if operand.kind == "constant" and not operand.parts:
        fixed = constant_word(bank, operand.number, operand.value)
    return lambda slots: fixed


def _neighbours(operand: Operand, bank: np.ndarray) -> tuple[Fetch, Fetch]:
    if operand.is_register:
        slot = slot_of(operand)
        return (lambda slots: slots[slot]), (lambda slots: slots[slot + 1])
    low = constant_word(bank, operand.number, operand.value) if operand.kind == "constant" else None
    high = constant_word(bank, operand.number, operand.value + 4) if operand.kind == "constant" else None
    return (lambda slots: low), (lambda slots: high)


def _then(read: Fetch, change: Callable[[np.ndarray], np.ndarray]) -> Fetch:
    def changed(slots: Slots) -> Value:
        value = read(slots)
        return None if value is None else change(value)

    return changed
