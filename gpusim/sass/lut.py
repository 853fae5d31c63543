"""Models LOP3's truth tables: an 8-bit table becomes a short chain of bitwise operations.
Leaves out nothing: any of the 256 functions of three bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

__all__ = ["lut_function"]

Bitwise = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

ZEROS, ONES = np.zeros(1, np.int64), np.full(1, -1, np.int64)


@cache
def lut_function(table: int) -> Bitwise:
    """f(a, b, c) with bit (4a + 2b + c) of ``table``, on all bits of int64 arrays at once."""
    return _expand(table, 8)


def _expand(table: int, size: int) -> Bitwise:
    """Shannon expansion by the first variable: the table's upper half holds where it is 1, the lower where it is 0."""
    full = (1 << size) - 1
    if table in (0, full):
        constant = ONES if table else ZEROS
        return lambda a, b, c: constant
    half = size // 2
    upper, lower = table >> half, table & (1 << half) - 1
    if upper == lower:
        return _expand(upper, half)
    one, zero, pick = _expand(upper, half), _expand(lower, half), {8: 0, 4: 1, 2: 2}[size]
    if upper == lower ^ (1 << half) - 1:
        return lambda *abc: abc[pick] ^ zero(*abc)
    if lower == 0:
        return lambda *abc: abc[pick] & one(*abc)
    if upper == (1 << half) - 1:
        return lambda *abc: abc[pick] | zero(*abc)
    return lambda *abc: abc[pick] & one(*abc) | ~abc[pick] & zero(*abc)
