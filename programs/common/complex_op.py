"""Models the output operator of complex numbers: D = alpha * accumulator + beta * C, each product as four FFMA or FMUL.
Leaves out conjugates. Source: cutlass/functional.h, and what ptxas makes of it (CUDA 13.0, sm_90a)."""

from __future__ import annotations

from dataclasses import dataclass, field

import gpusim as gs
from common.conversion import Vector, immediate
from common.output_op import LinearCombination, float_bits
from gpusim import Context, Group, Line

__all__ = ["NEGATE_FIRST", "ComplexOutputOp", "imaginary", "real", "require_conjugate"]

NEGATE_FIRST = 1
"""Immediate of an FFMA whose first factor has a minus."""


def real(number: int) -> Group:
    """The first register of a complex number, or of a constant."""
    return number, 1


def imaginary(number: int) -> Group:
    return number + 1, 1


def require_conjugate(operands: str) -> None:
    """Raise UserError unless these are operands of a product, which are to be conjugated."""
    if set(operands) - set("ab"):
        raise gs.UserError("the operands of a product are a and b", got=f"conjugate='{operands}'",
                           suggestion="conjugate=a, b or ab")


@dataclass(eq=False)
class ComplexOutputOp:
    """D = alpha * accumulator + beta * C of complex numbers."""

    ctx: Context
    combination: LinearCombination
    _constants: dict[str, int] = field(default_factory=dict)  # registers of real and imaginary part

    def __post_init__(self) -> None:
        if self.combination.activation != "none":
            raise gs.UserError("complex numbers have no ReLU", got=self.combination.activation,
                               suggestion="activation=none")
        if self.combination.channels:
            raise gs.UserError("complex numbers have no factors per channel", got=f"scale={self.combination.scale}",
                               suggestion="scale=default")

    def setup(self) -> list[Line]:
        """alpha and beta in registers."""
        lines = []
        for name, value in self.combination.factors.items():
            start, _ = self.ctx.recorder.registers.vector(2)
            self._constants[name] = start
            parts = (complex(value).real, complex(value).imag)
            lines += [Line("MOV", (start + n, 1), immediate=immediate(float_bits(part)))
                      for n, part in enumerate(parts)]
        return lines

    def apply(self, accumulators: Vector, source: Vector | None, number: int = 0) -> Vector:
        """Emit the operator on a vector, the step's ``number``-th."""
        addend = None if source is None else [start for start, _ in source.registers]
        if addend is not None and "beta" in self._constants:
            addend = self._product("beta", addend, None)
        if "alpha" not in self._constants:
            return accumulators
        result = self._product("alpha", [start for start, _ in accumulators.registers], addend)
        return Vector(result[0], accumulators.count, accumulators.dtype)

    def _product(self, name: str, numbers: list[int], addends: list[int] | None) -> list[int]:
        """constant * numbers + addends, in registers of their own."""
        factor, lines = self._constants[name], []
        first, _ = self.ctx.recorder.registers.vector(2 * len(numbers))
        results = list(range(first, first + 2 * len(numbers), 2))
        for n, (number, result) in enumerate(zip(numbers, results, strict=True)):
            operation = "FMUL" if addends is None else "FFMA"
            for part, constant in ((real, real(factor)), (imaginary, imaginary(factor))):
                more = () if addends is None else (part(addends[n]),)
                lines.append(Line(operation, part(result), (real(number), constant, *more)))
            lines.append(Line("FFMA", real(result), (imaginary(number), imaginary(factor), real(result)),
                              immediate=NEGATE_FIRST))
            lines.append(Line("FFMA", imaginary(result), (imaginary(number), real(factor), imaginary(result))))
        self.ctx.code(lines)
        return results
