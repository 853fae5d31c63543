"""CUTLASS 2.x MmaMultistage on FFMA: cp.async of single floats over 3 or more stages, skewed shared memory.

Parameters. num_stages: tiles of k in shared memory at a time. clear: what the main loop puts where a tile leaves the
problem: none, zfill (zeros), clear_last_stage (none, after one stage has been cleared). The others are those of
sgemm_pipelined.
"""

from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.problem import flops
from common.sgemm import problem, reference, simt_gemm

import gpusim as gs

__all__ = ["SIZES", "flops", "problem", "reference", "sgemm_multistage"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


@gs.kernel
def sgemm_multistage(ctx, A, B, D, C=None, *, tile=(128, 128, 8), warp=(32, 64, 8), num_stages=4, input_type="f32",
                     layouts="nt", raster="m", raster_log=0, clear="none", alpha=1.0, beta=0.0, scale="default",
                     activation="none", epilogue_stores="scalar", epilogue_padding=-1, padding=-1):
    require_multistage(num_stages, clear, instead="sgemm_pipelined")
    op = LinearCombination(alpha, beta, scale, activation)
    simt_gemm(ctx, (A, B, D, C), tile, warp, num_stages, (raster, raster_log),
              lambda loop: multistage(ctx, loop, num_stages, clear), op, (epilogue_stores, epilogue_padding), padding)
