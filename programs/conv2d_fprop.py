"""CUTLASS's implicit-GEMM convolution, forward, NHWC: tensor-core multistage main loop over filter positions.

Parameters. tile, warp: (m, n, k) that a threadblock and a warp multiply at a time, m output pixels, n filters, k
channels. num_stages: tiles of k in shared memory at a time. padding: rows above and columns left of an image that count
as zeros, as many below and right, (height, width). stride: pixels from one position of the filter to the next, (height,
width). dilation: pixels from one element of the filter to the next, (height, width). iterator: how addresses are found:
analytic, every one from the pixel anew; optimized, pointers that move and masks made before the loop. raster_log: CTAs
start in bands of 2 ** raster_log tiles of n, 0: along m.
"""

from common.conv_operands import ITERATORS
from common.convolution import Conv2d, FilterRange, conv2d, convolve, tensors
from common.multistage import multistage, require_multistage
from common.tensor_op import tensor_op_mma
from common.tensor_op_epilogue import tensor_op_epilogue
from common.tiles import tile_count

import gpusim as gs

__all__ = ["SIZES", "conv2d_fprop", "flops", "problem", "reference"]

SIZES = {"N": 8, "H": 32, "W": 32, "C": 128, "K": 128, "R": 3, "S": 3}


def problem(N, H, W, C, K, R, S, padding, stride, dilation):
    return tensors(Conv2d(N, H, W, C, K, R, S, padding, stride, dilation))


def flops(N, H, W, C, K, R, S, padding, stride, dilation):
    return 2.0 * Conv2d(N, H, W, C, K, R, S, padding, stride, dilation).pixels * K * R * S * C


def reference(inputs, padding, stride, dilation):
    return {"Y": convolve(inputs, padding, stride, dilation)}


@gs.kernel
def conv2d_fprop(ctx, X, W, Y, *, tile=(128, 128, 32), warp=(64, 64, 32), num_stages=3, padding=(1, 1), stride=(1, 1),
                 dilation=(1, 1), iterator="optimized", raster_log=0):
    require_multistage(num_stages, "zfill", instead="num_stages=3")
    if iterator not in ITERATORS:
        raise gs.UserError("no such iterator", got=f"'{iterator}'", suggestion=" or ".join(ITERATORS))
    conv = conv2d(X, W, padding, stride, dilation)
    mma = tensor_op_mma(tile, warp, (16, 8, 16), "f16", "f32")
    m, n = ctx.launch((tile_count(conv.pixels, tile[0]), tile_count(conv.K, tile[1])), warps=mma.num_warps,
                      raster_log=raster_log, own_tiles="m", alike=conv.alike(tile[0]))
    activations = X.view((conv.pixels, conv.C), (conv.pitch(tile[0]), 1), 0)
    filters = W.view((conv.K, conv.R * conv.S * conv.C), (conv.R * conv.S * conv.C, 1), 0)
    k = FilterRange(0, conv.R * conv.S * conv.C, tile[2], conv)
    loop = ITERATORS[iterator](ctx, activations, filters, (m, n), mma, tile[2], num_stages, k, conv.alignment)
    multistage(ctx, loop, num_stages, "zfill", first_group_ahead=True)
    with ctx.scope("epilogue"):
        output = Y.view((conv.pixels, conv.K), (conv.K, 1), 0)
        tensor_op_epilogue(ctx, output, (m, n), mma, loop.accumulators, loop.a.array).run()
