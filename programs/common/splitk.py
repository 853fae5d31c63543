"""Models how CUTLASS 2.x cuts k into slices for split-K, serial and parallel.
Leaves out stream-K (common.streamk).

Source: cutlass/gemm/kernel/gemm.h (serial: rounded up, so that last slices may be short or empty),
gemm_splitk_parallel.h (rounded down, the last slice takes the rest).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import gpusim as gs
from common.output_op import LinearCombination
from common.tiles import tile_count
from gpusim import Context, KRange

__all__ = ["block_index", "op_of_slice", "parallel_slice", "require_f32_sums", "require_slices",
           "serial_slice"]


def require_slices(slices: int, K: int, tile_k: int) -> None:
    """Raise UserError for less than one slice; for more than k has tiles, most would have nothing to do."""
    if slices < 1:
        raise gs.UserError("k is cut into one slice or more", got=f"slices={slices}")
    if slices > max(1, K // tile_k):
        raise gs.UserError("a slice has one tile of k or more", got=f"slices={slices} of {K // tile_k} tiles",
                           suggestion=f"slices={max(1, K // tile_k)}")


def require_f32_sums(accumulator_type: str) -> None:
    """Raise UserError for partial sums that a workspace of f32 does not hold as they are."""
    if accumulator_type != "f32":
        raise gs.UserError("partial sums in a workspace are f32", got=f"accumulator_type={accumulator_type}",
                           suggestion="split-K serial, which keeps them in D")


def serial_slice(K: int, tile_k: int, slices: int, number: int) -> KRange:
    """The range of k of one slice; empty where the slices before have it all."""
    size = tile_count(tile_count(K, tile_k), slices) * tile_k
    return KRange(number * size, min(K, (number + 1) * size), tile_k)


def parallel_slice(K: int, tile_k: int, slices: int, number: int) -> KRange:
    """The range of k of one slice."""
    size = K // tile_k // slices * tile_k
    return KRange(number * size, K if number == slices - 1 else (number + 1) * size, tile_k)


def op_of_slice(op: LinearCombination, number: int) -> LinearCombination:
    """set_k_partition: from the second slice on, what is in D already is added as it is."""
    alpha = 1.0 if op.scale == "nothing" else op.alpha
    return op if number == 0 else replace(op, alpha=alpha, beta=1.0, scale="default")


def block_index(ctx: Context, tiles: tuple[int, int]) -> np.ndarray:
    """(C, 1) number of every threadblock's output tile, m fastest; 0 for threadblocks without one."""
    problem, m, n = (ctx.grid.schedule[:, 0, column] for column in range(3))
    return np.where(problem < 0, 0, m + n * tiles[0])[:, None]
