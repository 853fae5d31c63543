"""Models what integer and predicate instructions compute: a table from mnemonic to a function of operand values.
Leaves out floating point but for comparisons, flags nobody reads, and operand syntax (gpusim.sass.decode)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.sass.lut import lut_function
from gpusim.sass.values import MASK32, to_signed

__all__ = ["INTEGER", "Compute"]

Values = tuple[np.ndarray, ...]
Compute = Callable[..., Values]
"""Operand values in (destinations left out), results out, in the order of the destination operands."""
Modifiers = tuple[str, ...]

Binary = Callable[[np.ndarray, np.ndarray], np.ndarray]

COMPARE: dict[str, Binary] = {
    "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal, "NE": np.not_equal,
}
COMBINE: dict[str, Binary] = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}


def _add3(modifiers: Modifiers) -> Compute:
    """Sum and up to two carries; with .X two carries come in."""

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray, *carries: np.ndarray) -> Values:
        total = a + b + c
        for carry in carries:
            total = total + carry
        return total & MASK32, total >> 32 >= 1, total >> 32 >= 2

    return compute


def _multiply_add(modifiers: Modifiers) -> Compute:
    signed = "U32" not in modifiers

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return to_signed(a) * to_signed(b) if signed else a * b

    def low(a: np.ndarray, b: np.ndarray, c: np.ndarray, carry: np.ndarray | int = 0) -> Values:
        return ((a * b + c + carry) & MASK32,)

    def high(a: np.ndarray, b: np.ndarray, c: np.ndarray, carry: np.ndarray | int = 0) -> Values:
        return ((product(a, b) + c + carry) >> 32 & MASK32,)

    def wide(a: np.ndarray, b: np.ndarray, c: np.ndarray, carry: np.ndarray | int = 0) -> Values:
        part = product(a, b)
        total = part + c + carry
        carries = (part & c | (part | c) & ~total) < 0
        return total & MASK32, total >> 32 & MASK32, carries

    if "WIDE" in modifiers:
        return wide
    return high if "HI" in modifiers else low


def _shifted_add(modifiers: Modifiers) -> Compute:
    """LEA: (a << shift) + b and its carry; .HI adds the upper word of (c:a) << shift, .SX32 makes c the sign of a."""

    def low(a: np.ndarray, b: np.ndarray, shift: np.ndarray) -> Values:
        total = (a << shift & MASK32) + b
        return total & MASK32, total >> 32 >= 1

    def high(a: np.ndarray, b: np.ndarray, c: np.ndarray, shift: np.ndarray, carry: np.ndarray | int = 0) -> Values:
        total = (_upper_word(a, c, shift)) + b + carry
        return total & MASK32, total >> 32 >= 1

    def high_signed(a: np.ndarray, b: np.ndarray, shift: np.ndarray, carry: np.ndarray | int = 0) -> Values:
        return high(a, b, to_signed(a) >> 31 & MASK32, shift, carry)

    if "HI" not in modifiers:
        return low
    return high_signed if "SX32" in modifiers else high


def _upper_word(low: np.ndarray, high: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return (high << shift & MASK32) | (low << shift >> 32 & MASK32)


def _funnel_shift(modifiers: Modifiers) -> Compute:
    """SHF: 64 bits (high:low) shifted; .HI takes the upper word, .W wraps the amount, else it is clamped."""
    left, upper, wraps = "L" in modifiers, "HI" in modifiers, "W" in modifiers
    width = 63 if {"U64", "S64"} & set(modifiers) else 32
    signed = bool({"S32", "S64"} & set(modifiers))

    def compute(low: np.ndarray, amount: np.ndarray, high: np.ndarray) -> Values:
        shift = amount & (width | 31 if width == 63 else 31) if wraps else np.minimum(amount, width)
        if left:
            return (_upper_word(low, high, shift) if upper else low << shift & MASK32,)
        if upper:
            return ((to_signed(high) if signed else high) >> shift & MASK32,)
        both = high << 32 | low
        logical = (both.view(np.uint64) >> shift.astype(np.uint64)).view(np.int64)
        return ((both >> shift if signed else logical) & MASK32,)

    return compute


def _set_predicate(modifiers: Modifiers) -> Compute:
    """ISETP: comparison and its opposite, each combined with a predicate; .EX continues one of the low words."""
    relation = next(m for m in modifiers if m in COMPARE)
    combine = COMBINE[next((m for m in modifiers if m in COMBINE), "AND")]
    compare, signed, extended = COMPARE[relation], "U32" not in modifiers, "EX" in modifiers
    strict = COMPARE[{"LE": "LT", "GE": "GT"}.get(relation, relation)]

    def compute(a: np.ndarray, b: np.ndarray, other: np.ndarray, low: np.ndarray | None = None) -> Values:
        x, y = (to_signed(a), to_signed(b)) if signed else (a, b)
        result = compare(x, y)
        if extended and relation != "NE":
            result = (x == y) & low if relation == "EQ" else strict(x, y) | (x == y) & low
        elif extended:
            result = result | low
        return combine(result, other), combine(~result, other)

    return compute


def _set_float_predicate(modifiers: Modifiers) -> Compute:
    """FSETP: the same for single precision; an ending U makes NaN compare as true."""
    relation = next(m for m in modifiers if m.removesuffix("U") in COMPARE)
    combine = COMBINE[next((m for m in modifiers if m in COMBINE), "AND")]
    compare, unordered = COMPARE[relation.removesuffix("U")], relation.endswith("U")

    def compute(a: np.ndarray, b: np.ndarray, other: np.ndarray) -> Values:
        x, y = (values.astype(np.uint32).view(np.float32) for values in (a, b))
        result = np.where(np.isnan(x) | np.isnan(y), unordered, compare(x, y))
        return combine(result, other), combine(~result, other)

    return compute


def _select(modifiers: Modifiers) -> Compute:
    def compute(a: np.ndarray, b: np.ndarray, predicate: np.ndarray) -> Values:
        return (np.where(predicate, a, b),)

    return compute


def _minimum(modifiers: Modifiers) -> Compute:
    """IMNMX: the smaller where the predicate holds, else the larger."""
    signed = "U32" not in modifiers

    def compute(a: np.ndarray, b: np.ndarray, predicate: np.ndarray) -> Values:
        x, y = (to_signed(a), to_signed(b)) if signed else (a, b)
        return (np.where(predicate, np.minimum(x, y), np.maximum(x, y)) & MASK32,)

    return compute


def _add_minimum(modifiers: Modifiers) -> Compute:
    """VIADDMNMX: IMNMX of a sum and a bound."""
    minimum = _minimum(modifiers)
    return lambda a, b, bound, predicate: minimum((a + b) & MASK32, bound, predicate)


def _permute(modifiers: Modifiers) -> Compute:
    """PRMT: each nibble of the selector picks one of the eight bytes c:a, or repeats that byte's sign."""

    def compute(a: np.ndarray, selector: np.ndarray, c: np.ndarray) -> Values:
        result = np.zeros(1, np.int64)
        for byte in range(4):
            pick = selector >> 4 * byte
            value = np.where(pick & 4, c, a) >> 8 * (pick & 3) & 0xFF
            value = np.where(pick & 8, (value >> 7) * 0xFF, value)
            result = result | value << 8 * byte
        return (result,)

    return compute


