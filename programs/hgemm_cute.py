"""CuTe hgemm: 128x128x32, 3 cp.async stages, fragments double buffered, half accumulators staged through 32x32 tiles.

Sizes need not be multiples of the tile, only K and N of eight: what lies outside arrives as zeros.

Parameters. tile: (m, n, k) that a CTA multiplies at a time. warps: numbers of warps along m and n; their MMAs take
turns. num_stages: tiles of k in shared memory at a time. swizzle: layout of every shared tile, in bytes; S<B,3,3> on
halves is S<B,4,3> on bytes: 32B, 64B, 128B for B = 1, 2, 3, or none, or pad:16B. pipe: staging tiles of the epilogue
that are in flight together.
"""

from common.hgemm import SIZES, async_row_copy, cta_mma, flops, problem, reference, require_stages, staged_epilogue
from common.tiles import cta_tile, output_tiles, tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "hgemm_cute", "problem", "reference"]


@gs.kernel
def hgemm_cute(ctx, A, B, D, *, tile=(128, 128, 32), warps=(2, 2), num_stages=3, swizzle="64B", pipe=2):
    bM, bN, bK = tile
    mma = cta_mma(tile, warps)
    kStep = mma.atom.shape_mnk[2]
    k_tiles, k_steps = tile_count(A.shape[1], bK), bK // kStep
    require_stages(num_stages)
    m, n = ctx.launch(output_tiles(A, B, tile), warps=mma.num_warps)
    gA, gB = cta_tile(ctx, A, (bM, bK), (m, None)), cta_tile(ctx, B, (bN, bK), (n, None))  # (bM, bK, k_tiles)
    gD = cta_tile(ctx, D, (bM, bN), (m, n))
    sA = ctx.smem("sA", gs.f16, (bM, bK, num_stages), swizzle=swizzle)
    sB = ctx.smem("sB", gs.f16, (bN, bK, num_stages), swizzle=swizzle)
    tCrA, tCrB = ctx.fragment(mma, "A", buffers=2), ctx.fragment(mma, "B", buffers=2)
    tCrD = ctx.fragment(mma, "C")
    g2s_A, g2s_B = async_row_copy(gA, mma.num_threads), async_row_copy(gB, mma.num_threads)
    s2r_A = gs.tiled_copy_A(gs.copy.SM75_U32x4_LDSM_N, mma)
    s2r_B = gs.tiled_copy_B(gs.copy.SM75_U32x4_LDSM_N, mma)

    def load(k_tile, stage):
        ctx.copy(g2s_A, tAgA[..., k_tile], tAsA[..., stage], pred=k_tile < k_tiles)
        ctx.copy(g2s_B, tBgB[..., k_tile], tBsB[..., stage], pred=k_tile < k_tiles)
        ctx.cp_async_commit_group()  # also when there is nothing to copy: groups are counted

    def fetch(step, stage, buffer):
        ctx.copy(s2r_A, tCsA[..., step, stage], tCrA[buffer])
        ctx.copy(s2r_B, tCsB[..., step, stage], tCrB[buffer])

    with ctx.scope("prologue"):
        tAgA, tBgB = ctx.partition(g2s_A, gA), ctx.partition(g2s_B, gB)  # (CPY, k_tiles)
        tAsA, tBsB = ctx.partition(g2s_A, sA.tile()), ctx.partition(g2s_B, sB.tile())  # (CPY, num_stages)
        tCsA = ctx.partition(s2r_A, sA.tile().blocks(kStep))  # (CPY, k_steps, num_stages)
        tCsB = ctx.partition(s2r_B, sB.tile().blocks(kStep))
        for stage in range(num_stages - 1):
            load(stage, stage)
        ctx.clear(tCrD)
        ctx.cp_async_wait_group(num_stages - 2)
        ctx.sync_threads()
        fetch(0, 0, 0)

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
            ctx.gemm(mma, tCrD, tCrA[buffer], tCrB[buffer])
            buffer = 1 - buffer

    with ctx.scope("epilogue"):
        staged_epilogue(ctx, mma, tCrD, gD, over=sA, swizzle=swizzle, pipe=pipe)
