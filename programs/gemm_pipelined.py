"""CUTLASS 2.x MmaPipelined on tensor cores: two stages, ld.global through registers to st.shared, XOR layouts.

Parameters. tile, warp, instruction: (m, n, k) that a threadblock, a warp and an MMA multiply at a time; where a warp's
k is a part of the tile's, several warps share it (sliced-K). input_type, accumulator_type, output_type: as in
gemm_multistage. layouts: how A and B are stored, a letter each: t by row, n by column. alignment: elements of an access
to global memory, 0: as many as the problem allows. raster: the axis along which CTAs start, m or n. raster_log: CTAs
start in bands of 2 ** raster_log tiles of n, 0: along m. alpha, beta: factors of the output operator, D =
activation(alpha * A * B + beta * C); C is read only where it counts. scale: form of the output operator, default,
no_beta_scaling (C as it is), only_alpha_scaling (no C) or nothing (the sums as they are). activation: function of every
element of D, none or relu.
"""

from common.gemm import problem, reference
from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.problem import flops
from common.tensor_op import tensor_op_mma
from common.tensor_op_epilogue import tensor_op_epilogue
from common.tensor_op_loop import TensorOpLoop
from common.tiles import output_tiles

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_pipelined", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


@gs.kernel
def gemm_pipelined(ctx, A, B, D, C=None, *, tile=(128, 128, 32), warp=(64, 64, 32), instruction=(16, 8, 16),
                   input_type="f16", accumulator_type="f32", output_type="f16", layouts="tn", alignment=0,
                   raster="m", raster_log=0, alpha=1.0, beta=0.0, scale="default", activation="none"):
    mma = tensor_op_mma(tile, warp, instruction, input_type, accumulator_type)
    tiles = output_tiles(A, B, tile)
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster=raster, raster_log=raster_log)
    loop = TensorOpLoop(ctx, A, B, (m, n), mma, tile[2], STAGES, gs.KRange(0, A.shape[1], tile[2]), alignment)
    pipelined(ctx, loop)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        tensor_op_epilogue(ctx, D, (m, n), mma, loop.accumulators, loop.a.array, op, C).run()
