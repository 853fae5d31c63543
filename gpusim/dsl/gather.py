"""Models CUTLASS 2.x's iterators with Gather or ScatterD: the rows of a tensor are found through an index tensor.
Leaves out gathered columns, and permutations of a layout.

Every row of a tile is somewhere else, so a tile along m is a class of CTAs of its own (``own_tiles``). The index of a
row is loaded again for every tile along k, as ptxas leaves it (CUTLASS 4.2, sm_90a: +34 instructions in a main loop
with 4 pieces of a gathered operand).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.dsl.context import Context
from gpusim.dsl.iterators import GlobalIterator, KRange, Pieces
from gpusim.dsl.launch import BlockCoordinate
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Line
from gpusim.dsl.tensors import GmemTensor
from gpusim.errors import UserError

__all__ = ["IndexedIterator", "global_iterator"]

INDEX_BYTES = 4
ROW_POINTER = ("SHF.R.S32.HI", "IMAD", "IMAD", "IMAD.IADD")
"""High half of index x pitch; with LDC.64 of the pitch, IMAD.WIDE.U32, CS2R (the pointer of rows outside), LEA and
LEA.HI.X it is the 9 instructions of a gathered row."""


@dataclass(eq=False)
class IndexedIterator(GlobalIterator):
    """A GlobalIterator over the rows that ``tensor.index`` names. Raises UserError where rows are contiguous."""

    loads: GlobalIterator = field(init=False)  # of the indices
    indices: dict[int, Group] = field(init=False)  # per access: the register with its row, shared by neighbours
    _address: Group = field(init=False)
    _pointers: dict[int, Group] = field(default_factory=dict)  # per access, of its row

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.tensor.index is not None
        if self.contiguous == 0:
            raise UserError("rows are gathered and scattered where columns are contiguous", place=self.tensor.name,
                            got=f"strides {self.tensor.strides}", suggestion="another layout")
        rows = Pieces(self.parts.rows, np.zeros_like(self.parts.rows), 1)
        self.loads = GlobalIterator(self.ctx, self.tensor.index, (self.tile[0], 1), (self.coord[0], None), rows)
        registers = self.ctx.recorder.registers
        self._address, self.indices = registers.vector(2), {}
        for part in range(len(self.parts)):
            new = part == 0 or not np.array_equal(self.parts.rows[part], self.parts.rows[part - 1])
            self.indices[part] = registers.vector() if new else self.indices[part - 1]

    def _cut(self) -> tuple[int, int]:
        """Rows through the index, columns as in any tensor."""
        grid, (place, columns) = self.ctx.grid, self.coord
        assert self.tensor.index is not None and place is not None
        inside = grid.extent(self.tensor.index, self.tensor.index.shape[0], self.tile[0], place)
        return inside, grid.partial_tile(self.tensor, self.tile, (None, columns))[1]

    def element_rows(self, chosen: Sequence[int]) -> np.ndarray:
        """(accesses, threads) rows of the tensor; those outside the index are its last one."""
        assert self.tensor.index is not None and self.tensor.index.values is not None
        values = self.tensor.index.values.reshape(-1).astype(np.int64)
        first = self.ctx.visit.tile[0] * self.tile[0]
        rows: np.ndarray = values[np.minimum(first + self.parts.rows[chosen], len(values) - 1)]
        return rows

    def prepare(self, number: int, chosen: Sequence[int]) -> None:
        """Load the indices of some pieces of tile ``number``, in lanes that are inside."""
        parts = self.parts_of(chosen)
        before = [None, *parts]
        first = [part for part, last in zip(parts, before, strict=False)
                 if last is None or self.indices[part] != self.indices[last]]
        lanes = self.lanes(number if self.covers(number) else 0)[first]
        label = f"ld.global {self.loads.tensor.name}"
        instance = self.loads.access_of(f"LDG{8 * INDEX_BYTES}", first, lanes, label=label, active=self.covers(number))
        self.ctx.code([Line("LDG.E", self.indices[part], (self._address,), row) for row, part in enumerate(first)],
                      instance)

    def setup(self, others: Sequence[Group] = ()) -> list[Line]:
        return super().setup([*others, (self._address[0], 1), (self._address[0] + 1, 1)])

    def pointer_lines(self, part: int) -> tuple[list[Line], Group, Group]:
        """The predicate of an access, and the pointer of its row."""
        before, _, predicate = self.pointer.piece(part, same_row=True)
        pointer = self._row_pointer(part, before, predicate)
        return before, pointer, predicate

    def store_pointer_lines(self, part: int) -> tuple[list[Line], Group, Group]:
        before, _, predicate = self.pointer.store(0)
        pointer = self._row_pointer(part, before, predicate)
        return before, pointer, predicate

    def _row_pointer(self, part: int, lines: list[Line], predicate: Group) -> Group:
        """Base + index * pitch, one after another; neighbours in a row share it."""
        registers, index = self.ctx.recorder.registers, self.indices[part]
        if part and index == self.indices[part - 1] and part - 1 in self._pointers:
            self._pointers[part] = self._pointers[part - 1]
            return self._pointers[part]
        pitch, wide, pair = registers.vector(2), registers.vector(2), registers.vector(2)
        low, high = (pair[0], 1), (pair[0] + 1, 1)
        lines += [Line("LDC.64", pitch), Line("IMAD.WIDE.U32", wide, (index, pitch))]
        source = index
        for mnemonic in ROW_POINTER:
            lines.append(Line(mnemonic, registers.vector(), (source,)))
            source = lines[-1].dst
        lines += [Line("CS2R", pair), Line("LEA", low, ((wide[0], 1), (self.pointer.pointer[0], 1), predicate)),
                  Line("LEA.HI.X", high, (source, (self.pointer.pointer[0] + 1, 1), low))]
        self._pointers[part] = pair
        return pair


def global_iterator(ctx: Context, tensor: GmemTensor, tile: tuple[int, int],
                    coord: tuple[BlockCoordinate | None, BlockCoordinate | None], pieces: Pieces,
                    k: KRange | None = None, alignment: int = 0) -> GlobalIterator:
    """The iterator over a tensor, by its index where it has one."""
    kind = GlobalIterator if tensor.index is None else IndexedIterator
    return kind(ctx, tensor, tile, coord, pieces, k, alignment)
