"""Models scalar floating-point and integer arithmetic and conversions, each on its register group, lane by lane.
Leaves out negation and absolute value of operands, .FTZ, directed rounding, and immediates (the result is unusable)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.verify.dtypes import dtype_bits, encode, is_float
from gpusim.verify.registers import pack, unpack
from gpusim.verify.step import Step

__all__ = ["FORMULAS", "convert", "dot_product", "elementwise", "multi_function", "pack_pair"]

Formula = Callable[..., np.ndarray]

FORMULAS: dict[str, tuple[str, int, Formula]] = {
    # The product of two float32 is exact in float64, so FFMA is rounded twice but differs from a fused one only
    # where the float64 sum is a tie of float32; DFMA rounds product and sum.
    "FFMA": ("f32", 3, lambda a, b, c: a.astype(np.float64) * b + c),
    "FADD": ("f32", 2, np.add),
    "FMUL": ("f32", 2, np.multiply),
    "DFMA": ("f64", 3, lambda a, b, c: a * b + c),
    "DADD": ("f64", 2, np.add),
    "DMUL": ("f64", 2, np.multiply),
    "HFMA2": ("f16", 3, lambda a, b, c: a.astype(np.float64) * b + c),
    "HADD2": ("f16", 2, lambda a, b: a.astype(np.float32) + b),
    "HMUL2": ("f16", 2, lambda a, b: a.astype(np.float32) * b),
}
"""Mnemonic -> (element type of all operands, number of operands, formula). Packed types work on all their elements."""

_MULTI_FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "RCP": lambda x: 1 / x,
    "RSQ": lambda x: 1 / np.sqrt(x),
    "SQRT": np.sqrt,
    "EX2": np.exp2,
    "LG2": np.log2,
    "SIN": np.sin,
    "COS": np.cos,
    "TANH": np.tanh,
}


def elementwise(step: Step) -> None:
    """FFMA, FADD, ... of FORMULAS; a .BF16 modifier turns f16 into bf16."""
    parts = step.mnemonic.split(".")
    dtype, arity, formula = FORMULAS[parts[0]]
    dtype = "bf16" if any(part.startswith("BF16") for part in parts[1:]) else dtype
    operands = [step.source(i) for i in range(arity)]
    if any(operand is None for operand in operands):
        step.forget_result()
        return
    with np.errstate(all="ignore"):
        values = formula(*(unpack(operand, dtype) for operand in operands if operand is not None))
        step.write(pack(values, dtype))


def multi_function(step: Step) -> None:
    """MUFU.{RCP,RSQ,SQRT,EX2,LG2,SIN,COS,TANH}: correctly rounded here; hardware is within 1 to 2 ulp."""
    data, name = step.source(0), step.mnemonic.split(".")[1]
    if data is None or name not in _MULTI_FUNCTIONS:
        step.forget_result()
        return
    with np.errstate(all="ignore"):
        step.write(pack(_MULTI_FUNCTIONS[name](unpack(data, "f32").astype(np.float64)), "f32"))


def pack_pair(step: Step) -> None:
    """F2FP.{F16,BF16}.F32.PACK_AB[.RELU] d, hi, lo: two float32 to a pair, rounded to nearest even.

    Operand order as in SASS: source group 0 becomes the HIGH half, group 1 the LOW half (the lower address).
    """
    high, low = step.source(0), step.source(1)
    if high is None or low is None:
        step.forget_result()
        return
    values = np.stack([unpack(low, "f32"), unpack(high, "f32")], axis=-1)
    if "RELU" in step.mnemonic:
        values = np.maximum(values, 0)
    halves = encode(values, "bf16" if "BF16" in step.mnemonic else "f16")
    step.write(np.moveaxis(halves.view(np.uint32)[..., 0], -1, 0))


def convert(step: Step) -> None:
    """F2F.d.s, I2F[.d].s, F2I.d[.s], by default f32 and s32; F2I truncates (.TRUNC) and saturates like hardware."""
    data = step.source(0)
    target, origin = _conversion_types(step.mnemonic)
    if data is None:
        step.forget_result()
        return
    values = unpack(data, origin)[..., :1] if target != origin else unpack(data, origin)
    if not is_float(target):
        limits = np.iinfo(f"{'i' if target.startswith('s') else 'u'}{dtype_bits(target) // 8}")
        rounded = np.trunc(values) if "TRUNC" in step.mnemonic else np.rint(values)
        values = np.clip(np.nan_to_num(rounded.astype(np.float64)), limits.min, limits.max)
    step.write(pack(values, target))


def dot_product(step: Step) -> None:
    """IDP.4A.{S8,U8}.{S8,U8} d, a, b, c: four products of bytes added to a 32-bit integer, wrapping."""
    operands = [step.source(i) for i in range(3)]
    types = [part.lower() for part in step.mnemonic.split(".") if part in ("S8", "U8")] or ["s8", "s8"]
    a, b, c = operands
    if a is None or b is None or c is None or "4A" not in step.mnemonic:
        step.forget_result()
        return
    left, right = unpack(a, types[0]).astype(np.int64), unpack(b, types[-1]).astype(np.int64)
    total = (left * right).sum(-1, keepdims=True) + unpack(c, "s32")
    step.write(pack(total, "s32"))


_TYPES = {"F16", "F32", "F64", "BF16", "S8", "U8", "S16", "U16", "S32", "U32", "S64", "U64"}


def _conversion_types(mnemonic: str) -> tuple[str, str]:
    """(target, origin) of a conversion."""
    parts = mnemonic.split(".")
    named = [part.lower() for part in parts if part in _TYPES]
    if len(named) >= 2:
        return named[0], named[1]
    first, second = {"I2F": ("f32", "s32"), "F2I": ("s32", "f32"), "F2F": ("f32", "f32")}[parts[0]]
    if not named:
        return first, second
    return (first, named[0]) if parts[0] == "I2F" else (named[0], second)
