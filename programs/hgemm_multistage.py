"""hgemm, D = A * B: cp.async multistage, ldmatrix, mma.sync, fragments double buffered (A by row, B by column).

Sizes need not be multiples of the tile, only K and N of eight: what lies outside arrives as zeros.

Parameters. tile: (m, n, k) that a CTA multiplies at a time. warps: numbers of warps along m and n, each with a block of
the tile. num_stages: tiles of k in shared memory at a time. swizzle: layout of the shared tiles, in bytes: none, 32B,
64B, 128B, S<b,m,s>, pad:16B, cutlass. raster: the axis along which CTAs start, m or n.
"""

from common.hgemm import SIZES, async_row_copy, flops, problem, reference, require_stages, require_two_k_steps
from common.tiles import cta_tile, output_tiles, tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "hgemm_multistage", "problem", "reference"]


@gs.kernel
def hgemm_multistage(ctx, A, B, D, *, tile=(128, 128, 32), warps=(2, 2), num_stages=3, swizzle="64B", raster="m"):
    bM, bN, bK = tile
    mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F32F16F16F32_TN, tile=(bM, bN), warps=warps)
    kStep = mma.atom.shape_mnk[2]
    k_tiles, k_steps = tile_count(A.shape[1], bK), bK // kStep
    require_stages(num_stages)
    require_two_k_steps(bK, kStep)
    tiles = output_tiles(A, B, tile)
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster=raster)
    gA, gB = cta_tile(ctx, A, (bM, bK), (m, None)), cta_tile(ctx, B, (bN, bK), (n, None))  # (bM, bK, k_tiles)
    gD = cta_tile(ctx, D, (bM, bN), (m, n))
    sA = ctx.smem("sA", gs.f16, (bM, bK, num_stages), swizzle=swizzle)
    sB = ctx.smem("sB", gs.f16, (bN, bK, num_stages), swizzle=swizzle)
    sA_steps, sB_steps = sA.tile().blocks(kStep), sB.tile().blocks(kStep)  # (bM, kStep, k_steps, num_stages)
    rA, rB = ctx.fragment(mma, "A", buffers=2), ctx.fragment(mma, "B", buffers=2)
    accumulators = ctx.fragment(mma, "C")

    g2s_A, g2s_B = async_row_copy(gA, mma.num_threads), async_row_copy(gB, mma.num_threads)
    s2r = gs.copy.SM75_U32x4_LDSM_N
    r2g = gs.copy.UniversalCopy_32b

    def load(k_tile, stage):
        ctx.copy(g2s_A, gA[..., k_tile], sA[..., stage], pred=k_tile < k_tiles)
        ctx.copy(g2s_B, gB[..., k_tile], sB[..., stage], pred=k_tile < k_tiles)
        ctx.cp_async_commit_group()

    def fetch(step, stage, buffer):
        ctx.copy(s2r, sA_steps[..., step, stage], rA[buffer])
        ctx.copy(s2r, sB_steps[..., step, stage], rB[buffer])

    with ctx.scope("prologue"):
        for stage in range(num_stages - 1):
            load(stage, stage)
        ctx.cp_async_wait_group(num_stages - 2)
        ctx.sync_threads()
        fetch(0, 0, 0)
        ctx.clear(accumulators)

    read, write, buffer = 0, num_stages - 1, 0
    for k_tile in ctx.range(k_tiles, name="main_loop"):
        for step in range(k_steps):
            if step == k_steps - 1:  # the next fragments belong to the next tile
                ctx.cp_async_wait_group(num_stages - 2)
                ctx.sync_threads()
                read = (read + 1) % num_stages
            fetch((step + 1) % k_steps, read, 1 - buffer)
            if step == 0:
                load(k_tile + num_stages - 1, write)
                write = (write + 1) % num_stages
            ctx.gemm(mma, accumulators, rA[buffer], rB[buffer])
            buffer = 1 - buffer

    with ctx.scope("epilogue"):
        ctx.copy(r2g, ctx.convert(accumulators, gs.f16), gD)
