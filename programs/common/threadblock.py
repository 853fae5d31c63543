"""Models a threadblock of CUTLASS 2.x by its template parameters: tensor cores or FFMA, two stages or more.
Leaves out which tiles and ranges of k it works on, which is its kernel's business."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import gpusim as gs
from common.epilogue import VECTOR_BITS, Epilogue
from common.multistage import multistage, require_multistage
from common.output_op import PLAIN, LinearCombination
from common.pipelined import STAGES, pipelined
from common.simt import SimtShape, simt_epilogue
from common.simt_loop import SimtLoop
from common.tensor_op import tensor_op_mma
from common.tensor_op_epilogue import tensor_op_epilogue
from common.tensor_op_loop import TensorOpLoop
from common.tiles import output_tiles
from gpusim import LANES, BlockCoordinate, Context, GmemTensor, KRange, TiledMma

__all__ = ["Coords", "Threadblock"]

Coords = tuple[BlockCoordinate, BlockCoordinate]
FFMA = (1, 1, 1)
"""The instruction of SIMT kernels."""


@dataclass(frozen=True)
class Threadblock:
    """Shapes (m, n, k) of a threadblock, a warp and an instruction, 1 x 1 x 1 for FFMA; stages, 2 for MmaPipelined."""

    tile: tuple[int, int, int]
    warp: tuple[int, int, int]
    instruction: tuple[int, int, int]
    num_stages: int
    input_type: str
    accumulator_type: str
    clear: str = "none"
    alignment: int = 0

    def __post_init__(self) -> None:
        if self.num_stages != STAGES:
            require_multistage(self.num_stages, self.clear, instead="num_stages=2")
        if self.is_simt and {self.input_type, self.accumulator_type} != {"f32"}:
            raise gs.UserError("FFMA multiplies f32", got=f"{self.input_type}, {self.accumulator_type}")

    @property
    def is_simt(self) -> bool:
        return self.instruction == FFMA

    @cached_property
    def mma(self) -> TiledMma:
        return tensor_op_mma(self.tile, self.warp, self.instruction, self.input_type, self.accumulator_type)

    @cached_property
    def shape(self) -> SimtShape:
        return SimtShape(self.tile, self.warp)

    @property
    def num_warps(self) -> int:
        return self.shape.threads // LANES if self.is_simt else self.mma.num_warps

    def tiles(self, A: GmemTensor, B: GmemTensor) -> tuple[int, int]:
        """Of the output, along m and n."""
        return output_tiles(A, B, self.tile)

    def k_range(self, K: int, begin: int, end: int) -> KRange:
        """Tiles ``begin`` to ``end`` of k."""
        return KRange(begin * self.tile[2], min(K, end * self.tile[2]), self.tile[2])

    def loop(self, ctx: Context, A: GmemTensor, B: GmemTensor, coords: Coords, k: KRange) -> TensorOpLoop | SimtLoop:
        """Operands and accumulators over a range of k."""
        if self.is_simt:
            return SimtLoop(ctx, A, B, coords, self.shape, self.num_stages, k)
        return TensorOpLoop(ctx, A, B, coords, self.mma, self.tile[2], self.num_stages, k, self.alignment)

    def multiply(self, ctx: Context, loop: TensorOpLoop | SimtLoop) -> None:
        """Accumulators = A * B over the loop's range, zero where it is empty."""
        if not loop.k.tiles:
            with ctx.scope("prologue"):
                loop.clear()
        elif self.num_stages == STAGES:
            pipelined(ctx, loop)
        else:
            multistage(ctx, loop, self.num_stages, self.clear)

    def epilogue(self, ctx: Context, D: GmemTensor, coords: Coords, loop: TensorOpLoop | SimtLoop,
                 op: LinearCombination = PLAIN, source: GmemTensor | None = None, *,
                 vector_bits: int = VECTOR_BITS) -> Epilogue:
        """From the loop's accumulators to ``D``, through the place of its stages. ``vector_bits``: of what a thread
        stores at once on tensor cores; FFMA kernels store one element."""
        if isinstance(loop, SimtLoop):
            return simt_epilogue(ctx, D, coords, self.shape, loop.accumulators, loop.a.array, op, source)
        return tensor_op_epilogue(ctx, D, coords, self.mma, loop.accumulators, loop.a.array, op, source,
                                  vector_bits=vector_bits)
