"""Models the shared-memory wavefronts of a warp's cp.async (LDGSTS): they depend on where data come from and go to.
Leaves out the global side's sectors (gpusim.memory.sectors), hits and misses, and all timing (gpusim.engine)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.errors import UserError, did_you_mean
from gpusim.memory.l1_crossing import cross_copy
from gpusim.memory.operations import ASYNC_OPERATIONS, LANES, ROW_BYTES, check_addresses
from gpusim.memory.shared import SharedCost, lane_bits

__all__ = ["BYPASS_OPERATION", "async_cost", "async_width_bytes", "bypass_pieces", "writing_lanes"]

CHUNK_BYTES = 16
ROW_CHUNKS = ROW_BYTES // CHUNK_BYTES
PIECE_BITS = 20
BYPASS_OPERATION = "CPA16"
"""Copies of 16 bytes by cp.async.cg bypass L1; those by cp.async.ca, of 4, 8 or 16 bytes, go through it."""
THROUGH_L1 = "CA"
NUM_BASES = 32
LINES_BETWEEN_BASES = 8


def async_width_bytes(operation: str) -> int:
    """Bytes per lane of CPA4, CPA8, CPA16, CPA16CA; UserError for anything else."""
    if operation not in ASYNC_OPERATIONS:
        known = did_you_mean(operation, ASYNC_OPERATIONS)
        raise UserError("unknown asynchronous copy", got=f"'{operation}'", suggestion=known)
    return int(operation.removeprefix("CPA").removesuffix(THROUGH_L1))


def async_cost(
    operation: str, shared_addresses: np.ndarray, global_offsets: np.ndarray, lane_mask: np.ndarray
) -> SharedCost:
    """Wavefronts of N warp copies from global to shared memory.

    Equal to the counters of an H200 on all of ldgsts_patterns.csv, and of an H100 on copy_patterns.csv.gz but for 29 of
    1,100 .cg, which bring one chunk to several places:

    - .ca: lanes cross from L1's lines to shared memory in phases of 128 bytes (32, 16 or 8 lanes). A phase counts as
      many wavefronts as there are lanes that one of them shares a bank with, itself included: a bank of L1 (position
      in the 128-byte line) or a bank of shared memory. How many it really takes, `l1_crossings` says.
    - .cg: 16 bytes per lane come as 32-byte sectors from L2. Of lanes with one destination the first writes. One
      wavefront joins, from one global line to one 128-byte shared row, pieces of one kind (whole sectors; their lower
      halves; their upper halves) that need the same exchange inside 64 bytes: the low two bits of (16-byte chunk in
      the line XOR 16-byte chunk in the row). A sector stays whole if both halves are copied and meet again in one
      aligned 32-byte piece of shared memory. A chunk that goes to two places takes another wavefront for the second.

    ``bank_conflicts`` is zero for .cg. For .ca it is what crossing takes beyond a wavefront per phase and pass of the
    L1 tag stage. Which lines share a pass depends on the base address, so this is the mean over 32 bases 1 KiB apart,
    as the table was counted.

    Args:
        operation: CPA4, CPA8, CPA16CA (all .ca) or CPA16 (.cg).
        shared_addresses: (N, 32) byte addresses.
        global_offsets: (N, 32) byte offsets from a 128-byte aligned base.
        lane_mask: (N,) lanes that take part.

    Raises:
        UserError: unknown operation; a negative shared address, or one of either side that is not aligned.
    """
    width = async_width_bytes(operation)
    shared = np.ascontiguousarray(shared_addresses, dtype=np.int64).reshape(-1, LANES)
    offsets = np.ascontiguousarray(global_offsets, dtype=np.int64).reshape(-1, LANES)
    mask = np.ascontiguousarray(lane_mask, dtype=np.uint32).reshape(-1)
    active = lane_bits(mask)
    check_addresses(shared, active, width)
    check_addresses(offsets % ROW_BYTES, active, width, "global side")
    ideal = -(-np.bitwise_count(mask).astype(np.int32) * width // ROW_BYTES)
    if operation == BYPASS_OPERATION:
        bypass = _count_bypass(shared // CHUNK_BYTES, offsets // CHUNK_BYTES, mask)
        return SharedCost(bypass, ideal, np.zeros(len(mask), np.float32))
    shared, source, num_banks = shared // width, offsets // width, ROW_BYTES // width
    wavefronts = _count_through_l1(shared, source, mask, num_banks)
    return SharedCost(wavefronts, ideal, _conflicts(shared, source, mask, num_banks))


@njit(cache=True)
def _count_through_l1(shared: np.ndarray, source: np.ndarray, mask: np.ndarray, num_banks: int) -> np.ndarray:
    # Addresses in units of the lane's width, so that a lane needs one bank on either side; a phase has num_banks lanes.
    wavefronts = np.zeros(len(mask), np.int32)
    for i in range(len(mask)):
        for start in range(0, LANES, num_banks):
            most = 0
            for lane in range(start, start + num_banks):
                if (mask[i] >> lane) & 1:
                    most = max(most, _sharing_a_bank(shared[i], source[i], mask[i], lane, start, num_banks))
            wavefronts[i] += most
    return wavefronts


@njit(cache=True)
def _sharing_a_bank(
    shared: np.ndarray, source: np.ndarray, mask: int, lane: int, start: int, num_banks: int
) -> int:
    lanes = 0
    for other in range(start, start + num_banks):
        if (mask >> other) & 1:
            same_port = (source[other] - source[lane]) % num_banks == 0
            lanes += same_port or (shared[other] - shared[lane]) % num_banks == 0
    return lanes


@njit(cache=True)
def _conflicts(shared: np.ndarray, source: np.ndarray, mask: np.ndarray, num_banks: int) -> np.ndarray:
    conflicts = np.zeros(len(mask), np.float32)
    for i in range(len(mask)):
        total = 0
        for base in range(NUM_BASES):
            lines = source[i] // num_banks + base * LINES_BETWEEN_BASES
            total += cross_copy(shared[i], source[i], lines, mask[i], num_banks)[1]
        conflicts[i] = total / NUM_BASES
    return conflicts


@njit(cache=True)
def _distinct(values: np.ndarray, lanes: int) -> int:
    seen = np.empty(LANES, np.int64)
    used = 0
    for lane in range(LANES):
        if (lanes >> lane) & 1:
            slot = 0
            while slot < used and seen[slot] != values[lane]:
                slot += 1
            if slot == used:
                seen[slot] = values[lane]
                used += 1
    return used


@njit(cache=True)
def _count_bypass(shared: np.ndarray, source: np.ndarray, mask: np.ndarray) -> np.ndarray:
    # Addresses in 16-byte chunks.
    count = shared.shape[0]
    wavefronts = np.zeros(count, np.int32)
    keys = np.empty(LANES, np.int64)
    for i in range(count):
        writers = writing_lanes(shared[i], mask[i])
        for lane in range(LANES):
            line = source[i, lane] // ROW_CHUNKS
            keys[lane] = (line << PIECE_BITS) + _bypass_piece(shared[i], source[i], writers, lane)
        wavefronts[i] = _distinct(keys, writers)
    return wavefronts


@njit(cache=True)
def writing_lanes(shared: np.ndarray, mask: int) -> int:
    """Lanes to whose place no earlier one writes. shared: (32,) in units of what a lane copies."""
    writers = 0
    for lane in range(LANES):
        is_first = True
        for other in range(lane):
            is_first &= (writers >> other) & 1 == 0 or shared[other] != shared[lane]
        writers |= ((mask >> lane) & 1 and is_first) << lane
    return writers


def bypass_pieces(shared_addresses: np.ndarray, global_offsets: np.ndarray, lane_mask: np.ndarray) -> np.ndarray:
    """Number of the piece of its line that each lane of N 16-byte copies brings: (N, 32).

    What one wavefront can write is one request, so a padded tile asks for the sectors that its odd rows split twice
    (``l1tex__m_xbar2l1tex_read_sectors`` is 1.5 times the sectors it needs, ``lts__t_requests`` 2.6 per row of 128
    bytes; both measured on the H200).
    """
    shared = np.ascontiguousarray(shared_addresses, dtype=np.int64).reshape(-1, LANES)
    offsets = np.ascontiguousarray(global_offsets, dtype=np.int64).reshape(-1, LANES)
    mask = np.ascontiguousarray(lane_mask, dtype=np.uint32).reshape(-1)
    return _pieces(shared // CHUNK_BYTES, offsets // CHUNK_BYTES, mask)


@njit(cache=True)
def _pieces(shared: np.ndarray, source: np.ndarray, mask: np.ndarray) -> np.ndarray:
    pieces = np.zeros(shared.shape, np.int64)
    for i in range(shared.shape[0]):
        writers = writing_lanes(shared[i], mask[i])
        for lane in range(LANES):
            pieces[i, lane] = _bypass_piece(shared[i], source[i], writers, lane)
    return pieces


@njit(cache=True)
def _piece(shared: np.ndarray, source: np.ndarray, mask: int, lane: int) -> int:
    for other in range(LANES):
        if (mask >> other) & 1 and source[other] == source[lane] ^ 1 and shared[other] == shared[lane] ^ 1:
            return 2
    return source[lane] % 2


@njit(cache=True)
def _bypass_piece(shared: np.ndarray, source: np.ndarray, mask: int, lane: int) -> int:
    """One number for (shared row, kind of piece, exchange, whether the chunk has gone to another place before)."""
    kind, again = _way(shared, source, mask, lane), 0
    for other in range(lane):
        if (mask >> other) & 1 and source[other] == source[lane] and _way(shared, source, mask, other) == kind:
            again = 1
    return 2 * kind + again


@njit(cache=True)
def _way(shared: np.ndarray, source: np.ndarray, mask: int, lane: int) -> int:
    exchange = (source[lane] ^ shared[lane]) % 4
    return (shared[lane] // ROW_CHUNKS * 4 + _piece(shared, source, mask, lane)) * 4 + exchange
