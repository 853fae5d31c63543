"""Models element types: a name and a width in bits.
Leaves out arithmetic (gpusim.verify) and which MMA takes which type (gpusim.arch.atoms)."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.errors import UserError, did_you_mean

__all__ = ["DType", "bf16", "dtype_named", "f16", "f32", "f64", "s8", "s32", "tf32", "u8"]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type; prints as its name."""

    name: str
    bits: int

    @property
    def bytes(self) -> int:
        return self.bits // 8

    def __str__(self) -> str:
        return self.name


f16, bf16 = DType("f16", 16), DType("bf16", 16)
tf32, f32, f64 = DType("tf32", 32), DType("f32", 32), DType("f64", 64)
s8, u8, s32 = DType("s8", 8), DType("u8", 8), DType("s32", 32)

_BY_NAME = {dtype.name: dtype for dtype in (f16, bf16, tf32, f32, f64, s8, u8, s32)}


def dtype_named(name: str) -> DType:
    """The type an atom names. Raises UserError for one the DSL lacks."""
    if name not in _BY_NAME:
        raise UserError("no such element type", got=f"'{name}'", suggestion=did_you_mean(name, _BY_NAME))
    return _BY_NAME[name]
