"""Producer and consumer warps without TMA: cp.async fills a ring of stages, mbarriers tell mma.sync what is there.

The Ampere way of copying with Hopper's barriers: a stage is full when the cp.async of every producer thread have
arrived (cp.async.mbarrier.arrive.noinc), and empty when every consumer thread has released it; no thread waits for a
group. sm_80 has such barriers too, but polls them in shared memory, which is not modelled. Sizes need not be multiples
of the tile, only K and N of eight: what lies outside arrives as zeros.

Parameters. tile: (m, n, k) that a CTA multiplies at a time. warps: numbers of consumer warps along m and n. producers:
number of warps that copy. num_stages: tiles of k in shared memory at a time. swizzle: layout of the shared tiles, in
bytes: none, 32B, 64B, 128B, S<b,m,s>, pad:16B, cutlass.
"""

from common.hgemm import SIZES, async_row_copy, flops, problem, reference
from common.tiles import cta_tile, output_tiles, tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "hgemm_producer_consumer", "problem", "reference"]


@gs.kernel
def hgemm_producer_consumer(ctx, A, B, D, *, tile=(128, 128, 32), warps=(2, 2), producers=4, num_stages=4,
                            swizzle="64B"):
    bM, bN, bK = tile
    mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F32F16F16F32_TN, tile=(bM, bN), warps=warps)
    kStep, k_tiles = mma.atom.shape_mnk[2], tile_count(A.shape[1], bK)
    tiles = output_tiles(A, B, tile)
    m, n = ctx.launch(tiles, warps=producers + mma.num_warps)
    gA, gB = cta_tile(ctx, A, (bM, bK), (m, None)), cta_tile(ctx, B, (bN, bK), (n, None))  # (bM, bK, k_tiles)
    gD = cta_tile(ctx, D, (bM, bN), (m, n))
    sA = ctx.smem("sA", gs.f16, (bM, bK, num_stages), swizzle=swizzle)
    sB = ctx.smem("sB", gs.f16, (bN, bK, num_stages), swizzle=swizzle)
    ab = ctx.pipeline("ab", num_stages=num_stages, via="cp_async", producer_warps=producers,
                      consumer_warps=mma.num_warps)
    g2s_A, g2s_B = async_row_copy(gA, 32 * producers), async_row_copy(gB, 32 * producers)

    with ctx.role("producer", warps=producers):
        with ctx.scope("prologue"):
            ctx.init_barriers()
            ctx.sync_threads()
        producer = ab.producer()
        for k_tile in ctx.range(k_tiles, name="main_loop"):
            empty = producer.acquire_and_advance()
            ctx.copy(g2s_A, gA[..., k_tile], sA[..., empty.index])
            ctx.copy(g2s_B, gB[..., k_tile], sB[..., empty.index])
            empty.commit()

    with ctx.role("consumer", warps=mma.num_warps):
        rA, rB, accumulators = ctx.fragment(mma, "A"), ctx.fragment(mma, "B"), ctx.fragment(mma, "C")
        sA_steps, sB_steps = sA.tile().blocks(kStep), sB.tile().blocks(kStep)
        with ctx.scope("prologue"):
            ctx.sync_threads()
            ctx.clear(accumulators)
        consumer = ab.consumer()
        for _ in ctx.range(k_tiles, name="main_loop"):
            full = consumer.wait_and_advance()
            for step in range(bK // kStep):
                ctx.copy(gs.copy.SM75_U32x4_LDSM_N, sA_steps[..., step, full.index], rA)
                ctx.copy(gs.copy.SM75_U32x4_LDSM_N, sB_steps[..., step, full.index], rB)
                ctx.gemm(mma, accumulators, rA, rB)
            full.release()
        with ctx.scope("epilogue"):
            ctx.copy(gs.copy.UniversalCopy_32b, ctx.convert(accumulators, gs.f16), gD)
