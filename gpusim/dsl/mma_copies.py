"""Models tiled copies that bring or take the fragments of an MMA: CuTe's make_tiled_copy_A, _B, _C.
Leaves out other tiled copies (gpusim.dsl.tiled) and what a thread owns under them (gpusim.dsl.partitions)."""

from __future__ import annotations

from gpusim.arch.atoms import DTYPE_BITS, CopyAtom
from gpusim.cute import Layout
from gpusim.cute.tiled_copy import TiledCopy, make_tiled_copy_A, make_tiled_copy_B, make_tiled_copy_C
from gpusim.cute.tiled_mma import TiledMMA, make_tiled_mma
from gpusim.dsl.tiled import TiledMma

__all__ = ["cute_mma", "tiled_copy_A", "tiled_copy_B", "tiled_copy_C"]


def cute_mma(mma: TiledMma) -> TiledMMA:
    """The same MMA in CuTe's terms. Interleaved warps are its default; two atoms of each along n make one ldmatrix.x4
    bring B. Contiguous blocks take a permutation of the whole tile."""
    m, n, _ = mma.atom.shape_mnk
    if mma.interleaved:
        return make_tiled_mma(mma.atom, (*mma.warps, 1), (None, min(2, mma.atoms[1]) * mma.warps[1] * n, None))
    rows, columns = (Layout((extent, warps, atoms), (1, tile, extent)) for extent, warps, atoms, tile in zip(
        (m, n), mma.warps, mma.atoms, mma.warp_tile, strict=True))
    return make_tiled_mma(mma.atom, (*mma.warps, 1), (rows, columns, None))


def tiled_copy_A(atom: CopyAtom, mma: TiledMma) -> TiledCopy:
    """A copy whose threads hold A fragments (m, k)."""
    return make_tiled_copy_A(atom, cute_mma(mma), DTYPE_BITS[mma.atom.dtype_a])


def tiled_copy_B(atom: CopyAtom, mma: TiledMma) -> TiledCopy:
    """A copy whose threads hold B fragments (n, k)."""
    return make_tiled_copy_B(atom, cute_mma(mma), DTYPE_BITS[mma.atom.dtype_b])


def tiled_copy_C(atom: CopyAtom, mma: TiledMma) -> TiledCopy:
    """A copy whose threads hold accumulators (m, n)."""
    return make_tiled_copy_C(atom, cute_mma(mma), DTYPE_BITS[mma.atom.dtype_c])
