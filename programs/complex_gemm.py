"""CUTLASS 2.x GEMM of complex<float>: four real products each, by FFMA or on tensor cores as tf32.

Parameters. tile, warp: (m, n, k) of a threadblock and a warp, in complex numbers; tile k is a multiple of 16 for tensor
cores. instruction: (1, 1, 1) for FFMA, (16, 8, 8) for tensor cores (OpMultiplyAddComplex). num_stages: tiles, 2 for
MmaPipelined (FFMA only), 3 or more for MmaMultistage. layouts: of A and B, t by row, n by column. raster_log: CTAs go
in bands of 2 ** raster_log tiles of n. clear: as in sgemm_multistage. alpha, beta: (real, imaginary); scale: of the
output operator, which reads C where it adds beta * C. conjugate: operands taken so, any of "ab".
"""

from common import gemm
from common.complex_simt import ComplexLoop
from common.complex_tensor_op import ComplexTensorOpLoop, complex_tensor_op_epilogue, nearest_tf32
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.simt import SimtShape, simt_epilogue
from common.tensor_op import cut_tile, tensor_op_mma
from common.threadblock import FFMA

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
    tiles, k = (cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])), gs.KRange(0, A.shape[1], tile[2])
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
        loop = ComplexTensorOpLoop(ctx, A, B, coords, mma, tile[2], num_stages, k, conjugate)
        multistage(ctx, loop, num_stages, clear)
        with ctx.scope("epilogue"):
            complex_tensor_op_epilogue(ctx, D, loop, op, C).run()
