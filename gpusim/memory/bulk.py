"""Models bulk copies (TMA): the 128-byte lines of a box, row by row, as the unit asks for them.
Leaves out time, and what lies outside the tensor: it is not asked for."""

from __future__ import annotations

import numpy as np

from gpusim.memory.sectors import LINE

__all__ = ["bulk_lines"]

LINE_BYTES, SECTOR_BYTES = 128, 32


def bulk_lines(offsets: np.ndarray, row_bytes: np.ndarray) -> np.ndarray:
    """The lines of one bulk copy, in order.

    Args:
        offsets: (R,) byte offsets of the box's rows.
        row_bytes: (R,) bytes of each row that lie inside the tensor, 0: none. A plain bulk copy is one long row.
    """
    inside = row_bytes > 0
    first, end = offsets[inside].astype(np.int64), (offsets + row_bytes)[inside].astype(np.int64)
    lines = (end - 1) // LINE_BYTES - first // LINE_BYTES + 1
    row = np.repeat(np.arange(len(first)), lines)
    number = first[row] // LINE_BYTES + np.arange(len(row)) - np.repeat(np.cumsum(lines) - lines, lines)
    result = np.zeros(len(row), LINE)
    result["line_offset"] = number * LINE_BYTES
    low = np.maximum(first[row] - result["line_offset"], 0) // SECTOR_BYTES
    high = (np.minimum(end[row] - result["line_offset"], LINE_BYTES) - 1) // SECTOR_BYTES
    result["sector_mask"] = (2 << high) - (1 << low)
    return result
