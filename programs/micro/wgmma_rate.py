"""micro/wgmma_rate: wgmma.m64nNk16 over and over, eight at a time: n / 2 cycles each, and the wait behind the last.

Measured (wgmma.csv, wgmma_ss, swizzle 128B, 8 a group, cycles per wgmma): one warpgroup with N 64 42.2, N 128 74.3, N
256 138.5; two warpgroups with N 256 262.2.

Parameters. n: columns of B, which each wgmma multiplies. warpgroups: each with a tile of its own. per_group: wgmmas
between two waits. swizzle: layout of both operands in shared memory. repeats: rounds of the loop.
"""

import gpusim as gs

SIZES: dict[str, int] = {}
K = 16


def problem():
    return {}


def flops():
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def wgmma_rate(ctx, *, n=128, warpgroups=1, per_group=8, swizzle="128B", repeats=64):
    atom = getattr(gs.mma, f"SM90_64x{n}x16_F32F16F16F32_SS")
    mma = gs.tiled_mma(atom, tile=(64 * warpgroups, n), warps=(4 * warpgroups, 1))
    ctx.launch((1, 1), warps=mma.num_warps)
    sA = ctx.smem_operand("sA", gs.f16, (64 * warpgroups, K * per_group, 1), swizzle=swizzle)
    sB = ctx.smem_operand("sB", gs.f16, (n, K * per_group, 1), swizzle=swizzle)
    accumulators = ctx.accumulators(mma)
    for _ in ctx.range(repeats, name="main_loop"):
        ctx.warpgroup_arrive()
        ctx.gemm(mma, accumulators, sA[..., 0], sB[..., 0])
        ctx.warpgroup_commit()
        ctx.warpgroup_wait(0)
