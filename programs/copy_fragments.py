"""Shared memory to MMA fragments: ld.shared against ldmatrix x1, x2, x4 and .trans; D = A, stored from the fragments.

Sizes need not be multiples of the tile, only of eight where memory is contiguous.

Parameters. tile: (m, k) of f16 that a CTA copies. warps: number of warps in a CTA, one below the other. load: how
fragments are loaded: lds, four bytes at a time; x1, x2, x4, so many 8 x 8 matrices an instruction; x1.trans, x2.trans,
x4.trans, the same of a tile kept with m contiguous (A is then k x m). swizzle: layout of the tile in shared memory, in
bytes: none, 32B, 64B, 128B, S<b,m,s>, pad:16B. repeats: how often the fragments are loaded.
"""

from common.hgemm import async_row_copy
from common.tiles import cta_tile, tile_count

import gpusim as gs

__all__ = ["SIZES", "copy_fragments", "flops", "problem", "reference"]

SIZES = {"M": 1024, "K": 512}
LOADS = {"lds": "UniversalCopy_32b", "x1": "SM75_U32x1_LDSM_N", "x2": "SM75_U32x2_LDSM_N", "x4": "SM75_U32x4_LDSM_N",
         "x1.trans": "SM75_U16x2_LDSM_T", "x2.trans": "SM75_U16x4_LDSM_T", "x4.trans": "SM75_U16x8_LDSM_T"}


def problem(M, K, load):
    shape = (K, M) if load.endswith("trans") else (M, K)
    return {"A": gs.tensor("A", gs.f16, shape), "D": gs.tensor("D", gs.f16, (M, K))}


def flops(M, K):
    return 0.0


def reference(inputs, load):
    return {"D": inputs["A"].T if load.endswith("trans") else inputs["A"]}


@gs.kernel
def copy_fragments(ctx, A, D, *, tile=(64, 64), warps=4, load="x4", swizzle="128B", repeats=1):
    if load not in LOADS:
        raise gs.UserError("no such way to load a fragment", got=f"'{load}'", suggestion=", ".join(LOADS))
    mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F32F16F16F32_TN, tile=(tile[0], 8), warps=(warps, 1))
    m, k = ctx.launch((tile_count(D.shape[0], tile[0]), tile_count(D.shape[1], tile[1])), warps=warps)
    transposed = load.endswith("trans")
    stored, place = (tile[::-1], (k, m)) if transposed else (tile, (m, k))
    gA, gD = cta_tile(ctx, A, stored, place), cta_tile(ctx, D, tile, (m, k))
    sA = ctx.smem("sA", gs.f16, (*stored, 1), swizzle=swizzle)
    ctx.copy(async_row_copy(gA, mma.num_threads), gA, sA[..., 0])
    ctx.cp_async_commit_group()
    s2r = gs.tiled_copy_A(getattr(gs.copy, LOADS[load]), mma)
    r2g = gs.tiled_copy_A(gs.copy.UniversalCopy_32b, mma)
    tAsA = ctx.partition(s2r, sA[..., 0].transposed() if transposed else sA[..., 0])
    tDgD = ctx.partition(r2g, gD)
    rA = ctx.fragment_like(tAsA)
    ctx.cp_async_wait_group(0)
    ctx.sync_threads()
    for _ in range(repeats):
        ctx.copy(s2r, tAsA, rA)
    ctx.copy(r2g, rA, tDgD)
