"""Models how CTAs of one launch differ: base pointers affine in blockIdx where that holds, else every CTA on its own.
Leaves out kernels whose CTAs depend on loaded data or on each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from gpusim.errors import UserError
from gpusim.program import TensorInfo
from gpusim.sass.accesses import ALIGNMENT, UNTOUCHED
from gpusim.sass.trace import NO_ADDRESS, WarpTrace

__all__ = ["CtaTrace", "Placement", "place_ctas"]

Cta = tuple[int, int, int]
Run = Callable[[Cta], "CtaTrace"]

MAX_EMULATED_CTAS = 1024
"""Grids whose CTAs do not follow one rule are emulated CTA by CTA up to this size."""


@dataclass(frozen=True)
class CtaTrace:
    """What one CTA did. T tensors."""

    cta: Cta
    roles: tuple[WarpTrace, ...]
    event_tensors: tuple[np.ndarray, ...]  # per role (E,)
    origins: np.ndarray  # (T,) i8: lowest address touched in each tensor, UNTOUCHED: none


@dataclass(frozen=True)
class Placement:
    """Classes and base pointers of all C CTAs, x fastest; those of a class do as its probe does, from their bases."""

    probes: tuple[CtaTrace, ...]  # per class
    residues: np.ndarray  # (classes, T): origin modulo ALIGNMENT
    cta_class: np.ndarray  # (C,) i4
    cta_bases: np.ndarray  # (C, T) i8
    cta_index: np.ndarray  # (C, 3) i4
    num_emulated: int


def place_ctas(grid: Cta, run: Run, tensors: Sequence[TensorInfo]) -> Placement:
    """Run the CTAs that fix an affine rule for the base pointers and the corners of the grid that test it.

    Where the test fails, every CTA is run.

    Raises:
        UserError: the test fails and the grid is larger than MAX_EMULATED_CTAS.
    """
    index = np.array([(x, y, z) for z, y, x in product(*map(range, grid[::-1]))], np.int32)
    probed = _probe(grid, run)
    first = probed[0, 0, 0]
    slopes = _slopes(grid, probed)
    reason = next(filter(None, (_difference(trace, first, slopes, tensors) for trace in probed.values())), "")
    if not reason:
        origins = _fill_untouched(first.origins, tensors) + index.astype(np.int64) @ slopes
        return _placement([first], np.zeros(len(index), np.int32), origins, index, len(probed))
    if len(index) > MAX_EMULATED_CTAS:
        raise UserError(reason, got=f"a grid of {len(index)} CTAs",
                        suggestion=f"irregular grids are emulated CTA by CTA up to {MAX_EMULATED_CTAS}")
    traces = [probed.get(cta) or run(cta) for cta in map(_as_cta, index)]
    kinds, of_cta = _group(traces)
    origins = np.array([_fill_untouched(trace.origins, tensors) for trace in traces]).reshape(len(index), -1)
    return _placement(kinds, of_cta, origins, index, len(traces))


def _probe(grid: Cta, run: Run) -> dict[Cta, CtaTrace]:
    """CTA (0, 0, 0) first, its neighbours, and the corners of the grid."""
    corners = [_as_cta(corner) for corner in product(*((0, n - 1) for n in grid))]
    return {cta: run(cta) for cta in dict.fromkeys(((0, 0, 0), *_units(grid), *corners))}


def _units(grid: Cta) -> list[Cta]:
    """The neighbours of CTA (0, 0, 0) along the axes that have any."""
    return [unit for axis, unit in enumerate(((1, 0, 0), (0, 1, 0), (0, 0, 1))) if grid[axis] > 1]


def _as_cta(index: Sequence[int] | np.ndarray) -> Cta:
    x, y, z = index
    return int(x), int(y), int(z)


def _slopes(grid: Cta, probed: dict[Cta, CtaTrace]) -> np.ndarray:
    """(3, T) i8: bytes that each tensor's origin moves by per step of blockIdx."""
    first = probed[0, 0, 0].origins
    slopes = np.zeros((3, len(first)), np.int64)
    for unit in _units(grid):
        slopes[unit.index(1)] = np.where(first == UNTOUCHED, 0, probed[unit].origins - first)
    return slopes


def _difference(trace: CtaTrace, first: CtaTrace, slopes: np.ndarray, tensors: Sequence[TensorInfo]) -> str:
    """Why ``trace`` is not ``first`` with affine base pointers, empty when it is."""
    where = f"block {trace.cta} differs from block {first.cta}"
    if not _same_work(trace, first):
        return f"{where} by more than base pointers"
    wrong = np.flatnonzero(trace.origins != first.origins + np.array(trace.cta) @ slopes)
    return f"{where}: base pointers of {tensors[wrong[0]].name} are not affine in blockIdx" if len(wrong) else ""


def _same_work(a: CtaTrace, b: CtaTrace) -> bool:
    """Whether two CTAs run the same instructions at the same addresses, counted from their origins."""
    if len(a.roles) != len(b.roles) or ((a.origins == UNTOUCHED) != (b.origins == UNTOUCHED)).any():
        return False
    shift = np.append(a.origins - b.origins, 0)
    trios = zip(a.roles, b.roles, a.event_tensors, strict=True)
    return all(_same_path(x, y) and _same_addresses(x, y, shift[of_event]) for x, y, of_event in trios)


def _same_path(a: WarpTrace, b: WarpTrace) -> bool:
    same_warps = (a.first_warp, a.num_warps) == (b.first_warp, b.num_warps)
    return same_warps and np.array_equal(a.steps, b.steps) and np.array_equal(a.active, b.active)


def _same_addresses(a: WarpTrace, b: WarpTrace, shift: np.ndarray) -> bool:
    """Events of ``a`` are those of ``b`` with (E,) bytes added to the global addresses."""
    moved = np.where(b.events.global_address == NO_ADDRESS, NO_ADDRESS, b.events.global_address + shift[:, None, None])
    return (np.array_equal(a.events.shared_address, b.events.shared_address)
            and np.array_equal(a.events.global_address, moved)
            and np.array_equal(a.events.lanes, b.events.lanes) and np.array_equal(a.events.zfill, b.events.zfill))


def _group(traces: Sequence[CtaTrace]) -> tuple[list[CtaTrace], np.ndarray]:
    """One trace of each kind, and (C,) the kind of each CTA."""
    kinds: list[CtaTrace] = []
    of_cta = np.empty(len(traces), np.int32)
    for number, trace in enumerate(traces):
        same = next((k for k, kind in enumerate(kinds) if _same_work(trace, kind)), len(kinds))
        of_cta[number] = same
        kinds += [trace] if same == len(kinds) else []
    return kinds, of_cta


def _placement(
    kinds: Sequence[CtaTrace], of_cta: np.ndarray, origins: np.ndarray, index: np.ndarray, num_emulated: int
) -> Placement:
    """Classes are the distinct pairs of kind and residues."""
    keys = np.column_stack([of_cta, origins % ALIGNMENT])
    distinct, cta_class = np.unique(keys, axis=0, return_inverse=True)
    probes = tuple(kinds[row[0]] for row in distinct)
    bases = origins // ALIGNMENT * ALIGNMENT
    return Placement(probes, distinct[:, 1:], cta_class.reshape(-1).astype(np.int32), bases, index, num_emulated)


def _fill_untouched(origins: np.ndarray, tensors: Sequence[TensorInfo]) -> np.ndarray:
    return np.where(origins == UNTOUCHED, np.array([t.base_address for t in tensors], np.int64), origins)
