"""CUTLASS 2.x GemmGrouped: GEMMs of different sizes in one launch of persistent CTAs that share out all their tiles.

The schedule is made on the device (GroupScheduleMode::kDeviceOnly): CTA c takes tiles c, c + CTAs, and so on.

Parameters. problems: sizes of the GEMMs of the group, "MxNxK, MxNxK, ...". sort_problems: whether the longest k comes
first, as CUTLASS's helper sorts them. ctas_per_sm: CTAs that stay on an SM; 0: as many as shared memory and the
registers of fragments allow. The others are those of gemm_multistage.
"""

from common.grouped import group_of, round_robin
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.problem_visitor import ProblemVisitor
from common.resident import resident_ctas
from common.tensor_op import tensor_op_mma
from common.tensor_op_epilogue import tensor_op_epilogue
from common.tensor_op_loop import TensorOpLoop
from common.visits import SIZES_OF_EACH_TILE

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_grouped", "problem", "reference"]

SIZES: dict[str, int] = {}


def problem(problems, sort_problems, input_type, output_type, layouts, beta, scale):
    group = group_of(problems, sort_problems, input_type, output_type, layouts, LinearCombination(1.0, beta, scale))
    return {**group.allocations, **group.tables()}


def flops(problems):
    return group_of(problems, False, "f16", "f16", "tn", LinearCombination()).flops


def reference(inputs, problems, sort_problems, input_type, output_type, layouts, alpha, beta, scale, activation):
    op = LinearCombination(alpha, beta, scale, activation)
    return {"D": group_of(problems, sort_problems, input_type, output_type, layouts, op).answer(inputs, op)}


@gs.kernel
def gemm_grouped(ctx, A, B, D, sizes, pointers, leading, C=None, *, problems="512x512x512, 384x256x1024, 1024x256x128",
                 sort_problems=False, ctas_per_sm=0, tile=(128, 128, 32), warp=(64, 64, 32), instruction=(16, 8, 16),
                 num_stages=3, input_type="f16", accumulator_type="f32", output_type="f16", layouts="tn", alignment=0,
                 clear="none", alpha=1.0, beta=0.0, scale="default", activation="none"):
    require_multistage(num_stages, clear, instead="gemm_pipelined")
    op = LinearCombination(alpha, beta, scale, activation)
    mma = tensor_op_mma(tile, warp, instruction, input_type, accumulator_type)
    group = group_of(problems, sort_problems, input_type, output_type, layouts, op)
    tiles = group.tiles(tile)
    ctas = ctx.spec.sm.count * (ctas_per_sm or resident_ctas(ctx.spec, mma, tile[2], num_stages))
    m, n = ctx.persist(round_robin(tiles, ctas), tiles, warps=mma.num_warps)
    visitor = ProblemVisitor(ctx, sizes, pointers, leading, len(tiles))
    with ctx.scope("visitor"):
        visitor.begin()
    for visit in ctx.visits():
        present, number = group.problems[visit.problem], visit.problem
        matrices, k = present.matrices, gs.KRange(0, present.sizes[2], tile[2])
        with ctx.scope("visitor"):
            visitor.next_tile(number)
            visitor.load_problem(number)
        loop = TensorOpLoop(ctx, matrices["A"], matrices["B"], (m, n), mma, tile[2], num_stages, k, alignment)
        SIZES_OF_EACH_TILE.by_loop(ctx, loop)
        with ctx.scope("prologue"):
            visitor.load_matrix(present, number, "A", loop.a.copies.source)
            visitor.load_matrix(present, number, "B", loop.b.copies.source)
            ctx.sync_threads()  # the epilogue before is done with shared memory
        multistage(ctx, loop, num_stages, clear)
        with ctx.scope("epilogue"):
            epilogue = tensor_op_epilogue(ctx, matrices["D"], (m, n), mma, loop.accumulators, loop.a.array, op,
                                          matrices.get("C"))
            SIZES_OF_EACH_TILE.by_epilogue(ctx, epilogue)
            visitor.load_matrix(present, number, "D", epilogue.output)
            visitor.load_matrix(present, number, "C", epilogue.input)
            epilogue.run()
    with ctx.scope("visitor"):
        visitor.next_tile(None)
