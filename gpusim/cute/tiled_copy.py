"""Models CuTe's TiledCopy: a copy atom repeated over threads and values, how tensors are partitioned by it, retile.
Leaves out the instruction itself (its atom comes from gpusim.arch.atoms as a plain object) and predication.

An atom has the thread-value layouts ``src_tv, dst_tv`` of CuTe's Copy_Traits, with values counted in bits, e.g.
``(32,128):(128,1)`` for the source of ldmatrix.x4, and may have ``ref_tv``, the one of them that the tiling refers to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np

from gpusim.cute.compose import composition, right_inverse
from gpusim.cute.divide import zipped_divide
from gpusim.cute.int_tuple import product
from gpusim.cute.layout import Layout, LayoutBase, make_layout, size
from gpusim.cute.layout_product import logical_product, raked_product
from gpusim.cute.modes import coalesce, open_modes
from gpusim.cute.recast import recast_layout, upcast
from gpusim.cute.swizzle import lifted
from gpusim.cute.tensor import Tensor
from gpusim.cute.thread_value import as_tensor, offsets_of, open_grid
from gpusim.cute.tiled_mma import TiledMMA
from gpusim.errors import UserError

__all__ = [
    "CopyAtomLike",
    "ThrCopy",
    "TiledCopy",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_tv",
]


class CopyAtomLike(Protocol):
    """What a tiled copy needs to know of an instruction; optional ``ref_tv`` defaults to ``dst_tv``."""

    @property
    def src_tv(self) -> Layout: ...
    @property
    def dst_tv(self) -> Layout: ...


@dataclass(frozen=True)
class TiledCopy:
    """``atom`` on elements of ``element_bits``, spread over the tile ``tiler_mn`` by ``layout_tv``.

    ``layout_tv`` maps (thread, value) to the column-major index in the tile. Raises UserError where the atom's threads
    or values do not divide those of the layout.
    """

    atom: CopyAtomLike
    layout_tv: Layout
    tiler_mn: tuple[Any, ...]
    element_bits: int

    def __post_init__(self) -> None:
        for what, have, need in zip(("threads", "values"), self.layout_tv, self.atom_layout("ref"), strict=True):
            if size(have) % size(need):
                rule = f"the {what} of a tiled copy must be a multiple of the atom's {size(need)}"
                raise UserError(rule, place=f"tiled copy {self.layout_tv}", got=size(have))

    def atom_layout(self, side: str) -> Layout:
        """The atom's (thread, value) layout in elements for ``side`` src, dst or ref."""
        bits = getattr(self.atom, f"{side}_tv", None) or self.atom.dst_tv
        return recast_layout(1, self.element_bits, bits)

    @cached_property
    def values_per_instruction(self) -> int:
        """Elements of one thread in one execution of the atom (on the reference side)."""
        return size(self.atom_layout("ref")[1])

    @cached_property
    def shape_mn(self) -> tuple[int, ...]:
        """Extents of the tile."""
        return tuple(size(mode) for mode in self.tiler_mn)

    def size(self) -> int:
        """Number of threads."""
        return size(self.layout_tv[0])

    def tidfrg(self, side: str, layout: Any) -> Any:
        """``layout`` as ``(threads, (atom values, repeats), (RestM, RestN, ...))`` for ``side`` src or dst."""
        return lifted(lambda inner: _tidfrg(self, side, inner))(layout)

    def side_tv(self, side: str) -> Layout:
        """(thread, value) to the column-major index in the tile, as the ``side`` of the copy sees it."""
        tiled = self.tidfrg(side, Layout(self.shape_mn))
        return make_layout(tiled[0], tiled[1])

    def get_slice(self, thread: int) -> ThrCopy:
        return ThrCopy(self, thread)

    def tv_offsets(self, side: str, tensor: Tensor | LayoutBase) -> np.ndarray:
        """Element offsets of what every thread copies: an array ``(threads, values, rest0, rest1, ...)``.

        Values run through the atom's values first, then through its repeats.
        """
        tensor = as_tensor(tensor)
        tiled = self.tidfrg(side, tensor)
        values, *rest = open_grid(tiled.layout[1], tiled.layout[2])
        threads = np.arange(self.size()).reshape(-1, *[1] * values.ndim)
        return offsets_of(tiled, threads, values, tuple(rest))

    def retile(self, tensor: Tensor | LayoutBase) -> Tensor:
        """A thread's MMA fragment ``(V, M, N, ...)`` regrouped to ``((atom values, repeats), M', N', ...)``."""
        tensor = as_tensor(tensor)
        tiled = zipped_divide(tensor.layout, (size(tensor.layout[0]), *self._fragment_extents(tensor)))
        by_value = composition(tiled, (self._fragment_values(tensor), None))
        rest = (0, *(None,) * (len(tensor.layout) - 1))
        return Tensor(by_value, tensor.offset)(None, rest)

    def _fragment_mn(self, tensor: Tensor) -> Layout:
        values = self.size() * size(tensor.layout[0])
        return upcast(composition(right_inverse(self.layout_tv), Layout(self.shape_mn)), values)

    def _fragment_extents(self, tensor: Tensor) -> tuple[int, ...]:
        return tuple(size(mode) for mode in self._fragment_mn(tensor))

    def _fragment_values(self, tensor: Tensor) -> Layout:
        repeats = logical_product(Layout(size(tensor.layout[0])), right_inverse(self._fragment_mn(tensor)))
        return zipped_divide(repeats, Layout(self.values_per_instruction))


