"""Models how far a right answer may be from the reference, by output type and by the type sums are kept in.
Leaves out worst-case bounds, which grow with K and would hide real errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gpusim.program import Program
from gpusim.verify.dtypes import is_float, unit_roundoff

__all__ = ["Tolerance", "accumulator_dtype", "sum_terms", "tolerance_for"]

_UNKNOWN_TERMS = 4096
"""Terms of a sum where the program does not say how many floating-point operations it does."""


@dataclass(frozen=True)
class Tolerance:
    """|got - reference| <= rtol x |reference| + atol x largest |reference|."""

    rtol: float
    atol: float
    reason: str

    def bound(self, reference: np.ndarray) -> np.ndarray:
        """Largest allowed error of each element (float64, shape of ``reference``)."""
        magnitude = np.abs(reference).astype(np.float64)
        largest = magnitude.max(initial=0.0, where=np.isfinite(magnitude))
        return self.rtol * magnitude + self.atol * largest


def tolerance_for(output: str, accumulator: str, terms: int, times: int = 1) -> Tolerance:
    """Tolerance of an output type whose elements are sums of ``terms`` products kept in ``accumulator``.

    Roundings of a sum add up like a random walk, so they are allowed sqrt(terms) times half an ulp of the largest
    element. ``times``: how often an element is written; each time but the last rounds a part of the sum, by half an ulp
    of the largest element at most. Integers must be equal.
    """
    if not is_float(output):
        return Tolerance(0.0, 0.0, f"{output}: integers are exact")
    rtol, atol = 2 * unit_roundoff(output), math.sqrt(terms) * unit_roundoff(accumulator)
    parts = (times - 1) * unit_roundoff(output)
    between = f", and {times - 1} roundings of parts ({parts:.1e} of it)" if times > 1 else ""
    return Tolerance(rtol, atol + parts, f"{output}: half an ulp each for this result and the reference ({rtol:.1e}), "
                                         f"and sums of {terms} terms rounded to {accumulator} in another order "
                                         f"({atol:.1e} of the largest element){between}")


def sum_terms(program: Program) -> int:
    """Products summed per output element, from the program's useful operations."""
    elements = sum(math.prod(info.shape) for info in program.tensors if info.is_output)
    return max(1, round(program.flops / 2 / max(1, elements))) if program.flops else _UNKNOWN_TERMS


def accumulator_dtype(program: Program) -> str:
    """Narrowest floating-point type in which the program's MMAs or FMAs keep sums; f32 where there are none."""
    found = {dtype for static in program.statics if (dtype := _sum_dtype(static.mnemonic))}
    return max(found, key=unit_roundoff, default="f32")


def _sum_dtype(mnemonic: str) -> str:
    parts = mnemonic.replace(".SP.", ".").split(".")
    if parts[0] in ("HMMA", "QMMA") and len(parts) > 2:
        return parts[2].lower()
    half = "bf16" if "BF16" in mnemonic else "f16"
    return {"FFMA": "f32", "DFMA": "f64", "DMMA": "f64", "HFMA2": half}.get(parts[0], "")
