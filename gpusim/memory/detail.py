"""Models one shared-memory access in the detail that a report or picture needs: which lanes meet in which bank.
Leaves out speed (gpusim.memory.shared analyses many accesses at once) and asynchronous copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.memory.operations import LANES, check_addresses, phases, shared_operation
from gpusim.memory.shared import WORD_BYTES, lane_bits, paired

__all__ = ["ALL_LANES", "PhaseDetail", "explain"]

ALL_LANES = 0xFFFFFFFF
BANKS = 32


@dataclass(frozen=True)
class PhaseDetail:
    """One phase, or two fused ones."""

    lanes: tuple[int, ...]  # active ones
    banks: dict[int, dict[int, tuple[int, ...]]]  # bank -> word (byte address / 4) -> lanes that want it

    @property
    def ways(self) -> int:
        """Wavefronts the phase takes."""
        return max((len(words) for words in self.banks.values()), default=0)

    @property
    def collisions(self) -> dict[int, dict[int, tuple[int, ...]]]:
        """The banks in which lanes want different words."""
        return {bank: words for bank, words in self.banks.items() if len(words) > 1}


def explain(
    operation: str, addresses: Sequence[int] | np.ndarray, lane_mask: int = ALL_LANES
) -> tuple[PhaseDetail, ...]:
    """The phases of one access; their ``ways`` add up to `shared_cost`'s wavefronts.

    Args:
        operation: as for `shared_cost`.
        addresses: (32,) byte addresses.
        lane_mask: lanes that take part.

    Raises:
        UserError: unknown operation; an active address that is negative or misaligned.
    """
    shape = shared_operation(operation)
    lanes = np.array(addresses, np.int64).reshape(LANES)
    check_addresses(lanes[None], lane_bits(np.array([lane_mask & shape.address_lanes])), shape.bytes_per_lane)
    groups = phases(operation)
    if shape.merges and paired(lanes, lane_mask):
        groups = tuple(first + second for first, second in zip(groups[::2], groups[1::2], strict=True))
    active = [[lane for lane in group if lane_mask >> lane & 1] for group in groups]
    return tuple(_phase(lanes, group, shape.bytes_per_lane) for group in active)


def _phase(addresses: np.ndarray, lanes: Sequence[int], width: int) -> PhaseDetail:
    banks: dict[int, dict[int, tuple[int, ...]]] = {}
    for lane in lanes:
        first = int(addresses[lane]) // WORD_BYTES
        for word in range(first, first + max(1, width // WORD_BYTES)):
            wanted = banks.setdefault(word % BANKS, {})
            wanted[word] = (*wanted.get(word, ()), lane)
    return PhaseDetail(tuple(lanes), dict(sorted(banks.items())))
