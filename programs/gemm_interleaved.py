"""CUTLASS 2.x MmaMultistage on interleaved integers: groups of 32 bytes of k together, accumulators stored directly.

Matrices are (columns / group, rows * group), 32 elements of 8 bits or 64 of 4 to a group: A and B by k, D and C by n. B
has its columns permuted within groups (reorder_column), so that D needs no shared memory on its way.

Parameters. tile, warp, instruction: (m, n, k) that a threadblock, a warp and an MMA multiply at a time. num_stages:
tiles of k in shared memory at a time. input_type: element type of A, B, C and D, s8, u8, s4 or u4; results saturate.
raster_log: CTAs start in bands of 2 ** raster_log tiles of n, 0: along m. clear: as in gemm_multistage. alpha, beta:
factors of the output operator, D = alpha * A * B + beta * C; C is read only where it counts. scale: form of the output
operator, default, no_beta_scaling (C as it is), only_alpha_scaling (no C) or nothing (the sums as they are).
"""

from common.interleaved import InterleavedLoop, group_of, interleaved_epilogue, plain, restored_columns, stored
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.problem import dtype, flops
from common.tensor_op import tensor_op_mma
from common.tiles import tile_count

import gpusim as gs

__all__ = ["SIZES", "flops", "gemm_interleaved", "problem", "reference"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


def problem(M, N, K, input_type, beta, scale):
    kind = dtype(input_type)
    group = group_of(kind)
    if N % group or K % group:
        raise gs.UserError(f"n and k are whole groups of {group} elements", got=f"N={N}, K={K}")
    output = gs.tensor("D", kind, (N // group, M * group))
    return {"A": gs.tensor("A", kind, (K // group, M * group)), "B": gs.tensor("B", kind, (K // group, N * group)),
            "D": output, **LinearCombination(beta=beta, scale=scale).source(output)}


def reference(inputs, input_type, alpha, beta, scale):
    kind = dtype(input_type)
    group = group_of(kind)
    a, permuted = (plain(inputs[name], group).astype("f8") for name in "AB")
    source = plain(inputs["C"], group) if "C" in inputs else None
    product = a @ restored_columns(permuted, group).T
    return {"D": stored(LinearCombination(alpha, beta, scale).evaluate(product, source, kind), group)}


@gs.kernel
def gemm_interleaved(ctx, A, B, D, C=None, *, tile=(128, 128, 64), warp=(64, 64, 64), instruction=(16, 8, 32),
                     num_stages=3, input_type="s8", raster_log=0, clear="none", alpha=1.0, beta=0.0, scale="default"):
    require_multistage(num_stages, clear, instead="num_stages=3")
    mma = tensor_op_mma(tile, warp, instruction, input_type, "s32")
    group = group_of(A.dtype)
    tiles = tile_count(A.shape[1] // group, tile[0]), tile_count(B.shape[1] // group, tile[1])
    m, n = ctx.launch(tiles, warps=mma.num_warps, raster_log=raster_log)
    loop = InterleavedLoop(ctx, A, B, (m, n), mma, tile[2], num_stages, gs.KRange(0, A.shape[0], tile[2] // group))
    multistage(ctx, loop, num_stages, clear)
    with ctx.scope("epilogue"):
        op = LinearCombination(alpha, beta, scale)
        interleaved_epilogue(ctx, D, (m, n), loop, op, C).run()
