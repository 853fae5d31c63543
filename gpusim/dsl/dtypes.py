"""Models element types: a name and a width in bits.
Leaves out arithmetic (gpusim.verify) and which MMA takes which type (gpusim.arch.atoms)."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.errors import UserError, did_you_mean

__all__ = ["DType", "bf16", "cf32", "dtype_named", "e4m3", "e5m2", "f16", "f32", "f64", "s4", "s8", "s32", "tf32", "u1",
           "u4", "u8"]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type; prints as its name."""

    name: str
    bits: int

    @property
    def bytes(self) -> int:
        """Of a type of whole bytes; 0 for a smaller one, whose elements share bytes."""
        return self.bits // 8

    def __str__(self) -> str:
        return self.name


f16, bf16 = DType("f16", 16), DType("bf16", 16)
tf32, f32, f64 = DType("tf32", 32), DType("f32", 32), DType("f64", 64)
cf32 = DType("cf32", 64)  # real and imaginary part
e4m3, e5m2 = DType("e4m3", 8), DType("e5m2", 8)
s8, u8, s32 = DType("s8", 8), DType("u8", 8), DType("s32", 32)
s4, u4, u1 = DType("s4", 4), DType("u4", 4), DType("u1", 1)

_BY_NAME = {dtype.name: dtype for dtype in (f16, bf16, tf32, f32, f64, cf32, e4m3, e5m2, s8, u8, s32, s4, u4, u1)}
_BY_NAME["b1"] = u1
"""CUTLASS's and PTX's name of single bits."""


def dtype_named(name: str) -> DType:
    """The type that an atom or a parameter names. Raises UserError for one the DSL lacks."""
    if name not in _BY_NAME:
        raise UserError("no such element type", got=f"'{name}'", suggestion=did_you_mean(name, _BY_NAME))
    return _BY_NAME[name]
