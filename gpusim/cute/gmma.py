"""Models the shared-memory layouts that wgmma's matrix descriptors can name: canonical K-major and MN-major tiles.
Leaves out the instruction (gpusim.arch.atoms.warpgroup) and how a tile comes there.

A tile (mn, k) is cut along its contiguous mode into blocks as wide as the swizzle (128, 64, 32 bytes; 16 without); a
block holds all rows of the other mode, one after another, and blocks follow each other. That is CUTLASS's
tile_to_shape of GMMA::Layout_{K,MN}_{SW128,SW64,SW32,INTER}_Atom as its sm90 collectives call it, and what one TMA box
per block brings. PTX ISA, "Matrix-descriptor format" and "Strides".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.cute.presets import SMEM_SWIZZLES
from gpusim.cute.swizzle import Swizzle
from gpusim.errors import UserError, did_you_mean

__all__ = ["GMMA_SPANS", "GmmaDescriptor", "GmmaLayout"]

GMMA_SPANS = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
"""Bytes of a block's row, by swizzle."""
MAJORS = ("K", "MN")
CORE_ROWS = 8
"""Rows of a core matrix; groups of so many rows are what a descriptor's stride counts."""


@dataclass(frozen=True)
class GmmaDescriptor:
    """Where one wgmma finds an operand: ``start`` in bytes, ``stride_bytes`` between groups of 8 rows,
    ``leading_bytes`` between blocks along the contiguous mode. The XOR acts on the bits of the address."""

    start: int
    major: str
    swizzle: str
    stride_bytes: int
    leading_bytes: int

    def addresses(self, mn: Any, k: Any, element_bytes: int) -> Any:
        """Byte addresses of elements; NumPy arrays broadcast."""
        along, row = (k, mn) if self.major == "K" else (mn, k)
        span = GMMA_SPANS[self.swizzle]
        block, inside = np.divmod(along * element_bytes, span)
        plain = (self.start + block * self.leading_bytes + row // CORE_ROWS * self.stride_bytes
                 + row % CORE_ROWS * span + inside)
        return swizzle_of(self.swizzle)(plain)


@dataclass(frozen=True)
class GmmaLayout:
    """An operand tile of ``extent`` (mn, k) elements of ``element_bytes``. Raises UserError where whole blocks of the
    contiguous mode or groups of 8 rows do not make it up."""

    extent: tuple[int, int]
    element_bytes: int
    swizzle: str = "128B"
    major: str = "K"

    def __post_init__(self) -> None:
        if self.swizzle not in GMMA_SPANS:
            raise UserError("wgmma reads four kinds of layout", got=f"swizzle '{self.swizzle}'",
                            suggestion=did_you_mean(self.swizzle, GMMA_SPANS))
        if self.major not in MAJORS:
            raise UserError("an operand of wgmma is K-major or MN-major", got=f"'{self.major}'")
        if self.columns % self.block_columns or self.rows % CORE_ROWS:
            raise UserError(f"a tile swizzled {self.swizzle} has whole blocks of {self.block_columns} elements along "
                            f"its contiguous mode and groups of {CORE_ROWS} rows",
                            got=f"{self.rows} rows of {self.columns} elements",
                            suggestion="a narrower swizzle or a wider tile")

    @property
    def columns(self) -> int:
        """Elements along the contiguous mode."""
        return self.extent[self.major == "K"]

    @property
    def rows(self) -> int:
        return self.extent[self.major == "MN"]

    @property
    def span_bytes(self) -> int:
        return GMMA_SPANS[self.swizzle]

    @property
    def block_columns(self) -> int:
        return self.span_bytes // self.element_bytes

    @property
    def blocks(self) -> int:
        return self.columns // self.block_columns

    @property
    def block_bytes(self) -> int:
        return self.rows * self.span_bytes

    @property
    def size_bytes(self) -> int:
        return self.blocks * self.block_bytes

    @property
    def alignment_bytes(self) -> int:
        """Of its start: the period of the XOR."""
        return max(128, CORE_ROWS * self.span_bytes)

    def descriptor(self, mn: int, k: int, base: int = 0) -> GmmaDescriptor:
        """Of the part of a tile at ``base`` that begins at (mn, k)."""
        along, row = (k, mn) if self.major == "K" else (mn, k)
        block, column = divmod(along, self.block_columns)
        if row % CORE_ROWS or (self.major == "MN" and column):
            raise UserError("a descriptor starts at a group of 8 rows, and MN-major at a block", got=(mn, k))
        start = base + block * self.block_bytes + row * self.span_bytes + column * self.element_bytes
        return GmmaDescriptor(start, self.major, self.swizzle, CORE_ROWS * self.span_bytes, self.block_bytes)


def swizzle_of(text: str) -> Swizzle:
    return SMEM_SWIZZLES[text] or Swizzle(0, 4, 3)
