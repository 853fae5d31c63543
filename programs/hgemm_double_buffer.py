"""Double-buffered hgemm: while one buffer is multiplied the next tile comes by ld.global, one barrier a tile.

Sizes need not be multiples of the tile, only K and N of eight: what lies outside arrives as zeros.

Parameters. tile: (m, n, k) that a CTA multiplies at a time. warps: numbers of warps along m and n. swizzle: layout of
every shared tile, in bytes: none, 32B, 64B, 128B, S<b,m,s>, pad:16B, cutlass. pipe: staging tiles of the epilogue that
are in flight together, 0: accumulators go to global memory as they are.
"""

from common.copies import load_tile
from common.hgemm import SIZES, cta_mma, epilogue, flops, problem, reference, row_copy
from common.tiles import cta_tile, output_tiles, tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "hgemm_double_buffer", "problem", "reference"]

BUFFERS = 2


@gs.kernel
def hgemm_double_buffer(ctx, A, B, D, *, tile=(128, 128, 32), warps=(2, 2), swizzle="64B", pipe=2):
    bM, bN, bK = tile
    mma = cta_mma(tile, warps)
    kStep = mma.atom.shape_mnk[2]
    k_tiles, k_steps = tile_count(A.shape[1], bK), bK // kStep
    m, n = ctx.launch(output_tiles(A, B, tile), warps=mma.num_warps)
    gA, gB = cta_tile(ctx, A, (bM, bK), (m, None)), cta_tile(ctx, B, (bN, bK), (n, None))  # (bM, bK, k_tiles)
    gD = cta_tile(ctx, D, (bM, bN), (m, n))
    sA = ctx.smem("sA", gs.f16, (bM, bK, BUFFERS), swizzle=swizzle)
    sB = ctx.smem("sB", gs.f16, (bN, bK, BUFFERS), swizzle=swizzle)
    tCrA, tCrB = ctx.fragment(mma, "A", buffers=2), ctx.fragment(mma, "B", buffers=2)
    tCrD = ctx.fragment(mma, "C")
    copy = row_copy(gs.copy.UniversalCopy_128b, mma.num_threads, bK)
    s2r_A = gs.tiled_copy_A(gs.copy.SM75_U32x4_LDSM_N, mma)
    s2r_B = gs.tiled_copy_B(gs.copy.SM75_U32x4_LDSM_N, mma)

    def load(k_tile):
        load_tile(ctx, copy, tAgA[..., k_tile], tArA, pred=k_tile < k_tiles)
        load_tile(ctx, copy, tBgB[..., k_tile], tBrB, pred=k_tile < k_tiles)

    def store(stage):
        ctx.copy(copy, tArA, tAsA[..., stage])
        ctx.copy(copy, tBrB, tBsB[..., stage])

    def fetch(step, stage, buffer):
        ctx.copy(s2r_A, tCsA[..., step, stage], tCrA[buffer])
        ctx.copy(s2r_B, tCsB[..., step, stage], tCrB[buffer])

    with ctx.scope("prologue"):
        tAgA, tBgB = ctx.partition(copy, gA), ctx.partition(copy, gB)  # (CPY, k_tiles)
        tAsA, tBsB = ctx.partition(copy, sA.tile()), ctx.partition(copy, sB.tile())  # (CPY, BUFFERS)
        tArA, tBrB = ctx.fragment_like(tAgA), ctx.fragment_like(tBgB)
        tCsA = ctx.partition(s2r_A, sA.tile().blocks(kStep))  # (CPY, k_steps, BUFFERS)
        tCsB = ctx.partition(s2r_B, sB.tile().blocks(kStep))
        load(0)
        ctx.clear(tCrD)
        store(0)
        ctx.sync_threads()
        fetch(0, 0, 0)

    read, buffer = 0, 0
    for k_tile in ctx.range(k_tiles, name="main_loop"):
        for step in range(k_steps):
            if step == k_steps - 1:  # the next fragments belong to the next tile
                store(1 - read)
                ctx.sync_threads()
                read = 1 - read
            fetch((step + 1) % k_steps, read, 1 - buffer)
            if step == 0:
                load(k_tile + 1)
            ctx.gemm(mma, tCrD, tCrA[buffer], tCrB[buffer])
            buffer = 1 - buffer

    with ctx.scope("epilogue"):
        epilogue(ctx, mma, tCrD, gD, over=sA, swizzle=swizzle, pipe=pipe)
