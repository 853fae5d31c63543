"""Models CUTLASS 2.x's tile iterators: which lanes of a thread map touch what, tile by tile, with predicates at edges.
Leaves out which thread map and layout a kernel takes (gpusim.cute.cutlass2) and pointer code (lowering.iterators)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.dsl.context import Context
from gpusim.dsl.launch import BlockCoordinate
from gpusim.dsl.lowering.iterators import TilePointer
from gpusim.dsl.moves import split
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Code, Instance, Line
from gpusim.dsl.tensors import LINE_BYTES, GmemTensor, SmemArray
from gpusim.dsl.tiled import LANES
from gpusim.errors import UserError
from gpusim.program.access_builder import Access

__all__ = ["GlobalIterator", "KRange", "Pieces", "SharedAccess", "lane_bits"]

ALL_LANES = 0xFFFFFFFF


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


@dataclass(eq=False)
class GlobalIterator:
    """Walks the tiles of a tensor along k (or holds one tile where both modes are block coordinates).

    ``k_mode``: the mode that k runs along, None for a single tile. Raises UserError where vectors are not aligned.
    """

    ctx: Context
    tensor: GmemTensor
    tile: tuple[int, int]
    coord: tuple[BlockCoordinate | None, BlockCoordinate | None]
    pieces: Pieces
    k: KRange | None = None
    inside: tuple[int, int] = field(init=False)
    pointer: TilePointer = field(init=False)
    _codes: dict[object, Code] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inside = self.ctx.grid.partial_tile(self.tensor, self.tile, self.coord)
        self.pointer = TilePointer(self.ctx.recorder.registers)
        if self.tensor.strides[self.contiguous] != 1:
            raise UserError("a vector access needs a contiguous mode", place=self.tensor.name, got=self.tensor.strides)

    @property
    def contiguous(self) -> int:
        """The mode with stride 1."""
        return min((0, 1), key=lambda mode: self.tensor.strides[mode])

    @property
    def k_mode(self) -> int | None:
        return self.coord.index(None) if None in self.coord else None

    @property
    def access_bytes(self) -> int:
        return self.pieces.elements * self.tensor.dtype.bits // 8

    def covers(self, number: int) -> bool:
        """Whether there is a tile ``number``."""
        return self.k is None or 0 <= number < self.k.tiles

    def place(self, number: int) -> tuple[int, int]:
        """(bytes that the op's offset carries, bytes left for the lanes) of tile ``number``."""
        moved = 0
        if self.k is not None and self.k_mode is not None:
            moved = self.k.start(number) * self.tensor.strides[self.k_mode] * self.tensor.dtype.bytes
        return split(moved + self.ctx.mover.residues[self.tensor.name], LINE_BYTES)

    def lanes(self, number: int) -> np.ndarray:
        """(pieces, threads) which vectors of tile ``number`` lie inside the tensor."""
        inside = list(self.inside)
        if self.k is not None and self.k_mode is not None:
            inside[self.k_mode] = self.k.valid(number)
        self._require_whole_vectors(inside[self.contiguous])
        return (self.pieces.rows < inside[0]) & (self.pieces.columns < inside[1])

    def offsets(self, left_bytes: int, chosen: Sequence[int]) -> np.ndarray:
        """(pieces, threads) byte offsets. Raises UserError for vectors that straddle their alignment."""
        rows, columns = self.pieces.rows[chosen], self.pieces.columns[chosen]
        step = self.tensor.dtype.bytes
        offsets = left_bytes + (rows * self.tensor.strides[0] + columns * self.tensor.strides[1]) * step
        if (offsets % self.access_bytes).any():
            raise UserError(f"accesses of {self.access_bytes} bytes need aligned rows", place=self.tensor.name,
                            got=f"a pitch of {max(self.tensor.strides) * step} bytes",
                            suggestion="a multiple, or a smaller alignment")
        return offsets

    def _require_whole_vectors(self, extent: int) -> None:
        if extent % self.pieces.elements:
            raise UserError(f"a tensor must end with a whole vector of {self.pieces.elements} elements",
                            place=self.tensor.name, got=extent, suggestion="pad the problem")

    def setup(self, others: Sequence[Group] = ()) -> list[Line]:
        """Code before the loop; ``others``: registers with further values that stay."""
        return self.pointer.setup(len(self.pieces), others)

    def next_tile(self) -> list[Line]:
        return self.pointer.next_tile()

    def lines(self, mnemonic: str, chosen: Sequence[int], *, registers: Sequence[Group] = (),
              addresses: Sequence[Group] = (), memory_key: int = -1) -> list[Line]:
        """Predicates, pointers and accesses of some pieces: loads where ``registers`` are given, cp.async to
        ``addresses`` (one per piece) where those are."""
        found = []
        for row, piece in enumerate(chosen):
            before, pointer, predicate = self.pointer.piece(
                piece, same_row=self.pieces.same_row(piece, self.contiguous))
            to = (addresses[row],) if addresses else ()
            dst = registers[row] if registers else (0, 0)
            found += [*before, Line(mnemonic, dst, (*to, pointer, predicate), row, memory_key)]
        return found

    def store_lines(self, mnemonic: str, chosen: Sequence[int], data: Sequence[Group]) -> list[Line]:
        """Predicates, pointers and stores of some pieces of an output tile."""
        found = []
        for row, piece in enumerate(chosen):
            before, pointer, predicate = self.pointer.store(piece)
            found += [*before, Line(mnemonic, (0, 0), (pointer, predicate, data[row]), row)]
        self.ctx.mover.outputs.add(self.tensor.name)
        return found

    def cached(self, key: object, lines: list[Line] | None = None) -> Code | None:
        """The same code, with the same registers, each time it is executed."""
        if lines is not None:
            self._codes[key] = Code(tuple(lines))
        return self._codes.get(key)

    def access(self, operation: str, number: int, chosen: Sequence[int], *, shared: np.ndarray | None = None,
               zfill: bool = False, label: str = "") -> Instance:
        """What the access of pieces ``chosen`` of tile ``number`` touches. ``shared``: (pieces, threads) byte addresses
        on the shared side; ``zfill``: lanes outside write zeros there, otherwise they do nothing."""
        moved, left = self.place(number)
        covered = self.covers(number)
        lanes = self.lanes(number if covered or zfill or self.k is None else self.k.tiles - 1)[list(chosen)]
        key = (self, operation, tuple(chosen), left, zfill, lanes.tobytes(), label)
        row = self.ctx.recorder.access_row(key, lambda: self._accesses(operation, left, chosen, lanes, shared, zfill,
                                                                      label))
        return Instance(row, 0, moved, active=zfill or (covered and bool(lanes.any())))

    def _accesses(self, operation: str, left: int, chosen: Sequence[int], lanes: np.ndarray,
                  shared: np.ndarray | None, zfill: bool, label: str) -> list[Access]:
        offsets = self.offsets(left, list(chosen))
        warps, tensor = (-1, LANES), self.ctx.mover.tensor_rows[self.tensor.name]
        mask = np.full(lanes.shape, True) if zfill else lanes
        return [
            Access(operation, label or f"{operation} {self.tensor.name}", self.access_bytes,
                   None if shared is None else shared[row].reshape(warps), offsets[row].reshape(warps), tensor,
                   lane_bits(mask[row]), lane_bits(mask[row] & ~lanes[row]))
            for row in range(len(chosen))
        ]


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
