"""Producer and consumer warps without TMA: cp.async fills a ring of stages, mbarriers tell mma.sync what is there.

The Ampere way of copying with Hopper's barriers: a stage is full when the cp.async of every producer thread have
arrived (cp.async.mbarrier.arrive.noinc), and empty when every consumer thread has released it; no thread waits for a
group. sm_80 has such barriers too, but polls them in shared memory, which is not modelled.

Parameters. tile: (m, n, k) of a CTA. warps: of the consumers along m and n. producers: warps that copy. num_stages:
tiles in shared memory. swizzle: of the shared tiles, in bytes.
"""

from common.hgemm import SIZES, flops, problem, reference, row_copy

import gpusim as gs

__all__ = ["SIZES", "flops", "hgemm_producer_consumer", "problem", "reference"]


@gs.kernel
def hgemm_producer_consumer(ctx, A, B, D, *, tile=(128, 128, 32), warps=(2, 2), producers=4, num_stages=4,
                            swizzle="64B"):
    bM, bN, bK = tile
    mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F32F16F16F32_TN, tile=(bM, bN), warps=warps)
    kStep, k_tiles = mma.atom.shape_mnk[2], A.shape[1] // bK
    m, n = ctx.launch((A.shape[0] // bM, B.shape[0] // bN), warps=producers + mma.num_warps)
    gA = ctx.local_tile(A, (bM, bK), (m, None))  # (bM, bK, k_tiles)
    gB = ctx.local_tile(B, (bN, bK), (n, None))
    gD = ctx.local_tile(D, (bM, bN), (m, n))
    sA = ctx.smem("sA", gs.f16, (bM, bK, num_stages), swizzle=swizzle)
    sB = ctx.smem("sB", gs.f16, (bN, bK, num_stages), swizzle=swizzle)
    ab = ctx.pipeline("ab", num_stages=num_stages, via="cp_async", producer_warps=producers,
                      consumer_warps=mma.num_warps)
    g2s = row_copy(gs.copy.SM80_CP_ASYNC_CACHEGLOBAL_16B, 32 * producers, bK)

    with ctx.role("producer", warps=producers):
        with ctx.scope("prologue"):
            ctx.init_barriers()
            ctx.sync_threads()
        producer = ab.producer()
        for k_tile in ctx.range(k_tiles, name="main_loop"):
            empty = producer.acquire_and_advance()
            ctx.copy(g2s, gA[..., k_tile], sA[..., empty.index])
            ctx.copy(g2s, gB[..., k_tile], sB[..., empty.index])
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
