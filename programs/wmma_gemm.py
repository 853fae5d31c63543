"""CUTLASS 2.x WMMA GEMM: wmma 16x16x16, two stages, padded rows in shared memory, epilogue of 16 rows a step.

Parameters. tile, warp: (m, n, k) that a threadblock and a warp multiply at a time. input_type: element type of A and B,
f16 or bf16. accumulator_type, output_type: element types of the sums, f32 or f16, and of C and D, as the epilogue has
them. layouts: how A and B are stored, a letter each: t by row, n by column. raster_log: CTAs start in bands of 2 **
raster_log tiles of n, 0: along m. alpha, beta: factors of the output operator, D = activation(alpha * A * B + beta *
C); C is read only where it counts. scale: form of the output operator, default, no_beta_scaling (C as it is),
only_alpha_scaling (no C) or nothing (the sums as they are). activation: function of every element of D, none or relu.
"""

from common.gemm import problem, reference
from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.problem import flops
from common.tiles import output_tiles
from common.wmma import WmmaLoop, wmma_epilogue, wmma_mma

import gpusim as gs

__all__ = ["SIZES", "flops", "problem", "reference", "wmma_gemm"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


@gs.kernel
def wmma_gemm(ctx, A, B, D, C=None, *, tile=(128, 128, 32), warp=(64, 64, 32), input_type="f16",
              accumulator_type="f32", output_type="f16", layouts="tn", raster_log=0, alpha=1.0, beta=0.0,
              scale="default", activation="none"):
    mma = wmma_mma(ctx, tile, warp, input_type, accumulator_type)
    tiles = output_tiles(A, B, tile)
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster_log=raster_log)
    loop = WmmaLoop(ctx, A, B, (m, n), mma, tile[2], STAGES, gs.KRange(0, A.shape[1], tile[2]))
    pipelined(ctx, loop)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        wmma_epilogue(ctx, D, (m, n), loop, op, C).run()