@dataclass(frozen=True, slots=True)
class ThrCopy:
    """One thread's view of a tiled copy."""

    tiled: TiledCopy
    thread: int

    def partition(self, side: str, tensor: Tensor | LayoutBase) -> Tensor:
        """This thread's part ``((atom values, repeats), RestM, RestN, ...)``."""
        tensor = as_tensor(tensor)
        tiled = self.tiled.tidfrg(side, tensor)
        return tiled(self.thread, None, open_modes(tiled.layout[2]))

    def partition_S(self, tensor: Tensor | LayoutBase) -> Tensor:
        return self.partition("src", tensor)

    def partition_D(self, tensor: Tensor | LayoutBase) -> Tensor:
        return self.partition("dst", tensor)

    def retile_S(self, tensor: Tensor | LayoutBase) -> Tensor:
        return self.tiled.retile(tensor)

    def retile_D(self, tensor: Tensor | LayoutBase) -> Tensor:
        return self.tiled.retile(tensor)


@lru_cache(maxsize=512)
def _tidfrg(copy: TiledCopy, side: str, layout: Any) -> Any:
    for mode, tile in enumerate(copy.shape_mn):
        if size(layout[mode]) % tile:
            rule = f"extent {size(layout[mode])} of mode {mode} must be a multiple of the tiled copy's {tile}"
            raise UserError(rule, place=f"partition of {layout}")
    tiled = composition(zipped_divide(layout, copy.tiler_mn), (_thrval_to_mn(copy, side), None))
    return make_layout(tiled[0][0], tiled[0][1], tiled[1])


@lru_cache(maxsize=512)
def _thrval_to_mn(copy: TiledCopy, side: str) -> Layout:
    """((thread), (atom value, repeat)) to the tile's index, from the atom's own order to that of ``side``."""
    reference = copy.atom_layout("ref")
    by_atom = zipped_divide(copy.layout_tv, tuple(size(mode) for mode in reference))
    moved = composition(right_inverse(reference), copy.atom_layout(side))
    atoms = composition(by_atom[0], moved)
    rest = by_atom[1]
    pairs = make_layout(make_layout(atoms[0], rest[0]), make_layout(atoms[1], rest[1]))
    return coalesce(pairs, (1, (1, 1)))


def make_tiled_copy_tv(atom: CopyAtomLike, thr_layout: Layout, val_layout: Layout, element_bits: int) -> TiledCopy:
    """A tiled copy whose threads are laid out by ``thr_layout`` over (m, n), each owning ``val_layout`` of values.

    The tile is the raked product of both. Raises UserError where the atom needs other numbers of threads or values.
    """
    layout_mn = raked_product(thr_layout, val_layout)
    tv = composition(right_inverse(layout_mn), Layout((size(thr_layout), size(val_layout))))
    return TiledCopy(atom, tv, tuple(size(mode) for mode in layout_mn), element_bits)


def make_tiled_copy(atom: CopyAtomLike, layout_tv: Layout, tiler_mn: tuple[Any, ...], element_bits: int) -> TiledCopy:
    """A tiled copy from an explicit (thread, value) layout over a tile."""
    if size(layout_tv) < product(tuple(size(mode) for mode in tiler_mn)):
        raise UserError("the thread-value layout must cover its tile", got=f"{layout_tv} for {tiler_mn}")
    return TiledCopy(atom, layout_tv, tiler_mn, element_bits)


def make_tiled_copy_A(atom: CopyAtomLike, mma: TiledMMA, element_bits: int) -> TiledCopy:
    """The tiled copy that loads (or stores) the A fragments of ``mma``."""
    return TiledCopy(atom, mma.tv_layout("A"), (mma.shape_mnk[0], mma.shape_mnk[2]), element_bits)


def make_tiled_copy_B(atom: CopyAtomLike, mma: TiledMMA, element_bits: int) -> TiledCopy:
    """The tiled copy that loads (or stores) the B fragments of ``mma``."""
    return TiledCopy(atom, mma.tv_layout("B"), (mma.shape_mnk[1], mma.shape_mnk[2]), element_bits)


def make_tiled_copy_C(atom: CopyAtomLike, mma: TiledMMA, element_bits: int) -> TiledCopy:
    """The tiled copy that loads (or stores) the accumulators of ``mma``."""
    return TiledCopy(atom, mma.tv_layout("C"), (mma.shape_mnk[0], mma.shape_mnk[1]), element_bits)


def make_tiled_copy_S(atom: CopyAtomLike, other: TiledCopy) -> TiledCopy:
    """A tiled copy whose values are the sources of ``other``."""
    return TiledCopy(atom, other.side_tv("src"), other.tiler_mn, other.element_bits)


def make_tiled_copy_D(atom: CopyAtomLike, other: TiledCopy) -> TiledCopy:
    """A tiled copy whose values are the destinations of ``other``."""
    return TiledCopy(atom, other.side_tv("dst"), other.tiler_mn, other.element_bits)
