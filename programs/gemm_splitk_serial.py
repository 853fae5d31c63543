"""CUTLASS 2.x split-K serial: threadblocks of one output tile add their slices of k to it in turn, under a semaphore.

The first slice writes alpha * A * B + beta * C; each later one waits until the semaphore has its number, reads D as its
source and adds to it. An element of D is written once per slice.

Parameters. tile, warp, instruction: (m, n, k) that a threadblock, a warp and an MMA multiply at a time, the last 1 x 1
x 1 for FFMA. num_stages: tiles of k in shared memory at a time, 2 for MmaPipelined. slices: parts of k, all alike but
the last ones, which may be empty. input_type, accumulator_type, output_type, layouts, alignment, raster_log, clear,
alpha, beta, scale: as gemm_multistage has them.
"""

from common.gemm import problem as gemm_problem
from common.gemm import reference as gemm_reference
from common.output_op import LinearCombination
from common.problem import flops
from common.semaphore import Flag
from common.splitk import block_index, op_of_slice, serial_slice
from common.threadblock import Threadblock
from common.tiles import tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_splitk_serial", "problem", "reference"]

SIZES = {"M": 512, "N": 512, "K": 4096}


def problem(M, N, K, tile, input_type, output_type, layouts, beta, scale):
    tensors = gemm_problem(M, N, K, input_type, output_type, layouts, beta, scale)
    words = tile_count(M, tile[0]) * tile_count(N, tile[1])
    return {**tensors, "semaphore": gs.tensor("semaphore", gs.s32, (words,), scratch=True)}


def reference(inputs, output_type, alpha, beta, scale):
    return gemm_reference(inputs, output_type, alpha, beta, scale, "none")


@gs.kernel
def gemm_splitk_serial(ctx, A, B, D, semaphore, C=None, *, tile=(128, 128, 32), warp=(64, 64, 32),
                       instruction=(16, 8, 16), num_stages=3, slices=4, input_type="f16", accumulator_type="f32",
                       output_type="f16", layouts="tn", alignment=0, raster_log=0, clear="none", alpha=1.0, beta=0.0,
                       scale="default"):
    block = Threadblock(tile, warp, instruction, num_stages, input_type, accumulator_type, clear, alignment)
    tiles = block.tiles(A, B)
    coords = ctx.launch(tiles, warps=block.num_warps, slices=slices, raster_log=raster_log)
    number = ctx.visit.slice
    if slices > 1:
        ctx.flag_words(semaphore, block_index(ctx, tiles))
    loop = block.loop(ctx, A, B, coords, serial_slice(A.shape[1], tile[2], slices, number))
    block.multiply(ctx, loop)
    with ctx.scope("epilogue"):
        turn = Flag(ctx, semaphore)
        if slices > 1:
            turn.fetch(number)
        op = op_of_slice(LinearCombination(alpha, beta, scale), number)
        epilogue = block.epilogue(ctx, D, coords, loop, op, D if number else C)
        epilogue.set_up()
        if slices > 1:
            turn.wait(number)
        epilogue.run_steps(range(epilogue.shape.steps))
        if slices > 1:
            turn.release((number + 1) % slices)
