"""Models CUTLASS 2.x's layouts of operands that ldmatrix cannot read: f64, and 32 bits with rows contiguous.
Leaves out the iterators that walk them.

Source: cutlass/layout/tensor_op_multiplicand_sm80.h and _sm75.h. Offsets are in elements, coordinates (contiguous,
strided).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "TensorOpMultiplicand32bCongruous", "TensorOpMultiplicand64bCongruous", "TensorOpMultiplicand64bCrosswise",
]


@dataclass(frozen=True, slots=True)
class TensorOpMultiplicand32bCongruous:
    """M or N contiguous, k strided: 16-byte vectors of 32 elements under an XOR with twice k modulo 4. ``stride``: M or
    N."""

    stride: int

    def __call__(self, contiguous: Any, strided: Any) -> Any:
        vector = contiguous % 32 // 4 ^ 2 * (strided % 4)
        return contiguous // 32 * 32 + vector * 4 + contiguous % 4 + strided * self.stride


@dataclass(frozen=True, slots=True)
class TensorOpMultiplicand64bCongruous:
    """M or N contiguous, k strided: blocks of 16 x 4, whose elements c and c + 8 are neighbours. ``stride``: M or N."""

    stride: int

    def __call__(self, contiguous: Any, strided: Any) -> Any:
        c, s = contiguous % 16, strided % 4
        row = c % 8 // 2
        bank = ((c % 2 * 4 + row) ^ s % 2) * 2 + c // 8
        bank = bank ^ s // 2 * 4
        return contiguous // 16 * 16 + bank + (strided // 4 * 4 + row) * self.stride


@dataclass(frozen=True, slots=True)
class TensorOpMultiplicand64bCrosswise:
    """k contiguous, M or N strided: blocks of 16 x 16, whose rows s and s + 8 are neighbours, in every other group of 4
    along k the other way round. ``stride``: M or N."""

    stride: int

    def __call__(self, contiguous: Any, strided: Any) -> Any:
        c, s = contiguous % 16, strided % 16
        group, pair = c // 4, s // 2
        bank = (group // 2 * 8) ^ (s % 2 * 8 + c % 4 * 2 + pair // 4) ^ group % 2
        return (contiguous // 16 * 16 + group * 4 + pair % 4) * self.stride + strided // 16 * 16 + bank
