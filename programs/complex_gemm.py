"""CUTLASS 2.x GEMM of complex<float>: four real products each, by FFMA or on tensor cores as tf32.

Parameters. tile, warp: (m, n, k) that a threadblock and a warp multiply at a time, in complex numbers; the tile's k is
a multiple of 16 for tensor cores. instruction: (1, 1, 1) for FFMA, (16, 8, 8) for tensor cores (OpMultiplyAddComplex).
num_stages: tiles of k in shared memory at a time, 2 for MmaPipelined (FFMA only), 3 or more for MmaMultistage. layouts:
how A and B are stored, a letter each: t by row, n by column. raster_log: CTAs start in bands of 2 ** raster_log tiles
of n, 0: along m. clear: what the main loop puts where a tile leaves the problem: none, zfill (zeros), clear_last_stage
(none, after one stage has been cleared). alpha, beta: (real, imaginary) factors of the output operator, D = alpha * A *
B + beta * C; C is read only where it counts. scale: form of the output operator, default, no_beta_scaling (C as it is),
only_alpha_scaling (no C) or nothing (the sums as they are). conjugate: operands that are conjugated, "", "a", "b" or
"ab".
"""

from common import gemm
from common.complex_simt import ComplexLoop
from common.complex_tensor_op import ComplexTensorOpLoop, complex_tensor_op_epilogue, nearest_tf32
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.simt import SimtShape, simt_epilogue
from common.tensor_op import tensor_op_mma
from common.threadblock import FFMA
from common.tiles import output_tiles

import gpusim as gs

__all__ = ["SIZES", "complex_gemm", "flops", "problem", "reference"]

SIZES = {"M": 1024, "N": 1024, "K": 1024}


def problem(M, N, K, layouts, beta, scale):
    return gemm.problem(M, N, K, "cf32", "cf32", layouts, complex(*beta), scale)


def reference(inputs, alpha, beta, scale, conjugate, instruction):
    inputs = {name: values.conj() if name.lower() in conjugate else values for name, values in inputs.items()}
    if instruction != FFMA:
        inputs = {name: nearest_tf32(values) if name in "AB" else values for name, values in inputs.items()}
    return gemm.reference(inputs, "cf32", complex(*alpha), complex(*beta), scale, "none")


def flops(M, N, K):
    return 8.0 * M * N * K


@gs.kernel
def complex_gemm(ctx, A, B, D, C=None, *, tile=(64, 64, 8), warp=(32, 32, 8), instruction=(1, 1, 1), num_stages=2,
                 layouts="nt", raster_log=0, clear="none", alpha=(1.0, 0.0), beta=(0.0, 0.0), scale="default",
                 conjugate=""):
    tiles, k = output_tiles(A, B, tile), gs.KRange(0, A.shape[1], tile[2])
    op = LinearCombination(complex(*alpha), complex(*beta), scale)
    if num_stages != STAGES or instruction != FFMA:
        require_multistage(num_stages, clear, instead="num_stages=2 and instruction (1, 1, 1)")
    if instruction == FFMA:
        shape = SimtShape(tile, warp, A.dtype.bits)
        coords = ctx.launch(tiles, warps=shape.threads // 32, raster_log=raster_log)
        simt = ComplexLoop(ctx, A, B, coords, shape, num_stages, k, conjugate=conjugate)
        if num_stages == STAGES:
            pipelined(ctx, simt)
        else:
            multistage(ctx, simt, num_stages, clear)
        with ctx.scope("epilogue"):
            simt_epilogue(ctx, D, coords, shape, simt.accumulators, simt.a.array, op, C, A.dtype).run()
    else:
        mma = tensor_op_mma(tile, warp, instruction, "tf32", "f32")
        coords = ctx.launch(tiles, warps=mma.num_warps, raster_log=raster_log)
        loop = ComplexTensorOpLoop(ctx, A, B, coords, mma, tile[2], num_stages, k, conjugate=conjugate)
        multistage(ctx, loop, num_stages, clear)
        with ctx.scope("epilogue"):
            complex_tensor_op_epilogue(ctx, D, loop, op, C).run()
