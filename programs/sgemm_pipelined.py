"""CUTLASS 2.x MmaPipelined on FFMA: two stages, skewed shared memory, 8x8 elements a thread, k by k.

Parameters. tile, warp: (m, n, k) of a threadblock and a warp. input_type: f32 or f64. layouts: of A and B, t by row, n
by column. raster, raster_log: CTAs start along m, in bands of 2 ** raster_log tiles of n, or along n. alpha, beta,
scale, activation: of the output operator; it reads C where it adds beta * C. epilogue_stores: to shared memory, scalar
or vector; epilogue_padding: of a row there, -1: as CUTLASS has it.
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
                    epilogue_stores="scalar", epilogue_padding=-1):
    op = LinearCombination(alpha, beta, scale, activation)
    simt_gemm(ctx, (A, B, D, C), tile, warp, STAGES, (raster, raster_log), lambda loop: pipelined(ctx, loop), op,
              (epilogue_stores, epilogue_padding))
