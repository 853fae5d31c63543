"""Models the metadata of 2:4 sparse matrices: which elements are held, in the order of CUTLASS's reorder_meta.
Leaves out other sparsities, and how a kernel reads them (common.sparse).

Source: cutlass/util/host_reorder.h, host_uncompress.h.
"""

from __future__ import annotations

import numpy as np

__all__ = ["GROUP_ROWS", "WORD_K", "dense", "indices", "metadata", "metadata_words"]

HELD, OF = 2, 4
WORD_K, GROUP_ROWS = 32, 32  # k and rows of a block of 32 words
SHIFTS = 2 * np.arange(8, dtype=np.uint32)  # of the indices of 16 k in half a word
HALF = np.uint32(16)


def metadata(rows: int, k: int, seed: int = 0) -> np.ndarray:
    """(rows, k / 2) which of its four neighbours along k each held element is; pairs in ascending order."""
    pairs = np.array([(i, j) for i in range(OF) for j in range(i + 1, OF)])
    return pairs[np.random.default_rng(seed).integers(0, len(pairs), (rows, k // OF))].reshape(rows, -1)


def metadata_words(index: np.ndarray) -> np.ndarray:
    """(rows, k / 32) words of s32 as the kernel reads them: a thread's word has 16 k of rows r and r + 8, four
    neighbours are the two halves of 32 k of rows r, then of rows r + 16 (``reorder_meta``)."""
    rows, held = index.shape
    bits = (index.reshape(rows, -1, 8).astype(np.uint32) << SHIFTS).sum(-1, dtype=np.uint32)
    blocks = bits.reshape(rows // GROUP_ROWS, 2, 2, 8, held // 16, 2)  # group, r + 16, r + 8, r, word, half of its k
    words = blocks[:, :, 0] | blocks[:, :, 1] << HALF
    return words.transpose(0, 2, 1, 4, 3).reshape(rows, -1).view(np.int32).astype(np.int64)


def indices(words: np.ndarray) -> np.ndarray:
    """The inverse of ``metadata_words``."""
    rows, columns = words.shape
    blocks = words.astype(np.uint32).reshape(rows // GROUP_ROWS, 8, 2, 2, columns).transpose(0, 2, 1, 4, 3)
    bits = np.stack([blocks, blocks >> HALF], axis=2).reshape(rows, -1, 1)
    return (bits >> SHIFTS & np.uint32(OF - 1)).reshape(rows, -1).astype(np.int64)


def dense(held: np.ndarray, index: np.ndarray) -> np.ndarray:
    """(rows, k) matrix with zeros where nothing is held."""
    full = np.zeros((held.shape[0], held.shape[1] * OF // HELD), held.dtype)
    np.put_along_axis(full, index + np.arange(held.shape[1]) // HELD * OF, held, axis=1)
    return full
