"""CUTLASS 2.x MmaPipelined on tensor cores: two stages, ld.global through registers to st.shared, XOR layouts.

Parameters. tile, warp, instruction: (m, n, k) of a threadblock, a warp, an MMA; where a warp's k is a part of the
tile's, several warps share it (sliced-K). input_type, accumulator_type, output_type: f16, bf16, tf32, f32, s8, s32,
as the MMA and the epilogue have them. layouts: of A and B, t by row, n by column. raster_log: CTAs go in bands of 2
** raster_log tiles of n. epilogue_steps: slices of the accumulators between two barriers, 0 as CUTLASS chooses.
"""

from common.epilogue import tensor_op_epilogue
from common.operand import TensorOpOperand
from common.problem import flops, operands, reference
from common.staging import next_stage_code
from common.tensor_op import cut_tile, tensor_op_mma

import gpusim as gs
from gpusim.dsl.iterators import KRange

__all__ = ["SIZES", "flops", "gemm_pipelined", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}
STAGES = 2


def problem(M, N, K, input_type, output_type, layouts):
    return operands(M, N, K, input_type, output_type, layouts)


@gs.kernel
def gemm_pipelined(ctx, A, B, D, *, tile=(128, 128, 32), warp=(64, 64, 32), instruction=(16, 8, 16), input_type="f16",
                   accumulator_type="f32", output_type="f16", layouts="tn", raster_log=0, epilogue_steps=0):
    mma = tensor_op_mma(tile, warp, instruction, input_type, accumulator_type)
    tiles = cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster_log=raster_log)
    k = KRange(0, A.shape[1], tile[2])
    a = TensorOpOperand(ctx, "A", A, m, mma, (tile[0], tile[2]), STAGES, k)
    b = TensorOpOperand(ctx, "B", B, n, mma, (tile[1], tile[2]), STAGES, k)
    rA, rB = ctx.fragment(mma, "A", buffers=2), ctx.fragment(mma, "B", buffers=2)
    accumulators = ctx.fragment(mma, "C")
    stage_code = next_stage_code(ctx, a, b, stages=STAGES, ldmatrix=True)

    def load_fragments(step, stage, buffer):
        a.load(step, stage, rA[buffer])
        b.load(step, stage, rB[buffer])

    with ctx.scope("prologue"):
        ctx.code([*a.setup(), *b.setup()])
        a.copies.load(0)
        b.copies.load(0)
        ctx.clear(accumulators)
        a.copies.store(0)
        b.copies.store(0)
        ctx.sync_threads()
        load_fragments(0, 0, 0)

    read, buffer = 0, 0
    for k_tile in ctx.range(k.tiles, name="main_loop"):
        for step in range(a.k_steps):
            if step == a.k_steps - 1:
                a.copies.store(1 - read)
                b.copies.store(1 - read)
                ctx.sync_threads()
                ctx.code(stage_code)
                read = 1 - read
            load_fragments((step + 1) % a.k_steps, read, 1 - buffer)
            if step == 0:
                a.copies.load(k_tile + 1)
                b.copies.load(k_tile + 1)
            ctx.gemm(mma, accumulators, rA[buffer], rB[buffer])
            buffer = 1 - buffer

    with ctx.scope("epilogue"):
        tensor_op_epilogue(ctx, D, (m, n), mma, accumulators, a.array, epilogue_steps).run()
