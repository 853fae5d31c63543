"""Models the order of a thread's or warp's products: column by column or by blocks, over rows up and down in turns.
Leaves out the order of sm_80 and later, row by row, which ``ctx.gemm`` has. Source: gemm/thread/mma_sm50.h,
gemm/warp/mma_tensor_op.h."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["block_by_block", "column_by_column"]

Triples = tuple[tuple[int, int, int], ...]
"""(accumulator, a, b) of every product."""


def column_by_column(accumulators: Sequence[int], a: Sequence[int], b: Sequence[int]) -> Triples:
    """The last a is used again where a column ends. Accumulators are by row."""
    rows, columns = len(a), len(b)
    order = [(m if n % 2 == 0 else rows - 1 - m, n) for n in range(columns) for m in range(rows)]
    return tuple((accumulators[m * columns + n], a[m], b[n]) for m, n in order)


def block_by_block(accumulators: Sequence[int], a: Sequence[int], b: Sequence[int]) -> Triples:
    """Blocks of 2 x 2 in columns, as CUTLASS has f32 for sm_86 and later; around each block either factor is used twice
    in turn. Even numbers of rows and columns; accumulators are by row."""
    rows, columns = len(a), len(b)
    corners = [(rows - 2 - m if n % 4 else m, n) for n in range(0, columns, 2) for m in range(0, rows, 2)]
    order = [(m + i, n + j) for m, n in corners for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
    return tuple((accumulators[m * columns + n], a[m], b[n]) for m, n in order)
