"""CUTLASS 2.x SIMT integer GEMM: s8 by IDP.4A, two stages, 4 x 4 bytes a thread, skewed shared memory.

Parameters. tile, warp: (m, n, k) of a threadblock and a warp. output_type: s32, f32, s8 (saturated). layouts: of A and
B, t by row, n by column; an operand whose k is not contiguous is transposed in registers. raster_log: CTAs go in bands
of 2 ** raster_log tiles of n. alpha, beta, scale, activation: of the output operator; it reads C where it adds
beta * C.
"""

from common import gemm
from common.gemm import reference
from common.igemm import IgemmLoop, word_shape
from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.problem import flops
from common.simt import simt_epilogue
from common.tensor_op import cut_tile

import gpusim as gs

__all__ = ["SIZES", "flops", "igemm_dp4a", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


def problem(M, N, K, output_type, layouts, beta, scale):
    return gemm.problem(M, N, K, "s8", output_type, layouts, beta, scale)


@gs.kernel
def igemm_dp4a(ctx, A, B, D, C=None, *, tile=(128, 128, 32), warp=(32, 64, 32), output_type="s32", layouts="tn",
               raster_log=0, alpha=1.0, beta=0.0, scale="default", activation="none"):
    shape = word_shape(tile, warp)
    tiles = cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=shape.threads // 32, raster_log=raster_log)
    loop = IgemmLoop(ctx, A, B, (m, n), shape, STAGES, gs.KRange(0, A.shape[1], tile[2]))
    pipelined(ctx, loop)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        simt_epilogue(ctx, D, (m, n), shape, loop.accumulators, loop.a.array, op, C, gs.s32).run()
