"""micro/copy_round_trip: cp.async of 16 bytes a thread, commit, wait for it; each into the next tile's place in L2.

Measured (memory.csv, cpasync16_roundtrip_l2, cycles from one copy to the next): 32 threads 312.5, 128 threads 314.4,
512 threads 315.9. The compiler unrolled the measured loop 16 times.
"""

import gpusim as gs
from gpusim import cute

COLUMNS = 64
UNROLL = 16
SIZES = {"threads": 128, "trips": 64}


def problem(threads, trips):
    """16 bytes a thread and trip."""
    return {"A": gs.tensor("A", gs.f16, (threads * 8 // COLUMNS, COLUMNS * trips))}


def flops(threads, trips):
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def copy_round_trip(ctx, A):
    rows = A.shape[0]
    m, _ = ctx.launch((1, 1), warps=rows * COLUMNS // 8 // 32)
    gA = ctx.local_tile(A, (rows, COLUMNS), (m, None))
    sA = ctx.smem("sA", gs.f16, (rows, COLUMNS, 1), swizzle="128B")
    threads = cute.Layout((rows, COLUMNS // 8), (COLUMNS // 8, 1))
    g2s = gs.tiled_copy(gs.copy.SM80_CP_ASYNC_CACHEGLOBAL_16B, threads, cute.Layout((1, 8), (8, 1)))
    for first in ctx.range(A.shape[1] // COLUMNS // UNROLL, name="main_loop"):
        for trip in range(UNROLL * first, UNROLL * (first + 1)):
            ctx.copy(g2s, gA[..., trip], sA[..., 0])
            ctx.cp_async_commit_group()
            ctx.cp_async_wait_group(0)
