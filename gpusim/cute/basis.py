"""Models CuTe's basis elements: strides whose offsets are coordinates, e.g. ``(4,8):(1@0,1@1)``.
Leaves out nested coordinates; a basis element names one top-level mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["ArithTuple", "E"]


@dataclass(frozen=True, slots=True)
class ArithTuple:
    """A sum of multiples of unit vectors: ``terms`` holds (mode, value), values may be NumPy arrays.

    Works as a stride: multiplied by coordinates and added up it gives a coordinate. Prints ``2@0+3@1``.
    """

    terms: tuple[tuple[int, Any], ...]

    __array_ufunc__ = None  # arrays must leave the multiplication to us

    def __mul__(self, factor: Any) -> ArithTuple:
        return ArithTuple(tuple((mode, value * factor) for mode, value in self.terms))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> ArithTuple:
        if not isinstance(other, ArithTuple):
            return self if np.all(other == 0) else NotImplemented
        values = dict(self.terms)
        for mode, value in other.terms:
            values[mode] = values.get(mode, 0) + value
        return ArithTuple(tuple(sorted(values.items(), key=lambda term: term[0])))

    __radd__ = __add__

    def as_tuple(self, rank: int = 0) -> tuple[Any, ...]:
        """The coordinate as a plain tuple of at least ``rank`` entries; arrays share one shape."""
        values = dict(self.terms)
        entries = [values.get(mode, 0) for mode in range(max(rank, 1 + max(values, default=-1)))]
        if any(isinstance(entry, np.ndarray) for entry in entries):
            return tuple(np.broadcast_arrays(*entries))
        return tuple(entries)

    def __str__(self) -> str:
        return "+".join(f"{value}@{mode}" for mode, value in self.terms)

    __repr__ = __str__


def E(mode: int) -> ArithTuple:  # CuTe's name
    """The unit vector of top-level mode ``mode``."""
    return ArithTuple(((mode, 1),))
