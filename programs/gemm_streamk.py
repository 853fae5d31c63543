"""CUTLASS 2.x stream-K: blocks share the iterations of tiles that do not fill a wave, the other tiles go one by one.

A block streams through its iterations, tile by tile, the last tile first. Who does not finish a tile adds its sums to
the workspace of the tile's first block, in turn; who finishes it takes them from there, or, where many share a tile and
the GPU is not full, blocks of their own add them up.

Parameters. tile, warp, instruction: (m, n, k) that a threadblock, a warp and an MMA multiply at a time, the last 1 x 1
x 1 for FFMA. num_stages: tiles of k in shared memory at a time, 2 for MmaPipelined. split_factor: blocks per tile, 1 as
CUTLASS's heuristics choose. occupancy: threadblocks per SM that the heuristics count on, 0: as many as registers and
shared memory allow. input_type, accumulator_type, output_type, layouts, alignment, clear, alpha, beta, scale: as
gemm_multistage has them.
"""

from common.fixup import Workspace, partial_sums
from common.gemm import problem as gemm_problem
from common.gemm import reference as gemm_reference
from common.output_op import LinearCombination
from common.problem import flops
from common.semaphore import Flag
from common.splitk import require_f32_sums
from common.streamk_schedule import StreamKSchedule, accumulators
from common.threadblock import Threadblock
from common.tiles import tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_streamk", "problem", "reference"]

SIZES = {"M": 1024, "N": 1152, "K": 2048}
MOST_BLOCKS = 4096
"""Room for the partial sums and flags of all blocks that any GPU holds at once; how many there are only it knows."""


def problem(M, N, K, tile, warp, split_factor, input_type, output_type, layouts, beta, scale):
    tensors = gemm_problem(M, N, K, input_type, output_type, layouts, beta, scale)
    tiles = tile_count(M, tile[0]) * tile_count(N, tile[1])
    blocks = max(MOST_BLOCKS, 2 * tiles * split_factor)
    words = max(blocks, tiles * warp[0])  # no epilogue has more steps than a warp rows
    return {**tensors, "workspace": partial_sums(blocks, tile[0] * tile[1]),
            "barriers": gs.tensor("barriers", gs.s32, (words,), scratch=True)}


def reference(inputs, output_type, alpha, beta, scale):
    return gemm_reference(inputs, output_type, alpha, beta, scale, "none")


@gs.kernel
def gemm_streamk(ctx, A, B, D, workspace, barriers, C=None, *, tile=(128, 128, 32), warp=(64, 64, 32),
                 instruction=(16, 8, 16), num_stages=3, split_factor=1, occupancy=0, input_type="f16",
                 accumulator_type="f32", output_type="f16", layouts="tn", alignment=0, clear="none", alpha=1.0,
                 beta=0.0, scale="default"):
    require_f32_sums(accumulator_type)
    block = Threadblock(tile, warp, instruction, num_stages, input_type, accumulator_type, clear, alignment)
    plan = StreamKSchedule(ctx.spec, block, block.tiles(A, B), A.shape[1], split_factor, occupancy)
    coords = ctx.persist(plan.schedule, (plan.tiles,), warps=block.num_warps)
    if plan.has_peers:
        ctx.flag_words(barriers, plan.flags)
    op = LinearCombination(alpha, beta, scale)
    for number, visit in enumerate(ctx.visits()):
        work = plan.works[visit.slice]
        if number:
            ctx.sync_threads()
        loop = block.loop(ctx, A, B, coords, block.k_range(A.shape[1], work.begin, work.end))
        if work.kind != "reduce":
            block.multiply(ctx, loop)
        with ctx.scope("epilogue"):
            sums, flag = Workspace(ctx, workspace, block.num_warps * 32), Flag(ctx, barriers, number)
            epilogue = block.epilogue(ctx, D, coords, loop, op, C)
            if work.kind == "share":
                if work.peers:
                    flag.wait_equal(work.peers)
                    sums.reduce(accumulators(loop))
                else:
                    sums.store(accumulators(loop))
                flag.arrive()
            elif work.kind == "post":
                sums.store_fragments(epilogue)
                flag.arrive(epilogue.shape.steps)
            else:
                if work.kind == "finish":
                    flag.wait_equal_reset(work.peers)
                    sums.load_add(accumulators(loop))
                if work.kind == "reduce":
                    flag.wait_equal_reset(work.peers)
                    sums.reduce_fragment(epilogue, work.fragment, work.peers)
                epilogue.set_up()
                epilogue.run_steps([work.fragment] if work.kind == "reduce" else range(epilogue.shape.steps))
