"""Models what persistent CTAs keep from tile to tile: places of threads in their tiles are computed before the first.
Leaves out the registers that hold them meanwhile: 20 to 26 more than of kernels of one tile, and no CTA fewer.

Instructions that ptxas hoists out of the loop over tiles, read from CUTLASS 4.2's GemmGrouped and GemmBatched (f16,
128x128x32, warps of 64x64, 3 stages, tn, sm_90a, CUDA 13.0): the others are executed for every tile.
"""

from __future__ import annotations

from dataclasses import dataclass

from common.epilogue import Epilogue
from common.tensor_op_loop import TensorOpLoop
from gpusim import Context

__all__ = ["SAME_SIZES", "SIZES_OF_EACH_TILE", "Kept"]


@dataclass(frozen=True)
class Kept:
    """Instructions that later tiles of a CTA do without, of the set-up of an operand and of the epilogue; ``first``:
    what an operand of the first one takes more than without later ones."""

    operand: int
    epilogue: int
    first: int = 8

    def by_loop(self, ctx: Context, loop: TensorOpLoop) -> None:
        """Shorten the set-up of a main loop that is not its CTA's first."""
        for operand in loop.operands:
            operand.copies.source.pointer.kept = self.operand if ctx.visit.number else -self.first

    def by_epilogue(self, ctx: Context, epilogue: Epilogue) -> None:
        """The same of an epilogue."""
        epilogue.output.pointer.kept = self.epilogue * bool(ctx.visit.number)


SIZES_OF_EACH_TILE = Kept(operand=33, epilogue=41)
"""GemmGrouped: sizes and strides may be another problem's."""
SAME_SIZES = Kept(operand=57, epilogue=36)
"""GemmBatched: so are strides and most bounds."""
