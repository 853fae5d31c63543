"""Models CUTLASS 2.x's SIMT GEMM of complex<float>: every product is four FFMA.
Leaves out Gauss's three products, which CUTLASS has on tensor cores only.

Source: cutlass/functional.h (multiply_add of complex numbers), gemm/thread/mma_sm50.h.
"""

from __future__ import annotations

from dataclasses import dataclass

from common.complex_op import NEGATE_FIRST, require_conjugate
from common.order import column_by_column
from common.simt_loop import SimtLoop
from gpusim import Line

__all__ = ["ComplexLoop"]

Product = tuple[int, int, int]
"""Registers: c += a * b."""


@dataclass(eq=False)
class ComplexLoop(SimtLoop):
    """A threadblock tile of complex numbers, two registers each; ``conjugate``: which operands, any of "ab"."""

    conjugate: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_conjugate(self.conjugate)

    def multiply(self, buffer: int) -> None:
        """c.re += a.re b.re; c.im += a.re b.im; c.im += a.im b.re; c.re -= a.im b.im; signs as conjugates have them."""
        minus_a, minus_b = "a" in self.conjugate, "b" in self.conjugate
        plus: list[Product] = []
        minus: list[Product] = []
        for c, a, b in column_by_column(self.accumulators, self.a.buffers[buffer], self.b.buffers[buffer]):
            plus.append((c, a, b))
            (minus if minus_b else plus).append((c + 1, a, b + 1))
            (minus if minus_a else plus).append((c + 1, a + 1, b))
            (plus if minus_a != minus_b else minus).append((c, a + 1, b + 1))
        self.ctx.mma("FFMA", tuple(plus), (1, 1, 1))
        self.ctx.code([Line("FFMA", (c, 1), ((a, 1), (b, 1), (c, 1)), immediate=NEGATE_FIRST) for c, a, b in minus])
