"""Models CUTLASS 2.x's plain layouts: pitch-linear, row and column major, interleaved, affine; each with its inverse.
Leaves out the swizzled operand layouts (tensor_op) and data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from gpusim.cute.int_tuple import ceil_div
from gpusim.cute.layout import Layout
from gpusim.errors import UserError

__all__ = ["AffineRankN", "ColumnMajor", "ColumnMajorInterleaved", "PitchLinear", "RowMajor", "RowMajorInterleaved"]


@dataclass(frozen=True, slots=True)
class PitchLinear:
    """``offset(contiguous, strided) = contiguous + strided * stride``."""

    stride: int

    @classmethod
    def packed(cls, extent: tuple[int, int]) -> Self:
        return cls(extent[0])

    def __call__(self, contiguous: Any, strided: Any) -> Any:
        return contiguous + strided * self.stride

    def inverse(self, offset: Any) -> tuple[Any, Any]:
        return offset % self.stride, offset // self.stride

    def capacity(self, extent: tuple[int, int]) -> int:
        """Elements of storage that ``extent`` needs."""
        return extent[1] * self.stride

    def to_cute(self, extent: tuple[int, int]) -> Layout:
        return Layout(extent, (1, self.stride))


@dataclass(frozen=True, slots=True)
class RowMajor:
    """``offset(row, column) = row * ld + column``."""

    ld: int

    @classmethod
    def packed(cls, extent: tuple[int, int]) -> Self:
        return cls(extent[1])

    def __call__(self, row: Any, column: Any) -> Any:
        return row * self.ld + column

    def inverse(self, offset: Any) -> tuple[Any, Any]:
        return offset // self.ld, offset % self.ld

    def capacity(self, extent: tuple[int, int]) -> int:
        """Elements of storage that ``extent`` needs."""
        return extent[0] * self.ld

    def to_cute(self, extent: tuple[int, int]) -> Layout:
        return Layout(extent, (self.ld, 1))


@dataclass(frozen=True, slots=True)
class ColumnMajor:
    """``offset(row, column) = column * ld + row``."""

    ld: int

    @classmethod
    def packed(cls, extent: tuple[int, int]) -> Self:
        return cls(extent[0])

    def __call__(self, row: Any, column: Any) -> Any:
        return column * self.ld + row

    def inverse(self, offset: Any) -> tuple[Any, Any]:
        return offset % self.ld, offset // self.ld

    def capacity(self, extent: tuple[int, int]) -> int:
        """Elements of storage that ``extent`` needs."""
        return extent[1] * self.ld

    def to_cute(self, extent: tuple[int, int]) -> Layout:
        return Layout(extent, (1, self.ld))


@dataclass(frozen=True, slots=True)
class RowMajorInterleaved:
    """Groups of ``interleave`` rows stored column by column: ``(r // I) * ld + c * I + r % I``."""

    interleave: int
    ld: int

    @classmethod
    def packed(cls, extent: tuple[int, int], interleave: int) -> Self:
        return cls(interleave, extent[1] * interleave)

    def __call__(self, row: Any, column: Any) -> Any:
        return row // self.interleave * self.ld + column * self.interleave + row % self.interleave

    def inverse(self, offset: Any) -> tuple[Any, Any]:
        group, rest = offset // self.ld, offset % self.ld
        return group * self.interleave + rest % self.interleave, rest // self.interleave

    def capacity(self, extent: tuple[int, int]) -> int:
        """Elements of storage that ``extent`` needs, whole groups counted."""
        return ceil_div(extent[0], self.interleave) * self.ld

    def to_cute(self, extent: tuple[int, int]) -> Layout:
        """The same map in CuTe; UserError where the rows are no whole number of groups."""
        groups = _groups(extent[0], self.interleave)
        return Layout(((self.interleave, groups), extent[1]), ((1, self.ld), self.interleave))


@dataclass(frozen=True, slots=True)
class ColumnMajorInterleaved:
    """Groups of ``interleave`` columns stored row by row: ``(c // I) * ld + r * I + c % I``."""

    interleave: int
    ld: int

    @classmethod
    def packed(cls, extent: tuple[int, int], interleave: int) -> Self:
        return cls(interleave, extent[0] * interleave)

    def __call__(self, row: Any, column: Any) -> Any:
        return column // self.interleave * self.ld + row * self.interleave + column % self.interleave

    def inverse(self, offset: Any) -> tuple[Any, Any]:
        group, rest = offset // self.ld, offset % self.ld
        return rest // self.interleave, group * self.interleave + rest % self.interleave

    def capacity(self, extent: tuple[int, int]) -> int:
        """Elements of storage that ``extent`` needs, whole groups counted."""
        return ceil_div(extent[1], self.interleave) * self.ld

    def to_cute(self, extent: tuple[int, int]) -> Layout:
        """The same map in CuTe; UserError where the columns are no whole number of groups."""
        groups = _groups(extent[1], self.interleave)
        return Layout((extent[0], (self.interleave, groups)), (self.interleave, (1, self.ld)))


@dataclass(frozen=True, slots=True)
class AffineRankN:
    """``offset(coordinate) = sum of coordinate[i] * strides[i]``, any strides."""

    strides: tuple[int, ...]

    def __call__(self, *coordinate: Any) -> Any:
        return sum(c * d for c, d in zip(coordinate, self.strides, strict=True))

    def capacity(self, extent: tuple[int, ...]) -> int:
        """Elements of storage that ``extent`` needs, by its outermost mode."""
        outermost = max(range(len(extent)), key=lambda i: self.strides[i])
        return extent[outermost] * self.strides[outermost]

    def to_cute(self, extent: tuple[int, ...]) -> Layout:
        return Layout(extent, self.strides)


def _groups(extent: int, interleave: int) -> int:
    if extent % interleave:
        raise UserError(f"an interleaved extent must be a multiple of {interleave} to be a CuTe layout", got=extent)
    return extent // interleave
