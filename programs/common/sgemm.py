"""Models what the SIMT GEMMs of f32 and f64 share: problem, reference, and all of a kernel but its pipeline.
Leaves out the pipelines (common.pipelined, common.multistage)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import gpusim as gs
from common import gemm
from common.output_op import LinearCombination
from common.simt import SimtShape, simt_epilogue, simt_type
from common.simt_loop import SimtLoop
from common.tiles import output_tiles
from gpusim import Context, GmemTensor

__all__ = ["problem", "reference", "simt_gemm"]


def problem(M: int, N: int, K: int, input_type: str, layouts: str, beta: float, scale: str) -> dict[str, GmemTensor]:
    """All tensors have the input's type."""
    return gemm.problem(M, N, K, simt_type(input_type), input_type, layouts, beta, scale)


def reference(inputs: Mapping[str, np.ndarray], input_type: str, alpha: float, beta: float, scale: str,
              activation: str) -> dict[str, Any]:
    return gemm.reference(inputs, input_type, alpha, beta, scale, activation)


def simt_gemm(ctx: Context, tensors: tuple[GmemTensor, GmemTensor, GmemTensor, GmemTensor | None],
              tile: tuple[int, int, int], warp: tuple[int, int, int], stages: int, raster: tuple[str, int],
              pipeline: Callable[[SimtLoop], None], op: LinearCombination, epilogue: tuple[str, int],
              padding: int) -> None:
    """A kernel on (A, B, D, C). ``raster``: axis and log of a band; ``pipeline`` runs the main loop; ``epilogue``: how
    it stores to shared memory, and the padding of a row there; ``padding``: of a row in the main loop."""
    A, B, D, C = tensors
    shape = SimtShape(tile, warp, A.dtype.bits)
    axis, raster_log = raster
    m, n = ctx.launch(output_tiles(A, B, tile), warps=shape.threads // 32, raster=axis, raster_log=raster_log)
    loop = SimtLoop(ctx, A, B, (m, n), shape, stages, gs.KRange(0, A.shape[1], tile[2]), padding,
                    rows_together=epilogue[0] == "vector")
    pipeline(loop)
    with ctx.scope("epilogue"):
        simt_epilogue(ctx, D, (m, n), shape, loop.accumulators, loop.a.array, op, C, A.dtype, *epilogue).run()
