"""Transpose, D = A^T, through a tile in shared memory: rows go in, columns come out, both coalesced in global memory.

Parameters. tile: rows and columns of f32. warps: of a CTA. swizzle: in bytes. none: the 32 rows of a column stand in
one bank, 32 ways; pad:4B, a word behind every row, and S<5,2,5>, an XOR of row and column, leave no conflict.
"""

from common.copies import along_rows, pair
from common.copies import no_flops as flops

import gpusim as gs

__all__ = ["SIZES", "flops", "problem", "reference", "transpose_shared"]

SIZES = {"M": 2048, "N": 2048}


def problem(M, N):
    return pair((M, N), (N, M), gs.f32)


def reference(inputs):
    return {"D": inputs["A"].T}


@gs.kernel
def transpose_shared(ctx, A, D, *, tile=32, warps=8, swizzle="none"):
    m, n = ctx.launch((-(-A.shape[0] // tile), -(-A.shape[1] // tile)), warps=warps, raster="n")
    copy = along_rows(gs.copy.UniversalCopy_32b, 32 * warps, tile, gs.f32)
    sA = ctx.smem("sA", gs.f32, (tile, tile, 1), swizzle=swizzle)[..., 0]
    tAgA, tAsA = ctx.partition(copy, ctx.partial_tile(A, (tile, tile), (m, n))), ctx.partition(copy, sA)
    tDsA = ctx.partition(copy, sA.transposed())
    tDgD = ctx.partition(copy, ctx.partial_tile(D, (tile, tile), (n, m)))
    ctx.copy(copy, tAgA, tAsA)
    ctx.sync_threads()
    ctx.copy(copy, tDsA, tDgD)
