"""CUTLASS sm90 GEMM (3.x and 4): TMA and wgmma, KernelTmaWarpSpecialized or ...Cooperative with persistent CTAs.

Parameters. kernel_schedule: warp_specialized, a producer warp and one consumer warpgroup a tile; cooperative, two
consumer warpgroups share a tile, CTAs take tile after tile, and registers move from the producer to them. tile:
(m, n, k). num_stages: tiles in shared memory. layouts: of A and B, t by row, n by column (BLAS). input_type: f16 or
bf16. alpha: of D = alpha * A * B, in f16. M, N and K need not be multiples of the tile, but of 8 where contiguous.
"""

from common.problem import check_layouts, dtype, flops, operands
from common.sm90 import SCHEDULES, Sm90Gemm, sm90_tiles

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_sm90", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


def problem(M, N, K, input_type, layouts):
    return operands(M, N, K, input_type, "f16", layouts)


def reference(inputs, alpha):
    return {"D": (alpha * (inputs["A"].astype("f4") @ inputs["B"].astype("f4").T)).astype("f2")}


@gs.kernel
def gemm_sm90(ctx, A, B, D, *, kernel_schedule="warp_specialized", tile=(128, 128, 64), num_stages=6, layouts="tn",
              input_type="f16", alpha=1.0):
    if kernel_schedule not in SCHEDULES:
        raise gs.UserError("no such schedule", got=f"'{kernel_schedule}'", suggestion=" or ".join(SCHEDULES))
    check_layouts(layouts)
    plan, majors = SCHEDULES[kernel_schedule], ("K" if layouts[0] == "t" else "MN", "K" if layouts[1] == "n" else "MN")
    gemm = Sm90Gemm(ctx, plan, tile, num_stages, majors, dtype(input_type), alpha)
    tiles = -(-A.shape[0] // tile[0]), -(-B.shape[0] // tile[1])
    if plan.persistent:
        coords = ctx.persist(sm90_tiles(tiles, ctx.spec.sm.count), (tiles,), warps=gemm.num_warps)
    else:
        coords = ctx.launch(tiles, warps=gemm.num_warps)
    gemm.allocate()

    with ctx.role("producer", warps=1):
        gemm.begin("producer")
        producer = gemm.ab.producer()
        for _ in gemm.visits():
            gemm.load(producer, *gemm.tiles(A, B, coords))
        with ctx.scope("epilogue"):
            producer.tail()

    with ctx.role("rest", warps=3):  # of the producer's warpgroup
        gemm.begin("rest")

    with ctx.role("consumer", warps=gemm.mma.num_warps):
        gemm.begin("consumer")
        consumer, accumulators = gemm.ab.consumer(), ctx.accumulators(gemm.mma)
        for _ in gemm.visits():
            gemm.multiply(consumer, accumulators, gemm.tiles(A, B, coords)[0].count)
            gemm.store(accumulators, ctx.bulk_tile(D, tile[:2], coords))
        gemm.drain()
