"""CUTLASS 2.x sparse GEMM: A holds two of every four k, metadata go along in stages of their own, mma.sp multiplies.

A is M x K / 2; E, M x K / 32 words, says which two of every four neighbours along k A holds, in the order of CUTLASS's
reorder_meta. The metadata are random numbers that belong to the problem. As in CUTLASS (SparseGemm::can_implement), M
is a multiple of 32, as the rows of E change places in groups of 32, and K of the tile's: what cp.async fills with zeros
behind the end are no metadata. N need not be a multiple of the tile.

Parameters. tile, warp: (m, n, k) that a threadblock and a warp multiply at a time, k of all elements; the instruction
is 16 x 8 x 32. num_stages: tiles of k in shared memory at a time. input_type: element type of A and B, f16 or bf16.
accumulator_type: type of the sums, f32 or f16. output_type: element type of C and D, f32, f16 or bf16. layouts: how A
and B are stored, a letter each: t by row, n by column. raster_log: CTAs start in bands of 2 ** raster_log tiles of n,
0: along m. clear: what the main loop puts where a tile leaves the problem: none (CUTLASS's) or zfill (zeros). alpha,
beta: factors of the output operator, D = activation(alpha * A * B + beta * C); C is read only where it counts. scale:
form of the output operator, default, no_beta_scaling (C as it is), only_alpha_scaling (no C) or nothing (the sums as
they are). activation: function of every element of D, none or relu.
"""

from common import gemm
from common.metadata import GROUP_ROWS, dense, indices, metadata, metadata_words
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.problem import flops
from common.sparse import SparseLoop
from common.tensor_op import tensor_op_mma
from common.tensor_op_epilogue import tensor_op_epilogue
from common.tiles import output_tiles

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_sparse", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}
INSTRUCTION = (16, 8, 32)


def problem(M, N, K, tile, input_type, output_type, layouts, beta, scale):
    if M % GROUP_ROWS or K % tile[2]:
        raise gs.UserError(f"metadata lie in groups of {GROUP_ROWS} rows and fill whole tiles of k, as zeros are none",
                           got=f"M={M}, K={K}",
                           suggestion=f"M a multiple of {GROUP_ROWS}, K of the tile's {tile[2]}")
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
    tiles = output_tiles(A, B, tile)
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster_log=raster_log)
    loop = SparseLoop(ctx, A, B, (m, n), mma, tile[2], num_stages, gs.KRange(0, B.shape[1], tile[2]), E=E)
    multistage(ctx, loop, num_stages, clear)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        tensor_op_epilogue(ctx, D, (m, n), mma, loop.accumulators, loop.a.array, op, C).run()
