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

@dataclass(eq=False)
class ComplexLoop(SimtLoop):
    """A threadblock tile of complex numbers, two registers each; ``conjugate``: which operands, any of "ab"."""

    conjugate: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_conjugate(self.conjugate)

    def multiply(self, buffer: int) -> None:
        """c.re += a.re b.re; c.im += a.re b.im; c.re -= a.im b.im; c.im += a.im b.re; signs as conjugates have them."""
        minus_a, minus_b = "a" in self.conjugate, "b" in self.conjugate
        lines: list[Line] = []
        for c, a, b in column_by_column(self.accumulators, self.a.buffers[buffer], self.b.buffers[buffer]):
            lines += [_product(c, a, b), _product(c + 1, a, b + 1, minus_b),
                      _product(c, a + 1, b + 1, minus_a == minus_b), _product(c + 1, a + 1, b, minus_a)]
        self.ctx.code(lines)


def _product(c: int, a: int, b: int, minus: bool = False) -> Line:
    return Line("FFMA", (c, 1), ((a, 1), (b, 1), (c, 1)), immediate=NEGATE_FIRST * minus)
