"""Models CUTLASS 2.x's pitch-linear thread maps: which elements of a tile each thread accesses, in which order.
Leaves out addresses and predicates. Coordinates are (contiguous, strided) in elements.

Source: cutlass/transform/pitch_linear_thread_map.h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.cute.int_tuple import ceil_div
from gpusim.errors import UserError

__all__ = ["PitchLinearThreadMap", "stripmined", "transposed", "warp_raked", "warp_striped"]

Pair = tuple[int, int]
_WARP_LANES = 32


@dataclass(frozen=True, eq=False)
class PitchLinearThreadMap:
    """Thread t accesses ``initial[t] + (i, j) * delta`` for i, j below ``iterations``, a vector each time."""

    shape: Pair
    elements_per_access: int
    iterations: Pair
    delta: Pair
    initial: np.ndarray  # (threads, 2)

    @property
    def threads(self) -> int:
        return len(self.initial)

    def initial_offset(self, thread: int) -> Pair:
        """Where thread ``thread`` starts."""
        contiguous, strided = self.initial[thread]
        return int(contiguous), int(strided)

    def accesses(self) -> np.ndarray:
        """First element of every access: an array (threads, strided iterations, contiguous iterations, 2)."""
        j, i = np.mgrid[: self.iterations[1], : self.iterations[0]]
        steps = np.stack([i * self.delta[0], j * self.delta[1]], axis=-1)
        return self.initial[:, None, None, :] + steps


def stripmined(shape: Pair, threads: int, elements_per_access: int = 1) -> PitchLinearThreadMap:
    """Threads run along the contiguous mode, then along the strided one (SIMT kernels).

    Raises UserError where threads and vectors of a row do not divide one another.
    """
    row, rows = _in_vectors(shape, elements_per_access), shape[1]
    if threads % row and row % threads:
        raise UserError(f"{threads} threads and {row} vectors of a row must divide one another", place="stripmined")
    if threads >= row:
        iterations, delta = (1, ceil_div(rows, threads // row)), (1, threads // row)
    else:
        iterations, delta = (row // threads, rows), (threads * elements_per_access, 1)
    t = np.arange(threads)
    initial = np.stack([t % row * elements_per_access, t // row], axis=-1)
    return PitchLinearThreadMap(shape, elements_per_access, iterations, delta, initial)


def transposed(source: PitchLinearThreadMap) -> PitchLinearThreadMap:
    """The same threads on the transposed tile: stores what ``source`` loads, mode by mode swapped (SIMT kernels).

    Raises UserError for vector accesses, which cannot be transposed.
    """
    if source.elements_per_access != 1:
        raise UserError("only single elements can be transposed", got=source.elements_per_access)
    shape, iterations, delta = ((b, a) for a, b in (source.shape, source.iterations, source.delta))
    return PitchLinearThreadMap(shape, 1, iterations, delta, source.initial[:, ::-1])


def warp_raked(shape: Pair, threads: int, arrangement: Pair, elements_per_access: int) -> PitchLinearThreadMap:
    """Every warp owns a block of rows; its lanes form ``arrangement`` (contiguous, strided) (tensor-core kernels).

    Raises UserError where the warps' accesses do not divide the tile.
    """
    lanes = arrangement[0] * arrangement[1]
    if lanes != _WARP_LANES:
        raise UserError("the lanes of a warp must form an arrangement of 32", place="warp_raked", got=arrangement)
    vectors = (_in_vectors(shape, elements_per_access), shape[1])
    accesses = tuple(_divided(n, by, "vectors by lanes") for n, by in zip(vectors, arrangement, strict=True))
    warps = threads // lanes
    strided = min(warps, accesses[1])
    contiguous = warps // strided if warps > accesses[1] else 1
    iterations = (_divided(accesses[0], contiguous, "by warps"), _divided(accesses[1], strided, "by warps"))
    t = np.arange(threads)
    warp, lane = t // lanes, t % lanes
    vector = arrangement[0] * iterations[0] * (warp % contiguous) + lane % arrangement[0]
    row = arrangement[1] * iterations[1] * (warp // contiguous) + lane // arrangement[0]
    initial = np.stack([vector * elements_per_access, row], axis=-1)
    delta = (arrangement[0] * elements_per_access, arrangement[1])
    return PitchLinearThreadMap(shape, elements_per_access, iterations, delta, initial)


def warp_striped(shape: Pair, threads: int, arrangement: Pair, elements_per_access: int) -> PitchLinearThreadMap:
    """Warps take turns along the strided mode, and are next to one another where it has no more rows (f64 operands).

    Raises UserError where the warps' accesses do not divide the tile.
    """
    accesses = tuple(_divided(n, by, "vectors by lanes") for n, by in
                     zip((_in_vectors(shape, elements_per_access), shape[1]), arrangement, strict=True))
    lanes = arrangement[0] * arrangement[1]
    warps = threads // lanes
    strided = warps if accesses[1] >= warps else warps // accesses[1]
    contiguous = accesses[0] // strided if warps > accesses[1] else 1
    iterations = (_divided(accesses[0], contiguous, "by warps"), _divided(accesses[1], strided, "by warps"))
    t = np.arange(threads)
    warp, lane = t // lanes, t % lanes
    vector = arrangement[0] * iterations[0] * (warp % contiguous) + lane % arrangement[0]
    row = arrangement[1] * (warp // contiguous) + lane // arrangement[0]
    initial = np.stack([vector * elements_per_access, row], axis=-1)
    delta = (arrangement[0] * elements_per_access, arrangement[1] * strided)
    return PitchLinearThreadMap(shape, elements_per_access, iterations, delta, initial)


def _in_vectors(shape: Pair, elements_per_access: int) -> int:
    return _divided(shape[0], elements_per_access, "elements by the vector")


def _divided(extent: int, by: int, what: str) -> int:
    if by == 0 or extent % by:
        raise UserError(f"a thread map divides its tile without rest ({what})", got=f"{extent} / {by}")
    return extent // by
