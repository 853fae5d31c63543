"""Models epilogues without shared memory: accumulators go from their registers through the output operator to D.
Leaves out how they come to be in that order. Source: cutlass/epilogue/threadblock/epilogue_direct_store.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import gpusim as gs
from common.conversion import Vector
from common.epilogue import Epilogue
from common.output_op import PLAIN, LinearCombination
from common.output_stream import OutputStream
from common.tensor_op_epilogue import ROWS_PER_STEP, push_rows, require_output, tensor_op_epilogue
from common.tensor_op_loop import TensorOpLoop
from gpusim import LANES, BlockCoordinate, Context, Fragment, GmemTensor, Pieces, TiledMma

__all__ = ["DirectEpilogue", "chosen_epilogue", "direct_epilogue", "warp_rows"]

PAIR = 2  # neighbouring columns of a lane


@dataclass(eq=False)
class DirectEpilogue:
    """Steps of: load C, output operator, store; ``vectors`` in the order of the stream's pieces."""

    stream: OutputStream
    vectors: Sequence[Vector]

    def run(self) -> None:
        stream = self.stream
        stream.ctx.code(stream.setup())
        for step in range(len(self.vectors) // stream.per_step):
            stream.load_source(step)
            stream.store(step, self.vectors[step * stream.per_step : (step + 1) * stream.per_step])


def warp_rows(mma: TiledMma, step: int) -> np.ndarray:
    """(threads,) row in the CTA's tile of what each thread holds of rows 8 * step .. 8 * step + 7 of its warp."""
    return np.asarray(mma.warp_rows("A")[:, None] + step * ROWS_PER_STEP + np.arange(LANES) // 4).reshape(-1)


def direct_epilogue(ctx: Context, destination: GmemTensor, coords: tuple[BlockCoordinate, BlockCoordinate],
                    mma: TiledMma, accumulators: Fragment, op: LinearCombination = PLAIN,
                    source: GmemTensor | None = None,
                    channels: Mapping[str, GmemTensor] | None = None) -> DirectEpilogue:
    """Stores of two neighbouring elements, 8 rows of every warp a step. Raises UserError where warps share k."""
    require_output(accumulators.dtype, destination.dtype)
    if mma.partitions > 1:
        raise gs.UserError("warps that share k add their sums in shared memory", got="a direct epilogue",
                           suggestion="epilogue=cutlass")
    steps = mma.warp_tile[0] // ROWS_PER_STEP
    pushes = [push_rows(mma, accumulators, step) for step in range(steps)]
    rows = np.concatenate([np.broadcast_to(warp_rows(mma, step), push.columns.shape)
                           for step, push in enumerate(pushes)])
    pieces = Pieces(rows, np.concatenate([push.columns for push in pushes]), PAIR)
    vectors = [Vector(start, PAIR, accumulators.dtype) for push in pushes for start, _ in push.registers]
    stream = OutputStream(ctx, destination, mma.tile, coords, pieces, mma.atoms[1], accumulators.dtype, op, source,
                          channels or {})
    return DirectEpilogue(stream, vectors)


def chosen_epilogue(name: str, ctx: Context, destination: GmemTensor, coords: tuple[BlockCoordinate, BlockCoordinate],
                    loop: TensorOpLoop, op: LinearCombination, source: GmemTensor | None,
                    padding: int, channels: Mapping[str, GmemTensor]) -> DirectEpilogue | Epilogue:
    """The epilogue that a parameter names: cutlass (``padding`` as tensor_op_epilogue has it) or direct.
    ``channels``: vectors of factors, where ``op`` has them."""
    if name not in ("cutlass", "direct"):
        raise gs.UserError("accumulators go through shared memory or directly", got=f"'{name}'",
                           suggestion="epilogue=cutlass or epilogue=direct")
    if name == "direct":
        return direct_epilogue(ctx, destination, coords, loop.mma, loop.accumulators, op, source, channels)
    return tensor_op_epilogue(ctx, destination, coords, loop.mma, loop.accumulators, loop.a.array, op, source,
                              padding, channels=channels)
