"""Models the L1 tag stage: four tag banks look up one line each per pass, so lines of one bank need several passes.
Leaves out hits, misses and time (gpusim.engine), and the data that follow (gpusim.memory.async_copy)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.memory.operations import LANES

__all__ = ["TAG_BANKS", "tag_bank", "tag_passes"]

TAG_BANKS = 4
_BITS = 25
_LOW_BIT, _HIGH_BIT = 0x1EF7AB5, 0x0BAD5DA  # bits of a line number whose XOR is either bit of its bank's number


@njit(cache=True)
def tag_bank(line: int) -> int:
    """Tag bank of a 128-byte line: two XORs over bits of its number.

    Read bit by bit from the conflicts of cp.async from two lines (tag_banks.csv, H100; address bits 7 to 31), all 288
    of which follow it, as do all fractional conflict counts of ldgsts_patterns.csv (H200) and copy_patterns.csv.gz:
    every pattern there was counted at 32 bases 1 KiB apart. What bits from 32 on do is not known.
    """
    low, high = line & _LOW_BIT, line & _HIGH_BIT
    bank = 0
    for bit in range(_BITS):
        bank ^= ((low >> bit) & 1) | (((high >> bit) & 1) << 1)
    return bank


@njit(cache=True)
def tag_passes(lines: np.ndarray, mask: int, passes: np.ndarray) -> int:
    """Write each active lane's pass to ``passes`` (32,); returns their number.

    The k-th distinct line of a bank, in the order of the first lane that touches it, is looked up in pass k.
    """
    taken = np.zeros(TAG_BANKS, np.int64)
    for lane in range(LANES):
        if (mask >> lane) & 1:
            twin = 0
            while twin < lane and not ((mask >> twin) & 1 and lines[twin] == lines[lane]):
                twin += 1
            if twin < lane:
                passes[lane] = passes[twin]
            else:
                bank = tag_bank(lines[lane])
                passes[lane] = taken[bank]
                taken[bank] += 1
    return int(taken.max())
