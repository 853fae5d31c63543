"""Models how a CTA's threads share a tile: tiled MMA (atoms x warps) and tiled copy (threads x values), as coordinates.
Leaves out addresses (gpusim.dsl.partition) and instructions (gpusim.dsl.lowering)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusim.arch.atoms import DTYPE_BITS, CopyAtom, MmaAtom
from gpusim.cute import Layout
from gpusim.errors import UserError

__all__ = ["LANES", "TiledCopy", "TiledMma", "ldmatrix_origins", "tiled_copy", "tiled_mma"]

LANES = 32


@dataclass(frozen=True)
class TiledMma:
    """``warps`` = (m, n) warps, each with a contiguous block of the tile, cut into MMA atoms.

    Warp w works at (w % m, w // m), as CuTe's column-major atom layout (m, n, 1) has it. ``partitions`` such sets of
    warps share k (sliced-K): each has all of the tile, and accumulators of its own. ``interleaved``: the warps' atoms
    take turns along m and n instead, which is what CuTe does unless a permutation says otherwise.
    """

    atom: MmaAtom
    tile: tuple[int, int]
    warps: tuple[int, int]
    partitions: int = 1
    interleaved: bool = False

    @property
    def num_warps(self) -> int:
        return self.warps[0] * self.warps[1] * self.partitions

    @property
    def warp_partitions(self) -> np.ndarray:
        """(warps,) which share of k each warp has."""
        return np.arange(self.num_warps) // (self.warps[0] * self.warps[1])

    @property
    def num_threads(self) -> int:
        return self.num_warps * LANES

    @property
    def warp_tile(self) -> tuple[int, int]:
        return self.tile[0] // self.warps[0], self.tile[1] // self.warps[1]

    @property
    def atoms(self) -> tuple[int, int]:
        """Atoms of a warp along m and n."""
        return self.warp_tile[0] // self.atom.shape_mnk[0], self.warp_tile[1] // self.atom.shape_mnk[1]

    def registers(self, operand: str) -> int:
        """32-bit registers of one atom's operand in a lane."""
        values, dtype = {"A": (self.atom.A_tv, self.atom.dtype_a), "B": (self.atom.B_tv, self.atom.dtype_b),
                         "C": (self.atom.C_tv, self.atom.dtype_c)}[operand]
        return max(1, values[1].size() * DTYPE_BITS[dtype] // 32)

    def warp_rows(self, operand: str) -> np.ndarray:
        """(warps,) first row of each warp in the operand's tile (m for A, n for B)."""
        warp, axis = np.arange(self.num_warps) % (self.warps[0] * self.warps[1]), int(operand == "B")
        place = warp // self.warps[0] if axis else warp % self.warps[0]
        return place * (self.atom.shape_mnk[axis] if self.interleaved else self.warp_tile[axis])

    def atom_step(self, operand: str) -> int:
        """Rows from an atom of a warp to its next one in the operand's tile (m for A, n for B)."""
        axis = int(operand == "B")
        return self.atom.shape_mnk[axis] * (self.warps[axis] if self.interleaved else 1)

    @cached_property
    def c_coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """(lanes, values) row and column of each accumulator of one atom."""
        m = self.atom.shape_mnk[0]
        index = self.atom.C_tv.offsets()
        return index % m, index // m


def tiled_mma(atom: MmaAtom, *, tile: tuple[int, int], warps: tuple[int, int], partitions: int = 1,
              interleaved: bool = False) -> TiledMma:
    """An MMA of ``tile`` = (m, n) by ``warps`` = (m, n) warps. Raises UserError when the division is not exact."""
    for axis, name in enumerate("mn"):
        step = warps[axis] * atom.shape_mnk[axis]
        if warps[axis] < 1 or tile[axis] < 1 or tile[axis] % step:
            raise UserError(f"tile {name} must be a multiple of warps {name} x instruction {name}",
                            got=f"{tile[axis]} for {warps[axis]} warps x {atom.shape_mnk[axis]}",
                            suggestion=f"a multiple of {max(step, atom.shape_mnk[axis])}")
    return TiledMma(atom, (tile[0], tile[1]), (warps[0], warps[1]), partitions, interleaved)


def ldmatrix_origins(mma: TiledMma, operand: str, matrices: int) -> list[tuple[int, int]]:
    """(row, column) of each 8 x 16-byte matrix that one ldmatrix brings, so that its registers feed the MMA in order.

    Register r of an operand holds, in lane 0, the first element of an 8-row matrix; a load of more matrices than one
    atom has registers continues with the next atom along the rows.
    """
    m, n, _ = mma.atom.shape_mnk
    rows = m if operand == "A" else n
    layout = mma.atom.A_tv if operand == "A" else mma.atom.B_tv
    per_atom = mma.registers(operand)
    first = layout.offsets()[0, :: layout[1].size() // per_atom].tolist()
    step = mma.atom_step(operand)
    return [(first[j % per_atom] % rows + j // per_atom * step, first[j % per_atom] // rows) for j in range(matrices)]


@dataclass(frozen=True)
class TiledCopy:
    """Threads x values of a copy atom over a tile, repeated over the rest of a larger one (CuTe's make_tiled_copy)."""

    atom: CopyAtom
    thr_layout: Layout
    val_layout: Layout

    @property
    def num_threads(self) -> int:
        return int(self.thr_layout.size())

    @cached_property
    def thread_coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """(threads,) row and column of each thread's first value."""
        values = mode_sizes(self.val_layout)
        thread = self.thr_layout.offsets()
        place = np.argsort(thread, axis=None)
        rows, columns = np.unravel_index(place, thread.shape)
        return rows * values[0], columns * values[1]

    @property
    def tile(self) -> tuple[int, int]:
        shape, values = mode_sizes(self.thr_layout), mode_sizes(self.val_layout)
        return shape[0] * values[0], shape[1] * values[1]


def mode_sizes(layout: Layout) -> tuple[int, int]:
    """Sizes of the two modes of a layout of rank 2."""
    return int(layout[0].size()), int(layout[1].size())


def tiled_copy(atom: CopyAtom, thr_layout: Layout, val_layout: Layout) -> TiledCopy:
    """A copy in which thread ``thr_layout(i, j)`` moves the values ``val_layout`` of block (i, j)."""
    if len(thr_layout) != 2 or len(val_layout) != 2:
        raise UserError("thread and value layouts of a tiled copy have rank 2 (rows, columns)",
                        got=f"{thr_layout} and {val_layout}")
    if sorted(thr_layout.offsets().ravel().tolist()) != list(range(thr_layout.size())):
        raise UserError("a thread layout gives every thread one place", got=str(thr_layout))
    return TiledCopy(atom, thr_layout, val_layout)
