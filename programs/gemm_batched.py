"""CUTLASS 2.x GemmBatched and GemmArray: one GEMM per batch along grid.z, each as gemm_multistage computes it.

Parameters. mode: how batches are found: strided (they lie one after another) or array (the kernel reads a pointer per
batch and tensor). max_grid_z: batches that have CTAs of their own; further ones are later visits of the same CTAs, with
a barrier between two that CUTLASS leaves out: without it a warp's copies overwrite sums that another one has still to
read. The others are those of gemm_multistage; CTAs start along m.
"""

from common import gemm
from common.gemm import reference
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.pointers import batch_pointers, load_pointer
from common.problem import flops
from common.tensor_op import tensor_op_mma
from common.tensor_op_epilogue import tensor_op_epilogue
from common.tensor_op_loop import TensorOpLoop
from common.tiles import tile_count
from common.visits import SAME_SIZES

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_batched", "problem", "reference"]

SIZES = {"M": 512, "N": 512, "K": 512, "batches": 16}


def problem(M, N, K, batches, input_type, output_type, layouts, beta, scale, mode):
    tensors = gemm.problem(M, N, K, input_type, output_type, layouts, beta, scale, batches)
    return {**tensors, **batch_pointers(tensors, mode)}


@gs.kernel
def gemm_batched(ctx, A, B, D, C=None, pointers_A=None, pointers_B=None, pointers_D=None, pointers_C=None, *,
                 tile=(128, 128, 32), warp=(64, 64, 32), instruction=(16, 8, 16), num_stages=3, input_type="f16",
                 accumulator_type="f32", output_type="f16", layouts="tn", alignment=0, clear="none", mode="strided",
                 max_grid_z=65535, alpha=1.0, beta=0.0, scale="default", activation="none"):
    require_multistage(num_stages, clear, instead="gemm_pipelined")
    mma = tensor_op_mma(tile, warp, instruction, input_type, accumulator_type)
    batches, rows, depth = A.shape
    tiles = tile_count(rows, tile[0]), tile_count(B.shape[1], tile[1])
    m, n = ctx.launch_batches(tiles, batches, warps=mma.num_warps, max_grid_z=max_grid_z)
    for visit in ctx.visits():
        k = gs.KRange(0, depth, tile[2])
        loop = TensorOpLoop(ctx, A.batch(), B.batch(), (m, n), mma, tile[2], num_stages, k, alignment)
        SAME_SIZES.by_loop(ctx, loop)
        with ctx.scope("prologue"):
            if visit.number:
                ctx.sync_threads()  # the epilogue before is done with shared memory
            load_pointer(ctx, loop.a.copies.source, pointers_A)
            load_pointer(ctx, loop.b.copies.source, pointers_B)
        multistage(ctx, loop, num_stages, clear)
        with ctx.scope("epilogue"):
            op = LinearCombination(alpha, beta, scale, activation)
            epilogue = tensor_op_epilogue(ctx, D.batch(), (m, n), mma, loop.accumulators, loop.a.array, op,
                                          C and C.batch())
            SAME_SIZES.by_epilogue(ctx, epilogue)
            load_pointer(ctx, epilogue.output, pointers_D)
            load_pointer(ctx, epilogue.input, pointers_C)
            epilogue.run()
