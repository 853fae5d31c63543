"""CUTLASS 2.x MmaMultistage on tensor cores: cp.async over 3 or more stages, XOR layouts, epilogue in shared memory.

Parameters. tile, warp, instruction: (m, n, k) that a threadblock, a warp and an MMA multiply at a time; where a warp's
k is a part of the tile's, several warps share it (sliced-K). num_stages: tiles of k in shared memory at a time.
input_type, accumulator_type, output_type: element types of A and B, of the sums, of C and D: f16, bf16, tf32, f32, f64,
e4m3, e5m2, s8, u8, s4, u4, b1 or s32, as the MMA and the epilogue have them. layouts: how A and B are stored, a letter
each: t by row, n by column. alignment: elements of an access to global memory, 0: as many as the problem allows.
raster: the axis along which CTAs start, m or n. raster_log: CTAs start in bands of 2 ** raster_log tiles of n, 0: along
m. clear: what the main loop puts where a tile leaves the problem: none, zfill (zeros), clear_last_stage (none, after
one stage has been cleared). alpha, beta: factors of the output operator, D = activation(alpha * A * B + beta * C); C is
read only where it counts. scale: form of the output operator, default, no_beta_scaling (C as it is), only_alpha_scaling
(no C), per_channel_scaling and only_alpha_per_channel_scaling (vectors alphas and betas along n instead of alpha and
beta) or nothing (the sums as they are). activation: function of every element of D, none or relu. operator: how single
bits (b1) are combined, and_popc or xor_popc; default: and_popc. epilogue: way of the accumulators to D, cutlass
(through shared memory) or direct (from registers). epilogue_padding: elements behind a row of the epilogue's tile in
shared memory, -1: as many as CUTLASS has.
"""

from common.direct import chosen_epilogue
from common.gemm import problem, reference
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.problem import flops
from common.tensor_op import tensor_op_mma
from common.tensor_op_loop import TensorOpLoop
from common.tiles import output_tiles

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_multistage", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


@gs.kernel
def gemm_multistage(ctx, A, B, D, C=None, alphas=None, betas=None, *, tile=(128, 128, 32), warp=(64, 64, 32),
                    instruction=(16, 8, 16), num_stages=3, input_type="f16", accumulator_type="f32", output_type="f16",
                    layouts="tn", alignment=0, raster="m", raster_log=0, clear="none", alpha=1.0, beta=0.0,
                    scale="default", activation="none", operator="default", epilogue="cutlass", epilogue_padding=-1):
    require_multistage(num_stages, clear, instead="gemm_pipelined")
    mma = tensor_op_mma(tile, warp, instruction, input_type, accumulator_type, operator)
    tiles = output_tiles(A, B, tile)
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster=raster, raster_log=raster_log)
    loop = TensorOpLoop(ctx, A, B, (m, n), mma, tile[2], num_stages, gs.KRange(0, A.shape[1], tile[2]), alignment)
    multistage(ctx, loop, num_stages, clear)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        channels = {name: vector for name, vector in (("alphas", alphas), ("betas", betas)) if vector}
        chosen_epilogue(epilogue, ctx, D, (m, n), loop, op, C, epilogue_padding, channels).run()
