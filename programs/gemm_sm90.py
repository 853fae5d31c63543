"""CUTLASS sm90 GEMM (3.x and 4): TMA and wgmma, KernelTmaWarpSpecialized, ...Cooperative or ...Pingpong.

M, N and K need not be multiples of the tile, but of 8 where contiguous.

Parameters. kernel_schedule: warp_specialized, a producer warp and one consumer warpgroup a tile; cooperative, two
consumer warpgroups share a tile, CTAs take tile after tile, and registers move from the producer to them; pingpong, as
cooperative, but each consumer warpgroup takes every other tile, one multiplies while the other stores. tile: (m, n,
k) that a CTA multiplies at a time. cluster: CTAs (along m, along n) that run together, each loads its part of a tile of
B or A that others need too and sends it to all of them (TMA multicast). num_stages: tiles of k in shared memory at a
time. layouts: how A and B are stored, a letter each: t by row, n by column. input_type: element type of A and B, f16 or
bf16. alpha, beta: factors of D = alpha * A * B + beta * C, in f16; C is there where beta is not 0, and comes by TMA.
"""

from common.problem import check_layouts, dtype, flops, operands
from common.sm90 import Sm90Gemm
from common.sm90_consumer import Sm90Consumer
from common.sm90_schedule import SCHEDULES, sm90_tiles
from common.tiles import output_tiles

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_sm90", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


def problem(M, N, K, input_type, layouts, beta):
    tensors = operands(M, N, K, input_type, "f16", layouts)
    return {**tensors, **({"C": gs.tensor("C", gs.f16, (M, N))} if beta else {})}


def reference(inputs, alpha, beta):
    product = alpha * (inputs["A"].astype("f4") @ inputs["B"].astype("f4").T)
    return {"D": (product + beta * inputs["C"].astype("f4") if beta else product).astype("f2")}


@gs.kernel
def gemm_sm90(ctx, A, B, D, C=None, *, kernel_schedule="warp_specialized", tile=(128, 128, 64), cluster=(1, 1),
              num_stages=6, layouts="tn", input_type="f16", alpha=1.0, beta=0.0):
    if kernel_schedule not in SCHEDULES:
        raise gs.UserError("no such schedule", got=f"'{kernel_schedule}'", suggestion=" or ".join(SCHEDULES))
    check_layouts(layouts)
    plan, majors = SCHEDULES[kernel_schedule], ("K" if layouts[0] == "t" else "MN", "K" if layouts[1] == "n" else "MN")
    gemm = Sm90Gemm(ctx, plan, tile, num_stages, majors, dtype(input_type), alpha, beta, cluster)
    tiles = output_tiles(A, B, tile)
    if plan.persistent:
        schedule = sm90_tiles(tiles, ctx.spec.sm.count, cluster)
        coords = ctx.persist(schedule, (tiles,), warps=gemm.num_warps, cluster=cluster)
    else:
        coords = ctx.launch(tiles, warps=gemm.num_warps, cluster=cluster)
    gemm.allocate()

    with ctx.role("producer", warps=1):
        gemm.begin("producer")
        producer = gemm.ab.producer()
        for _ in gemm.visits():
            gemm.load(producer, *gemm.tiles(A, B, coords))
        with ctx.scope("epilogue"):
            producer.tail()
        if beta and not plan.persistent:
            gemm.load_source(C, coords)

    if beta and plan.persistent:
        with ctx.role("warp 1", warps=1):
            gemm.begin("rest")
        with ctx.role("epilogue producer", warps=1):
            gemm.begin("epilogue producer")
            gemm.load_source(C, coords)
    with ctx.role("rest", warps=4 - sum(role.num_warps for role in ctx.roles)):  # of the producers' warpgroup
        gemm.begin("rest")

    for number in range(plan.turns):
        with ctx.role("consumer" if plan.turns == 1 else f"consumer {number}", warps=gemm.mma.num_warps):
            consumer = Sm90Consumer(gemm, number, gemm.tiles(A, B, coords)[0].count)
            consumer.begin()
            for _ in consumer.visits():
                consumer.multiply()
                consumer.store(ctx.bulk_tile(D, tile[:2], coords))
            consumer.finish()
