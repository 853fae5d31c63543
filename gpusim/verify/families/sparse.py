"""Models the sparse operand of HMMA.SP.16832: two of every four neighbours along k, and metadata saying which.
Leaves out other shapes, whose metadata lie in other lanes.

Source: PTX ISA, "Matrix fragments for sparse mma.m16n8k32 with .f16 and .bf16 types". Of a quad, threads 2 s and
2 s + 1 hold metadata, where s is the sparsity selector: thread 2 s + h those of k 16 h to 16 h + 15, the row of the
quad in the lower half of the register, the row 8 below it in the upper half; two bits per element that is held.
"""

from __future__ import annotations

import numpy as np

from gpusim.errors import UserError
from gpusim.verify.step import Step

__all__ = ["METADATA", "expand"]

METADATA = 3
"""Source group of the metadata."""
BITS, GROUP, HELD = 2, 4, 2  # bits of an index; neighbours along k, and how many of them are held
PER_WORD_ROW = 8  # elements that a thread's 16 bits describe


def expand(step: Step, held: np.ndarray) -> np.ndarray:
    """A with zeros where nothing is held: (..., 16, 16) to (..., 16, 32). The op's immediate is the selector.

    Raises UserError for an MMA without metadata, and for pairs of indices not in ascending order, unless both elements
    are zero, as beyond the edges of a matrix.
    """
    words = step.source(METADATA)
    if words is None or held.shape[-2:] != (16, 16):
        raise UserError(f"{step.mnemonic} is m16n8k32 and takes a register of metadata behind a, b and c",
                        place=step.place)
    index = _indices(words[0], step.immediate)
    pairs = held[:, :, 0].reshape(*index.shape[:-1], -1, HELD)
    if ((index[..., 0::HELD] >= index[..., 1::HELD]) & pairs.any(-1)).any():
        raise UserError("metadata name two elements of four, the first one first", place=step.place)
    columns = index + np.arange(held.shape[-1]) // HELD * GROUP
    full = np.zeros((*held.shape[:-1], held.shape[-1] // HELD * GROUP), held.dtype)
    np.put_along_axis(full, columns[:, :, None], held, axis=-1)
    return full


def _indices(words: np.ndarray, selector: int) -> np.ndarray:
    """(CTAs, warps, 16, 16): which of its four neighbours each element of A is; ``words``: (CTAs, warps, 32)."""
    row, column = np.meshgrid(np.arange(16), np.arange(16), indexing="ij")
    lane = row % 8 * 4 + 2 * selector + column // PER_WORD_ROW
    shift = (row // 8 * 16 + column % PER_WORD_ROW * BITS).astype(np.uint32)
    found: np.ndarray = words[..., lane] >> shift & np.uint32(3)
    return found.astype(np.int64)
