"""Models why an access is free of bank conflicts: linear algebra over F2, and the closed formula for a column of units.
Leaves out accesses whose banks are not linear in the lane: those are counted lane by lane (gpusim.memory).

In a phase whose lane addresses are ``a(0) XOR M l`` (M over F2, l the bits of the lane number) the lanes want
``2**rank(M)`` words and reach ``2**rank(bank rows of M)`` banks, equally often each: the phase takes
``2**(rank(M) - rank(bank rows of M))`` wavefronts. It is free of conflicts exactly when the two ranks are equal.
Where the lanes all want different words, as many as ``2**n`` of n lane bits, only the bank bits need be linear: that
covers padded rows, whose addresses carry above the bank bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.cute import Swizzle, minimal_swizzle
from gpusim.errors import UserError
from gpusim.experiments.shared_accesses import BANK_ROW_BYTES, SourceAccess
from gpusim.memory.operations import ASYNC_OPERATIONS, phases, shared_operation
from gpusim.memory.shared import WORD_BYTES

__all__ = ["Column", "PhaseRank", "access_rank", "column_of", "f2_rank", "phase_rank"]


@dataclass(frozen=True)
class PhaseRank:
    """Ranks over F2 of the maps from lane bits to words and to banks, which ``bank_bits`` of the address choose."""

    lane_bits: int
    bank_bits: tuple[int, ...]
    rank: int
    bank_rank: int

    @property
    def ways(self) -> int:
        """Wavefronts of the phase."""
        return 1 << (self.rank - self.bank_rank)


@dataclass(frozen=True)
class Column:
    """The simple case: the lanes of every phase read the same unit of consecutive rows."""

    unit_bytes: int
    row_bytes: int

    def swizzle(self) -> Swizzle | None:
        """The closed formula's swizzle on byte addresses; None where rows or units are no powers of two."""
        try:
            return minimal_swizzle(8, self.row_bytes, self.unit_bytes.bit_length() - 1)
        except UserError:
            return None


def f2_rank(vectors: Sequence[int]) -> int:
    """The rank over F2 of bit vectors."""
    basis: dict[int, int] = {}
    for vector in vectors:
        while vector and vector.bit_length() in basis:
            vector ^= basis[vector.bit_length()]
        if vector:
            basis[vector.bit_length()] = vector
    return len(basis)


def phase_rank(addresses: Sequence[int] | np.ndarray, bytes_per_lane: int) -> PhaseRank | None:
    """The ranks of a phase of 2**n active lanes; None where the argument does not apply to it."""
    unit = max(WORD_BYTES, bytes_per_lane)
    words = [int(address) // unit for address in addresses]
    banks = _columns([word % (BANK_ROW_BYTES // unit) for word in words])
    if banks is None:
        return None
    linear, lane_bits = _columns(words), len(banks)
    if linear is None and len(set(words)) < len(words):
        return None
    bits = range(unit.bit_length() - 1, BANK_ROW_BYTES.bit_length() - 1)
    return PhaseRank(lane_bits, tuple(bits), lane_bits if linear is None else f2_rank(linear), f2_rank(banks))


def access_rank(access: SourceAccess) -> PhaseRank | None:
    """The ranks of the worst phase over all executions; None for a copy, or where a phase is not linear or not full."""
    worst: PhaseRank | None = None
    for lanes in _distinct_phases(access):
        found = phase_rank(lanes, shared_operation(access.operation).bytes_per_lane)
        if found is None:
            return None
        worst = found if worst is None or found.ways > worst.ways else worst
    return worst


def column_of(access: SourceAccess) -> Column | None:
    """The column that an unswizzled access reads, if every phase of every execution reads one of the same pitch."""
    pitches = {_pitch(lanes) for lanes in _distinct_phases(access)}
    pitch = pitches.pop() if len(pitches) == 1 else None
    if not pitch:
        return None
    return Column(shared_operation(access.operation).bytes_per_lane, pitch)


def _pitch(lanes: np.ndarray) -> int | None:
    steps = np.unique(np.diff(lanes))
    return int(steps[0]) if len(steps) == 1 and steps[0] > 0 else None


def _columns(images: Sequence[int]) -> list[int] | None:
    """The matrix of a map from lane numbers that is linear over F2 up to a constant; None where it is not."""
    count = len(images).bit_length() - 1
    columns = [images[1 << bit] ^ images[0] for bit in range(count)]
    linear = all(image ^ images[0] == _image(columns, lane) for lane, image in enumerate(images))
    return columns if linear and len(images) == 1 << count else None


def _image(columns: Sequence[int], lane: int) -> int:
    image = 0
    for bit, column in enumerate(columns):
        image ^= column if lane >> bit & 1 else 0
    return image


def _distinct_phases(access: SourceAccess) -> list[np.ndarray]:
    """Lane addresses of every phase, relative to its lowest row of banks, each once; none where lanes are off."""
    if access.operation in ASYNC_OPERATIONS:
        return []
    groups = np.array(phases(access.operation))
    bits = (access.lane_mask[:, None, None] >> groups[None].astype(np.uint32)) & 1
    if not bits.all():
        return []
    lanes = access.shared[:, groups].reshape(-1, groups.shape[1])
    lowest = lanes.min(axis=1, keepdims=True) // BANK_ROW_BYTES * BANK_ROW_BYTES
    return list(np.unique(lanes - lowest, axis=0))
