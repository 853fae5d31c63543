"""Models the three float instructions that compiled integer division goes through: I2F, MUFU.RCP, F2I.
Leaves out all other floating point; the code around them corrects the last bits, so exact rounding is not needed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.sass.values import MASK32, to_signed

__all__ = ["CONVERSIONS"]

Compute = Callable[..., tuple[np.ndarray, ...]]


def _integer_to_float(modifiers: tuple[str, ...]) -> Compute | None:
    if {"F16", "F64", "BF16"} & set(modifiers):
        return None
    signed = not {"U32", "RP"} & set(modifiers) or "S32" in modifiers

    def compute(a: np.ndarray) -> tuple[np.ndarray, ...]:
        exact = (to_signed(a) if signed else a).astype(np.float64)
        rounded = exact.astype(np.float32)
        if "RP" in modifiers:
            rounded = np.where(rounded < exact, np.nextafter(rounded, np.float32(np.inf)), rounded)
        return (_bits(rounded),)

    return compute


def _reciprocal(modifiers: tuple[str, ...]) -> Compute | None:
    if modifiers != ("RCP",):
        return None

    def compute(a: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return (_bits(np.float32(1) / _float(a)),)

    return compute


def _float_to_integer(modifiers: tuple[str, ...]) -> Compute | None:
    if "TRUNC" not in modifiers or "F64" in modifiers:
        return None
    low, high = (0, MASK32) if "U32" in modifiers else (-(1 << 31), (1 << 31) - 1)

    def compute(a: np.ndarray) -> tuple[np.ndarray, ...]:
        value = np.nan_to_num(_float(a).astype(np.float64))
        return (np.clip(np.trunc(value), low, high).astype(np.int64) & MASK32,)

    return compute


def _float(bits: np.ndarray) -> np.ndarray:
    return bits.astype(np.uint32).view(np.float32)


def _bits(value: np.ndarray) -> np.ndarray:
    return value.astype(np.float32).view(np.uint32).astype(np.int64)


CONVERSIONS: dict[str, Callable[[tuple[str, ...]], Compute | None]] = {
    "I2F": _integer_to_float,
    "I2FP": _integer_to_float,
    "MUFU": _reciprocal,
    "F2I": _float_to_integer,
}
"""By mnemonic without modifiers; None for a variant that integer division does not use."""
