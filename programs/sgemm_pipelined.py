"""CUTLASS 2.x MmaPipelined on FFMA: two stages, skewed shared memory, 8x8 elements a thread, k by k.

Parameters. tile, warp: (m, n, k) of a threadblock and a warp. layouts: of A and B, t by row, n by column. raster_log:
CTAs go in bands of 2 ** raster_log tiles of n.
"""

from common.problem import flops, operands, reference
from common.simt import SimtOperand, SimtShape, ffma_triples, simt_epilogue
from common.staging import next_stage_code
from common.tensor_op import cut_tile

import gpusim as gs
from gpusim.dsl.iterators import KRange
from gpusim.dsl.statements import Line

__all__ = ["SIZES", "flops", "problem", "reference", "sgemm_pipelined"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}
STAGES = 2


def problem(M, N, K, layouts):
    return operands(M, N, K, "f32", "f32", layouts)


@gs.kernel
def sgemm_pipelined(ctx, A, B, D, *, tile=(128, 128, 8), warp=(32, 64, 8), layouts="nt", raster_log=0):
    shape = SimtShape(tile, warp)
    m, n = ctx.launch((cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])), warps=shape.threads // 32,
                      raster_log=raster_log)
    k = KRange(0, A.shape[1], tile[2])
    a = SimtOperand(ctx, "A", A, m, shape, STAGES, k)
    b = SimtOperand(ctx, "B", B, n, shape, STAGES, k)
    rows, columns = shape.thread_tile
    first, _ = ctx.recorder.registers.vector(rows * columns)
    accumulators = tuple(range(first, first + rows * columns))
    stage_code = next_stage_code(ctx, a, b, stages=STAGES, ldmatrix=False)

    def load_fragments(step, stage, buffer):
        a.load(step, stage, buffer)
        b.load(step, stage, buffer)

    with ctx.scope("prologue"):
        ctx.code([*a.setup(), *b.setup()])
        a.copies.load(0)
        b.copies.load(0)
        ctx.code([Line("CS2R", (register, 2)) for register in accumulators[::2]])
        a.copies.store(0)
        b.copies.store(0)
        ctx.sync_threads()
        load_fragments(0, 0, 0)

    read, buffer = 0, 0
    for k_tile in ctx.range(k.tiles, name="main_loop"):
        for step in range(tile[2]):
            if step == tile[2] - 1:
                a.copies.store(1 - read)
                b.copies.store(1 - read)
                ctx.sync_threads()
                ctx.code(stage_code)
                read = 1 - read
            load_fragments((step + 1) % tile[2], read, 1 - buffer)
            if step == 0:
                a.copies.load(k_tile + 1)
                b.copies.load(k_tile + 1)
            ctx.mma("FFMA", ffma_triples(accumulators, a.buffers[buffer], b.buffers[buffer]), (1, 1, 1))
            buffer = 1 - buffer

    with ctx.scope("epilogue"):
        simt_epilogue(ctx, D, (m, n), shape, accumulators, a.array).run()
