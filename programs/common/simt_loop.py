"""Models the inner part of a SIMT main loop: both operands, their fragments twice, accumulators, FFMA or DFMA.
Leaves out the pipeline around it (common.multistage)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from common.order import block_by_block, column_by_column
from common.simt import SimtOperand, SimtShape
from gpusim import BlockCoordinate, Context, GmemTensor, KRange, Line, f32

__all__ = ["SimtLoop"]

MULTIPLY_ADD = {1: "FFMA", 2: "DFMA"}
"""By registers of an element."""
BLOCKS_SINCE = 86


@dataclass(eq=False)
class SimtLoop:
    """A threadblock tile of A (M x K) and B (N x K) at ``coords`` in ``stages`` stages, over the range ``k``.

    ``padding``: elements behind a row of a transposed tile in shared memory, -1: as many as CUTLASS has.
    ``rows_together``: sums of a row stand in registers side by side, as stores of vectors want them.
    """

    operand_type: ClassVar[type[SimtOperand]] = SimtOperand

    ctx: Context
    A: GmemTensor
    B: GmemTensor
    coords: tuple[BlockCoordinate, BlockCoordinate]
    shape: SimtShape
    stages: int
    k: KRange
    padding: int = -1
    rows_together: bool = False
    a: SimtOperand = field(init=False)
    b: SimtOperand = field(init=False)
    accumulators: tuple[int, ...] = field(init=False)
    ldmatrix = False

    def __post_init__(self) -> None:
        m, n = self.coords
        make = self.operand_type
        self.a = make(self.ctx, "A", self.A, m, self.shape, self.stages, self.k, self.padding)
        self.b = make(self.ctx, "B", self.B, n, self.shape, self.stages, self.k, self.padding)
        rows, columns = self.shape.thread_tile
        first, count = self.ctx.recorder.registers.vector(rows * columns * self.shape.width)
        self.accumulators = tuple(range(first, first + count, self.shape.width))
        if self.by_blocks and not self.rows_together:
            # ptxas puts a sum into the bank of registers that its factor a is not in
            self.accumulators = tuple(first + n * rows + (m ^ 1) for m in range(rows) for n in range(columns))

    @property
    def operands(self) -> tuple[SimtOperand, SimtOperand]:
        return self.a, self.b

    @property
    def k_steps(self) -> int:
        return self.shape.tile[2]

    def fetch(self, step: int, stage: int, buffer: int) -> None:
        for operand in self.operands:
            operand.load(step, stage, buffer)

    @property
    def by_blocks(self) -> bool:
        """Whether CUTLASS multiplies in blocks of 2 x 2: f32 since sm_86."""
        even = not any(extent % 2 for extent in self.shape.thread_tile)
        return even and self.A.dtype == f32 and self.ctx.spec.compute_capability >= BLOCKS_SINCE

    def multiply(self, buffer: int) -> None:
        width = self.shape.width
        order = block_by_block if self.by_blocks else column_by_column
        triples = order(self.accumulators, self.a.buffers[buffer], self.b.buffers[buffer])
        self.ctx.mma(MULTIPLY_ADD[width], triples, (width, width, width))

    def clear(self) -> None:
        first, last = min(self.accumulators), max(self.accumulators) + self.shape.width
        self.ctx.code([Line("CS2R", (register, 2)) for register in range(first, last, 2)])
