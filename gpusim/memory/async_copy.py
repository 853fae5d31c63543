"""Models the shared-memory wavefronts of a warp's cp.async (LDGSTS): they depend on where data come from and go to.
Leaves out the global side's sectors (gpusim.memory.sectors), hits and misses, and all timing (gpusim.engine)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.errors import UserError, did_you_mean
from gpusim.memory.l1_tags import tag_passes
from gpusim.memory.operations import ASYNC_OPERATIONS, LANES, ROW_BYTES, check_addresses
from gpusim.memory.shared import SharedCost, lane_bits, phase_ways

__all__ = ["BYPASS_OPERATION", "async_cost", "async_width_bytes", "bypass_pieces"]

CHUNK_BYTES = 16
ROW_CHUNKS = ROW_BYTES // CHUNK_BYTES
PIECE_BITS = 20
BYPASS_BYTES = 16
BYPASS_OPERATION = "CPA16"
"""Copies of 16 bytes (cp.async.cg) bypass L1; 4 and 8 bytes (.ca) go through it."""
NUM_BASES = 32
LINES_BETWEEN_BASES = 8


def async_width_bytes(operation: str) -> int:
    """Bytes per lane of CPA4, CPA8, CPA16; UserError for anything else."""
    if operation not in ASYNC_OPERATIONS:
        known = did_you_mean(operation, ASYNC_OPERATIONS)
        raise UserError("unknown asynchronous copy", got=f"'{operation}'", suggestion=known)
    return int(operation.removeprefix("CPA"))


def async_cost(
    operation: str, shared_addresses: np.ndarray, global_offsets: np.ndarray, lane_mask: np.ndarray
) -> SharedCost:
    """Wavefronts of N warp copies from global to shared memory.

    Found in ldgsts_patterns.csv (H200), whose 384 wavefront counts it gives exactly:

    - 4 and 8 bytes per lane cross from an L1 line to the shared banks in phases of 128 bytes (32 or 16 lanes). A round
      connects each shared bank to one source bank (position in the 128-byte global line), the one that the lowest
      waiting lane wants, and then passes every line that still has waiting lanes through that connection, one
      wavefront each, even if none of its lanes fits. Lanes that do not fit wait for the next round.
    - 16 bytes per lane come as 32-byte sectors from L2. One wavefront joins, from one global line to one 128-byte
      shared row, pieces of one kind (whole sectors; their lower halves; their upper halves) that need the same
      exchange inside 64 bytes: the low two bits of (16-byte chunk in the line XOR 16-byte chunk in the row). A sector
      stays whole if both halves are copied and meet again in one aligned 32-byte piece of shared memory.

    ``bank_conflicts`` (equal to all 384 counts as well) is zero for 16 bytes. For 4 and 8 bytes the lines are read in
    passes of the L1 tag stage (`tag_passes`); each phase has, per pass, the ways of the worse side minus 1 conflicts.
    Which lines share a pass depends on the base address, so this is the mean over 32 bases 1 KiB apart.

    Args:
        operation: CPA4, CPA8 or CPA16.
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
    if width == BYPASS_BYTES:
        bypass = _count_bypass(shared // CHUNK_BYTES, offsets // CHUNK_BYTES, mask)
        return SharedCost(bypass, ideal, np.zeros(len(mask), np.float32))
    shared, source, num_banks = shared // width, offsets // width, ROW_BYTES // width
    wavefronts = _count_through_l1(shared, source, mask, num_banks)
    return SharedCost(wavefronts, ideal, _conflicts(shared, source, mask, num_banks))


@njit(cache=True)
def _count_through_l1(shared: np.ndarray, source: np.ndarray, mask: np.ndarray, num_banks: int) -> np.ndarray:
    # Addresses in units of the lane's width, so that a lane needs one bank on either side; a phase has num_banks lanes.
    count = shared.shape[0]
    wavefronts = np.zeros(count, np.int32)
    for i in range(count):
        for start in range(0, LANES, num_banks):
            waiting = np.int64(mask[i]) & ((1 << start + num_banks) - (1 << start))
            while waiting:
                wavefronts[i] += _distinct(source[i] // num_banks, waiting)
                waiting &= ~_fitting(shared[i], source[i], waiting, num_banks)
    return wavefronts


@njit(cache=True)
def _conflicts(shared: np.ndarray, source: np.ndarray, mask: np.ndarray, num_banks: int) -> np.ndarray:
    count = shared.shape[0]
    conflicts = np.zeros(count, np.float32)
    passes = np.empty(LANES, np.int64)
    used, units = np.empty(num_banks, np.int64), np.empty((num_banks, LANES), np.int64)
    for i in range(count):
        total = 0
        for base in range(NUM_BASES):
            lines = source[i] // num_banks + base * LINES_BETWEEN_BASES
            for number in range(tag_passes(lines, mask[i], passes)):
                lanes = mask[i] & _equal(passes, number)
                for start in range(0, LANES, num_banks):
                    written = phase_ways(shared[i], lanes, start, start + num_banks, 0, used, units)
                    read = phase_ways(source[i], lanes, start, start + num_banks, 0, used, units)
                    total += max(written - 1, read - 1, 0)
        conflicts[i] = total / NUM_BASES
    return conflicts


@njit(cache=True)
def _equal(values: np.ndarray, value: int) -> int:
    lanes = 0
    for lane in range(LANES):
        lanes |= (values[lane] == value) << lane
    return lanes


@njit(cache=True)
def _fitting(shared: np.ndarray, source: np.ndarray, waiting: int, num_banks: int) -> int:
    """Lanes that pass in one round."""
    connected = np.full(num_banks, -1, np.int64)
    served = 0
    for lane in range(LANES):
        if (waiting >> lane) & 1:
            bank, port = shared[lane] % num_banks, source[lane] % num_banks
            if connected[bank] == -1:
                connected[bank] = port
            if connected[bank] == port and not _overtaken(shared, source, lane, served, num_banks):
                served |= 1 << lane
    return served


@njit(cache=True)
def _overtaken(shared: np.ndarray, source: np.ndarray, lane: int, served: int, num_banks: int) -> bool:
    """Whether a served lane sends the same global word to the same bank, but to another row."""
    for other in range(lane):
        same_word = (served >> other) & 1 and source[other] == source[lane]
        if same_word and shared[other] != shared[lane] and (shared[other] - shared[lane]) % num_banks == 0:
            return True
    return False


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
        for lane in range(LANES):
            line = source[i, lane] // ROW_CHUNKS
            keys[lane] = (line << PIECE_BITS) + _bypass_piece(shared[i], source[i], mask[i], lane)
        wavefronts[i] = _distinct(keys, mask[i])
    return wavefronts


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
        for lane in range(LANES):
            pieces[i, lane] = _bypass_piece(shared[i], source[i], mask[i], lane)
    return pieces


@njit(cache=True)
def _piece(shared: np.ndarray, source: np.ndarray, mask: int, lane: int) -> int:
    for other in range(LANES):
        if (mask >> other) & 1 and source[other] == source[lane] ^ 1 and shared[other] == shared[lane] ^ 1:
            return 2
    return source[lane] % 2


@njit(cache=True)
def _bypass_piece(shared: np.ndarray, source: np.ndarray, mask: int, lane: int) -> int:
    """One number for (shared row, kind of piece, exchange)."""
    exchange = (source[lane] ^ shared[lane]) % 4
    return (shared[lane] // ROW_CHUNKS * 4 + _piece(shared, source, mask, lane)) * 4 + exchange
