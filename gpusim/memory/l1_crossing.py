"""Models the wavefronts in which the data of a cp.async that passes through L1 cross from its lines to shared memory.
Leaves out the counters of such copies (gpusim.memory.async_copy) and when they cross (gpusim.engine)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.memory.l1_tags import tag_passes
from gpusim.memory.operations import LANES, ROW_BYTES
from gpusim.memory.shared import phase_ways

__all__ = ["l1_crossings"]


def l1_crossings(
    bytes_per_lane: int, shared_addresses: np.ndarray, global_offsets: np.ndarray, lane_mask: np.ndarray
) -> np.ndarray:
    """Wavefronts of N copies of 4, 8 or 16 bytes per lane: (N,) i4.

    A phase is 128 bytes. In each pass of the tag stage its lines are read one after another, as far as they need the
    same source banks, and of each line go the first lanes that want a shared bank. What is left goes as fast as the
    worse side's banks allow. This gives ``l1tex__data_pipe_lsu_wavefronts`` of the patterns of copy_l1.csv (H200): one
    per line while the shared side has no conflicts, 11 where 8 lanes of each of 4 lines want one bank; the cycles per
    copy, which are one more, follow it.

    Args:
        shared_addresses: (N, 32) byte addresses.
        global_offsets: (N, 32) byte offsets from a 128-byte aligned base.
        lane_mask: (N,) lanes that take part.
    """
    shared = np.ascontiguousarray(shared_addresses, dtype=np.int64).reshape(-1, LANES) // bytes_per_lane
    source = np.ascontiguousarray(global_offsets, dtype=np.int64).reshape(-1, LANES) // bytes_per_lane
    mask = np.ascontiguousarray(lane_mask, dtype=np.uint32).reshape(-1)
    return _count(shared, source, mask, ROW_BYTES // bytes_per_lane)


@njit(cache=True)
def _count(shared: np.ndarray, source: np.ndarray, mask: np.ndarray, num_banks: int) -> np.ndarray:
    # Addresses in units of the lane's width, so that a lane needs one bank on either side; a phase has num_banks lanes.
    count = np.zeros(len(mask), np.int32)
    passes, reads = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    used, units = np.empty(num_banks, np.int64), np.empty((num_banks, LANES), np.int64)
    for i in range(len(mask)):
        for number in range(tag_passes(source[i] // num_banks, mask[i], passes)):
            for start in range(0, LANES, num_banks):
                lanes = 0
                for lane in range(start, start + num_banks):
                    lanes |= (((mask[i] >> lane) & 1) and passes[lane] == number) << lane
                count[i] += _read(source[i], lanes, start, num_banks, reads)
                left = _left_over(shared[i], reads, lanes, start, num_banks)
                written = phase_ways(shared[i], left, start, start + num_banks, 0, used, units)
                count[i] += max(written, phase_ways(source[i], left, start, start + num_banks, 0, used, units))
    return count


@njit(cache=True)
def _read(source: np.ndarray, lanes: int, start: int, num_banks: int, reads: np.ndarray) -> int:
    """Write to ``reads`` (32,) in which read of its pass each lane's word comes; returns their number."""
    total = 0
    for lane in range(start, start + num_banks):
        if (lanes >> lane) & 1:
            number = 0
            for other in range(start, lane):
                if (lanes >> other) & 1 and (source[other] - source[lane]) % num_banks == 0:
                    number = max(number, reads[other] + (source[other] != source[lane]))
            reads[lane] = number
            total = max(total, number + 1)
    return total


@njit(cache=True)
def _left_over(shared: np.ndarray, reads: np.ndarray, lanes: int, start: int, num_banks: int) -> int:
    """Lanes whose shared bank another lane of their read has taken."""
    left = 0
    for lane in range(start, start + num_banks):
        if (lanes >> lane) & 1:
            for other in range(start, lane):
                if ((lanes >> other) & 1 and not (left >> other) & 1 and reads[other] == reads[lane]
                        and (shared[other] - shared[lane]) % num_banks == 0):
                    left |= 1 << lane
                    break
    return left
