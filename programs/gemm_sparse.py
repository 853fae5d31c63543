"""CUTLASS 2.x sparse GEMM: A holds two of every four k, metadata go along in stages of their own, mma.sp multiplies.

A is M x K / 2; E, M x K / 32 words, says which two of every four neighbours along k A holds, in the order of CUTLASS's
reorder_meta. The metadata are random numbers that belong to the problem; M and K are multiples of 32.
Parameters. tile, warp: (m, n, k) of a threadblock and a warp, k of all elements; the instruction is 16 x 8 x 32.
num_stages: tiles in shared memory. input_type: f16, bf16; accumulator_type: f32, f16; output_type: as in
gemm_multistage. layouts: of A and B, t by row, n by column. raster_log: CTAs go in bands of 2 ** raster_log tiles of n.
clear: none (CUTLASS's) or zfill, as in gemm_multistage. alpha, beta, scale, activation: of the output operator; it
reads C where it adds beta * C.
"""

from common import gemm
from common.metadata import GROUP_ROWS, WORD_K, dense, indices, metadata, metadata_words
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.problem import flops
from common.sparse import SparseLoop
from common.tensor_op import cut_tile, tensor_op_mma
from common.tensor_op_epilogue import tensor_op_epilogue

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_sparse", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}
INSTRUCTION = (16, 8, 32)


def problem(M, N, K, input_type, output_type, layouts, beta, scale):
    if M % GROUP_ROWS or K % WORD_K:
        raise gs.UserError("metadata come in blocks of 32 rows and 32 k", got=f"M={M}, K={K}",
                           suggestion="M and K that are multiples of 32")
    tensors = gemm.problem(M, N, K, input_type, output_type, layouts, beta, scale)
    tensors["A"] = gs.tensor("A", tensors["A"].dtype, (M, K // 2), order="row" if layouts[0] == "t" else "column")
    words = metadata_words(metadata(M, K))
    return {**tensors, "E": gs.tensor("E", gs.s32, words.shape, order="column", values=words)}


def reference(inputs, output_type, alpha, beta, scale, activation):
    inputs = {**inputs, "A": dense(inputs["A"], indices(inputs["E"]))}
    return gemm.reference(inputs, output_type, alpha, beta, scale, activation)


@gs.kernel
def gemm_sparse(ctx, A, B, D, E, C=None, *, tile=(128, 128, 64), warp=(64, 64, 64), num_stages=3, input_type="f16",
                accumulator_type="f32", output_type="f16", layouts="tn", raster_log=0, clear="none", alpha=1.0,
                beta=0.0, scale="default", activation="none"):
    require_multistage(num_stages, clear, instead="num_stages=3")
    if clear == "clear_last_stage":
        raise gs.UserError("a sparse main loop leaves shared memory as it is or zero-fills", got=f"clear={clear}",
                           suggestion="clear=none, as CUTLASS has it, or clear=zfill")
    mma = tensor_op_mma(tile, warp, INSTRUCTION, input_type, accumulator_type, sparse=True)
    tiles = cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster_log=raster_log)
    loop = SparseLoop(ctx, A, B, (m, n), mma, tile[2], num_stages, gs.KRange(0, B.shape[1], tile[2]), E=E)
    multistage(ctx, loop, num_stages, clear)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        tensor_op_epilogue(ctx, D, (m, n), mma, loop.accumulators, loop.a.array, op, C).run()
