"""Models CUTLASS 2.x's TensorOpMultiplicand: the XOR layout of MMA operands in shared memory, with its inverse.
Leaves out the iterators that walk it.

Congruous and crosswise operands have the same map; they differ in which matrix mode is contiguous (M or N against K)
and in the crosswise extent. Source: cutlass/layout/tensor_op_multiplicand_sm75.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from gpusim.cute.swizzle import Swizzle
from gpusim.errors import UserError

__all__ = [
    "ColumnMajorTensorOpMultiplicand",
    "RowMajorTensorOpMultiplicand",
    "TensorOpMultiplicand",
    "congruous_crosswise",
]

_VECTOR_BITS = 128
_LINE_VECTORS = 8  # 16-byte vectors in a 128-byte line, one pass over all banks
_PARTITION = 4  # vectors on a side of the square within which the XOR permutes


@dataclass(frozen=True, slots=True)
class TensorOpMultiplicand:
    """Offsets of (contiguous, strided) for elements of ``element_bits``; ``crosswise`` elements of a row fold together.

    ``stride`` is the pitch of one row in elements: the packed contiguous extent (crosswise times stages for a
    multistage K-major tile). Raises UserError where a 128-byte line is no whole number of crosswise rows.
    """

    element_bits: int
    crosswise: int
    stride: int

    def __post_init__(self) -> None:
        row_bits = self.crosswise * self.element_bits
        if row_bits % _VECTOR_BITS or _LINE_VECTORS * _VECTOR_BITS % row_bits:
            rule = "a crosswise row must hold 1, 2, 4 or 8 vectors of 16 bytes"
            raise UserError(rule, got=f"{self.crosswise} x {self.element_bits} bits")

    @classmethod
    def packed(cls, element_bits: int, crosswise: int, extent: tuple[int, int]) -> Self:
        """The layout of a tile of ``extent`` (contiguous, strided) without gaps."""
        return cls(element_bits, crosswise, extent[0])

    @property
    def elements_per_access(self) -> int:
        return _VECTOR_BITS // self.element_bits

    @property
    def factor(self) -> int:
        """Rows that share one 128-byte line."""
        return _LINE_VECTORS * self.elements_per_access // self.crosswise

    @property
    def tile_shape(self) -> tuple[int, int]:
        """The permutation's period in (vectors, lines)."""
        return _LINE_VECTORS, max(_LINE_VECTORS // self.factor, 32 // _LINE_VECTORS)

    def __call__(self, contiguous: Any, strided: Any) -> Any:
        """Offset in elements of element (contiguous, strided)."""
        row_vectors = _LINE_VECTORS // self.factor
        vector, line = contiguous // self.elements_per_access, strided // self.factor
        slot = vector % row_vectors + strided % self.factor * row_vectors
        column = vector // row_vectors * _LINE_VECTORS + self._permuted(slot, line)
        within = contiguous % self.elements_per_access
        return column * self.elements_per_access + within + line * self.stride * self.factor

    def inverse(self, offset: Any) -> tuple[Any, Any]:
        """The (contiguous, strided) coordinate at ``offset``."""
        row_vectors = _LINE_VECTORS // self.factor
        line, rest = offset // (self.stride * self.factor), offset % (self.stride * self.factor)
        column, within = rest // self.elements_per_access, rest % self.elements_per_access
        slot = self._permuted(column % _LINE_VECTORS, line)
        vector = column // _LINE_VECTORS * row_vectors + slot % row_vectors
        return vector * self.elements_per_access + within, line * self.factor + slot // row_vectors

    def _permuted(self, slot: Any, line: Any) -> Any:
        """The place of vector ``slot`` within its line; an involution for a given line."""
        row = line % self.tile_shape[1]
        vector = slot % _PARTITION ^ row % _PARTITION
        partition = slot // _PARTITION ^ row // _PARTITION % 2
        return partition * _PARTITION + vector

    def byte_swizzle(self) -> Swizzle:
        """The CuTe swizzle on bytes that is the same map of a tile with ``stride == crosswise``."""
        return Swizzle((self.tile_shape[1] - 1).bit_length(), 4, 3)


@dataclass(frozen=True, slots=True)
class ColumnMajorTensorOpMultiplicand:
    """Operand matrix (row, column) whose rows are contiguous: A with M contiguous, B with K contiguous."""

    layout: TensorOpMultiplicand

    def __call__(self, row: Any, column: Any) -> Any:
        return self.layout(row, column)

    def inverse(self, offset: Any) -> tuple[Any, Any]:
        return self.layout.inverse(offset)


@dataclass(frozen=True, slots=True)
class RowMajorTensorOpMultiplicand:
    """Operand matrix (row, column) whose columns are contiguous: A with K contiguous, B with N contiguous."""

    layout: TensorOpMultiplicand

    def __call__(self, row: Any, column: Any) -> Any:
        return self.layout(column, row)

    def inverse(self, offset: Any) -> tuple[Any, Any]:
        contiguous, strided = self.layout.inverse(offset)
        return strided, contiguous


def congruous_crosswise(element_bits: int, extent: int) -> int:
    """The crosswise extent CUTLASS picks for a congruous operand of ``extent`` (M or N of the tile)."""
    return min(128 * 8 // element_bits, extent)
