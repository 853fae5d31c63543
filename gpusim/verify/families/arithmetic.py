"""Models scalar floating-point and integer arithmetic, each instruction on its register group, lane by lane.
Leaves out negation and absolute value of operands, .FTZ, directed rounding, and immediates (the result is unusable)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.verify.registers import pack, unpack
from gpusim.verify.step import Step

__all__ = ["FORMULAS", "dot_product", "elementwise", "integer_multiply_add", "maximum", "multi_function"]

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

NEGATE_FIRST = 1
"""Immediate that stands for a minus of the first operand."""

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
    """FFMA, FADD, ... of FORMULAS; a .BF16 modifier turns f16 into bf16; NEGATE_FIRST may be an immediate."""
    parts = step.mnemonic.split(".")
    dtype, arity, formula = FORMULAS[parts[0]]
    dtype = "bf16" if any(part.startswith("BF16") for part in parts[1:]) else dtype
    operands = [step.source(i) for i in range(arity)]
    if any(operand is None for operand in operands):
        step.forget_result()
        return
    with np.errstate(all="ignore"):
        first, *others = (unpack(operand, dtype) for operand in operands if operand is not None)
        values = formula(-first if step.immediate == NEGATE_FIRST else first, *others)
        step.write(pack(values, dtype))


def multi_function(step: Step) -> None:
    """MUFU.{RCP,RSQ,SQRT,EX2,LG2,SIN,COS,TANH}: correctly rounded here; hardware is within 1 to 2 ulp."""
    data, name = None if step.is_address(0) else step.source(0), step.mnemonic.split(".")[1]
    if data is None or name not in _MULTI_FUNCTIONS:
        step.forget_result()
        return
    with np.errstate(all="ignore"):
        step.write(pack(_MULTI_FUNCTIONS[name](unpack(data, "f32").astype(np.float64)), "f32"))


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


def integer_multiply_add(step: Step) -> None:
    """IMAD d, a, b, c of registers, wrapping; any other form is address arithmetic, whose result is no data."""
    if step.mnemonic != "IMAD" or not all(step.holds_data(operand) for operand in range(3)):
        step.forget_result()
        return
    a, b, c = (unpack(step.group(*step.source_group(operand)), "u32").astype(np.uint64) for operand in range(3))
    step.write(pack(a * b + c, "u32"))


def maximum(step: Step) -> None:
    """FMNMX[.NAN], HMNMX2[.NAN] d, a, b where the immediate says that the predicate chooses the greater one."""
    a, b = step.source(0), step.source(1)
    if a is None or b is None or not step.immediate:
        step.forget_result()
        return
    dtype = "f16" if step.mnemonic.startswith("H") else "f32"
    choose = np.maximum if "NAN" in step.mnemonic else np.fmax
    step.write(pack(choose(unpack(a, dtype), unpack(b, dtype)), dtype))
