"""CUTLASS 2.x MmaMultistage on FFMA: cp.async of single floats over 3 or more stages, skewed shared memory.

Parameters. tile, warp: (m, n, k) of a threadblock and a warp. num_stages: tiles in shared memory. input_type: f32 or
f64. layouts: of A and B, t by row, n by column. raster, raster_log: CTAs start along m, in bands of 2 ** raster_log
tiles of n, or along n. clear: what the main loop puts where a tile leaves the problem: none, zfill (zeros),
clear_last_stage (none, after one stage has been cleared). alpha, beta, scale, activation: of the output operator; it
reads C where it adds beta * C. epilogue_stores: to shared memory, scalar or vector; epilogue_padding: of a row there,
-1: as CUTLASS has it.
"""

from common import gemm
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.problem import flops
from common.simt import SimtShape, simt_epilogue, simt_type
from common.simt_loop import SimtLoop
from common.tensor_op import cut_tile

import gpusim as gs

__all__ = ["SIZES", "flops", "problem", "reference", "sgemm_multistage"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


def problem(M, N, K, input_type, layouts, beta, scale):
    return gemm.problem(M, N, K, simt_type(input_type), input_type, layouts, beta, scale)


def reference(inputs, input_type, alpha, beta, scale, activation):
    return gemm.reference(inputs, input_type, alpha, beta, scale, activation)


@gs.kernel
def sgemm_multistage(ctx, A, B, D, C=None, *, tile=(128, 128, 8), warp=(32, 64, 8), num_stages=4, input_type="f32",
                     layouts="nt", raster="m", raster_log=0, clear="none", alpha=1.0, beta=0.0, scale="default",
                     activation="none", epilogue_stores="scalar", epilogue_padding=-1):
    require_multistage(num_stages, clear, instead="sgemm_pipelined")
    shape = SimtShape(tile, warp, A.dtype.bits)
    tiles = cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=shape.threads // 32, raster=raster, raster_log=raster_log)
    loop = SimtLoop(ctx, A, B, (m, n), shape, num_stages, gs.KRange(0, A.shape[1], tile[2]))
    multistage(ctx, loop, num_stages, clear)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        simt_epilogue(ctx, D, (m, n), shape, loop.accumulators, loop.a.array, op, C, A.dtype,
                      epilogue_stores, epilogue_padding).run()
