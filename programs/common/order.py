"""Models the order of the products of a thread or a warp: column by column, over rows up and down in turns.
Leaves out the order of sm_80 and later, row by row, which ``ctx.gemm`` has. Source: gemm/thread/mma_sm50.h,
gemm/warp/mma_tensor_op.h."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["column_by_column"]


def column_by_column(accumulators: Sequence[int], a: Sequence[int],
                     b: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """(accumulator, a, b) of every product; the last a is used again where a column ends. Accumulators are by row."""
    rows, columns = len(a), len(b)
    order = [(m if n % 2 == 0 else rows - 1 - m, n) for n in range(columns) for m in range(rows)]
    return tuple((accumulators[m * columns + n], a[m], b[n]) for m, n in order)
