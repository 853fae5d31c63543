"""Models what a thread owns of a tile under a tiled copy, instruction by instruction, as CuTe's partition_S/D/retile.
Leaves out the instructions that move it (gpusim.dsl.thread_copies) and what they cost (gpusim.memory)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import EllipsisType

import numpy as np

from gpusim.arch.atoms import CopyAtom
from gpusim.cute import Layout, size
from gpusim.cute.tiled_copy import TiledCopy as CuteTiledCopy
from gpusim.dsl.partition import copy_pieces, inside, require_aligned
from gpusim.dsl.registers import Group
from gpusim.dsl.tensors import Fragment, SmemTensor, Tile
from gpusim.dsl.tiled import TiledCopy
from gpusim.errors import UserError

__all__ = ["AnyTiledCopy", "Partition", "ThreadFragment", "atom_of", "retile", "thread_places"]

AnyTiledCopy = TiledCopy | CuteTiledCopy
MATRIX = ("LDSM", "STSM")


@dataclass(frozen=True)
class ThreadFragment:
    """Registers of a thread for its part of a tile: one group per instruction, in the order of the partition."""

    groups: tuple[Group, ...]

    @classmethod
    def of(cls, fragment: Fragment) -> ThreadFragment:
        """The registers of an A or B fragment of an MMA, in the order in which a tiled copy brings them."""
        if fragment.operand == "C":
            raise UserError("accumulators are regrouped for a copy first", place=fragment.name,
                            suggestion="gs.retile(copy, accumulators)")
        return cls(tuple((start, fragment.registers) for start in fragment.groups))


@dataclass(frozen=True, eq=False)
class Addresses:
    """Registers that say where a thread's part begins. In shared memory one per pattern of addresses over the threads,
    for immediates reach the others; in global memory a 64-bit pointer, and for a partial tile the bounds."""

    pointer: Group
    bounds: Group
    patterns: dict[bytes, Group] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Partition:
    """(pieces, threads) row and column of the first of ``elements`` neighbours that an instruction moves.

    ``partition[..., k]`` fixes the tile's last modes.
    """

    copy: AnyTiledCopy
    tile: Tile
    rows: np.ndarray
    columns: np.ndarray
    elements: int
    addresses: Addresses
    moves: bool  # the tile has modes, which an index fixes

    def __len__(self) -> int:
        """Instructions of a thread."""
        return len(self.rows)

    def __getitem__(self, index: tuple[EllipsisType | slice | int, ...] | int) -> Partition:
        return replace(self, tile=self.tile[index])

    @property
    def atom(self) -> CopyAtom:
        return atom_of(self.copy)

    @property
    def in_shared(self) -> bool:
        return isinstance(self.tile.of, SmemTensor)

    @property
    def width_bytes(self) -> int:
        """Bytes from one address on."""
        return self.elements * self.tile.dtype.bits // 8

    @property
    def inside(self) -> np.ndarray:
        """(pieces, threads) what lies in the tensor. Raises UserError for a vector that straddles its end."""
        return inside(self.tile, self.rows, self.columns, self.elements)

    @property
    def by_row(self) -> bool:
        """Whether neighbours of a row are neighbours in memory."""
        return self.tile.strides[1] == self.tile.dtype.bytes

    def bytes_at(self, left: int) -> np.ndarray:
        """(pieces, threads) byte addresses in shared memory, or offsets in global memory, ``left`` bytes on."""
        offsets = left + self.tile.byte_offsets(self.rows, self.columns)
        tensor = self.tile.of
        found = tensor.addresses(offsets) if isinstance(tensor, SmemTensor) else offsets
        require_aligned(found, self.width_bytes, tensor, self.atom.name)
        return found

    def same_row(self, piece: int) -> bool:
        """Whether a piece differs from the one before by a constant number of contiguous elements."""
        along = self.rows if self.by_row else self.columns
        return piece > 0 and np.array_equal(along[piece], along[piece - 1])


def atom_of(copy: AnyTiledCopy) -> CopyAtom:
    """The instruction of a tiled copy; CuTe's algebra knows its layouts only."""
    assert isinstance(copy.atom, CopyAtom)
    return copy.atom


def thread_places(copy: AnyTiledCopy, tile: Tile) -> tuple[np.ndarray, np.ndarray, int]:
    """(pieces, threads) row and column of what each instruction of a tiled copy addresses, and its elements.

    Raises UserError where the copy does not tile the shape, or its values are no neighbours in memory.
    """
    return _grid_places(copy, tile) if isinstance(copy, TiledCopy) else _tv_places(copy, tile)


def _grid_places(copy: TiledCopy, tile: Tile) -> tuple[np.ndarray, np.ndarray, int]:
    elements = int(copy.val_layout.size())
    if any(kind in copy.atom.operation for kind in MATRIX):
        raise UserError("ldmatrix and stmatrix move the fragments of an MMA", got=copy.atom.name,
                        suggestion="gs.tiled_copy_A, _B or _C")
    if elements * tile.dtype.bits != copy.atom.bits_per_thread:
        raise UserError("the values of a tiled copy must fill its atom", got=f"{elements} of {tile.dtype}",
                        suggestion=f"a value layout of {copy.atom.bits_per_thread // tile.dtype.bits} elements")
    along = 0 if int(copy.val_layout[0].size()) > 1 else 1
    _require_neighbours(tile, np.arange(elements) * tile.strides[along])
    return *copy_pieces(copy, tile.shape), elements


def _tv_places(copy: CuteTiledCopy, tile: Tile) -> tuple[np.ndarray, np.ndarray, int]:
    side = "dst" if atom_of(copy).source == "register" else "src"
    elements = size(copy.atom_layout(side)[1])
    index = copy.tv_offsets(side, Layout(tile.shape))  # (threads, values, rest of rows, rest of columns)
    pieces = index.transpose(3, 2, 1, 0).reshape(-1, elements, len(index))
    rows, columns = pieces % tile.shape[0], pieces // tile.shape[0]
    offsets = tile.byte_offsets(rows, columns)
    _require_neighbours(tile, (offsets - offsets[:, :1]).transpose(0, 2, 1))
    return rows[:, 0], columns[:, 0], elements


def _require_neighbours(tile: Tile, offsets: np.ndarray) -> None:
    """``offsets``: (..., elements) bytes from the first."""
    if (offsets * 8 != np.arange(offsets.shape[-1]) * tile.dtype.bits).any():
        raise UserError("what one instruction moves for a thread must be neighbours in memory", place=tile.of.name,
                        got=f"strides of {tile.strides} bytes", suggestion="values along the contiguous mode")


def retile(copy: CuteTiledCopy, fragment: Fragment) -> tuple[ThreadFragment, ...]:
    """An MMA fragment regrouped for ``copy``: the registers of each of its tiles, along m first (CuTe's retile)."""
    mma, registers = fragment.mma, fragment.registers
    (rows, columns), values = mma.atoms, registers * 32 // fragment.dtype.bits
    whole = copy.retile(Layout((values, rows, columns), (1, columns * values, values)))
    places = (whole.offset + whole.layout.offsets()).reshape(size(whole.layout[0]), -1, order="F")
    step, words = copy.values_per_instruction, copy.values_per_instruction * fragment.dtype.bits // 32
    flat = np.add.outer(fragment.groups, np.arange(registers)).reshape(-1)
    first = flat[places[::step] * fragment.dtype.bits // 32]  # (instructions, tiles)
    return tuple(ThreadFragment(tuple((int(register), words) for register in tile)) for tile in first.T)
