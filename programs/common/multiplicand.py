"""Models where CUTLASS 2.x keeps a tensor-core operand in shared memory: layout, who copies what, who loads what.
Leaves out iterators and code (common.operand)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

import gpusim as gs
from gpusim import LANES, CopyAtom, Group, TiledMma, ldmatrix_matrices, ldmatrix_origins
from gpusim.cute.cutlass2 import (
    PitchLinearThreadMap,
    TensorOpMultiplicand,
    TensorOpMultiplicand32bCongruous,
    TensorOpMultiplicand64bCongruous,
    TensorOpMultiplicand64bCrosswise,
    congruous_crosswise,
    warp_raked,
    warp_striped,
)

__all__ = ["DoubleMultiplicand", "LdmatrixMultiplicand", "Multiplicand", "StagedTile", "WordMultiplicand",
           "multiplicand_of"]

VECTOR_BITS = 128


@dataclass(frozen=True)
class StagedTile:
    """``stages`` tiles of ``shape`` = (rows, k) of operand "A" or "B" for the warps of ``mma``."""

    operand: str
    dtype: gs.DType
    k_major: bool
    shape: tuple[int, int]
    stages: int
    mma: TiledMma

    @property
    def k_steps(self) -> int:
        """Warp MMAs of a tile along k, of one of the warps that share it."""
        return self.shape[1] // self.mma.partitions // self.mma.atom.shape_mnk[2]

    @property
    def atoms(self) -> int:
        """MMAs of a warp along the rows."""
        return self.mma.atoms[self.operand == "B"]

    @property
    def elements(self) -> int:
        return self.shape[0] * self.shape[1] * self.stages

    @property
    def pitch_linear(self) -> tuple[int, int]:
        """Extents of the tile along the contiguous and the strided mode."""
        rows, k = self.shape
        return (k, rows) if self.k_major else (rows, k)

    def offsets(self, rows: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (contiguous, strided) of (row, k)."""
        return (k, rows) if self.k_major else (rows, k)

    def warp_places(self, rows: np.ndarray, k: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        """(loads, threads) row and k in the tile of (loads, lanes) ones in a warp's share of k step ``step``."""
        depth = self.mma.atom.shape_mnk[2]
        share = self.mma.warp_partitions * self.k_steps * depth + step * depth
        rows = rows[:, None, :] + self.mma.warp_rows(self.operand)[None, :, None]
        k = np.broadcast_to(k[:, None, :] + share[None, :, None], rows.shape)
        return rows.reshape(len(rows), -1), k.reshape(len(rows), -1)


class Multiplicand(Protocol):
    """What an operand knows of its shared memory. Byte addresses count from the first stage."""

    @property
    def tile(self) -> StagedTile: ...

    @property
    def stage_bytes(self) -> int:
        """Distance of two stages."""

    @property
    def size_elements(self) -> int:
        """Of all stages."""

    @property
    def atom(self) -> CopyAtom:
        """The load of fragments."""

    @property
    def load_bytes(self) -> int:
        """Of a lane: what it loads, or the row that it names to ldmatrix."""

    def targets(self, groups: Sequence[int]) -> list[Group]:
        """Registers that each load of a k step fills; ``groups``: first register of each atom."""

    @property
    def turned(self) -> bool:
        """Whether the two atoms of a load come the other way round in odd k steps."""

    def thread_map(self) -> PitchLinearThreadMap:
        """Of the copies, on (contiguous, strided)."""

    def addresses(self, rows: np.ndarray, k: np.ndarray) -> np.ndarray: ...

    def fragment_addresses(self, step: int) -> np.ndarray:
        """(loads, threads) byte addresses that a k step's loads name."""


def multiplicand_of(tile: StagedTile) -> Multiplicand:
    """The layout that CUTLASS takes for a type and an order. Raises UserError for pairs that it has none for."""
    if tile.dtype.bits == 64:
        return DoubleMultiplicand(tile)
    if not tile.k_major and tile.dtype.bits == 32:
        return WordMultiplicand(tile)
    if not tile.k_major and tile.dtype.bits != 16:
        raise gs.UserError("ldmatrix.trans moves 16-bit elements, so other operands must be K-major",
                           place=tile.operand, got=tile.dtype, suggestion="layouts tn")
    return LdmatrixMultiplicand(tile)


@dataclass(frozen=True)
class LdmatrixMultiplicand:
    """XOR layouts: K-major operands crosswise and read by ldmatrix, the others congruous and read by ldmatrix.trans."""

    tile: StagedTile

    @property
    def turned(self) -> bool:
        return False

    @cached_property
    def layout(self) -> TensorOpMultiplicand:
        """Crosswise: the tiles of all stages side by side along k. Congruous: one below the other."""
        rows, k = self.tile.shape
        bits = self.tile.dtype.bits
        if self.tile.k_major:
            return TensorOpMultiplicand(bits, k, k * self.tile.stages)
        return TensorOpMultiplicand(bits, congruous_crosswise(bits, rows), rows)

    @property
    def stage_bytes(self) -> int:
        rows, k = self.tile.shape
        return k * (self.layout.factor if self.tile.k_major else rows) * self.tile.dtype.bits // 8

    @property
    def size_elements(self) -> int:
        return self.tile.elements

    @property
    def atom(self) -> CopyAtom:
        atom: CopyAtom = gs.copy.SM75_U32x4_LDSM_N if self.tile.k_major else gs.copy.SM75_U16x8_LDSM_T
        return atom

    @property
    def load_bytes(self) -> int:
        return VECTOR_BITS // 8

    def targets(self, groups: Sequence[int]) -> list[Group]:
        matrices, count = ldmatrix_matrices(self.tile.mma, self.tile.operand)
        return [(start, matrices) for start in groups[:: len(groups) // count]]

    def thread_map(self) -> PitchLinearThreadMap:
        vector, contiguous = VECTOR_BITS // self.tile.dtype.bits, self.tile.pitch_linear[0]
        lanes = contiguous // vector if self.tile.k_major else min(contiguous // vector, 8)
        return warp_raked(self.tile.pitch_linear, self.tile.mma.num_threads, (lanes, LANES // lanes), vector)

    def addresses(self, rows: np.ndarray, k: np.ndarray) -> np.ndarray:
        return np.asarray(self.layout(*self.tile.offsets(rows, k)) * self.tile.dtype.bits // 8)

    def fragment_addresses(self, step: int) -> np.ndarray:
        """Lane l names row l % 8 of matrix l // 8: a row of 16 bytes along the contiguous mode."""
        mma, operand, k_major = self.tile.mma, self.tile.operand, self.tile.k_major
        matrices, count = ldmatrix_matrices(mma, operand)
        lane, origins = np.arange(LANES), np.array(ldmatrix_origins(mma, operand, matrices))
        m, n, _ = mma.atom.shape_mnk
        block = (n if operand == "B" else m) * (matrices // mma.registers(operand))
        rows = origins[lane // 8, 0] + (lane % 8 if k_major else 0)
        k = origins[lane // 8, 1] + (0 if k_major else lane % 8)
        rows = np.arange(count)[:, None] * block + rows
        return self.addresses(*self.tile.warp_places(rows, np.broadcast_to(k, rows.shape), step))


@dataclass(frozen=True)
class DoubleMultiplicand:
    """f64 for m8n8k4: elements 8 rows apart are neighbours, so that an LDS.128 brings a lane's share of two atoms.

    Raises UserError for another instruction: CUTLASS 2.x has no such layout.
    """

    tile: StagedTile
    instruction: ClassVar[tuple[int, int, int]] = (8, 8, 4)

    def __post_init__(self) -> None:
        (rows, k), kind = self.tile.shape, self.tile.dtype
        if self.tile.mma.atom.shape_mnk != self.instruction:
            m, n, depth = self.instruction
            raise gs.UserError(f"{kind} operands in shared memory are laid out for m{m}n{n}k{depth}",
                               got=self.tile.mma.atom.name, suggestion=f"instruction {self.instruction}")
        if k % 16 or rows % 16 or self.tile.mma.warp_tile[self.tile.operand == "B"] % 16:
            raise gs.UserError(f"{kind} operands are kept in blocks of 16 rows and 16 k", place=self.tile.operand,
                               got=f"a tile of {rows} x {k}", suggestion="multiples of 16, also of a warp tile")

    @property
    def turned(self) -> bool:
        return self.tile.k_major

    @cached_property
    def layout(self) -> TensorOpMultiplicand64bCrosswise | TensorOpMultiplicand64bCongruous:
        kind = TensorOpMultiplicand64bCrosswise if self.tile.k_major else TensorOpMultiplicand64bCongruous
        return kind(self.tile.shape[0])

    @property
    def stage_bytes(self) -> int:
        rows, k = self.tile.shape
        return rows * k * self.tile.dtype.bytes

    @property
    def size_elements(self) -> int:
        return self.tile.elements

    @property
    def atom(self) -> CopyAtom:
        return gs.copy.UniversalCopy_128b.bind("shared", "register")

    @property
    def load_bytes(self) -> int:
        return VECTOR_BITS // 8

    def targets(self, groups: Sequence[int]) -> list[Group]:
        return [(start, 4) for start in sorted(groups)[::2]]

    def thread_map(self) -> PitchLinearThreadMap:
        make = warp_raked if self.tile.k_major else warp_striped
        return make(self.tile.pitch_linear, self.tile.mma.num_threads, (16, 2), 1)

    def addresses(self, rows: np.ndarray, k: np.ndarray) -> np.ndarray:
        return np.asarray(self.layout(*self.tile.offsets(rows, k)) * self.tile.dtype.bytes)

    def fragment_addresses(self, step: int) -> np.ndarray:
        """Lane l holds row l / 4 and k l % 4 of an atom; the pair of elements begins at an even one."""
        lane = np.arange(LANES)
        rows = np.arange(self.tile.atoms // 2)[:, None] * 16 + lane // 4
        pairs = self.addresses(*self.tile.warp_places(rows, np.broadcast_to(lane % 4, rows.shape), step))
        width = 2 * self.tile.dtype.bytes
        return pairs // width * width


@dataclass(frozen=True)
class WordMultiplicand(LdmatrixMultiplicand):
    """Elements of 32 bits with rows contiguous: congruous, and read by an LDS for each register of a fragment."""

    @cached_property
    def words(self) -> TensorOpMultiplicand32bCongruous:
        if self.tile.shape[0] % 32:
            raise gs.UserError("32-bit operands with contiguous rows are kept in blocks of 32 rows",
                               place=self.tile.operand, got=f"a tile of {self.tile.shape[0]} rows")
        return TensorOpMultiplicand32bCongruous(self.tile.shape[0])

    @property
    def stage_bytes(self) -> int:
        return self.tile.shape[0] * self.tile.shape[1] * self.tile.dtype.bytes

    @property
    def atom(self) -> CopyAtom:
        return gs.copy.UniversalCopy_32b.bind("shared", "register")

    @property
    def load_bytes(self) -> int:
        return self.tile.dtype.bytes

    def targets(self, groups: Sequence[int]) -> list[Group]:
        registers = self.tile.mma.registers(self.tile.operand)
        return [(start + n, 1) for start in groups for n in range(registers)]

    def addresses(self, rows: np.ndarray, k: np.ndarray) -> np.ndarray:
        return np.asarray(self.words(rows, k) * self.tile.dtype.bytes)

    def fragment_addresses(self, step: int) -> np.ndarray:
        """Lane l holds, of every 8 x 4 block, row l / 4 and k l % 4; rows before k in the order of registers."""
        mma, operand, lane = self.tile.mma, self.tile.operand, np.arange(LANES)
        extent, blocks = mma.atom.shape_mnk[operand == "B"], mma.registers(operand)
        block, atom = np.arange(blocks), np.arange(self.tile.atoms)[:, None] * extent
        rows = (atom + block % (extent // 8) * 8).reshape(-1, 1) + lane // 4
        k = np.tile(block // (extent // 8) * 4, self.tile.atoms)[:, None] + lane % 4
        return self.addresses(*self.tile.warp_places(rows, k, step))
