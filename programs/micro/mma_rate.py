"""micro/mma_rate: mma.sync over and over, `ilp` independent accumulators per warp: every 6 cycles per sub-partition.

Measured (pipes.csv, mma_m16n8k16_f16_f32, cycles per MMA and warp): 4 warps with ILP 1 24.1, with ILP 4 6.3; 8 warps
with ILP 4 11.8. Other shapes and types, as others measured them on other GPUs: published/mma.csv.

Parameters. warps: number of warps in the CTA. ilp: accumulators that a warp's MMAs take in turn. repeats: rounds of the
loop. unrolled: groups of ilp MMAs in a round. atom: the instruction, as gs.mma names it.
"""

import gpusim as gs

SIZES: dict[str, int] = {}


def problem():
    return {}


def flops():
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def mma_rate(ctx, *, warps=4, ilp=4, repeats=16, unrolled=32, atom="SM80_16x8x16_F32F16F16F32_TN"):
    instruction = getattr(gs.mma, atom)
    rows, columns, _ = instruction.shape_mnk
    mma = gs.tiled_mma(instruction, tile=(rows * warps, columns * ilp), warps=(warps, 1))
    ctx.launch((1, 1), warps=warps)
    a, b, accumulators = (ctx.fragment(mma, operand) for operand in "ABC")
    with ctx.scope("prologue"):
        for fragment in (a, b, accumulators):
            ctx.clear(fragment)
    for _ in ctx.range(repeats, name="main_loop"):
        for _ in range(unrolled):
            ctx.gemm(mma, accumulators, a, b)
