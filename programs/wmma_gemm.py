"""CUTLASS 2.x WMMA GEMM: wmma 16x16x16, two stages, padded rows in shared memory, epilogue of 16 rows a step.

Parameters. tile, warp: (m, n, k) of a threadblock and a warp. input_type: f16, bf16; accumulator_type, output_type: as
the epilogue has them. layouts: of A and B, t by row, n by column. raster_log: CTAs go in bands of 2 ** raster_log tiles
of n. alpha, beta, scale, activation: of the output operator; it reads C where it adds beta * C.
"""

from common.gemm import problem, reference
from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.problem import flops
from common.tensor_op import cut_tile
from common.wmma import WmmaLoop, wmma_epilogue, wmma_mma

import gpusim as gs

__all__ = ["SIZES", "flops", "problem", "reference", "wmma_gemm"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


@gs.kernel
def wmma_gemm(ctx, A, B, D, C=None, *, tile=(128, 128, 32), warp=(64, 64, 32), input_type="f16",
              accumulator_type="f32", output_type="f16", layouts="tn", raster_log=0, alpha=1.0, beta=0.0,
              scale="default", activation="none"):
    mma = wmma_mma(ctx, tile, warp, input_type, accumulator_type)
    tiles = cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster_log=raster_log)
    loop = WmmaLoop(ctx, A, B, (m, n), mma, tile[2], STAGES, gs.KRange(0, A.shape[1], tile[2]))
    pipelined(ctx, loop)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        wmma_epilogue(ctx, D, (m, n), loop, op, C).run()
