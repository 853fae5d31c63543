"""Transpose, D = A^T, through a tile in shared memory: rows go in, columns come out, both coalesced in global memory.

Sizes need not be multiples of the tile. Without swizzle the 32 rows of a column stand in one bank, 32 ways; pad:4B, a
word behind every row, and S<5,2,5>, an XOR of row and column, leave no conflict.

Parameters. tile: number of rows and of columns of f32 that a CTA transposes. warps: number of warps in a CTA. swizzle:
layout of the tile in shared memory, in bytes: none, pad:4B, S<b,m,s>.
"""

from common.copies import along_rows, pair
from common.copies import no_flops as flops
from common.tiles import tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "problem", "reference", "transpose_shared"]

SIZES = {"M": 2048, "N": 2048}


def problem(M, N):
    return pair((M, N), (N, M), gs.f32)


def reference(inputs):
    return {"D": inputs["A"].T}


@gs.kernel
def transpose_shared(ctx, A, D, *, tile=32, warps=8, swizzle="none"):
    m, n = ctx.launch((tile_count(A.shape[0], tile), tile_count(A.shape[1], tile)), warps=warps, raster="n")
    copy = along_rows(gs.copy.UniversalCopy_32b, 32 * warps, tile, gs.f32)
    sA = ctx.smem("sA", gs.f32, (tile, tile, 1), swizzle=swizzle)[..., 0]
    tAgA, tAsA = ctx.partition(copy, ctx.partial_tile(A, (tile, tile), (m, n))), ctx.partition(copy, sA)
    tDsA = ctx.partition(copy, sA.transposed())
    tDgD = ctx.partition(copy, ctx.partial_tile(D, (tile, tile), (n, m)))
    ctx.copy(copy, tAgA, tAsA)
    ctx.sync_threads()
    ctx.copy(copy, tDsA, tDgD)
