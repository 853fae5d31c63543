"""Models the inner part of a tensor-core main loop: both operands, their fragments twice, accumulators, MMA.
Leaves out the pipeline around it (common.multistage)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from common.operand import TensorOpOperand
from common.order import column_by_column
from gpusim import BlockCoordinate, Context, Fragment, GmemTensor, KRange, TiledMma

__all__ = ["TensorOpLoop"]

ROWS_FIRST_SINCE = 80
"""MmaTensorOp::operator(): row by row, so that A is used again, on Ampere and later; before, column by column."""


@dataclass(eq=False)
class TensorOpLoop:
    """A threadblock tile of A (M x K) and B (N x K) at ``coords`` in ``stages`` stages, over the range ``k``.

    ``alignment``: elements of an access to global memory, 0: as many as the tensors allow.
    """

    ctx: Context
    A: GmemTensor
    B: GmemTensor
    coords: tuple[BlockCoordinate, BlockCoordinate]
    mma: TiledMma
    tile_k: int
    stages: int
    k: KRange
    alignment: int = 0
    a: TensorOpOperand = field(init=False)
    b: TensorOpOperand = field(init=False)
    accumulators: Fragment = field(init=False)
    fragments: tuple[Fragment, Fragment] = field(init=False)
    ldmatrix = True
    operand_type: ClassVar[type[TensorOpOperand]] = TensorOpOperand

    def __post_init__(self) -> None:
        ctx, (m, n), (tile_m, tile_n) = self.ctx, self.coords, self.mma.tile
        make = self.operand_type
        self.a = make(ctx, "A", self.A, m, self.mma, (tile_m, self.tile_k), self.stages, self.k, self.alignment)
        self.b = make(ctx, "B", self.B, n, self.mma, (tile_n, self.tile_k), self.stages, self.k, self.alignment)
        self._allocate()

    def _allocate(self) -> None:
        """Registers of fragments and accumulators."""
        self.fragments = self.a.fragment(), self.b.fragment()
        self.accumulators = self.ctx.fragment(self.mma, "C")

    @property
    def operands(self) -> tuple[TensorOpOperand, TensorOpOperand]:
        return self.a, self.b

    @property
    def k_steps(self) -> int:
        return self.a.k_steps

    def fetch(self, step: int, stage: int, buffer: int) -> None:
        for operand, fragment in zip(self.operands, self.fragments, strict=True):
            operand.load(step, stage, fragment[buffer])

    def multiply(self, buffer: int) -> None:
        a, b = (fragment[buffer] for fragment in self.fragments)
        if self.ctx.spec.compute_capability >= ROWS_FIRST_SINCE:
            self.ctx.gemm(self.mma, self.accumulators, a, b)
        else:
            self.ctx.require(self.mma.atom)
            self.ctx.mma(self.mma.atom.mnemonic, column_by_column(self.accumulators.groups, a.groups, b.groups),
                         (self.accumulators.registers, a.registers, b.registers))

    def clear(self) -> None:
        self.ctx.clear(self.accumulators)
