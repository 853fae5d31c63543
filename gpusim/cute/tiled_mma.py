"""Models CuTe's TiledMMA: an MMA atom repeated over warps and values, and how A, B and C are partitioned by it.
Leaves out the instruction itself (its atom comes from gpusim.arch.atoms as a plain object) and registers.

An atom has ``shape_mnk`` and the thread-value layouts ``A_tv, B_tv, C_tv`` of CuTe's MMA_Traits: (thread, value) to the
column-major index in (M,K), (N,K), (M,N). It may have ``thr_id``, the lanes of its threads (default: 0, 1, 2, ...).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np

from gpusim.cute.compose import complement, composition, right_inverse
from gpusim.cute.divide import logical_divide, zipped_divide
from gpusim.cute.int_tuple import idx2crd
from gpusim.cute.layout import Layout, LayoutBase, make_layout, size
from gpusim.cute.layout_product import tiled_product
from gpusim.cute.modes import open_modes
from gpusim.cute.swizzle import lifted
from gpusim.cute.tensor import Tensor
from gpusim.cute.thread_value import as_tensor, offsets_of, open_grid
from gpusim.errors import UserError

__all__ = ["MmaAtomLike", "ThrMMA", "TiledMMA", "make_tiled_mma"]

_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}
"""Which of (M, N, K) each operand has."""


class MmaAtomLike(Protocol):
    """What a tiled MMA needs to know of an instruction."""

    @property
    def shape_mnk(self) -> tuple[int, int, int]: ...
    @property
    def A_tv(self) -> Layout: ...
    @property
    def B_tv(self) -> Layout: ...
    @property
    def C_tv(self) -> Layout: ...


@dataclass(frozen=True)
class TiledMMA:
    """``atom`` repeated over threads as ``atom_layout_mnk`` says; ``permutation_mnk`` widens or reorders the tile.

    A permutation entry is None (the tile of the atoms), an extent, or a layout that reorders that mode.
    """

    atom: MmaAtomLike
    atom_layout_mnk: Layout
    permutation_mnk: tuple[Any, Any, Any] = (None, None, None)

    @cached_property
    def thr_layout_vmnk(self) -> Layout:
        """(thread of the atom, atom m, atom n, atom k) to thread index."""
        threads = getattr(self.atom, "thr_id", None) or Layout(size(self.atom.C_tv[0]))
        return tiled_product(threads, self.atom_layout_mnk)

    @cached_property
    def shape_mnk(self) -> tuple[int, ...]:
        """The tile that all threads cover with one pass (and with the values a permutation adds)."""
        return tuple(self._atoms_extent(i) if p is None else size(p) for i, p in enumerate(self.permutation_mnk))

    def _atoms_extent(self, mode: int) -> int:
        return self.atom.shape_mnk[mode] * size(self.thr_layout_vmnk[mode + 1])

    def size(self) -> int:
        """Number of threads."""
        return self.thr_layout_vmnk.size()

    def thrfrg(self, operand: str, layout: Any) -> Any:
        """``layout`` of the operand's matrix as ``((ThrV, (Thr0, Thr1)), (FrgV, (Rest0, Rest1)))``.

        Raises UserError where the tile does not divide the matrix.
        """
        return lifted(lambda inner: _thrfrg(self, operand, inner))(layout)

    def tv_layout(self, operand: str) -> Layout:
        """(thread, value) to the column-major index in the operand's tile; operands shared by threads have stride 0."""
        return _tv_layout(self, operand)

    @cached_property
    def thread_coordinates(self) -> tuple[np.ndarray, ...]:
        """(v, m, n, k) of every thread."""
        shape = self.thr_layout_vmnk.shape
        flat = [idx2crd(np.arange(self.size()), s, d) for s, d in zip(shape, self.thr_layout_vmnk.stride, strict=True)]
        return tuple(np.asarray(Layout(s)(c)) for s, c in zip(shape, flat, strict=True))

    def get_slice(self, thread: int) -> ThrMMA:
        return ThrMMA(self, thread)

    def partition_shape(self, operand: str, shape: tuple[int, int]) -> Any:
        """Shape ``(V, Rest0, Rest1)`` of one thread's part of an operand of ``shape``."""
        return self.get_slice(0).partition(operand, Tensor(Layout(shape))).shape

    def tv_offsets(self, operand: str, tensor: Tensor | LayoutBase) -> np.ndarray:
        """Element offsets of what every thread owns: an array ``(threads, values, rest0, rest1)``."""
        tensor = as_tensor(tensor)
        tiled = self.thrfrg(operand, tensor)
        values, *rest = open_grid(tiled.layout[1][0], tiled.layout[1][1])
        v, *mnk = (axis.reshape(-1, *[1] * values.ndim) for axis in self.thread_coordinates)
        first, second = _MODES[operand]
        return offsets_of(tiled, (v, (mnk[first], mnk[second])), (values, tuple(rest)))


