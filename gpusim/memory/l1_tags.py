"""Models the L1 tag stage: four tag banks look up one line each per pass, so lines of one bank need several passes.
Leaves out hits, misses and time (gpusim.engine), and the data that follow (gpusim.memory.async_copy)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.memory.operations import LANES

__all__ = ["TAG_BANKS", "tag_bank", "tag_passes"]

TAG_BANKS = 4
_DIGITS = 24  # base-4 digits of a line number that are folded: more than any device memory needs


@njit(cache=True)
def tag_bank(line: int) -> int:
    """Tag bank of a 128-byte line: the XOR of the base-4 digits of its number.

    Found in the fractional conflict counts of ldgsts_patterns.csv (H200): every pattern there was counted at 32 bases
    1 KiB apart, and this fold alone gives all the means. Its rows exercise address bits 13 to 17.
    """
    bank = 0
    for _ in range(_DIGITS):
        bank ^= line & (TAG_BANKS - 1)
        line >>= 2
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
