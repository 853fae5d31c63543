"""CUTLASS 2.x MmaPipelined on tensor cores: two stages, ld.global through registers to st.shared, XOR layouts.

Parameters. tile, warp, instruction: (m, n, k) of a threadblock, a warp, an MMA; where a warp's k is a part of the
tile's, several warps share it (sliced-K). input_type, accumulator_type, output_type: as in gemm_multistage. layouts: of
A and B, t by row, n by column. alignment: elements of a load from global memory, 0: as many as the problem allows.
raster, raster_log: CTAs start along m, in bands of 2 ** raster_log tiles of n, or along n. alpha, beta, scale (default,
no_beta_scaling, only_alpha_scaling, nothing), activation (none, relu): of the output operator; it reads C where it adds
beta * C.
"""

from common.gemm import problem, reference
from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.problem import flops
from common.tensor_op import cut_tile, tensor_op_mma
from common.tensor_op_epilogue import tensor_op_epilogue
from common.tensor_op_loop import TensorOpLoop

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_pipelined", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


@gs.kernel
def gemm_pipelined(ctx, A, B, D, C=None, *, tile=(128, 128, 32), warp=(64, 64, 32), instruction=(16, 8, 16),
                   input_type="f16", accumulator_type="f32", output_type="f16", layouts="tn", alignment=0,
                   raster="m", raster_log=0, alpha=1.0, beta=0.0, scale="default", activation="none"):
    mma = tensor_op_mma(tile, warp, instruction, input_type, accumulator_type)
    tiles = cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster=raster, raster_log=raster_log)
    loop = TensorOpLoop(ctx, A, B, (m, n), mma, tile[2], STAGES, gs.KRange(0, A.shape[1], tile[2]), alignment)
    pipelined(ctx, loop)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        tensor_op_epilogue(ctx, D, (m, n), mma, loop.accumulators, loop.a.array, op, C).run()
