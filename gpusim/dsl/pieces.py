"""Models what an iterator walks over: a range of k in tiles, the vectors of a thread map, how wide an access may be.
Leaves out where they lie in memory and the code that moves them (gpusim.dsl.iterators)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gpusim.dsl.tensors import GmemTensor

__all__ = ["KRange", "Pieces", "contiguous_mode", "widest_alignment"]


@dataclass(frozen=True)
class KRange:
    """Elements [begin, end) of k in tiles of ``tile``; the one that is not whole comes first, as CUTLASS has it."""

    begin: int
    end: int
    tile: int

    @property
    def tiles(self) -> int:
        return max(0, -(-(self.end - self.begin) // self.tile))

    @property
    def residue(self) -> int:
        """Elements of the first tile."""
        return (self.end - self.begin) % self.tile or self.tile

    def start(self, number: int) -> int:
        """First element of tile ``number``; behind the last tile, that of the last one."""
        number = max(0, min(number, self.tiles - 1))
        return self.begin + (self.residue + (number - 1) * self.tile if number else 0)

    def valid(self, number: int) -> int:
        """Elements of tile ``number``; none behind the last."""
        return (self.tile if number else self.residue) if 0 <= number < self.tiles else 0


@dataclass(frozen=True, eq=False)
class Pieces:
    """(pieces, threads) row and column of the first of ``elements`` contiguous elements that a thread moves at once."""

    rows: np.ndarray
    columns: np.ndarray
    elements: int

    def __len__(self) -> int:
        return len(self.rows)

    def same_row(self, piece: int, mode: int) -> bool:
        """Whether a piece differs from the one before along the contiguous ``mode`` only."""
        places = self.columns if mode == 0 else self.rows
        return piece > 0 and np.array_equal(places[piece], places[piece - 1])

    def split(self, elements: int, mode: int) -> Pieces:
        """Every vector in accesses of ``elements`` along the contiguous ``mode``, one after another."""
        parts = self.elements // elements
        steps = np.tile(np.arange(parts) * elements, len(self))[:, None]
        rows, columns = np.repeat(self.rows, parts, axis=0), np.repeat(self.columns, parts, axis=0)
        return Pieces(rows + steps * (mode == 0), columns + steps * (mode == 1), elements)


def contiguous_mode(tensor: GmemTensor) -> int:
    """The mode with the smaller stride; columns where they are equal, as operands see a matrix of one column."""
    return int(tensor.strides[1] <= tensor.strides[0])


def widest_alignment(tensor: GmemTensor, elements: int) -> int:
    """The largest power of two, at most ``elements``, that divides a tensor's contiguous extent and all its pitches."""
    contiguous = contiguous_mode(tensor)
    return math.gcd(elements, tensor.shape[contiguous], tensor.strides[1 - contiguous], tensor.batch_stride,
                    tensor.offset)
