"""Models the way from the SMs' tag stages through the crossbar, L2 slices and DRAM channels and back, line by line.
Leaves out L1 hits, atomics' arithmetic and DRAM banks: a channel is a queue with a latency."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gpusim.engine.machine import Machine

__all__ = ["MEMORY_COUNTERS", "MemoryState", "new_memory", "serve", "warm_lines"]

MEMORY_COUNTERS = ("l2_sectors_read", "l2_sectors_write", "l2_sector_hits_read", "l2_sectors_fabric",
                   "dram_bytes_read", "dram_bytes_written", "sectors_to_sms", "coalesced_sectors")
READ, WRITE, HIT, FABRIC, DRAM_READ, DRAM_WRITTEN, TO_SMS, COALESCED = range(len(MEMORY_COUNTERS))
LINE_BITS = 7
EMPTY = -1
COALESCER_ENTRIES = 4096
"""A direct-mapped table per GPC; two lines in one entry lose a chance to share, not correctness."""


class MemoryState(NamedTuple):
    """P partitions with a copy of what their SMs read, K slices, X sets, Y ways, D channels, G GPCs."""

    tags: np.ndarray  # (K, X, Y) i8: line number, -1 empty
    valid: np.ndarray  # (K, X, Y) u1: sectors present
    dirty: np.ndarray  # (K, X, Y) u1
    ready: np.ndarray  # (K, X, Y) f8: when the last fill arrives
    used: np.ndarray  # (K, X, Y) i8: order of last use
    clock: np.ndarray  # (1,) i8
    slice_free: np.ndarray  # (K,) f8
    channel_free: np.ndarray  # (D,) f8
    port_free: np.ndarray  # (S,) f8: data to an SM
    write_free: np.ndarray  # (S,) f8: data from an SM
    shared_line: np.ndarray  # (G, COALESCER_ENTRIES) i8
    shared_sectors: np.ndarray  # (G, COALESCER_ENTRIES) u1
    shared_time: np.ndarray  # (G, COALESCER_ENTRIES) f8: when the slice answers
    gpc: np.ndarray  # (S,) i4
    counters: np.ndarray  # (len(MEMORY_COUNTERS),) f8
    last_write: np.ndarray  # (1,) f8: when the last write reached its slice


def new_memory(mach: Machine, gpc: np.ndarray) -> MemoryState:
    """A cold L2 and idle queues. gpc[s]: group of SM s."""
    shape = (mach.slices, mach.l2_sets, mach.l2_ways)
    gpcs = int(gpc.max()) + 1
    return MemoryState(
        tags=np.full(shape, EMPTY, np.int64), valid=np.zeros(shape, np.uint8), dirty=np.zeros(shape, np.uint8),
        ready=np.zeros(shape), used=np.zeros(shape, np.int64), clock=np.zeros(1, np.int64),
        slice_free=np.zeros(mach.slices), channel_free=np.zeros(mach.dram_channels), port_free=np.zeros(mach.num_sms),
        write_free=np.zeros(mach.num_sms), shared_line=np.full((gpcs, COALESCER_ENTRIES), EMPTY, np.int64),
        shared_sectors=np.zeros((gpcs, COALESCER_ENTRIES), np.uint8), shared_time=np.zeros((gpcs, COALESCER_ENTRIES)),
        gpc=gpc.astype(np.int32), counters=np.zeros(len(MEMORY_COUNTERS)), last_write=np.zeros(1),
    )


@njit(cache=True, nogil=True)
def mix(line):
    """A fixed hash of a line number; neighbouring lines spread over all slices, whatever the stride."""
    x = np.uint64(line) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(x >> np.uint64(33))


@njit(cache=True, nogil=True)
def owner(mach, line):
    """(partition, slice, set) that own a line."""
    h = mix(line)
    per = mach.slices // mach.partitions
    home = (h >> 20) % mach.partitions
    return home, home * per + h % per, (h >> 7) % mach.l2_sets


@njit(cache=True, nogil=True)
def partition_of(mem, mach, sm):
    return mem.gpc[sm] * mach.partitions // mem.shared_line.shape[0]


@njit(cache=True, nogil=True)
def bits(mask):
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


@njit(cache=True, nogil=True)
def touch(mem, mach, k, x, line):
    """The way of slice ``k``, set ``x`` that holds the line; the least recently used one gives way when none does."""
    mem.clock[0] += 1
    y = 0
    for other in range(mem.tags.shape[2]):
        if mem.tags[k, x, other] == line:
            y = other
            break
        if mem.used[k, x, other] < mem.used[k, x, y]:
            y = other
    if mem.tags[k, x, y] != line:
        evict(mem, mach, k, mem.dirty[k, x, y])
        mem.tags[k, x, y], mem.valid[k, x, y], mem.dirty[k, x, y], mem.ready[k, x, y] = line, 0, 0, 0.0
    mem.used[k, x, y] = mem.clock[0]
    return y


@njit(cache=True, nogil=True)
def evict(mem, mach, k, dirty):
    """Dirty sectors go to DRAM."""
    written = 32.0 * bits(np.int64(dirty))
    mem.counters[DRAM_WRITTEN] += written
    mem.channel_free[k * mach.dram_channels // mach.slices] += written * mach.dram_read_cycles_per_byte


@njit(cache=True, nogil=True)
def wait(free, index, now, service):
    """Cycles from reaching a server to leaving it; ``free`` is when it has done all work that came before.

    Requests are handled one after the other in the order ``now`` in which they left their SMs, and all of a server's
    customers are about as far from it; so the backlog at ``now`` is the wait, whenever the request gets there.
    """
    free[index] = max(free[index], now) + service
    return free[index] - now


@njit(cache=True, nogil=True)
def slice_wait(mem, mach, k, now, sectors):
    return wait(mem.slice_free, k, now, sectors * mach.slice_cycles_per_sector)


@njit(cache=True, nogil=True)
def dram_wait(mem, mach, k, now, nbytes):
    """Cycles a miss adds to what a hit takes."""
    mem.counters[DRAM_READ] += nbytes
    channel = k * mach.dram_channels // mach.slices
    queue = wait(mem.channel_free, channel, now, nbytes * mach.dram_read_cycles_per_byte)
    return queue + mach.dram_latency - mach.l2_latency


@njit(cache=True, nogil=True)
def read_slice(mem, mach, k, x, y, mask, now):
    """Read sectors of a way; returns those that are missing and the cycles the slice takes to move all."""
    missing = mask & ~np.int64(mem.valid[k, x, y])
    mem.counters[READ] += bits(mask)
    mem.counters[HIT] += bits(mask & ~missing)
    return missing, slice_wait(mem, mach, k, now, bits(mask))


@njit(cache=True, nogil=True)
def read_home(mem, mach, k, x, line, mask, now, arrival):
    """Read sectors at the slice that owns the line, reached at ``arrival``; returns when they leave it."""
    y = touch(mem, mach, k, x, line)
    missing, taken = read_slice(mem, mach, k, x, y, mask, now)
    if missing:
        if mach.dram_fill_bytes > 32:
            missing = 15 & ~np.int64(mem.valid[k, x, y])
        filled = arrival + dram_wait(mem, mach, k, now, 32.0 * bits(missing))
        mem.ready[k, x, y] = max(mem.ready[k, x, y], filled)
        mem.valid[k, x, y] |= missing
    return max(arrival + taken, mem.ready[k, x, y])


@njit(cache=True, nogil=True)
def read_near(mem, mach, partition, line, mask, now, arrival):
    """Read sectors in the SM's own partition; what it lacks and does not own comes over the fabric and stays."""
    home, k, x = owner(mach, line)
    if home == partition:
        return read_home(mem, mach, k, x, line, mask, now, arrival)
    near = k + (partition - home) * (mach.slices // mach.partitions)
    y = touch(mem, mach, near, x, line)
    missing, taken = read_slice(mem, mach, near, x, y, mask, now)
    if missing:
        mem.counters[FABRIC] += bits(missing)
        there = read_home(mem, mach, k, x, line, missing, now, arrival + mach.fabric_latency / 2)
        mem.ready[near, x, y] = max(mem.ready[near, x, y], there + mach.fabric_latency / 2)
        mem.valid[near, x, y] |= missing
    return max(arrival + taken, mem.ready[near, x, y])


@njit(cache=True, nogil=True)
def way_length(mach, sm, line):
    """Cycles of the round trip that depend on where SM and slice are on the chip: spread evenly, fixed per pair."""
    per = mach.slices // mach.partitions
    spread = mach.l2_latency_spread
    return (mix(mix(line) % per + 131 * (sm // 2)) % (2 * spread + 1)) - spread if spread > 0 else 0


@njit(cache=True, nogil=True)
def read_line(mem, mach, sm, line, mask, now):
    """One line's sectors for one SM; returns when they are in the SM."""
    gpc = mem.gpc[sm]
    length = mach.l2_latency + way_length(mach, sm, line)
    entry = mix(line) % COALESCER_ENTRIES
    arrival = now + length / 2
    if (mach.coalescer and mem.shared_line[gpc, entry] == line and mem.shared_time[gpc, entry] > arrival
            and mem.shared_sectors[gpc, entry] & mask == mask):
        mem.counters[COALESCED] += bits(mask)
        answered = mem.shared_time[gpc, entry]
    else:
        answered = read_near(mem, mach, partition_of(mem, mach, sm), line, mask, now, arrival)
        mem.shared_line[gpc, entry], mem.shared_sectors[gpc, entry] = line, mask
        mem.shared_time[gpc, entry] = answered
    mem.counters[TO_SMS] += bits(mask)
    port = wait(mem.port_free, sm, now, bits(mask) * 32 / mach.sm_read_bytes_per_cycle)
    return answered + length / 2 + port


@njit(cache=True, nogil=True)
def write_line(mem, mach, sm, line, mask, now):
    """Write sectors through to the owning slice; a far owner costs a pass through both partitions."""
    home, k, x = owner(mach, line)
    partition, sectors = partition_of(mem, mach, sm), bits(mask)
    arrival = now + wait(mem.write_free, sm, now, sectors * 32 / mach.sm_write_bytes_per_cycle) + mach.l2_latency / 2
    mem.counters[WRITE] += sectors
    if partition != home:
        near = k + (partition - home) * (mach.slices // mach.partitions)
        mem.counters[WRITE] += sectors
        arrival += slice_wait(mem, mach, near, now, sectors) + mach.fabric_latency / 2
    y = touch(mem, mach, k, x, line)
    mem.valid[k, x, y] |= mask
    mem.dirty[k, x, y] |= mask
    mem.last_write[0] = max(mem.last_write[0], arrival + slice_wait(mem, mach, k, now, sectors))


@njit(cache=True, nogil=True)
def serve(mem, machine, requests, order, lines, done):
    """Serve the requests of a window in the order of ``order``; fills ``done``, returns how many rows.

    lines: REQUEST rows, what (first, count) of a record names.
    """
    count, mach = 0, machine[0]
    for i in order:
        request = requests[i]
        last = float(request.time)
        for j in range(request.count):
            target = lines[request.first + j]
            line = (request.base + target.line_offset) >> LINE_BITS
            mask, time = np.int64(target.sector_mask), float(request.time + j * mach.tag_interval)
            if request.is_write:
                write_line(mem, mach, request.sm, line, mask, time)
            else:
                last = max(last, read_line(mem, mach, request.sm, line, mask, time))
        if not request.is_write:
            row = done[count]
            row["time"] = max(int(np.ceil(last)), request.time + mach.lookahead)
            row["sm"], row["slot"], row["token"] = request.sm, request.slot, request.token
            row["asynchronous"], row["op"], row["issued"] = request.asynchronous, request.op, request.time
            row["data_bytes"] = request.data_bytes
            count += 1
    return count


@njit(cache=True, nogil=True)
def warm_lines(mem, machine, first_line, count):
    """Put lines into the slices that own them and into their copies, as after a run that read them."""
    mach = machine[0]
    for line in range(first_line, first_line + count):
        home, k, x = owner(mach, line)
        for partition in range(mach.partitions):
            near = k + (partition - home) * (mach.slices // mach.partitions)
            mem.valid[near, x, touch(mem, mach, near, x, line)] = 15
