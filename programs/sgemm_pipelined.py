"""CUTLASS 2.x MmaPipelined on FFMA: two stages, skewed shared memory, 8x8 elements a thread, k by k.

Parameters. tile, warp: (m, n, k) that a threadblock and a warp multiply at a time. input_type: element type of all
matrices, f32 or f64. layouts: how A and B are stored, a letter each: t by row, n by column. raster: the axis along
which CTAs start, m or n. raster_log: CTAs start in bands of 2 ** raster_log tiles of n, 0: along m. alpha, beta:
factors of the output operator, D = activation(alpha * A * B + beta * C); C is read only where it counts. scale: form of
the output operator, default, no_beta_scaling (C as it is), only_alpha_scaling (no C) or nothing (the sums as they are).
activation: function of every element of D, none or relu. epilogue_stores: how accumulators are stored to shared memory,
scalar (one by one) or vector. epilogue_padding: elements behind a row of the epilogue's tile, -1: as many as CUTLASS
has. padding: elements behind a row of an operand that is transposed on its way to shared memory (A with t, B with n),
-1: as many as CUTLASS has, 4 in two stages and none in more; without padding (0) the stores of a warp meet in a bank,
eight ways.
"""

from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.problem import flops
from common.sgemm import problem, reference, simt_gemm

import gpusim as gs

__all__ = ["SIZES", "flops", "problem", "reference", "sgemm_pipelined"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


@gs.kernel
def sgemm_pipelined(ctx, A, B, D, C=None, *, tile=(128, 128, 8), warp=(32, 64, 8), input_type="f32", layouts="nt",
                    raster="m", raster_log=0, alpha=1.0, beta=0.0, scale="default", activation="none",
                    epilogue_stores="scalar", epilogue_padding=-1, padding=-1):
    op = LinearCombination(alpha, beta, scale, activation)
    simt_gemm(ctx, (A, B, D, C), tile, warp, STAGES, (raster, raster_log), lambda loop: pipelined(ctx, loop), op,
              (epilogue_stores, epilogue_padding), padding)
