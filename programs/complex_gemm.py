"""CUTLASS 2.x SIMT GEMM of complex<float>: four real products each, two stages by registers or more by cp.async.

Parameters. tile, warp: (m, n, k) of a threadblock and a warp, in complex numbers. num_stages: tiles in shared memory, 2
for MmaPipelined, 3 or more for MmaMultistage. layouts: of A and B, t by row, n by column. raster_log: CTAs go in bands
of 2 ** raster_log tiles of n. clear: as in sgemm_multistage. alpha, beta: (real, imaginary); scale: of the output
operator, which reads C where it adds beta * C. conjugate: operands taken so, any of "ab".
"""

from common import gemm
from common.complex_simt import ComplexLoop
from common.multistage import multistage, require_multistage
from common.output_op import LinearCombination
from common.pipelined import STAGES, pipelined
from common.simt import SimtShape, simt_epilogue
from common.tensor_op import cut_tile

import gpusim as gs

__all__ = ["SIZES", "complex_gemm", "flops", "problem", "reference"]

SIZES = {"M": 1024, "N": 1024, "K": 1024}


def problem(M, N, K, layouts, beta, scale):
    return gemm.problem(M, N, K, "cf32", "cf32", layouts, complex(*beta), scale)


def reference(inputs, alpha, beta, scale, conjugate):
    inputs = {name: values.conj() if name.lower() in conjugate else values for name, values in inputs.items()}
    return gemm.reference(inputs, "cf32", complex(*alpha), complex(*beta), scale, "none")


def flops(M, N, K):
    return 8.0 * M * N * K


@gs.kernel
def complex_gemm(ctx, A, B, D, C=None, *, tile=(64, 64, 8), warp=(32, 32, 8), num_stages=2, layouts="nt",
                 raster_log=0, clear="none", alpha=(1.0, 0.0), beta=(0.0, 0.0), scale="default", conjugate=""):
    shape = SimtShape(tile, warp, A.dtype.bits)
    tiles = cut_tile(A.shape[0], tile[0]), cut_tile(B.shape[0], tile[1])
    m, n = ctx.launch(tiles, warps=shape.threads // 32, raster_log=raster_log)
    loop = ComplexLoop(ctx, A, B, (m, n), shape, num_stages, gs.KRange(0, A.shape[1], tile[2]),
                       conjugate=conjugate)
    if num_stages == STAGES:
        pipelined(ctx, loop)
    else:
        require_multistage(num_stages, clear, instead="num_stages=2")
        multistage(ctx, loop, num_stages, clear)
    with ctx.scope("epilogue"):
        op = LinearCombination(complex(*alpha), complex(*beta), scale)
        simt_epilogue(ctx, D, (m, n), shape, loop.accumulators, loop.a.array, op, C, A.dtype).run()
