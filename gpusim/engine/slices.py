"""Models L2 slices: what it costs to read or write a line's sectors there.
Leaves out the way there (gpusim.engine.crossbar) and what is behind them (gpusim.engine.dram)."""

from __future__ import annotations

from numba import njit

from gpusim.engine.backlog import wait
from gpusim.engine.dram import dram_wait, write_back
from gpusim.engine.memory_state import MEMORY_COUNTERS, NEAR
from gpusim.engine.places import bits, copy_slice, mix, scatter

__all__ = ["fabric_way", "find", "read_home", "read_near", "slice_wait", "touch", "write_copies", "write_wait"]

READ, HIT, FABRIC = (MEMORY_COUNTERS.index(name) for name in (
    "l2_sectors_read", "l2_sector_hits_read", "l2_sectors_fabric"))


@njit(cache=True, nogil=True)
def find(mem, mach, place, k):
    """Which way of slice ``k`` holds the line; -1: none."""
    if mem.tags[k, place.set, place.guess] == place.line:
        return place.guess
    for y in range(mach.l2_ways):
        if mem.tags[k, place.set, y] == place.line:
            return y
    return -1


@njit(cache=True, nogil=True)
def touch(mem, mach, place, k, near=True):
    """The way of slice ``k`` that holds the line; the least recently used one gives way when none does.

    Not ``near``: a use by another partition, which keeps a copy of its own, so that this one is the next to give way
    (memory.csv l2_read_cg_48MB: each partition holds its SMs' 24 MB, and no second copies).
    """
    total, y = mem.total[0], find(mem, mach, place, k)
    total.clock += 1
    way = mem.ways[k, place.set, y] if y >= 0 else replace(mem, mach, k, place.set, place.line)
    if near or y < 0:
        way.used = total.clock + (NEAR if near else 0)
    return way


@njit(cache=True, nogil=True)
def replace(mem, mach, k, x, line):
    """Give the least recently used way to a line; dirty sectors of the one before go to DRAM, and the new ones wait
    when its queue is longer than what a read takes."""
    y, ready = 0, 0.0
    for other in range(mach.l2_ways):
        if mem.ways[k, x, other].used < mem.ways[k, x, y].used:
            y = other
    way = mem.ways[k, x, y]
    if way.dirty:
        ready = write_back(mem, mach, mem.tags[k, x, y], 32.0 * bits(way.dirty))
    mem.tags[k, x, y] = line
    way.valid, way.dirty, way.ready = 0, 0, ready
    return way


@njit(cache=True, nogil=True)
def slice_wait(mem, mach, k, now, sectors, near):
    """Cycles until a slice has looked a line up and sent its sectors: two parts of it, each with its own work.

    What it sends over the fabric, not to ``near`` SMs, does not take its way to them.
    """
    looked_up = wait(mem.lookup_free, k, now, mach.slice_lookup_cycles)
    if not near:
        return looked_up
    return max(looked_up, wait(mem.slice_free, k, now, sectors * mach.slice_cycles_per_sector))


@njit(cache=True, nogil=True)
def write_wait(mem, mach, k, now, turns):
    """Cycles until a slice has written what took so many turns of the SM's port: one for a sector, more for a part.
    Reads take nothing of that, nor the other way round (reads_beside_writes.csv)."""
    cycles = max(turns * mach.slice_write_cycles_per_turn, mach.slice_write_cycles_least)
    return wait(mem.write_free, k, now, cycles)


@njit(cache=True, nogil=True)
def write_copies(mem, mach, partition, place, mask):
    """What a write by an SM of ``partition`` does to copies of a line that stand beside its owner: that partition's own
    has the sectors from now on, those of others are stale, whatever part was written (written_copies.csv)."""
    for other in range(mach.partitions):
        k = copy_slice(mach, place, other)
        if k == place.slice:
            continue
        if other == partition:
            way = touch(mem, mach, place, k)
            way.valid |= mask
        else:
            y = find(mem, mach, place, k)
            if y >= 0:
                mem.ways[k, place.set, y].valid = 0


@njit(cache=True, nogil=True)
def missing_sectors(total, way, mask):
    """Sectors of ``mask`` that a way lacks; counts reads and hits."""
    missing = mask & ~way.valid
    total.counters[READ] += bits(mask)
    total.counters[HIT] += bits(mask & ~missing)
    return missing


@njit(cache=True, nogil=True)
def read_home(mem, mach, place, mask, fill, now, arrival, near):
    """Read sectors at the slice that owns the line, reached at ``arrival``; returns when they leave it."""
    way = touch(mem, mach, place, place.slice, near)
    missing = missing_sectors(mem.total[0], way, mask)
    taken = slice_wait(mem, mach, place.slice, now, bits(mask), near)
    if missing:
        missing |= fill & ~way.valid
        taken_by_dram = dram_wait(mem, mach, place, now, arrival, 32.0 * bits(missing))
        way.ready = max(way.ready, arrival + taken_by_dram)
        way.valid |= missing
    return max(arrival + taken, way.ready)


@njit(cache=True, nogil=True)
def fabric_way(mach, place):
    """Cycles from one partition to the other and back for a line: spread evenly, fixed for the slice that owns it."""
    return mach.fabric_latency + scatter(mach.fabric_spread, mix(place.slice))


@njit(cache=True, nogil=True)
def read_near(mem, mach, partition, place, mask, fill, now, arrival):
    """Read sectors in the SM's own partition; what it lacks and does not own comes over the fabric and stays."""
    if place.partition == partition:
        return read_home(mem, mach, place, mask, fill, now, arrival, True)
    near = copy_slice(mach, place, partition)
    way = touch(mem, mach, place, near)
    missing = missing_sectors(mem.total[0], way, mask)
    taken = slice_wait(mem, mach, near, now, bits(mask), True)
    if missing:
        missing |= fill & ~way.valid
        mem.total[0].counters[FABRIC] += bits(missing)
        half = fabric_way(mach, place) / 2
        there = read_home(mem, mach, place, missing, fill, now, arrival + half, False)
        way.ready = max(way.ready, there + half)
        way.valid |= missing
    return max(arrival + taken, way.ready)
