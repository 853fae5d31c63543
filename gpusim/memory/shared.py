"""Models how many wavefronts a warp's shared-memory access takes, and Nsight's count of bank conflicts.
Leaves out when the wavefronts move (gpusim.engine) and asynchronous copies (gpusim.memory.async_copy)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from gpusim.memory.operations import LANES, ROW_BYTES, check_addresses, shared_operation

__all__ = ["SharedCost", "lane_bits", "paired", "phase_ways", "shared_cost"]

WORD_BYTES = 4


@dataclass(frozen=True)
class SharedCost:
    """Cost of N accesses; ``wavefronts == ideal_wavefronts + bank_conflicts`` for everything but cp.async."""

    wavefronts: np.ndarray  # (N,) i4
    ideal_wavefronts: np.ndarray  # (N,) i4
    bank_conflicts: np.ndarray  # (N,) f4


def shared_cost(operation: str, addresses: np.ndarray, lane_mask: np.ndarray) -> SharedCost:
    """Wavefronts of N warp accesses to shared memory.

    The rule, equal to the counters of an H200 on all of smem_patterns.csv: a wavefront serves distinct 4-byte words in
    distinct banks (32 banks, bank = word mod 32), so a phase (see `shared_operation`) takes as many wavefronts as the
    bank with the most distinct words has; lanes that want the same word share it. Phases go one after another. A load
    of 8 or 16 bytes per lane fuses its phases two by two (to 32 lanes of 8 bytes, 16 lanes of 16) when every active
    lane of the warp has the address of lane XOR 1, or every one that of lane XOR 2; an inactive partner counts as
    equal. Stores never fuse. A bank conflict is a wavefront beyond the first of its (fused) phase.
    Assumed, as no row shows it: a phase without active lanes takes nothing.

    Args:
        operation: LDS8..LDS128, STS8..STS128, LDSM1/2/4, STSM1/2/4, LDSMT.., STSMT...
        addresses: (N, 32) byte addresses, any integer type.
        lane_mask: (N,) lanes that take part; matrix instructions read the addresses of lanes 0-7, 0-15 or 0-31.

    Raises:
        UserError: unknown operation; an active address that is negative or not a multiple of the lane's width.
    """
    shape = shared_operation(operation)
    addresses = np.ascontiguousarray(addresses, dtype=np.int64).reshape(-1, LANES)
    mask = np.ascontiguousarray(lane_mask, dtype=np.uint32).reshape(-1)
    used = mask & np.uint32(shape.address_lanes)
    if _any_bad(addresses, used, shape.bytes_per_lane):
        check_addresses(addresses, lane_bits(used), shape.bytes_per_lane)
    unit_shift = max(WORD_BYTES, shape.bytes_per_lane).bit_length() - 1
    wavefronts, ideal = _count(addresses, mask, shape.num_phases, shape.lanes_per_phase, unit_shift, shape.merges)
    return SharedCost(wavefronts, ideal, (wavefronts - ideal).astype(np.float32))


def lane_bits(lane_mask: np.ndarray) -> np.ndarray:
    """(N,) bit masks as an (N, 32) bool array."""
    return (np.asarray(lane_mask, np.uint32)[:, None] >> np.arange(LANES, dtype=np.uint32)) & 1 == 1


@njit(cache=True)
def _any_bad(addresses: np.ndarray, mask: np.ndarray, bytes_per_lane: int) -> bool:
    for i in range(addresses.shape[0]):
        for lane in range(LANES):
            address = addresses[i, lane]
            if (mask[i] >> lane) & 1 and (address < 0 or address & (bytes_per_lane - 1) != 0):
                return True
    return False


@njit(cache=True)
def _count(
    addresses: np.ndarray, mask: np.ndarray, num_phases: int, lanes_per_phase: int, unit_shift: int, merges: bool
) -> tuple[np.ndarray, np.ndarray]:
    # Aligned lanes occupy whole units of max(4, width) bytes, so units in as many wide banks stand for words.
    count = addresses.shape[0]
    wavefronts, ideal = np.zeros(count, np.int32), np.zeros(count, np.int32)
    used = np.empty(ROW_BYTES >> unit_shift, np.int64)
    units = np.empty((ROW_BYTES >> unit_shift, LANES), np.int64)
    for i in range(count):
        span = 2 * lanes_per_phase if merges and paired(addresses[i], mask[i]) else lanes_per_phase
        for start in range(0, num_phases * lanes_per_phase, span):
            ways = phase_ways(addresses[i], mask[i], start, start + span, unit_shift, used, units)
            wavefronts[i] += ways
            ideal[i] += ways > 0
    return wavefronts, ideal


@njit(cache=True)
def paired(addresses: np.ndarray, mask: int) -> bool:
    """Whether all active lanes agree with lane XOR 1, or all with lane XOR 2: the returned registers then pack."""
    by_one, by_two = True, True
    for lane in range(LANES):
        if (mask >> lane) & 1:
            by_one &= (mask >> (lane ^ 1)) & 1 == 0 or addresses[lane] == addresses[lane ^ 1]
            by_two &= (mask >> (lane ^ 2)) & 1 == 0 or addresses[lane] == addresses[lane ^ 2]
    return by_one or by_two


@njit(cache=True)
def phase_ways(
    addresses: np.ndarray, mask: int, start: int, stop: int, unit_shift: int, used: np.ndarray, units: np.ndarray
) -> int:
    """Most distinct units in one bank among lanes [start, stop). ``used`` (B,) and ``units`` (B, 32) are scratch."""
    used[:] = 0
    ways = 0
    for lane in range(start, stop):
        if (mask >> lane) & 1:
            unit = addresses[lane] >> unit_shift
            bank = unit & (len(used) - 1)
            slot = 0
            while slot < used[bank] and units[bank, slot] != unit:
                slot += 1
            if slot == used[bank]:
                units[bank, slot] = unit
                used[bank] += 1
                ways = max(ways, used[bank])
    return ways
