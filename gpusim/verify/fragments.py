"""Models which lane and register holds which element of an MMA's matrices, from the atom's thread-value layouts.
Leaves out the arithmetic (families.mma) and the metadata of sparse MMAs (families.sparse)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpusim.verify.dtypes import dtype_bits

__all__ = ["Fragments", "make_fragments"]

LANES = 32
ThreadValueMap = Callable[[int, int], int]
"""(thread, value) -> column-major index into the matrix, as in CuTe's MMA_Traits."""


@dataclass(frozen=True)
class Fragments:
    """Gather and scatter tables. A warp does G = 32 / threads independent MMAs (4 on Volta's quad pairs, else 1)."""

    shape_mnk: tuple[int, int, int]
    a_dtype: str
    b_dtype: str
    c_dtype: str
    a: np.ndarray  # (G, M, K, or half of it): lane * values + value
    b: np.ndarray  # (G, N, K)
    c: np.ndarray  # (G, M, N)
    d: np.ndarray  # (32 * values,): flat index into (G, M, N), the inverse of ``c``
    num_values: tuple[int, int, int]  # elements of A, B, C per lane

    @property
    def registers(self) -> tuple[int, int, int]:
        """32-bit registers of A, B, C per lane."""
        types = (self.a_dtype, self.b_dtype, self.c_dtype)
        a, b, c = (max(1, n * dtype_bits(t) // 32) for n, t in zip(self.num_values, types, strict=True))
        return a, b, c


def make_fragments(shape_mnk: tuple[int, int, int], dtypes: tuple[str, str, str],
                   maps: tuple[ThreadValueMap, ThreadValueMap, ThreadValueMap], lanes: np.ndarray,
                   a_columns: int = 0) -> Fragments:
    """Tables of an atom.

    Args:
        shape_mnk: of one MMA.
        dtypes: element types of A, B, C.
        maps: thread-value maps of A onto (M, K), B onto (N, K), C onto (M, N).
        lanes: (G, T) lane of thread t in group g.
        a_columns: of A as it is held, where that is less than K.
    """
    m, n, k = shape_mnk
    a, b, c = (_gather(map_, rows, columns, lanes)
               for map_, rows, columns in zip(maps, (m, n, m), (a_columns or k, k, n), strict=True))
    scatter = np.empty(c.size, np.int64)
    scatter[c.ravel()] = np.arange(c.size)
    values = (a.size // LANES, b.size // LANES, c.size // LANES)
    return Fragments(shape_mnk, *dtypes, a=a, b=b, c=c, d=scatter, num_values=values)


def _gather(map_: ThreadValueMap, rows: int, columns: int, lanes: np.ndarray) -> np.ndarray:
    """(G, rows, columns): which value of which lane an element is. The map must be a bijection."""
    groups, threads = lanes.shape
    values = rows * columns // threads
    position = np.array([[map_(t, v) for v in range(values)] for t in range(threads)])
    gather = np.full((groups, rows * columns), -1)
    gather[:, position.ravel()] = (lanes[:, :, None] * values + np.arange(values)).reshape(groups, -1)
    if (gather < 0).any():
        raise ValueError("a thread-value layout must cover its whole tile")
    return np.ascontiguousarray(gather.reshape(groups, columns, rows).swapaxes(1, 2))
