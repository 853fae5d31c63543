"""CUTLASS 2.x split-K parallel: every slice of k writes a matrix of f32 sums, a second kernel adds the matrices up.

Two launches: the GEMM into a workspace, then ReduceSplitK, which applies alpha, beta and the output type. Cycles and
counters are those of both. A thread stores as many sums at once as it would of D: 8 for f16, in two halves.

Parameters. tile, warp, instruction: (m, n, k) that a threadblock, a warp and an MMA multiply at a time, the last 1 x 1
x 1 for FFMA. num_stages: tiles of k in shared memory at a time, 2 for MmaPipelined. slices: parts of k; the last one
takes what does not divide. input_type, accumulator_type, output_type, layouts, alignment, clear, alpha, beta, scale: as
gemm_multistage has them. raster: the axis along which CTAs of the GEMM start, n as CUTLASS's horizontal swizzle has it,
or m. raster_log: as gemm_multistage has it.
"""

from common.epilogue import VECTOR_BITS
from common.gemm import problem as gemm_problem
from common.gemm import reference as gemm_reference
from common.output_op import LinearCombination
from common.problem import flops
from common.reduction import reduce_split_k
from common.reduction import workspace as partial_sums
from common.splitk import parallel_slice, require_f32_sums, require_slices
from common.threadblock import Threadblock

import gpusim as gs

__all__ = ["SIZES", "flops", "followed_by", "gemm_splitk_parallel", "problem", "reference"]

SIZES = {"M": 512, "N": 512, "K": 4096}


def problem(M, N, K, slices, input_type, output_type, layouts, beta, scale):
    return {**gemm_problem(M, N, K, input_type, output_type, layouts, beta, scale),
            "workspace": partial_sums(M, N, slices)}


def reference(inputs, output_type, alpha, beta, scale):
    return gemm_reference(inputs, output_type, alpha, beta, scale, "none")


def followed_by():
    return [reduce_split_k]


@gs.kernel
def gemm_splitk_parallel(ctx, A, B, D, workspace, C=None, *, tile=(128, 128, 32), warp=(64, 64, 32),
                         instruction=(16, 8, 16), num_stages=3, slices=4, input_type="f16", accumulator_type="f32",
                         output_type="f16", layouts="tn", alignment=0, raster="n", raster_log=0, clear="none",
                         alpha=1.0, beta=0.0, scale="default"):
    require_slices(slices, A.shape[1], tile[2])
    require_f32_sums(accumulator_type)
    block = Threadblock(tile, warp, instruction, num_stages, input_type, accumulator_type, clear, alignment)
    coords = ctx.launch(block.tiles(A, B), warps=block.num_warps, slices=slices, raster=raster, raster_log=raster_log)
    loop = block.loop(ctx, A, B, coords, parallel_slice(A.shape[1], tile[2], slices, ctx.visit.slice))
    block.multiply(ctx, loop)
    with ctx.scope("epilogue"):
        as_many_as_of_d = VECTOR_BITS // D.dtype.bits * workspace.dtype.bits
        block.epilogue(ctx, workspace.batch(), coords, loop, LinearCombination(scale="nothing"),
                       vector_bits=as_many_as_of_d).run()
