"""CUTLASS 2.x MmaMultistage on FFMA: cp.async of single floats over 3 or more stages, skewed shared memory.

Parameters. tile, warp: (m, n, k) of a threadblock and a warp. num_stages: tiles in shared memory. layouts: of A and
B, t by row, n by column. raster_log: CTAs go in bands of 2 ** raster_log tiles of n. clear: what the main loop puts
where a tile leaves the problem, none or zfill (zeros).
"""

from common.problem import flops, operands, reference
from common.simt import SimtOperand, SimtShape, ffma_triples, simt_epilogue
from common.staging import next_stage_code
from common.tensor_op import cut_tile, interleaved_pieces, require_multistage

import gpusim as gs
from gpusim.dsl.iterators import KRange
from gpusim.dsl.lowering.iterators import dead_loads
from gpusim.dsl.statements import Line

__all__ = ["SIZES", "flops", "problem", "reference", "sgemm_multistage"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


def problem(M, N, K, layouts):
    return operands(M, N, K, "f32", "f32", layouts)


@gs.kernel
def sgemm_multistage(ctx, A, B, D, *, tile=(128, 128, 8), warp=(32, 64, 8), num_stages=4, layouts="nt", raster_log=0,
                     clear="none"):
    require_multistage(num_stages, clear, instead="sgemm_pipelined")
    shape = SimtShape(tile, warp)
    m, n = ctx.launch((cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])), warps=shape.threads // 32,
                      raster_log=raster_log)
    k, k_steps = KRange(0, A.shape[1], tile[2]), tile[2]
    a = SimtOperand(ctx, "A", A, m, shape, num_stages, k)
    b = SimtOperand(ctx, "B", B, n, shape, num_stages, k)
    rows, columns = shape.thread_tile
    first, _ = ctx.recorder.registers.vector(rows * columns)
    accumulators = tuple(range(first, first + rows * columns))
    stage_code = next_stage_code(ctx, a, b, stages=num_stages, ldmatrix=False)

    def copy_group(k_tile, stage, step):
        for operand in (a, b):
            if pieces := interleaved_pieces(len(operand.copies), step, k_steps):
                operand.copies.copy_async(k_tile, stage, pieces, zfill=clear == "zfill")

    def load_fragments(step, stage, buffer):
        a.load(step, stage, buffer)
        b.load(step, stage, buffer)

    with ctx.scope("prologue"):
        ctx.code([*a.setup(), *b.setup()])
        for stage in range(num_stages - 1):
            ctx.code(dead_loads())
            for operand in (a, b):
                operand.copies.copy_async(stage, stage, range(len(operand.copies)), zfill=True)
                ctx.code(operand.copies.next_tile())
            ctx.cp_async_commit_group()
        ctx.code([Line("CS2R", (register, 2)) for register in accumulators[::2]])
        ctx.cp_async_wait_group(num_stages - 2)
        ctx.sync_threads()
        load_fragments(0, 0, 0)

    read, write, buffer = 0, num_stages - 1, 0
    for k_tile in ctx.range(k.tiles, name="main_loop"):
        for step in range(k_steps):
            load_fragments((step + 1) % k_steps, read, 1 - buffer)
            ctx.mma("FFMA", ffma_triples(accumulators, a.buffers[buffer], b.buffers[buffer]), (1, 1, 1))
            if interleaved_pieces(len(a.copies), step, k_steps):
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
        simt_epilogue(ctx, D, (m, n), shape, accumulators, a.array).run()
