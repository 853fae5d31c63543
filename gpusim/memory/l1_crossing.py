"""Models the wavefronts in which the data of a cp.async that passes through L1 cross from its lines to shared memory.
Leaves out which lines are looked up together (gpusim.memory.l1_tags) and when they cross (gpusim.engine)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.memory.l1_tags import tag_passes
from gpusim.memory.operations import LANES, ROW_BYTES

__all__ = ["cross_copy", "l1_crossings"]


def l1_crossings(
    bytes_per_lane: int, shared_addresses: np.ndarray, global_offsets: np.ndarray, lane_mask: np.ndarray
) -> np.ndarray:
    """Wavefronts of N copies of 4, 8 or 16 bytes per lane: (N,) i4.

    A phase is 128 bytes of lanes. The lines that it finds in one pass of the tag stage cross together, lane by lane:
    a lane goes in the wavefront behind the last one of an earlier lane that reads from its bank of L1 or writes to its
    bank of shared memory, whichever words these are. This is ``l1tex__data_pipe_lsu_wavefronts`` of the patterns of
    copy_l1.csv and of all 1,339 in copy_patterns.csv.gz that have it, as means over their bases; cycles per copy, one
    more, follow it.

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
    count = np.zeros(len(mask), np.int32)
    for i in range(len(mask)):
        count[i] = cross_copy(shared[i], source[i], source[i] // num_banks, mask[i], num_banks)[0]
    return count


@njit(cache=True)
def cross_copy(
    shared: np.ndarray, source: np.ndarray, lines: np.ndarray, mask: int, num_banks: int
) -> tuple[int, int]:
    """Wavefronts of a copy, and how many of them are beyond the first of their phase and pass.

    shared, source: (32,) addresses in units of the lane's width, so that a lane needs one of ``num_banks`` banks on
    either side, and a phase has as many lanes. lines: (32,) 128-byte lines that the lanes read.
    """
    wavefronts, conflicts = 0, 0
    passes = np.empty(LANES, np.int64)
    read, written = np.empty(num_banks, np.int64), np.empty(num_banks, np.int64)
    for number in range(tag_passes(lines, mask, passes)):
        for start in range(0, LANES, num_banks):
            read[:] = written[:] = 0
            last = 0
            for lane in range(start, start + num_banks):
                if (mask >> lane) & 1 and passes[lane] == number:
                    port, bank = source[lane] % num_banks, shared[lane] % num_banks
                    read[port] = written[bank] = max(read[port], written[bank]) + 1
                    last = max(last, read[port])
            wavefronts += last
            conflicts += max(0, last - 1)
    return wavefronts, conflicts
