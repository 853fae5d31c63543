"""Models the closed formula for the smallest swizzle that makes a column read of a row-major tile conflict-free.
Leaves out access patterns other than "one unit per row, same column"; gpusim.memory counts those exactly.

A unit is what one lane reads. ``u`` = log2 of the units in the 1024 bits of all banks, ``y`` = log2 of those in a row
of the tile. Row r starts at unit ``r * 2**y`` modulo ``2**u``, so ``2**u`` rows hit ``2**max(0, u - y)`` places, each
in ``2**min(u, y)`` ways: ``min(u, y)`` bits of the row must be mixed into the unit, from ``max(u, y)`` bits above.
"""

from __future__ import annotations

from gpusim.cute.swizzle import Swizzle
from gpusim.errors import UserError

__all__ = ["column_ways", "minimal_swizzle"]

_BANK_ROW_BITS = 1024  # 32 banks of 32 bits


def minimal_swizzle(element_bits: int, row_elements: int, unit_log2: int) -> Swizzle:
    """The swizzle on element offsets with the fewest bits that lets each bank row be filled by one column of units.

    ``row_elements`` are the contiguous elements of a tile row, a unit is ``2**unit_log2`` elements (e.g. 3 for the
    16-byte rows of ldmatrix on 16-bit elements). Raises UserError unless rows and units are powers of two that fit.
    """
    u, y = _unit_bits(element_bits, row_elements, unit_log2)
    return Swizzle(min(u, y), unit_log2, max(u, y))


def column_ways(element_bits: int, row_elements: int, unit_log2: int) -> int:
    """Bank conflict ways of the same column read without a swizzle."""
    return 1 << min(_unit_bits(element_bits, row_elements, unit_log2))


def _unit_bits(element_bits: int, row_elements: int, unit_log2: int) -> tuple[int, int]:
    unit = element_bits << unit_log2
    return _log2(_BANK_ROW_BITS, unit, "the 1024 bits of a bank row"), _log2(row_elements * element_bits, unit, "a row")


def _log2(total_bits: int, unit_bits: int, what: str) -> int:
    units, rest = divmod(total_bits, unit_bits)
    if rest or units < 1 or units & (units - 1):
        rule = f"{what} must hold a power of two of units"
        raise UserError(rule, place="minimal_swizzle", got=f"{total_bits} bits of {unit_bits}-bit units")
    return units.bit_length() - 1
