"""Models L2 slices and DRAM channels: which holds a line, what it costs to read or write its sectors there.
Leaves out the way there (gpusim.engine.crossbar) and DRAM banks: a channel is a queue with a latency."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.memory_state import MEMORY_COUNTERS, NEAR

__all__ = ["bits", "mix", "owner", "pick", "read_home", "read_near", "touch", "wait", "write_wait"]

READ, HIT, FABRIC, DRAM_READ, DRAM_WRITTEN = (MEMORY_COUNTERS.index(name) for name in (
    "l2_sectors_read", "l2_sector_hits_read", "l2_sectors_fabric", "dram_bytes_read", "dram_bytes_written"))
SCATTER_SIGMA = 0x10000 / 3**0.5
"""Standard deviation of the sum of four numbers that are even over 16 bits."""


@njit(cache=True, nogil=True)
def mix(line):
    """A fixed hash of a line number; neighbouring lines spread over all slices, whatever the stride."""
    x = np.uint64(line) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(x >> np.uint64(2))


@njit(cache=True, nogil=True)
def pick(h, start, count):
    """One of ``count`` things from 20 bits of a hash, without a division."""
    return ((h >> start & 0xFFFFF) * count) >> 20


@njit(cache=True, nogil=True)
def owner(mach, line):
    """(partition, slice, set) that own a line.

    Consecutive lines go once round all slices before they come to the next set, from a hashed start each time: what is
    contiguous fills slices and sets evenly, whatever its size, and a pitch falls on all of them.
    """
    turn = line // mach.slices
    k = (line + pick(mix(turn), 0, mach.slices)) % mach.slices
    x = (turn + pick(mix(turn // mach.l2_sets), 20, mach.l2_sets)) % mach.l2_sets
    return k * mach.partitions // mach.slices, k, x


@njit(cache=True, nogil=True)
def bits(mask):
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


@njit(cache=True, nogil=True)
def touch(mem, mach, k, x, line, near=True):
    """The way of slice ``k``, set ``x`` that holds the line; the least recently used one gives way when none does.

    Not ``near``: a use by another partition, which keeps a copy of its own, so that this one is the next to give way
    (memory.csv l2_read_cg_48MB: each partition holds its SMs' 24 MB, and no second copies).
    """
    total = mem.total[0]
    total.clock += 1
    for y in range(mach.l2_ways):
        if mem.tags[k, x, y] == line:
            way = mem.ways[k, x, y]
            if near:
                way.used = total.clock + NEAR
            return way
    way = replace(mem, mach, k, x, line)
    way.used = total.clock + (NEAR if near else 0)
    return way


@njit(cache=True, nogil=True)
def replace(mem, mach, k, x, line):
    """Give the least recently used way to a line; dirty sectors of the one before go to DRAM."""
    total, y = mem.total[0], 0
    for other in range(mach.l2_ways):
        if mem.ways[k, x, other].used < mem.ways[k, x, y].used:
            y = other
    way = mem.ways[k, x, y]
    if way.dirty:
        written = 32.0 * bits(way.dirty)
        total.counters[DRAM_WRITTEN] += written
        mem.channel_free[k * mach.dram_channels // mach.slices] += written * mach.dram_write_cycles_per_byte
    mem.tags[k, x, y] = line
    way.valid, way.dirty, way.ready = 0, 0, 0.0
    return way


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
    """Cycles until a slice has looked a line up and sent its sectors: two parts of it, each with its own work."""
    looked_up = wait(mem.lookup_free, k, now, mach.slice_lookup_cycles)
    return max(looked_up, wait(mem.slice_free, k, now, sectors * mach.slice_cycles_per_sector))


@njit(cache=True, nogil=True)
def write_wait(mem, mach, k, now, sectors):
    cycles = max(sectors * mach.slice_write_cycles_per_sector, mach.slice_write_cycles_least)
    return wait(mem.slice_free, k, now, cycles)


@njit(cache=True, nogil=True)
def dram_wait(mem, mach, k, h, now, nbytes):
    """Cycles a miss adds to what a hit takes.

    The answers of a channel scatter with banks, refresh and the controller's order; a hash of the line stands for all
    of it: the sum of four evenly spread numbers, nearly normal and bounded.
    """
    mem.total[0].counters[DRAM_READ] += nbytes
    channel = k * mach.dram_channels // mach.slices
    queue = wait(mem.channel_free, channel, now, nbytes * mach.dram_read_cycles_per_byte)
    g = mix(h)
    scatter = (g & 0xFFFF) + (g >> 16 & 0xFFFF) + (g >> 32 & 0xFFFF) + (g >> 46 & 0xFFFF) - 2 * 0x10000
    return queue + mach.dram_latency - mach.l2_latency + mach.dram_latency_scatter * scatter / SCATTER_SIGMA


@njit(cache=True, nogil=True)
def missing_sectors(total, way, mask):
    """Sectors of ``mask`` that a way lacks; counts reads and hits."""
    missing = mask & ~way.valid
    total.counters[READ] += bits(mask)
    total.counters[HIT] += bits(mask & ~missing)
    return missing


@njit(cache=True, nogil=True)
def read_home(mem, mach, k, x, h, line, mask, fill, now, arrival, near):
    """Read sectors at the slice that owns the line, reached at ``arrival``; returns when they leave it."""
    way = touch(mem, mach, k, x, line, near)
    missing = missing_sectors(mem.total[0], way, mask)
    taken = slice_wait(mem, mach, k, now, bits(mask))
    if missing:
        missing |= fill & ~way.valid
        way.ready = max(way.ready, arrival + dram_wait(mem, mach, k, h, now, 32.0 * bits(missing)))
        way.valid |= missing
    return max(arrival + taken, way.ready)


@njit(cache=True, nogil=True)
def read_near(mem, mach, partition, place, h, line, mask, fill, now, arrival):
    """Read sectors in the SM's own partition; what it lacks and does not own comes over the fabric and stays."""
    home, k, x = place
    if home == partition:
        return read_home(mem, mach, k, x, h, line, mask, fill, now, arrival, True)
    near = k + (partition - home) * (mach.slices // mach.partitions)
    way = touch(mem, mach, near, x, line)
    missing = missing_sectors(mem.total[0], way, mask)
    taken = slice_wait(mem, mach, near, now, bits(mask))
    if missing:
        mem.total[0].counters[FABRIC] += bits(missing)
        there = read_home(mem, mach, k, x, h, line, missing, fill, now, arrival + mach.fabric_latency / 2, False)
        way.ready = max(way.ready, there + mach.fabric_latency / 2)
        way.valid |= missing
    return max(arrival + taken, way.ready)
