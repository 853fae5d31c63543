"""Models test data: seeded random numbers for every input tensor, by element type.
Leaves out structured matrices and files."""

from __future__ import annotations

import numpy as np

from gpusim.program import Program
from gpusim.verify.dtypes import decode, dtype_bits, encode, is_float

__all__ = ["random_inputs", "random_values"]

_SMALL = 3
"""Exact data are the integers -2..2: a sum of 4 K of their products stays below 2^24 for K up to a million."""


def random_inputs(program: Program, *, seed: int = 0, exact: bool = False) -> dict[str, np.ndarray]:
    """Numbers for every tensor that is not an output, already rounded to its type; those that its kernel was recorded
    for, where its addresses depend on them.

    Args:
        program: whose tensors to fill.
        seed: of the generator; the same seed gives the same numbers.
        exact: small integers, so that every sum is exact in float32 whatever its order.
    """
    generator = np.random.default_rng(seed)
    infos = {info.name: info for info in program.tensors if not (info.is_output or info.is_scratch)}
    return {info.name: info.values if info.values is not None
            else random_values(generator, info.dtype, info.shape, exact=exact) for info in infos.values()}


def random_values(generator: np.random.Generator, dtype: str, shape: tuple[int, ...], *, exact: bool = False
                  ) -> np.ndarray:
    """Numbers representable in ``dtype``: floats uniform in [-1, 1), also as parts of complex numbers; integers over
    their whole range up to 8 bits."""
    if dtype == "cf32":
        parts = random_values(generator, "f32", (*shape, 2), exact=exact)
        return np.ascontiguousarray(parts).view(np.complex64)[..., 0]
    if is_float(dtype):
        raw = generator.integers(1 - _SMALL, _SMALL, shape) if exact else generator.uniform(-1, 1, shape)
        return _rounded(np.asarray(raw, np.float64), dtype)
    bits = min(2 if exact else 8, dtype_bits(dtype))
    low = -(1 << (bits - 1)) if dtype[0] in "si" else 0
    return generator.integers(low, low + (1 << bits), shape)


def _rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    return decode(encode(values.reshape(1, -1), dtype), dtype).reshape(values.shape)
