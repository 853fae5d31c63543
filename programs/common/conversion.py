"""Models how numbers in registers change their type: the instructions that ptxas picks, one line each.
Leaves out rounding modes other than to nearest even, and what the type means to a tensor core.

Read from the epilogues of CUTLASS 4 kernels, compiled with CUDA 13.0 for sm_75 to sm_90a: until sm_80 integers go
through I2F, F2I and I2IP, from sm_86 on through I2FP and F2IP; a byte becomes an integer by IDP.4A with a selector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import gpusim as gs
from gpusim import Context, Group, Line

__all__ = ["Conversions", "Vector", "immediate"]

PACKED_CONVERSIONS_SINCE = 86
HIGH_HALF, SHIFT_LEFT_16 = 0xFFFF0000, 0x10000
BYTES = 4  # in a register


@dataclass(frozen=True)
class Vector:
    """``count`` numbers of a type in consecutive registers from ``start``, or in ``groups`` of registers."""

    start: int
    count: int
    dtype: gs.DType
    groups: tuple[Group, ...] = ()

    @property
    def width(self) -> int:
        """Registers of a number; a packed type has several numbers in one."""
        return max(1, self.dtype.bits // 32)

    @property
    def registers(self) -> list[Group]:
        """One group per number, or per register where it holds several."""
        if self.groups:
            return list(self.groups)
        groups = max(1, self.count * self.dtype.bits // (32 * self.width))
        return [(self.start + self.width * n, self.width) for n in range(groups)]

    @property
    def group(self) -> Group:
        return self.start, len(self.registers) * self.width


def immediate(bits: int) -> int:
    """32 bits as the signed number that an op's operand holds."""
    return bits - (1 << 32) if bits >= 1 << 31 else bits


@dataclass(eq=False)
class Conversions:
    """Emits conversions of vectors for one GPU; ``selectors``: registers with constants, set up when first wanted."""

    ctx: Context
    _selectors: tuple[Group, ...] = ()

    def __call__(self, vector: Vector, target: gs.DType) -> tuple[list[Line], Vector]:
        """Lines, and the same numbers as ``target``. Raises UserError for a pair that no epilogue needs."""
        origin = vector.dtype.name
        if origin == target.name:
            return [], vector
        known: dict[tuple[str, str], Callable[[Vector, gs.DType], tuple[list[Line], Vector]]] = {
            ("s32", "f32"): self._integers_to_floats, ("s8", "f32"): self._bytes_to_floats,
            ("u8", "f32"): self._bytes_to_floats, ("f16", "f32"): self._widen, ("bf16", "f32"): self._widen,
            ("f32", "f16"): self._narrow, ("f32", "bf16"): self._narrow, ("f32", "s8"): self._floats_to_integers,
            ("f32", "u8"): self._floats_to_integers, ("f32", "s4"): self._floats_to_integers,
            ("f32", "u4"): self._floats_to_integers,
        }
        if (origin, target.name) not in known:
            raise gs.UserError("an epilogue has no conversion between these types", got=f"{origin} to {target}",
                               suggestion=f"{origin} converts to " + ", ".join(b for a, b in known if a == origin))
        return known[origin, target.name](vector, target)

    def setup(self, origin: gs.DType) -> list[Line]:
        """Constants that conversions from a type need: a selector per byte, and a zero."""
        if origin.bits != 8 or self._selectors:
            return []
        vector = self.ctx.recorder.registers.vector
        self._selectors = tuple(vector() for _ in range(BYTES + 1))
        return [Line("MOV", register, immediate=immediate(1 << 8 * n if n < BYTES else 0))
                for n, register in enumerate(self._selectors)]

    @property
    def _packs(self) -> bool:
        return self.ctx.spec.compute_capability >= PACKED_CONVERSIONS_SINCE

    def _new(self, count: int, dtype: gs.DType) -> Vector:
        registers = max(1, count * dtype.bits // 32)
        return Vector(self.ctx.recorder.registers.vector(registers)[0], count, dtype)

    def _integers_to_floats(self, vector: Vector, target: gs.DType) -> tuple[list[Line], Vector]:
        result = self._new(vector.count, target)
        name = "I2FP.F32.S32" if self._packs else "I2F"
        return [Line(name, to, (source,)) for to, source in
                zip(result.registers, vector.registers, strict=True)], result

    def _bytes_to_floats(self, vector: Vector, target: gs.DType) -> tuple[list[Line], Vector]:
        integers = self._new(vector.count, gs.s32)
        sign = str(vector.dtype).upper()
        *selectors, zero = self._selectors
        sources = [(register, selector) for register in vector.registers for selector in selectors]
        lines = [Line(f"IDP.4A.{sign}.S8", to, (*source, zero))
                 for to, source in zip(integers.registers, sources, strict=False)]
        floats, result = self._integers_to_floats(integers, target)
        return lines + floats, result

    def _widen(self, vector: Vector, target: gs.DType) -> tuple[list[Line], Vector]:
        """Half by half; a bf16 is the upper half of its f32."""
        result, lines = self._new(vector.count, target), []
        for number, to in enumerate(result.registers):
            source, upper = (vector.registers[number // 2],), number % 2
            if vector.dtype.name == "f16":
                lines.append(Line(f"HADD2.F32.{'H1_H1' if upper else 'H0_H0'}", to, source))
            elif upper:
                lines.append(Line("LOP3.LUT", to, source, immediate=immediate(HIGH_HALF)))
            else:
                lines.append(Line("IMAD.U32", to, source, immediate=SHIFT_LEFT_16))
        return lines, result

    def _narrow(self, vector: Vector, target: gs.DType) -> tuple[list[Line], Vector]:
        result, sources = self._new(vector.count, target), vector.registers * (2 if vector.count == 1 else 1)
        name = f"F2FP.{str(target).upper()}.F32.PACK_AB"
        return [Line(name, to, (sources[2 * n + 1], sources[2 * n])) for n, to in enumerate(result.registers)], result

    def _floats_to_integers(self, vector: Vector, target: gs.DType) -> tuple[list[Line], Vector]:
        """Pair by pair into a register, which the last pair enters first; a lone number converts by itself."""
        sign, result, lines = str(target).upper(), self._new(vector.count, target), []
        if vector.count == 1:
            return [Line(f"F2I.{sign}.NTZ", result.registers[0], (vector.registers[0],))], result
        sources, name = vector.registers, f"F2IP.{sign}.F32.NTZ"
        if target.bits < 8 or not self._packs:
            sources, name = self._new(vector.count, gs.s32).registers, f"I2IP.{sign}.S32.SAT"
            lines = [Line("F2I.NTZ", to, (source,)) for to, source in zip(sources, vector.registers, strict=True)]
        together = len(sources) // len(result.registers)
        for n, to in enumerate(result.registers):
            upper: tuple[Group, ...] = ()
            for first in range((n + 1) * together - 2, n * together - 1, -2):
                into = to if first == n * together else self.ctx.recorder.registers.vector()
                lines.append(Line(name, into, (sources[first + 1], sources[first], *upper)))
                upper = (into,)
        return lines, result
