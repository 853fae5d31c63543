"""Models how values lie in registers: consecutive registers of a lane are consecutive bytes of its values.
Leaves out which lane owns which element of a matrix (gpusim.verify.families.mma)."""

from __future__ import annotations

import numpy as np

from gpusim.verify.dtypes import decode, encode

__all__ = ["pack", "unpack"]

_REGISTER_BYTES = 4


def unpack(registers: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers (CTAs, warps, 32, values) in registers (count, CTAs, warps, 32)."""
    return decode(np.ascontiguousarray(np.moveaxis(registers, 0, -1)).view(np.uint8), dtype)


def pack(values: np.ndarray, dtype: str) -> np.ndarray:
    """Registers (count, CTAs, warps, 32) of numbers (CTAs, warps, 32, values); a part-filled register ends in zeros."""
    data = encode(values, dtype)
    missing = -data.shape[-1] % _REGISTER_BYTES
    if missing:
        data = np.pad(data, [(0, 0)] * (data.ndim - 1) + [(0, missing)])
    return np.moveaxis(np.ascontiguousarray(data).view(np.uint32), -1, 0)
