"""CUTLASS 2.x MmaMultistage on tensor cores: cp.async over 3 or more stages, XOR layouts, epilogue in shared memory.

Parameters. tile, warp, instruction: (m, n, k) of a threadblock, a warp, an MMA; where a warp's k is a part of the
tile's, several warps share it (sliced-K). num_stages: tiles in shared memory. input_type, accumulator_type,
output_type: f16, bf16, tf32, f32, s8, s32, as the MMA and the epilogue have them. layouts: of A and B, t by row, n by
column. raster_log: CTAs go in bands of 2 ** raster_log tiles of n. clear: what the main loop puts where a tile leaves
the problem, none or zfill (zeros). epilogue_steps: slices of the accumulators between two barriers, 0 as CUTLASS
chooses.
"""

from common.epilogue import tensor_op_epilogue
from common.operand import TensorOpOperand
from common.problem import flops, operands, reference
from common.staging import next_stage_code
from common.tensor_op import cut_tile, interleaved_pieces, require_multistage, tensor_op_mma

import gpusim as gs
from gpusim.dsl.iterators import KRange
from gpusim.dsl.lowering.iterators import dead_loads

__all__ = ["SIZES", "flops", "gemm_multistage", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


def problem(M, N, K, input_type, output_type, layouts):
    return operands(M, N, K, input_type, output_type, layouts)


@gs.kernel
def gemm_multistage(ctx, A, B, D, *, tile=(128, 128, 32), warp=(64, 64, 32), instruction=(16, 8, 16), num_stages=3,
                    input_type="f16", accumulator_type="f32", output_type="f16", layouts="tn", raster_log=0,
                    clear="none", epilogue_steps=0):
    require_multistage(num_stages, clear, instead="gemm_pipelined")
    mma = tensor_op_mma(tile, warp, instruction, input_type, accumulator_type)
    tiles = cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster_log=raster_log)
    k = KRange(0, A.shape[1], tile[2])
    a = TensorOpOperand(ctx, "A", A, m, mma, (tile[0], tile[2]), num_stages, k)
    b = TensorOpOperand(ctx, "B", B, n, mma, (tile[1], tile[2]), num_stages, k)
    rA, rB = ctx.fragment(mma, "A", buffers=2), ctx.fragment(mma, "B", buffers=2)
    accumulators = ctx.fragment(mma, "C")
    k_steps = a.k_steps
    stage_code = next_stage_code(ctx, a, b, stages=num_stages, ldmatrix=True)

    def copy_group(k_tile, stage, step):
        for operand in (a, b):
            if pieces := interleaved_pieces(len(operand.copies), step, k_steps):
                operand.copies.copy_async(k_tile, stage, pieces, zfill=clear == "zfill")

    def load_fragments(step, stage, buffer):
        a.load(step, stage, rA[buffer])
        b.load(step, stage, rB[buffer])

    with ctx.scope("prologue"):
        ctx.code([*a.setup(), *b.setup()])
        for stage in range(num_stages - 1):
            ctx.code(dead_loads())
            for operand in (a, b):
                operand.copies.copy_async(stage, stage, range(len(operand.copies)), zfill=True)
                ctx.code(operand.copies.next_tile())
            ctx.cp_async_commit_group()
        ctx.clear(accumulators)
        ctx.cp_async_wait_group(num_stages - 2)
        ctx.sync_threads()
        load_fragments(0, 0, 0)

    read, write, buffer = 0, num_stages - 1, 0
    for k_tile in ctx.range(k.tiles, name="main_loop"):
        for step in range(k_steps):
            load_fragments((step + 1) % k_steps, read, 1 - buffer)
            ctx.gemm(mma, accumulators, rA[buffer], rB[buffer])
            if step < k_steps - 1:
                ctx.code(dead_loads())
                copy_group(k_tile + num_stages - 1, write, step)
            if step == k_steps - 2:
                copy_group(k_tile + num_stages - 1, write, k_steps - 1)
                ctx.cp_async_commit_group()
                ctx.cp_async_wait_group(num_stages - 2)
                ctx.sync_threads()
                ctx.code([*a.copies.next_tile(), *b.copies.next_tile(), *stage_code])
                read, write = (read + 1) % num_stages, (write + 1) % num_stages
            buffer = 1 - buffer

    with ctx.scope("epilogue"):
        ctx.cp_async_commit_group()
        ctx.cp_async_wait_group(0)
        ctx.sync_threads()
        tensor_op_epilogue(ctx, D, (m, n), mma, accumulators, a.array, epilogue_steps).run()
