"""Hopper hgemm, D = A * B: one warp feeds a ring of stages by TMA, warpgroups multiply with wgmma, TMA stores D.

Producer and consumers meet at mbarriers only: a stage's full barrier counts the bytes that TMA brings, its empty
barrier the consumers' threads that have read it. Sizes need not be multiples of the tile: TMA fills with zeros and
stores what lies inside; K and N are multiples of 8.

Parameters. tile: (m, n, k) that a CTA multiplies at a time; m: 64 for every consumer warpgroup or a multiple, n: 16 to
256, a multiple of 16. num_stages: tiles of k in shared memory at a time. swizzle: layout of the shared tiles, 128B,
64B, 32B or none. consumers: number of warpgroups that multiply. in_flight: groups of wgmma that may be under way while
the next stage is awaited, 0 or 1. a_operand: where wgmma finds A, shared or registers (loaded by ldmatrix; m is 64 for
every consumer warpgroup then).
"""

from common.hgemm import SIZES, flops, problem, reference
from common.tiles import output_tiles

import gpusim as gs

__all__ = ["SIZES", "flops", "hgemm_warp_specialized", "problem", "reference"]

STORE_COLUMNS, STSM_COLUMNS = 32, 16
EPILOGUE_BARRIER = 1


@gs.kernel
def hgemm_warp_specialized(ctx, A, B, D, *, tile=(128, 128, 64), num_stages=4, swizzle="128B", consumers=1,
                           in_flight=1, a_operand="shared"):
    require_parameters(tile, num_stages, in_flight, a_operand)
    bM, bN, bK = tile
    atom = getattr(gs.mma, f"SM90_64x{bN}x16_F32F16F16F32_{'SS' if a_operand == 'shared' else 'RS'}")
    mma = gs.tiled_mma(atom, tile=(bM, bN), warps=(4 * consumers, 1))
    m, n = ctx.launch(output_tiles(A, B, tile), warps=4 + mma.num_warps)
    gA = ctx.bulk_tile(A, (bM, bK), (m, None))  # (bM, bK, k_tiles)
    gB = ctx.bulk_tile(B, (bN, bK), (n, None))
    gD = ctx.bulk_tile(D, (bM, bN), (m, n))
    sA = ctx.smem_operand("sA", gs.f16, (bM, bK, num_stages), swizzle=swizzle)
    sB = ctx.smem_operand("sB", gs.f16, (bN, bK, num_stages), swizzle=swizzle)
    columns = STORE_COLUMNS if bN % STORE_COLUMNS == 0 else STSM_COLUMNS
    sD = ctx.smem_operand("sD", gs.f16, (mma.pass_rows, columns, 2), swizzle=f"{2 * columns}B")
    ab = ctx.pipeline("ab", num_stages=num_stages, via="tma", tx_bytes=sA.stage_bytes + sB.stage_bytes,
                      consumer_warps=mma.num_warps)

    with ctx.role("producer", warps=1):
        produce(ctx, ab, gA, gB, sA, sB)
    with ctx.role("rest", warps=3), ctx.scope("prologue"):  # of the producer's warpgroup
        ctx.sync_threads()
    with ctx.role("consumer", warps=mma.num_warps):
        accumulators = ctx.accumulators(mma)
        fragments = [ctx.operand_fragment(mma, bK) for _ in range(1 + in_flight) if a_operand == "registers"]
        last = consume(ctx, mma, ab.consumer(), accumulators, fragments, sA, sB, gA.count, in_flight)
        with ctx.scope("epilogue"):
            ctx.warpgroup_wait(0)
            last.release()
            store(ctx, mma, accumulators, sD, gD, columns)


def require_parameters(tile, num_stages, in_flight, a_operand):
    """Refuse what this kernel is not made for."""
    if in_flight not in (0, 1) or num_stages <= in_flight:
        raise gs.UserError("a stage is released one iteration late at most, and another one must be there meanwhile",
                           got=f"in_flight={in_flight}, num_stages={num_stages}",
                           suggestion="in_flight=1, num_stages=2")
    if tile[1] % STSM_COLUMNS:
        raise gs.UserError(f"stmatrix.x4 stores {STSM_COLUMNS} columns at a time", got=f"tile n {tile[1]}",
                           suggestion=f"a multiple of {STSM_COLUMNS}")
    if a_operand not in ("shared", "registers"):
        raise gs.UserError("wgmma finds A in shared memory or in registers", got=f"'{a_operand}'",
                           suggestion="shared or registers")


def produce(ctx, ab, gA, gB, sA, sB):
    """One warp: wait for an empty stage, let TMA fill it; it leaves when the last ones have been read."""
    with ctx.scope("prologue"):
        ctx.init_barriers()
        ctx.sync_threads()
    producer = ab.producer()
    for k_tile in ctx.range(gA.count, name="main_loop"):
        empty = producer.acquire_and_advance()
        ctx.copy(gs.copy.SM90_TMA_LOAD, gA[..., k_tile], sA[..., empty.index], barrier=empty.barrier)
        ctx.copy(gs.copy.SM90_TMA_LOAD, gB[..., k_tile], sB[..., empty.index], barrier=empty.barrier)
        empty.commit()
    with ctx.scope("epilogue"):
        producer.tail()


def consume(ctx, mma, consumer, accumulators, fragments, sA, sB, k_tiles, in_flight):
    """Warpgroups: wait for a full stage, multiply, release the one before; the last one is the caller's to release.
    ``fragments``: of A in registers."""
    held = []

    def multiply(accumulate):
        full = consumer.wait_and_advance()
        a = sA[..., full.index]
        if fragments:
            fragments.append(fragments.pop(0))  # the other one may still be read
            ctx.load_operand(fragments[-1], a)
            a = fragments[-1]
        ctx.warpgroup_arrive()
        ctx.gemm(mma, accumulators, a, sB[..., full.index], accumulate=accumulate)
        ctx.warpgroup_commit()
        held.append(full)

    with ctx.scope("prologue"):
        ctx.sync_threads()
        multiply(accumulate=False)
    for _ in ctx.range(k_tiles - 1, name="main_loop"):
        if not in_flight:
            ctx.warpgroup_wait(0)
            held.pop(0).release()
        multiply(accumulate=True)
        if in_flight:
            ctx.warpgroup_wait(1)  # all but the newest: the stage before is free
            held.pop(0).release()
    return held.pop()


def store(ctx, mma, accumulators, sD, gD, columns):
    """Accumulators to two staging tiles in turn, from where TMA stores them."""
    parts = [(column, block) for column in range(gD.shape[1] // columns) for block in range(mma.blocks)]
    for step, (column, block) in enumerate(parts):
        stage = step % 2
        if step >= 2:
            ctx.bulk_wait(1)  # the store before the last has read its stage
            ctx.named_barrier(EPILOGUE_BARRIER, warps=mma.num_warps)
        packed = ctx.pack(accumulators, block, column * columns, columns)
        ctx.store_matrix(mma, packed, sD[..., stage])
        ctx.fence_async()
        ctx.named_barrier(EPILOGUE_BARRIER, warps=mma.num_warps)
        ctx.copy(gs.copy.SM90_TMA_STORE, sD[..., stage], gD.part((mma.pass_rows, columns), block, column))
        ctx.bulk_commit()
    ctx.bulk_wait(0)
