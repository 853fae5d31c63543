"""CUTLASS 2.x SIMT integer GEMM: s8 by IDP.4A, two stages, 4 x 4 bytes a thread, skewed shared memory.

Parameters. tile, warp: (m, n, k) that a threadblock and a warp multiply at a time. output_type: element type of C and
D, s32, f32 or s8 (saturated). layouts: how A and B are stored, a letter each: t by row, n by column; an operand whose k
is not contiguous is transposed in registers. raster_log: CTAs start in bands of 2 ** raster_log tiles of n, 0: along m.
alpha, beta: factors of the output operator, D = activation(alpha * A * B + beta * C); C is read only where it counts.
scale: form of the output operator, default, no_beta_scaling (C as it is), only_alpha_scaling (no C) or nothing (the
sums as they are). activation: function of every element of D, none or relu.
"""

from common import gemm
from common.gemm import reference
from common.igemm import IgemmLoop, word_shape
from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.problem import flops
from common.simt import simt_epilogue
from common.tiles import output_tiles

import gpusim as gs

__all__ = ["SIZES", "flops", "igemm_dp4a", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


def problem(M, N, K, output_type, layouts, beta, scale):
    return gemm.problem(M, N, K, "s8", output_type, layouts, beta, scale)


@gs.kernel
def igemm_dp4a(ctx, A, B, D, C=None, *, tile=(128, 128, 32), warp=(32, 64, 32), output_type="s32", layouts="tn",
               raster_log=0, alpha=1.0, beta=0.0, scale="default", activation="none"):
    shape = word_shape(tile, warp)
    tiles = output_tiles(A, B, tile)
    m, n = ctx.launch(tiles, warps=shape.threads // 32, raster_log=raster_log)
    loop = IgemmLoop(ctx, A, B, (m, n), shape, STAGES, gs.KRange(0, A.shape[1], tile[2]))
    pipelined(ctx, loop)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        simt_epilogue(ctx, D, (m, n), shape, loop.accumulators, loop.a.array, op, C, gs.s32).run()
