"""Models the turns in which data of a cp.async that bypasses L1 are written to shared memory, by lines of 128 bytes.
Leaves out when they are written, and how long a turn takes (gpusim.engine)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.memory.async_copy import writing_lanes
from gpusim.memory.operations import LANES, ROW_BYTES

__all__ = ["LINE_CLASSES", "REQUESTS_AT_ONCE", "classes_written", "write_turns"]

LINE_CLASSES = 4
"""Lines of shared memory whose numbers are equal modulo four cannot be written at once (copy_classes.csv)."""
REQUESTS_AT_ONCE = 4
LINE_BITS = 20


def write_turns(shared_addresses: np.ndarray, global_offsets: np.ndarray, lane_mask: np.ndarray) -> np.ndarray:
    """Turns of N copies of 16 bytes per lane: (N,) i4.

    What goes from one global line to one shared line is written together, whatever pieces it comes in (padded rows of
    32 bytes, 24 requests of 16 lines, take 24 cycles in barrier_copies.csv), and four of these at a time, in the order
    of their first lanes: those that go to lines of different classes at once, the others one after another. Found in
    copy_classes.csv (H200), whose streams, a commit behind each copy, take 2 cycles a copy more than this, or what the
    tag stage takes: 10 cycles for eight rows of 64 bytes whose four lines are of one class or of one class in pairs (8
    turns), 18 and 34 for rows of 32 and 16 bytes (16 and 32 turns).

    Args:
        shared_addresses: (N, 32) byte addresses.
        global_offsets: (N, 32) byte offsets from a 128-byte aligned base.
        lane_mask: (N,) lanes that take part.
    """
    offsets = np.ascontiguousarray(global_offsets, dtype=np.int64).reshape(-1, LANES)
    mask = np.ascontiguousarray(lane_mask, dtype=np.uint32).reshape(-1)
    shared = np.ascontiguousarray(shared_addresses, dtype=np.int64).reshape(-1, LANES)
    requests = (offsets // ROW_BYTES << LINE_BITS) + shared // ROW_BYTES
    return _count(requests, shared, shared // ROW_BYTES % LINE_CLASSES, mask)


def classes_written(shared_addresses: np.ndarray, lane_mask: np.ndarray) -> np.ndarray:
    """Of how many classes the lines are that N copies write: (N,) i8; shared_addresses, lane_mask: as above."""
    classes = 1 << np.asarray(shared_addresses, np.int64).reshape(-1, LANES) // ROW_BYTES % LINE_CLASSES
    takes_part = np.asarray(lane_mask, np.uint32).reshape(-1, 1) >> np.arange(LANES, dtype=np.uint32) & 1
    return np.bitwise_count(np.bitwise_or.reduce(np.where(takes_part, classes, 0), axis=1)).astype(np.int64)


@njit(cache=True)
def _count(requests: np.ndarray, shared: np.ndarray, classes: np.ndarray, mask: np.ndarray) -> np.ndarray:
    turns = np.zeros(len(mask), np.int32)
    waiting = np.zeros(LINE_CLASSES, np.int32)  # requests of the present four, by class
    for i in range(len(mask)):
        number = 0
        waiting[:] = 0
        lanes = writing_lanes(shared[i], mask[i])
        for lane in range(LANES):
            if (lanes >> lane) & 1 and _is_first(requests[i], lanes, lane):
                waiting[classes[i, lane]] += 1
                number += 1
                if number % REQUESTS_AT_ONCE == 0:
                    turns[i] += waiting.max()
                    waiting[:] = 0
        turns[i] += waiting.max()
    return turns


@njit(cache=True)
def _is_first(requests: np.ndarray, mask: int, lane: int) -> bool:
    """No earlier lane asks for the same."""
    for earlier in range(lane):
        asks_too = (mask >> earlier) & 1 and requests[earlier] == requests[lane]
        if asks_too:
            return False
    return True
