"""Models the tensors a kernel names: arrays in global memory, tiles of them, staged tiles in shared memory, fragments.
Leaves out data (gpusim.verify) and what an access to them costs (gpusim.memory)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Integral
from types import EllipsisType
from typing import ClassVar

import numpy as np

from gpusim.cute import Swizzle
from gpusim.dsl.dtypes import DType
from gpusim.dsl.tiled import TiledMma
from gpusim.errors import UserError

__all__ = ["Fragment", "GmemTensor", "SmemArray", "SmemTensor", "Tile", "tensor"]

LINE_BYTES = 128
"""Op offsets are multiples of it; what is left of an address stands in the lane addresses."""


@dataclass(frozen=True)
class GmemTensor:
    """An array in global memory, as the launch names it, or a view of it. Strides in elements.

    ``values``: contents that a kernel's addresses depend on, such as indices, known when it is recorded. Of a view:
    ``offset`` of its first element, ``batch_stride`` between the matrices of two batches, ``index`` (rows, 1): the rows
    that a kernel takes instead of 0, 1, 2 ...
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    values: np.ndarray | None = field(default=None, compare=False)
    offset: int = 0
    batch_stride: int = 0
    scratch: bool = False  # neither input nor output: a kernel's partial sums, its flags
    index: GmemTensor | None = None

    @property
    def size_bytes(self) -> int:
        return self.bytes_of(1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)))

    def bytes_of(self, elements: int) -> int:
        """Bytes of so many neighbouring elements, rounded up to whole ones."""
        return -(-elements * self.dtype.bits // 8)

    def batch(self) -> GmemTensor:
        """The matrix of a CTA's batch, of a tensor (batches, rows, columns)."""
        return replace(self, shape=self.shape[1:], strides=self.strides[1:], batch_stride=self.strides[0])

    def indexed(self, index: GmemTensor | None) -> GmemTensor:
        """Rows in the order of an index tensor (gathered, scattered)."""
        return replace(self, index=index)

    def view(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> GmemTensor:
        """Elements from ``offset`` on in another shape."""
        return replace(self, shape=shape, strides=strides, offset=offset)


def tensor(name: str, dtype: DType, shape: tuple[int, ...], *, order: str = "row",
           strides: tuple[int, ...] | None = None, values: np.ndarray | None = None,
           scratch: bool = False) -> GmemTensor:
    """A tensor in global memory: ``order`` "row" (last mode contiguous) or "column" (first mode contiguous), dense, or
    with ``strides`` in elements. ``values``: contents known when a kernel is recorded (indices, sizes); ``scratch``:
    neither input nor output, zero at the start."""
    if order not in ("row", "column"):
        raise UserError("a tensor is stored by row or by column", place=f"tensor {name}", got=f"order='{order}'",
                        suggestion="order='row' or order='column'")
    if not shape or any(not isinstance(n, Integral) or n < 1 for n in shape):
        raise UserError("a shape holds positive integers", place=f"tensor {name}", got=shape)
    shape = tuple(int(n) for n in shape)  # of NumPy's, too
    if strides is None:
        extents = shape[:0:-1] if order == "row" else shape[:-1]
        strides = tuple(math.prod(extents[:n]) for n in range(len(shape)))
        strides = strides[::-1] if order == "row" else strides
    return GmemTensor(name, dtype, shape, strides, values, scratch=scratch)


@dataclass(frozen=True)
class SmemTensor:
    """A staged tile in shared memory: (rows, columns, stages), columns contiguous, swizzled on byte offsets."""

    name: str
    dtype: DType
    shape: tuple[int, int, int]
    row_bytes: int  # pitch
    swizzle: Swizzle
    base_address: int  # from the CTA's shared-memory base

    @property
    def stage_bytes(self) -> int:
        return self.shape[0] * self.row_bytes

    @property
    def size_bytes(self) -> int:
        return self.stage_bytes * self.shape[2]

    @property
    def period_bytes(self) -> int:
        """Moving an address by this much changes neither its swizzle nor its bank."""
        return math.lcm(LINE_BYTES, self.swizzle.size())

    def tile(self) -> Tile:
        modes = ((self.shape[2], self.stage_bytes),)
        return Tile(self, self.dtype, self.shape[:2], (self.row_bytes, self.dtype.bytes), modes)

    def __getitem__(self, index: tuple[EllipsisType | slice | int, ...]) -> Tile:
        return self.tile()[index]

    def addresses(self, byte_offsets: np.ndarray) -> np.ndarray:
        """Byte addresses from the CTA's shared-memory base of unswizzled byte offsets in the tensor."""
        return self.base_address + np.asarray(self.swizzle(byte_offsets))


@dataclass(frozen=True)
class SmemArray:
    """Elements in shared memory whose order a layout of gpusim.cute gives; ``number`` among the CTA's tensors."""

    name: str
    dtype: DType
    elements: int
    base_address: int  # from the CTA's shared-memory base
    number: int
    period_bytes: ClassVar[int] = LINE_BYTES

    @property
    def size_bytes(self) -> int:
        return self.elements * self.dtype.bits // 8


@dataclass(frozen=True)
class Tile:
    """A (rows, columns) tile of a tensor, and the modes that are still to be indexed; strides in bytes.

    ``tile[..., k]`` fixes the last modes, as CuTe's slicing does. Indexing out of range is allowed, copying is not.
    """

    of: GmemTensor | SmemTensor
    dtype: DType
    shape: tuple[int, int]
    strides: tuple[int, int]
    modes: tuple[tuple[int, int], ...]  # (extent, stride in bytes)
    offset: int = 0  # bytes
    outside: str = ""  # the index that is out of range
    inside: tuple[int, int] | None = None  # rows and columns the tensor has from the origin on; None: no predicates
    spans: tuple[tuple[int, int], ...] = ()  # with ``inside``: rows and columns that a step of each mode goes on

    def __getitem__(self, index: tuple[EllipsisType | slice | int, ...] | int) -> Tile:
        given = index if isinstance(index, tuple) else (index,)
        items = tuple(i for i in given if i is not Ellipsis and i != slice(None))
        if len(items) != len(self.modes):
            raise UserError(f"tile of {self.of.name} needs {len(self.modes)} index(es) after its rows and columns",
                            got=len(items), suggestion=f"{self.of.name}[..., i]")
        offset, outside = self.offset, self.outside
        for item, (extent, stride) in zip(items, self.modes, strict=True):
            if not isinstance(item, int):
                raise UserError("a mode of a tile is indexed with an integer", place=self.of.name, got=repr(item))
            offset += item * stride
            if not 0 <= item < extent:
                outside = f"index {item} of a mode of {extent}"
        return replace(self, modes=(), offset=offset, outside=outside, inside=self._inside_at(items), spans=())

    def _inside_at(self, items: tuple[object, ...]) -> tuple[int, int] | None:
        """What the tensor has of the tile that some indices choose."""
        if self.inside is None:
            return None
        left = [have - sum(int(item) * span[axis] for item, span in zip(items, self.spans, strict=True))  # type: ignore[call-overload]
                for axis, have in enumerate(self.inside)]
        return max(0, min(left[0], self.shape[0])), max(0, min(left[1], self.shape[1]))

    def blocks(self, columns: int) -> Tile:
        """The tile cut into column blocks (an extra first mode): ``tile.blocks(16)[..., k_block, stage]``."""
        if columns < 1 or self.shape[1] % columns:
            raise UserError("column blocks must divide the tile's columns", place=self.of.name,
                            got=f"{self.shape[1]} columns in blocks of {columns}")
        mode = (self.shape[1] // columns, columns * self.strides[1])
        return replace(self, shape=(self.shape[0], columns), modes=(mode, *self.modes), spans=self._spans((0, columns)))

    def divide(self, shape: tuple[int, int]) -> Tile:
        """The tile cut into smaller ones, two extra first modes: ``tile.divide(s)[..., i, j]`` (zipped_divide)."""
        if any(n < 1 or extent % n for n, extent in zip(shape, self.shape, strict=True)):
            raise UserError("smaller tiles must divide the tile", place=self.of.name, got=f"{self.shape} by {shape}")
        steps = zip(self.shape, shape, self.strides, strict=True)
        modes = tuple((extent // n, n * stride) for extent, n, stride in steps)
        return replace(self, shape=shape, modes=(*modes, *self.modes), spans=self._spans((shape[0], 0), (0, shape[1])))

    def _spans(self, *first: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        """With further modes in front; only a partial tile keeps them."""
        return (*first, *self.spans) if self.inside else ()

    def transposed(self) -> Tile:
        """Rows as columns."""
        inside, spans = self.inside and self.inside[::-1], tuple(span[::-1] for span in self.spans)
        return replace(self, shape=self.shape[::-1], strides=self.strides[::-1], inside=inside, spans=spans)

    def byte_offsets(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Byte offsets of elements from the tile's origin (without ``offset``)."""
        return rows * self.strides[0] + columns * self.strides[1]


@dataclass(frozen=True)
class Fragment:
    """Registers of one warp that hold its share of a tile: ``tiles`` groups of ``registers`` each, numbers virtual.

    ``buffers`` copies of it may exist; ``fragment[b]`` is one of them.
    """

    name: str
    dtype: DType
    operand: str  # "A", "B", "C"
    mma: TiledMma
    starts: tuple[tuple[int, ...], ...]  # first register of each group, per buffer
    registers: int  # per group

    def __getitem__(self, buffer: int) -> Fragment:
        if not 0 <= buffer < len(self.starts):
            raise UserError("no such register buffer", place=self.name, got=buffer,
                            suggestion=f"buffers: 0..{len(self.starts) - 1}")
        return replace(self, starts=(self.starts[buffer],))

    @property
    def groups(self) -> tuple[int, ...]:
        """First registers of the groups of a fragment with one buffer."""
        if len(self.starts) != 1:
            raise UserError("choose one of the fragment's buffers", place=self.name, got=f"{len(self.starts)} buffers",
                            suggestion=f"{self.name}[0]")
        return self.starts[0]
