"""Copy through shared memory by cp.async: .ca of 4, 8 or 16 bytes a thread, .cg of 16 past L1; D = A.

Sizes need not be multiples of the tile, only N of four floats: what lies outside arrives as zeros.

Parameters. tile: (rows, columns) of f32 that a CTA copies. warps: number of warps in a CTA. bytes: width of a cp.async,
4, 8 or 16. cache: ca, through L1, or cg, past it. swizzle: layout of the tile in shared memory, in bytes: none, 128B,
S<b,m,s>, pad:16B.
"""

from common.copies import along_rows, pair
from common.copies import copied as reference
from common.copies import no_flops as flops
from common.tiles import tile_count

import gpusim as gs

__all__ = ["SIZES", "copy_async", "flops", "problem", "reference"]

SIZES = {"M": 2048, "N": 1024}


def problem(M, N):
    return pair((M, N), (M, N), gs.f32)


@gs.kernel
def copy_async(ctx, A, D, *, tile=(32, 64), warps=4, bytes=16, cache="cg", swizzle="none"):
    kinds = {"ca": "CACHEALWAYS", "cg": "CACHEGLOBAL"}
    if cache not in kinds or bytes not in (4, 8, 16) or (cache == "cg" and bytes < 16):
        raise gs.UserError("cp.async copies 4, 8 or 16 bytes through L1 (ca), 16 bytes past it (cg)",
                           got=f"{bytes} bytes, {cache}", suggestion="bytes=16 or cache=ca")
    threads = 32 * warps
    g2s = along_rows(getattr(gs.copy, f"SM80_CP_ASYNC_{kinds[cache]}_ZFILL_{bytes}B"), threads, tile[1], gs.f32)
    s2g = along_rows(gs.copy.UniversalCopy_128b, threads, tile[1], gs.f32)
    m, n = ctx.launch((tile_count(A.shape[0], tile[0]), tile_count(A.shape[1], tile[1])), warps=warps, raster="n")
    sA = ctx.smem("sA", gs.f32, (*tile, 1), swizzle=swizzle)[..., 0]
    tAgA, tAsA = ctx.partition(g2s, ctx.partial_tile(A, tile, (m, n))), ctx.partition(g2s, sA)
    tDsA, tDgD = ctx.partition(s2g, sA), ctx.partition(s2g, ctx.partial_tile(D, tile, (m, n)))
    ctx.copy(g2s, tAgA, tAsA)
    ctx.cp_async_commit_group()
    ctx.cp_async_wait_group(0)
    ctx.sync_threads()
    ctx.copy(s2g, tDsA, tDgD)
