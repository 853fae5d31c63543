"""Models CUTLASS 2.x's tile iterators: which lanes of a thread map touch what, tile by tile, with predicates at edges.
Leaves out which thread map and layout a kernel takes (gpusim.cute.cutlass2) and pointer code (lowering.iterators)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from gpusim.dsl.context import Context
from gpusim.dsl.launch import BlockCoordinate
from gpusim.dsl.lowering.iterators import PREDICATES_PER_WORD, TilePointer
from gpusim.dsl.moves import split
from gpusim.dsl.pieces import KRange, Pieces, contiguous_mode, widest_alignment
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Instance, Line
from gpusim.dsl.tensors import LINE_BYTES, GmemTensor, SmemArray
from gpusim.dsl.tiled import LANES
from gpusim.errors import UserError
from gpusim.program.access_builder import Access

__all__ = ["GlobalIterator", "KRange", "Pieces", "SharedAccess", "lane_bits", "widest_alignment"]

ALL_LANES = 0xFFFFFFFF


@dataclass(eq=False)
class GlobalIterator:
    """Walks the tiles of a tensor along k (or holds one tile where both modes are block coordinates).

    ``alignment``: elements of an access, where vectors are moved in several; ``k_mode``: the mode that k runs along,
    None for a single tile. Raises UserError where accesses are not aligned.
    """

    ctx: Context
    tensor: GmemTensor
    tile: tuple[int, int]
    coord: tuple[BlockCoordinate | None, BlockCoordinate | None]
    pieces: Pieces
    k: KRange | None = None
    alignment: int = 0  # 0: whole vectors
    offset_bytes: int = 0  # of the tile from where the CTA's base pointer is
    parts: Pieces = field(init=False)  # the accesses
    inside: tuple[int, int] = field(init=False)
    pointer: TilePointer = field(init=False)
    row: int = field(init=False)  # of Program.tensors
    residue: int = field(init=False)  # bytes by which the CTA's base pointer exceeds a line
    through_l1: ClassVar[bool] = False  # copies of 16 bytes, too, leave their sectors there

    def __post_init__(self) -> None:
        self.inside = self._cut()
        self.row, self.residue = self.ctx.mover.row(self.tensor.name), self.ctx.mover.residue(self.tensor.name)
        if self.tensor.strides[self.contiguous] != 1:
            raise UserError("a vector access needs a contiguous mode", place=self.tensor.name, got=self.tensor.strides)
        alignment = self.alignment or self.pieces.elements
        if alignment < 1 or self.pieces.elements % alignment:
            raise UserError(f"the alignment divides a vector of {self.pieces.elements} elements",
                            place=self.tensor.name, got=alignment, suggestion="a power of two")
        self.parts = self.pieces.split(alignment, self.contiguous)
        words = -(-len(self.parts) // PREDICATES_PER_WORD) if self.k is not None else 1
        self.pointer = TilePointer(self.ctx.recorder.registers, words)

    def _cut(self) -> tuple[int, int]:
        """Rows and columns in a tile."""
        return self.ctx.grid.partial_tile(self.tensor, self.tile, self.coord)

    @property
    def contiguous(self) -> int:
        """The mode with stride 1."""
        return contiguous_mode(self.tensor)

    @property
    def k_mode(self) -> int | None:
        return self.coord.index(None) if None in self.coord else None

    @property
    def access_bytes(self) -> int:
        return self.parts.elements * self.tensor.dtype.bits // 8

    @property
    def accesses_per_vector(self) -> int:
        return self.pieces.elements // self.parts.elements

    def parts_of(self, chosen: Sequence[int]) -> list[int]:
        """The accesses of some pieces."""
        return [piece * self.accesses_per_vector + part for piece in chosen for part in range(self.accesses_per_vector)]

    def covers(self, number: int) -> bool:
        """Whether there is a tile ``number``."""
        return self.k is None or 0 <= number < self.k.tiles

    def place(self, number: int) -> tuple[int, int]:
        """(bytes that the op's offset carries, bytes left for the lanes) of tile ``number``."""
        moved = 0
        if self.k is not None and self.k_mode is not None:
            moved = self.tensor.bytes_of(self.k.start(number) * self.tensor.strides[self.k_mode])
        return split(moved + self.residue + self.offset_bytes, LINE_BYTES)

    def lanes(self, number: int) -> np.ndarray:
        """(accesses, threads) which accesses of tile ``number`` lie inside the tensor."""
        inside = list(self.inside)
        if self.k is not None and self.k_mode is not None:
            inside[self.k_mode] = self.k.valid(number)
        self._require_whole_vectors(inside[self.contiguous])
        return (self.parts.rows < inside[0]) & (self.parts.columns < inside[1])

    def offsets(self, left_bytes: int, chosen: Sequence[int]) -> np.ndarray:
        """(accesses, threads) byte offsets of ``chosen`` accesses. Raises UserError where they are not aligned."""
        offsets = left_bytes + self.elements(chosen) * self.tensor.dtype.bits // 8
        if (offsets % self.access_bytes).any():
            raise UserError(f"accesses of {self.access_bytes} bytes need aligned rows", place=self.tensor.name,
                            got=f"a pitch of {self.tensor.bytes_of(max(self.tensor.strides))} bytes",
                            suggestion="a multiple, or a smaller alignment")
        return offsets

    def elements(self, chosen: Sequence[int]) -> np.ndarray:
        """(accesses, threads) where ``chosen`` accesses begin, from the CTA's base pointer."""
        rows, columns = self.element_rows(chosen), self.parts.columns[chosen]
        return rows * self.tensor.strides[0] + columns * self.tensor.strides[1]

    def element_rows(self, chosen: Sequence[int]) -> np.ndarray:
        """(accesses, threads) rows of ``chosen`` accesses from the CTA's base pointer."""
        rows: np.ndarray = self.parts.rows[chosen]
        return rows

    def prepare(self, number: int, chosen: Sequence[int]) -> None:
        """Code in front of an access to some pieces of tile ``number``; none where rows follow each other."""

    def _require_whole_vectors(self, extent: int) -> None:
        if extent % self.parts.elements:
            raise UserError(f"a tensor must end with a whole vector of {self.parts.elements} elements",
                            place=self.tensor.name, got=extent, suggestion="pad the problem, or a smaller alignment")

    def setup(self, others: Sequence[Group] = ()) -> list[Line]:
        """Code before the loop; ``others``: registers with further values that stay."""
        return self.pointer.setup(len(self.parts), others)

    def next_tile(self) -> list[Line]:
        return self.pointer.next_tile(k_major=self.k_major)

    @property
    def k_major(self) -> bool:
        """Whether k runs along the contiguous mode."""
        return self.contiguous == self.k_mode

    def pointer_lines(self, part: int) -> tuple[list[Line], Group, Group]:
        """Lines before an access; its pointer, its predicate."""
        same_row = self.parts.same_row(part, self.contiguous)
        return self.pointer.piece(part, same_row=same_row, is_last_row=self._is_last_row(part))

    def _is_last_row(self, part: int) -> bool:
        """Whether an access begins the last of three or more rows, to which a K-major tile's own pointer moves."""
        rows = [0, *(n for n in range(1, len(self.parts)) if not self.parts.same_row(n, self.contiguous))]
        return self.k_major and len(rows) > 2 and part == rows[-1]

    def store_pointer_lines(self, part: int) -> tuple[list[Line], Group, Group]:
        """The same in an epilogue."""
        return self.pointer.store(part)

    def lines(self, mnemonic: str, chosen: Sequence[int], *, registers: Sequence[Group] = (),
              addresses: Sequence[Group] = (), memory_key: int = -1) -> list[Line]:
        """Predicates, pointers and accesses of some pieces: loads where ``registers`` are given (one group per access),
        cp.async to ``addresses`` (one per piece) where those are."""
        found = []
        for row, part in enumerate(self.parts_of(chosen)):
            before, pointer, predicate = self.pointer_lines(part)
            to = (addresses[row // self.accesses_per_vector],) if addresses else ()
            dst = registers[row] if registers else (0, 0)
            found += [*before, Line(mnemonic, dst, (*to, pointer, predicate), row, memory_key)]
        return found

    def store_lines(self, mnemonic: str, chosen: Sequence[int], data: Sequence[Group]) -> list[Line]:
        """Predicates, pointers and stores of some pieces of an output tile."""
        found = []
        for row, piece in enumerate(chosen):
            before, pointer, predicate = self.store_pointer_lines(piece)
            found += [*before, Line(mnemonic, (0, 0), (pointer, predicate, data[row]), row)]
        self.ctx.mover.outputs.add(self.tensor.name)
        return found

    def access(self, operation: str, number: int, chosen: Sequence[int], *, shared: np.ndarray | None = None,
               zfill: bool = False, label: str = "") -> Instance:
        """What the access of pieces ``chosen`` of tile ``number`` touches. ``shared``: (pieces, threads) byte addresses
        of vectors on the shared side; ``zfill``: lanes outside write zeros there, otherwise they do nothing."""
        moved, left = self.place(number)
        covered = self.covers(number)
        parts = self.parts_of(chosen)
        lanes = self.lanes(number if covered or zfill or self.k is None else self.k.tiles - 1)[parts]
        key = (self, operation, tuple(chosen), left, zfill, lanes.tobytes(), label)
        row = self.ctx.recorder.access_row(key, lambda: self._accesses(operation, left, parts, lanes, shared, zfill,
                                                                      label))
        return Instance(row, 0, moved, active=zfill or (covered and bool(lanes.any())))

    def access_of(self, operation: str, parts: Sequence[int], lanes: np.ndarray, *, label: str,
                  active: bool) -> Instance:
        """The first tile's accesses ``parts`` in (accesses, threads) ``lanes``."""
        moved, left = self.place(0)
        key = (self, operation, tuple(parts), left, lanes.tobytes(), label)
        row = self.ctx.recorder.access_row(
            key, lambda: self._accesses(operation, left, parts, lanes, None, False, label))
        return Instance(row, 0, moved, active=active and bool(lanes.any()))

    def _accesses(self, operation: str, left: int, chosen: Sequence[int], lanes: np.ndarray,
                  shared: np.ndarray | None, zfill: bool, label: str) -> list[Access]:
        offsets = self.offsets(left, list(chosen))
        shared = None if shared is None else self.shared_parts(shared)
        warps, tensor = (-1, LANES), self.row
        mask = np.full(lanes.shape, True) if zfill else lanes
        return [
            Access(operation, label or f"{operation} {self.tensor.name}", self.access_bytes,
                   None if shared is None else shared[row].reshape(warps), offsets[row].reshape(warps), tensor,
                   lane_bits(mask[row]), lane_bits(mask[row] & ~lanes[row]))
            for row in range(len(chosen))
        ]

    def shared_parts(self, vectors: np.ndarray) -> np.ndarray:
        """(accesses, threads) places of (pieces, threads) whole vectors, in bytes: one after another."""
        steps = np.arange(self.accesses_per_vector) * self.access_bytes
        return np.repeat(vectors, len(steps), axis=0) + np.tile(steps, len(vectors))[:, None]


@dataclass(frozen=True, eq=False)
class SharedAccess:
    """Loads or stores of an array in shared memory: (pieces, threads) byte addresses in it, one instruction each."""

    ctx: Context
    array: SmemArray
    addresses: np.ndarray
    operation: str
    bytes_per_lane: int

    def instance(self, offset_bytes: int = 0) -> Instance:
        """Every piece, ``offset_bytes`` (a multiple of 128: a stage) further on."""
        moved, left = split(offset_bytes, LINE_BYTES)
        row = self.ctx.recorder.access_row((self, left), lambda: self._accesses(left))
        return Instance(row, moved)

    def _accesses(self, left: int) -> list[Access]:
        places = (self.addresses + self.array.base_address + left).reshape(len(self.addresses), -1, LANES)
        full, none = np.full(places.shape[1], ALL_LANES, np.uint32), np.zeros(places.shape[1], np.uint32)
        label = f"{self.operation} {self.array.name}"
        return [Access(self.operation, label, self.bytes_per_lane, place, None, -1, full, none) for place in places]


def lane_bits(lanes: np.ndarray) -> np.ndarray:
    """(warps,) masks of (threads,) flags."""
    bits = lanes.reshape(-1, LANES).astype(np.uint32) << np.arange(LANES, dtype=np.uint32)
    return np.bitwise_or.reduce(bits, axis=1)
