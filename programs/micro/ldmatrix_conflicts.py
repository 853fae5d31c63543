"""micro/ldmatrix_conflicts: ldmatrix.x4 of a tile of 128-byte rows, over and over, by swizzle.

Measured (mio.csv, stream ldsm4, one warp on each sub-partition, cycles per ldmatrix): no conflict 17.3, eight-way
127.9. Without a swizzle the eight rows of a matrix stand in the same banks; with 128B each has banks of its own.

Parameters. swizzle: layout of the tile in shared memory, in bytes: none, 32B, 64B, 128B, S<b,m,s>, pad:16B. repeats:
rounds of the loop.
"""

import gpusim as gs
from gpusim import cute

ROWS, COLUMNS, K_STEP = 64, 64, 16
SIZES: dict[str, int] = {}


def problem():
    return {"A": gs.tensor("A", gs.f16, (ROWS, COLUMNS))}


def flops():
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def ldmatrix_conflicts(ctx, A, *, swizzle="128B", repeats=128):
    mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F32F16F16F32_TN, tile=(ROWS, 8), warps=(4, 1))
    m, _ = ctx.launch((1, 1), warps=mma.num_warps)
    gA = ctx.local_tile(A, (ROWS, COLUMNS), (m, None))
    sA = ctx.smem("sA", gs.f16, (ROWS, COLUMNS, 1), swizzle=swizzle)
    steps = sA.tile().blocks(K_STEP)
    fragments = ctx.fragment(mma, "A", buffers=COLUMNS // K_STEP)
    threads = cute.Layout((mma.num_threads * 8 // COLUMNS, COLUMNS // 8), (COLUMNS // 8, 1))
    g2s = gs.tiled_copy(gs.copy.SM80_CP_ASYNC_CACHEGLOBAL_16B, threads, cute.Layout((1, 8), (8, 1)))
    with ctx.scope("prologue"):
        ctx.copy(g2s, gA[..., 0], sA[..., 0])
        ctx.cp_async_commit_group()
        ctx.cp_async_wait_group(0)
        ctx.sync_threads()
    for _ in ctx.range(repeats, name="main_loop"):
        for step in range(COLUMNS // K_STEP):
            ctx.copy(gs.copy.SM75_U32x4_LDSM_N, steps[..., step, 0], fragments[step])
