"""Naive hgemm: ld.global to registers, st.shared to one buffer, barrier, ldmatrix and mma.sync, barrier, and again.

Sizes need not be multiples of the tile, only K and N of eight: what lies outside arrives as zeros.

Parameters. tile: (m, n, k) that a CTA multiplies at a time. warps: numbers of warps along m and n. swizzle: layout of
the shared tiles, in bytes: none, 32B, 64B, 128B, S<b,m,s>, pad:16B, cutlass; none shows the bank conflicts of ldmatrix
that 64B takes away. pipe: staging tiles of the epilogue that are in flight together, 0: accumulators go to global
memory as they are, four bytes a thread.
"""

from common.copies import load_tile
from common.hgemm import SIZES, cta_mma, epilogue, flops, problem, reference, row_copy
from common.tiles import cta_tile, output_tiles, tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "hgemm_single_stage", "problem", "reference"]


@gs.kernel
def hgemm_single_stage(ctx, A, B, D, *, tile=(128, 128, 32), warps=(2, 2), swizzle="none", pipe=0):
    bM, bN, bK = tile
    mma = cta_mma(tile, warps)
    kStep = mma.atom.shape_mnk[2]
    m, n = ctx.launch(output_tiles(A, B, tile), warps=mma.num_warps)
    gA, gB = cta_tile(ctx, A, (bM, bK), (m, None)), cta_tile(ctx, B, (bN, bK), (n, None))  # (bM, bK, k_tiles)
    gD = cta_tile(ctx, D, (bM, bN), (m, n))
    sA = ctx.smem("sA", gs.f16, (bM, bK, 1), swizzle=swizzle)
    sB = ctx.smem("sB", gs.f16, (bN, bK, 1), swizzle=swizzle)
    tCrA, tCrB, tCrD = (ctx.fragment(mma, operand) for operand in "ABC")
    copy = row_copy(gs.copy.UniversalCopy_128b, mma.num_threads, bK)
    s2r_A = gs.tiled_copy_A(gs.copy.SM75_U32x4_LDSM_N, mma)
    s2r_B = gs.tiled_copy_B(gs.copy.SM75_U32x4_LDSM_N, mma)

    with ctx.scope("prologue"):
        tAgA, tBgB = ctx.partition(copy, gA), ctx.partition(copy, gB)  # (CPY, k_tiles)
        tAsA, tBsB = ctx.partition(copy, sA[..., 0]), ctx.partition(copy, sB[..., 0])
        tArA, tBrB = ctx.fragment_like(tAgA), ctx.fragment_like(tBgB)
        tCsA = ctx.partition(s2r_A, sA.tile().blocks(kStep))  # (CPY, k_steps, 1)
        tCsB = ctx.partition(s2r_B, sB.tile().blocks(kStep))
        ctx.clear(tCrD)

    for k_tile in ctx.range(tile_count(A.shape[1], bK), name="main_loop"):
        load_tile(ctx, copy, tAgA[..., k_tile], tArA)
        load_tile(ctx, copy, tBgB[..., k_tile], tBrB)
        ctx.copy(copy, tArA, tAsA)
        ctx.copy(copy, tBrB, tBsB)
        ctx.sync_threads()
        for step in range(bK // kStep):
            ctx.copy(s2r_A, tCsA[..., step, 0], tCrA)
            ctx.copy(s2r_B, tCsB[..., step, 0], tCrB)
            ctx.gemm(mma, tCrD, tCrA, tCrB)
        ctx.sync_threads()

    with ctx.scope("epilogue"):
        epilogue(ctx, mma, tCrD, gD, over=sA, swizzle=swizzle, pipe=pipe)
