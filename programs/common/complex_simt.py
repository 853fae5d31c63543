"""Models CUTLASS 2.x's SIMT GEMM of complex<float>: every product is four FFMA.
Leaves out conjugates, and Gauss's three products, which CUTLASS has on tensor cores only.

Source: cutlass/functional.h (multiply_add of complex numbers), gemm/thread/mma_sm50.h.
"""

from __future__ import annotations

from dataclasses import dataclass

from common.complex_op import NEGATE_FIRST, imaginary, real
from common.simt import ffma_triples
from common.simt_loop import SimtLoop
from gpusim.dsl.statements import Line

__all__ = ["ComplexLoop"]


@dataclass(eq=False)
class ComplexLoop(SimtLoop):
    """A threadblock tile of complex numbers, two registers each."""

    def multiply(self, buffer: int) -> None:
        """c.re += a.re b.re; c.im += a.re b.im; c.im += a.im b.re; and c.re -= a.im b.im."""
        numbers = ffma_triples(self.accumulators, self.a.buffers[buffer], self.b.buffers[buffer])
        products = [product for c, a, b in numbers for product in ((c, a, b), (c + 1, a, b + 1), (c + 1, a + 1, b))]
        self.ctx.mma("FFMA", tuple(products), (1, 1, 1))
        self.ctx.code([Line("FFMA", real(c), (imaginary(a), imaginary(b), real(c)), immediate=NEGATE_FIRST)
                       for c, a, b in numbers])
