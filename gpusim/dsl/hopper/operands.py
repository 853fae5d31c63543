"""Models staged tiles in shared memory as TMA fills and wgmma reads them, and tiles of tensors as TMA boxes.
Leaves out the copies (gpusim.dsl.hopper.bulk) and the instruction (gpusim.dsl.hopper.mma)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import EllipsisType

from gpusim.cute.gmma import GmmaLayout
from gpusim.dsl.dtypes import DType
from gpusim.dsl.tensors import GmemTensor
from gpusim.errors import UserError

__all__ = ["Box", "BulkTile", "OperandTile", "SmemOperand"]

MOST_BOX_ROWS = 256
"""Elements of a box along a mode. PTX ISA, tensors."""
Index = tuple[EllipsisType | int, ...]


@dataclass(frozen=True)
class Box:
    """What one bulk copy moves: elements from ``origin`` of a tile on, and where in shared memory they lie."""

    origin: tuple[int, int]
    shape: tuple[int, int]
    shared_byte: int


@dataclass(frozen=True)
class SmemOperand:
    """``stages`` tiles (rows, columns); rows are m or n of an operand, columns its k, whatever ``layout.major`` is."""

    name: str
    dtype: DType
    layout: GmmaLayout
    stages: int
    base_address: int  # from the CTA's shared-memory base

    @property
    def stage_bytes(self) -> int:
        return self.layout.size_bytes

    @property
    def size_bytes(self) -> int:
        return self.stage_bytes * self.stages

    @property
    def period_bytes(self) -> int:
        return self.layout.alignment_bytes

    def __getitem__(self, index: Index) -> OperandTile:
        stage = index[-1]
        if not isinstance(stage, int) or not 0 <= stage < self.stages:
            raise UserError(f"{self.name} has the stages 0 to {self.stages - 1}", got=stage,
                            suggestion=f"{self.name}[..., 0]")
        return OperandTile(self, stage)


@dataclass(frozen=True)
class OperandTile:
    """One stage."""

    of: SmemOperand
    stage: int

    @property
    def base_address(self) -> int:
        return self.of.base_address + self.stage * self.of.stage_bytes

    def boxes(self, part: int = 0, parts: int = 1) -> Iterator[Box]:
        """Boxes of the first stage: a block each, of at most MOST_BOX_ROWS rows; of those one of several ``parts``,
        as CuTe's tma_partition cuts a tile among the CTAs that share it. Raises UserError where they are not whole."""
        layout = self.of.layout
        for block in range(layout.blocks):
            for first in range(0, layout.rows, MOST_BOX_ROWS):
                rows, column = min(MOST_BOX_ROWS, layout.rows - first), block * layout.block_columns
                rows, left = divmod(rows, parts)
                if left or rows * layout.span_bytes % layout.alignment_bytes:
                    raise UserError("each CTA that shares a tile loads whole groups of 8 of its rows",
                                    place=self.of.name, got=f"{layout.rows} rows for {parts} CTAs",
                                    suggestion="a smaller cluster or a larger tile")
                row = first + part * rows
                place = self.of.base_address + block * layout.block_bytes + row * layout.span_bytes
                origin, shape = (row, column), (rows, layout.block_columns)
                yield (Box(origin, shape, place) if layout.major == "K" else
                       Box(origin[::-1], shape[::-1], place))


@dataclass(frozen=True)
class BulkTile:
    """A CTA's tile (rows, columns) of a tensor that TMA moves; the tensor need not fill it.

    ``inside``: rows and columns that the tensor has from the CTA's tile on; ``start``: of the tile that an index
    selected, ``origin``: of a part of that, in elements; ``along``: the mode that an index still selects tiles of,
    None: none.
    """

    tensor: GmemTensor
    shape: tuple[int, int]
    inside: tuple[int, int]
    start: tuple[int, int] = (0, 0)
    origin: tuple[int, int] = (0, 0)
    along: int | None = None

    @property
    def contiguous(self) -> int:
        """The mode whose elements are neighbours."""
        return self.tensor.strides.index(1)

    @property
    def count(self) -> int:
        """Tiles along the mode that an index selects."""
        return 1 if self.along is None else -(-self.inside[self.along] // self.shape[self.along])

    def __getitem__(self, index: Index) -> BulkTile:
        number = index[-1]
        if self.along is None or not isinstance(number, int) or not 0 <= number < self.count:
            raise UserError(f"no such tile of {self.tensor.name}", got=number,
                            suggestion=f"0 to {self.count - 1}" if self.along is not None else "a tile without index")
        start = [0, 0]
        start[self.along] = number * self.shape[self.along]
        return replace(self, start=(start[0], start[1]), along=None)

    def part(self, shape: tuple[int, int], row: int, column: int) -> BulkTile:
        """A smaller tile of this one, ``row`` and ``column`` in such tiles."""
        if any(whole % n for whole, n in zip(self.shape, shape, strict=True)):
            raise UserError("smaller tiles must divide the tile", place=self.tensor.name,
                            got=f"{self.shape} by {shape}")
        origin = self.origin[0] + row * shape[0], self.origin[1] + column * shape[1]
        return replace(self, shape=shape, origin=origin)


def require_tma(tensor: GmemTensor) -> None:
    """Raise UserError where a tensor map cannot describe a tensor: rows start at multiples of 16 bytes."""
    pitch = max(tensor.strides)
    if len(tensor.shape) != 2 or 1 not in tensor.strides or (
            min(tensor.shape) > 1 and tensor.bytes_of(pitch) % 16):
        raise UserError("TMA copies matrices whose rows start at multiples of 16 bytes", place=tensor.name,
                        got=f"strides {tensor.strides} of {tensor.dtype}",
                        suggestion="pad the contiguous mode, or copy with cp.async")
