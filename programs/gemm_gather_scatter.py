"""CUTLASS 2.x GEMM with GatherA and ScatterD: rows of A and D are found through index tensors, as in its example 36.

D[rows_D[m]] = A[rows_A[m]] * B. A and D have contiguous columns.

Parameters. gather_a: whether rows of A are picked by index. scatter_d: whether rows of D are picked by index. rows:
rows of A and D, of which M are picked at random, 0: 2 M; where M is larger, rows of A are taken several times. seed:
start of the random numbers that pick rows. raster_log: CTAs start in bands of 2 ** raster_log tiles of n, 0: along m.
The others are those of gemm_multistage.
"""

from common import gemm
from common.indexed import indexed_problem, indexed_reference
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.problem import flops
from common.tensor_op import tensor_op_mma
from common.tensor_op_epilogue import tensor_op_epilogue
from common.tensor_op_loop import TensorOpLoop
from common.tiles import tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_gather_scatter", "problem", "reference"]

SIZES = {"M": 1024, "N": 1024, "K": 1024}


def problem(M, N, K, input_type, output_type, layouts, beta, scale, gather_a, scatter_d, rows, seed):
    tensors = gemm.problem(M, N, K, input_type, output_type, layouts, beta, scale)
    return indexed_problem(tensors, rows, gather_a, scatter_d, seed)


def reference(inputs, output_type, alpha, beta, scale, activation, rows):
    return indexed_reference(inputs, LinearCombination(alpha, beta, scale, activation), output_type, rows)


@gs.kernel
def gemm_gather_scatter(ctx, A, B, D, C=None, rows_A=None, rows_D=None, *, gather_a=True, scatter_d=True, rows=0,
                        seed=0, tile=(128, 128, 32), warp=(64, 64, 32), instruction=(16, 8, 16), num_stages=3,
                        input_type="f16", accumulator_type="f32", output_type="f16", layouts="tn", alignment=0,
                        raster_log=0, clear="none", alpha=1.0, beta=0.0, scale="default", activation="none"):
    require_multistage(num_stages, clear, instead="gemm_pipelined")
    mma = tensor_op_mma(tile, warp, instruction, input_type, accumulator_type)
    picked = (rows_A or rows_D or A).shape[0]
    tiles = tile_count(picked, tile[0]), tile_count(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster_log=raster_log, own_tiles="m" if rows_A or rows_D else "")
    k = gs.KRange(0, A.shape[1], tile[2])
    loop = TensorOpLoop(ctx, A.indexed(rows_A), B, (m, n), mma, tile[2], num_stages, k, alignment)
    multistage(ctx, loop, num_stages, clear)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        tensor_op_epilogue(ctx, D.indexed(rows_D), (m, n), mma, loop.accumulators, loop.a.array, op,
                           C and C.indexed(rows_D)).run()
