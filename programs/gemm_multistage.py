"""CUTLASS 2.x MmaMultistage on tensor cores: cp.async over 3 or more stages, XOR layouts, epilogue in shared memory.

Parameters. tile, warp, instruction: (m, n, k) of a threadblock, a warp, an MMA; where a warp's k is a part of the
tile's, several warps share it (sliced-K). num_stages: tiles in shared memory. input_type, accumulator_type,
output_type: f16, bf16, tf32, f32, f64, e4m3, e5m2, s8, u8, s4, u4, b1, s32, as the MMA and the epilogue have them.
layouts: of A and B, t by row, n by column. alignment: elements of a copy from global memory, 0: as many as the problem
allows. raster, raster_log: CTAs start along m, in bands of 2 ** raster_log tiles of n, or along n. clear: what the main
loop puts where a tile leaves the problem: none, zfill (zeros), clear_last_stage (none, after one stage has been
cleared). alpha, beta, scale (default, no_beta_scaling, only_alpha_scaling, nothing), activation (none, relu): of the
output operator; it reads C where it adds beta * C. operator: of b1, and_popc or xor_popc. epilogue: cutlass (through
shared memory) or direct (from registers). epilogue_padding: elements behind a row there, -1: CUTLASS's choice.
"""

from common.direct import chosen_epilogue
from common.gemm import problem, reference
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.problem import flops
from common.tensor_op import cut_tile, tensor_op_mma
from common.tensor_op_loop import TensorOpLoop

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_multistage", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


@gs.kernel
def gemm_multistage(ctx, A, B, D, C=None, *, tile=(128, 128, 32), warp=(64, 64, 32), instruction=(16, 8, 16),
                    num_stages=3, input_type="f16", accumulator_type="f32", output_type="f16", layouts="tn",
                    alignment=0, raster="m", raster_log=0, clear="none", alpha=1.0, beta=0.0, scale="default",
                    activation="none", operator="default", epilogue="cutlass", epilogue_padding=-1):
    require_multistage(num_stages, clear, instead="gemm_pipelined")
    mma = tensor_op_mma(tile, warp, instruction, input_type, accumulator_type, operator)
    tiles = cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster=raster, raster_log=raster_log)
    loop = TensorOpLoop(ctx, A, B, (m, n), mma, tile[2], num_stages, gs.KRange(0, A.shape[1], tile[2]), alignment)
    multistage(ctx, loop, num_stages, clear)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale, activation)
        chosen_epilogue(epilogue, ctx, D, (m, n), loop, op, C, epilogue_padding).run()