@dataclass(frozen=True, slots=True)
class ThrMMA:
    """One thread's view of a tiled MMA."""

    tiled: TiledMMA
    thread: int

    def partition(self, operand: str, tensor: Tensor | LayoutBase) -> Tensor:
        """This thread's part ``(V, Rest0, Rest1)`` of the operand's matrix; further modes stay behind."""
        tensor = as_tensor(tensor)
        tiled = self.tiled.thrfrg(operand, tensor)
        v, *mnk = (int(axis[self.thread]) for axis in self.tiled.thread_coordinates)
        first, second = _MODES[operand]
        return tiled((v, (mnk[first], mnk[second])), (None, open_modes(tiled.layout[1][1])))

    def partition_A(self, tensor: Tensor | LayoutBase) -> Tensor:
        return self.partition("A", tensor)

    def partition_B(self, tensor: Tensor | LayoutBase) -> Tensor:
        return self.partition("B", tensor)

    def partition_C(self, tensor: Tensor | LayoutBase) -> Tensor:
        return self.partition("C", tensor)


@lru_cache(maxsize=256)
def _thrfrg(mma: TiledMMA, operand: str, layout: Any) -> Any:
    first, second = _MODES[operand]
    atom_shape, threads = mma.atom.shape_mnk, mma.thr_layout_vmnk
    for mode, i in enumerate((first, second)):
        _check_divides(layout, mode, mma.shape_mnk[i], operand)
    tile = tuple(_tiler(mma, i) for i in (first, second))
    atom_tile = (Layout(atom_shape[first]), Layout(atom_shape[second]))
    atom_tv = getattr(mma.atom, f"{operand}_tv")
    by_atom = zipped_divide(logical_divide(layout, tile), atom_tile)
    by_value = composition(by_atom, (atom_tv, None))
    thr_tile = (Layout(size(threads[1 + first])), Layout(size(threads[1 + second])))
    (thr_v, frg_v), rest = by_value[0], zipped_divide(by_value[1], thr_tile)
    return make_layout(make_layout(thr_v, rest[0]), make_layout(frg_v, rest[1]))


def _tiler(mma: TiledMMA, mode: int) -> Any:
    permutation = mma.permutation_mnk[mode]
    return Layout(mma.shape_mnk[mode]) if permutation is None else permutation


def _check_divides(layout: Any, mode: int, tile: int, operand: str) -> None:
    extent = size(layout[mode])
    if extent % tile:
        rule = f"extent {extent} of mode {mode} must be a multiple of the tiled MMA's {tile}"
        raise UserError(rule, place=f"partition of {operand} {layout}")


@lru_cache(maxsize=256)
def _tv_layout(mma: TiledMMA, operand: str) -> Layout:
    first, second = _MODES[operand]
    threads = mma.thr_layout_vmnk
    tiled = _thrfrg(mma, operand, Layout((mma.shape_mnk[first], mma.shape_mnk[second])))
    if operand != "C":
        extents = tuple(size(threads[1 + i]) for i in (first, second, 3 - first - second))
        tiled = composition(tiled, ((None, _broadcast(operand, extents)), None))
    inverse = right_inverse(make_layout(threads, complement(threads)))
    return composition(tiled, (composition(Layout((mma.size(), 1)), inverse), None))


def _broadcast(operand: str, extents: tuple[int, ...]) -> tuple[Layout, None]:
    """(m, n) of a thread to the operand's own mode, the other with stride 0, in the order M, N."""
    own, _, other = extents
    return (Layout((own, other), (1, 0)) if operand == "A" else Layout((other, own), (0, 1)), None)


def make_tiled_mma(
    atom: MmaAtomLike, atom_layout_mnk: Any = (1, 1, 1), permutation_mnk: tuple[Any, Any, Any] = (None, None, None)
) -> TiledMMA:
    """A tiled MMA; ``atom_layout_mnk`` is a layout or a shape (column-major order of the atoms' warps)."""
    layout = atom_layout_mnk if isinstance(atom_layout_mnk, Layout) else Layout(tuple(atom_layout_mnk))
    if len(layout) != 3:
        raise UserError("the atom layout of a tiled MMA has three modes M, N, K", got=layout)
    return TiledMMA(atom, layout, permutation_mnk)