def _logic3(modifiers: Modifiers) -> Compute:
    """LOP3: any function of three bits; the predicate result says whether a bit is set."""

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray, table: np.ndarray, other: np.ndarray) -> Values:
        result = lut_function(int(table[0]))(a, b, c) & MASK32
        return result, (result != 0) | other

    return compute


def _predicate_logic(modifiers: Modifiers) -> Compute:
    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray, first: np.ndarray, second: np.ndarray) -> Values:
        x, y, z = -a.astype(np.int64), -b.astype(np.int64), -c.astype(np.int64)
        return lut_function(int(first[0]))(x, y, z) != 0, lut_function(int(second[0]))(x, y, z) != 0

    return compute


def _bit_mask(modifiers: Modifiers) -> Compute:
    """BMSK: ``width`` ones from bit ``start``; .W wraps both to 5 bits, else they are clamped to 32."""

    def compute(start: np.ndarray, width: np.ndarray) -> Values:
        at, count = (start & 31, width & 31) if "W" in modifiers else (np.minimum(start, 32), np.minimum(width, 32))
        return (((1 << count) - 1) << at & MASK32,)

    return compute


def _sign_extend(modifiers: Modifiers) -> Compute:
    """SGXT: the low ``width`` bits, sign-extended, or zero-extended with .U32."""

    def compute(a: np.ndarray, width: np.ndarray) -> Values:
        bits = width & 31 if "W" in modifiers else np.minimum(width, 32)
        low = a & (1 << bits) - 1
        sign = 0 if "U32" in modifiers else low >> np.maximum(bits - 1, 0) & 1
        return ((low - (sign << bits)) & MASK32,)

    return compute


INTEGER: dict[str, Callable[[Modifiers], Compute]] = {
    "IADD3": _add3,
    "VIADD": lambda modifiers: lambda a, b: ((a + b) & MASK32,),
    "IMAD": _multiply_add,
    "LEA": _shifted_add,
    "SHF": _funnel_shift,
    "ISETP": _set_predicate,
    "FSETP": _set_float_predicate,
    "SEL": _select,
    "IMNMX": _minimum,
    "VIMNMX": _minimum,
    "VIADDMNMX": _add_minimum,
    "PRMT": _permute,
    "LOP3": _logic3,
    "PLOP3": _predicate_logic,
    "BMSK": _bit_mask,
    "SGXT": _sign_extend,
    "MOV": lambda modifiers: lambda a, *mask: (a,),
    "IABS": lambda modifiers: lambda a: (np.abs(to_signed(a)) & MASK32,),
    "POPC": lambda modifiers: lambda a: (np.bitwise_count(a).astype(np.int64),),
}
"""By mnemonic without modifiers; the uniform datapath's UIADD3, USEL ... are looked up without their U."""
