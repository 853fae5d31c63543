"""Models the way from the SMs' tag stages through the crossbar, L2 slices and DRAM channels and back, line by line.
Leaves out L1 hits, atomics' arithmetic and DRAM banks: a channel is a queue with a latency."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gpusim.engine.machine import Machine
from gpusim.engine.views import borrow

__all__ = ["MEMORY_COUNTERS", "MemoryState", "new_memory", "serve", "warm_lines"]

MEMORY_COUNTERS = ("l2_sectors_read", "l2_sectors_write", "l2_sector_hits_read", "l2_sectors_fabric",
                   "dram_bytes_read", "dram_bytes_written", "sectors_to_sms", "coalesced_sectors")
READ, WRITE, HIT, FABRIC, DRAM_READ, DRAM_WRITTEN, TO_SMS, COALESCED = range(len(MEMORY_COUNTERS))
LINE_BITS = 7
EMPTY = -1
COALESCER_ENTRIES = 4096
"""A direct-mapped table per GPC; two lines in one entry lose a chance to share, not correctness."""


WAY = np.dtype([("ready", "<f8"), ("used", "<i8"), ("valid", "<i4"), ("dirty", "<i4")], align=True)
"""State of a line of L2: when its last fill arrives, order of last use, sectors present and written."""
SHARED_READ = np.dtype([("line", "<i8"), ("time", "<f8"), ("sectors", "<i8")], align=True)
"""A line that an SM of the GPC has asked for: when the slice answers, which sectors."""
PORT = np.dtype([("read_free", "<f8"), ("write_free", "<f8"), ("gpc", "<i8"), ("partition", "<i8")], align=True)
"""An SM's door to the crossbar."""
TOTAL = np.dtype([("clock", "<i8"), ("last_write", "<f8"), ("counters", "<f8", (len(MEMORY_COUNTERS),))], align=True)


class MemoryState(NamedTuple):
    """Partitions keep copies of what their SMs read; K slices, X sets, Y ways, D channels, G GPCs, S SMs."""

    tags: np.ndarray  # (K, X, Y) i8: line numbers, apart from the rest because they are searched
    ways: np.ndarray  # (K, X, Y) WAY
    slice_free: np.ndarray  # (K,) f8
    channel_free: np.ndarray  # (D,) f8
    ports: np.ndarray  # (S,) PORT
    shared: np.ndarray  # (G, COALESCER_ENTRIES) SHARED_READ
    total: np.ndarray  # (1,) TOTAL


def new_memory(mach: Machine, gpc: np.ndarray) -> MemoryState:
    """A cold L2 and idle queues. gpc[s]: group of SM s."""
    gpcs = int(gpc.max()) + 1
    memory = MemoryState(
        tags=np.full((mach.slices, mach.l2_sets, mach.l2_ways), EMPTY, np.int64),
        ways=np.zeros((mach.slices, mach.l2_sets, mach.l2_ways), WAY), slice_free=np.zeros(mach.slices),
        channel_free=np.zeros(mach.dram_channels), ports=np.zeros(mach.num_sms, PORT),
        shared=np.zeros((gpcs, COALESCER_ENTRIES), SHARED_READ), total=np.zeros(1, TOTAL))
    memory.shared["line"] = EMPTY
    memory.ports["gpc"], memory.ports["partition"] = gpc, gpc * mach.partitions // gpcs
    return memory


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
def owner(mach, h):
    """(partition, slice, set) that own a line with hash ``h``."""
    per = mach.slices // mach.partitions
    home = pick(h, 40, mach.partitions)
    return home, home * per + pick(h, 0, per), pick(h, 20, mach.l2_sets)


@njit(cache=True, nogil=True)
def bits(mask):
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


@njit(cache=True, nogil=True)
def touch(mem, mach, k, x, line):
    """The way of slice ``k``, set ``x`` that holds the line; the least recently used one gives way when none does."""
    total = mem.total[0]
    total.clock += 1
    for y in range(mach.l2_ways):
        if mem.tags[k, x, y] == line:
            way = mem.ways[k, x, y]
            way.used = total.clock
            return way
    return replace(mem, mach, k, x, line)


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
        mem.channel_free[k * mach.dram_channels // mach.slices] += written * mach.dram_read_cycles_per_byte
    mem.tags[k, x, y] = line
    way.valid, way.dirty, way.ready, way.used = 0, 0, 0.0, total.clock
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
    return wait(mem.slice_free, k, now, sectors * mach.slice_cycles_per_sector)


@njit(cache=True, nogil=True)
def dram_wait(mem, mach, k, h, now, nbytes):
    """Cycles a miss adds to what a hit takes.

    The answers of a channel scatter with banks, refresh and the controller's order; a hash of the line stands for all
    of it: a least latency and an exponential tail whose mean together is the latency of a lone miss.
    """
    mem.total[0].counters[DRAM_READ] += nbytes
    channel = k * mach.dram_channels // mach.slices
    queue = wait(mem.channel_free, channel, now, nbytes * mach.dram_read_cycles_per_byte)
    scatter = -np.log((pick(mix(h), 10, 1 << 20) + 1) / (1 << 20)) - 1.0
    return queue + mach.dram_latency - mach.l2_latency + mach.dram_latency_tail * scatter


@njit(cache=True, nogil=True)
def missing_sectors(total, way, mask):
    """Sectors of ``mask`` that a way lacks; counts reads and hits."""
    missing = mask & ~way.valid
    total.counters[READ] += bits(mask)
    total.counters[HIT] += bits(mask & ~missing)
    return missing


@njit(cache=True, nogil=True)
def read_home(mem, mach, k, x, h, line, mask, fill, now, arrival):
    """Read sectors at the slice that owns the line, reached at ``arrival``; returns when they leave it."""
    way = touch(mem, mach, k, x, line)
    missing = missing_sectors(mem.total[0], way, mask)
    taken = slice_wait(mem, mach, k, now, bits(mask))
    if missing:
        missing |= fill & ~way.valid
        way.ready = max(way.ready, arrival + dram_wait(mem, mach, k, h, now, 32.0 * bits(missing)))
        way.valid |= missing
    return max(arrival + taken, way.ready)


@njit(cache=True, nogil=True)
def read_near(mem, mach, partition, h, line, mask, fill, now, arrival):
    """Read sectors in the SM's own partition; what it lacks and does not own comes over the fabric and stays."""
    home, k, x = owner(mach, h)
    if home == partition:
        return read_home(mem, mach, k, x, h, line, mask, fill, now, arrival)
    near = k + (partition - home) * (mach.slices // mach.partitions)
    way = touch(mem, mach, near, x, line)
    missing = missing_sectors(mem.total[0], way, mask)
    taken = slice_wait(mem, mach, near, now, bits(mask))
    if missing:
        mem.total[0].counters[FABRIC] += bits(missing)
        there = read_home(mem, mach, k, x, h, line, missing, fill, now, arrival + mach.fabric_latency / 2)
        way.ready = max(way.ready, there + mach.fabric_latency / 2)
        way.valid |= missing
    return max(arrival + taken, way.ready)


@njit(cache=True, nogil=True)
def way_length(mach, sm, h):
    """Cycles of the round trip that depend on where SM and slice are on the chip: spread evenly, fixed per pair."""
    spread = mach.l2_latency_spread
    slice_number = pick(h, 0, mach.slices // mach.partitions)
    return pick(mix(slice_number + 131 * (sm >> 1)), 0, 2 * spread + 1) - spread


@njit(cache=True, nogil=True)
def read_line(mem, mach, port, sm, line, mask, fill, now):
    """One line's sectors for one SM; returns when they are in the SM."""
    h, total = mix(line), mem.total[0]
    length = mach.l2_latency + way_length(mach, sm, h)
    arrival = now + length / 2
    shared = mem.shared[port.gpc, h & (COALESCER_ENTRIES - 1)]
    if mach.coalescer and shared.line == line and shared.time > arrival and shared.sectors & mask == mask:
        total.counters[COALESCED] += bits(mask)
    else:
        shared.time = read_near(mem, mach, port.partition, h, line, mask, fill, now, arrival)
        shared.line, shared.sectors = line, mask
    total.counters[TO_SMS] += bits(mask)
    port.read_free = max(port.read_free, now) + bits(mask) * 32 / mach.sm_read_bytes_per_cycle
    return shared.time + length / 2 + port.read_free - now


@njit(cache=True, nogil=True)
def write_line(mem, mach, port, line, mask, now):
    """Write sectors through to the owning slice; a far owner costs a pass through both partitions."""
    home, k, x = owner(mach, mix(line))
    total, sectors = mem.total[0], bits(mask)
    port.write_free = max(port.write_free, now) + sectors * 32 / mach.sm_write_bytes_per_cycle
    arrival = port.write_free + mach.l2_latency / 2
    total.counters[WRITE] += sectors
    if port.partition != home:
        near = k + (port.partition - home) * (mach.slices // mach.partitions)
        total.counters[WRITE] += sectors
        arrival += slice_wait(mem, mach, near, now, sectors) + mach.fabric_latency / 2
    way = touch(mem, mach, k, x, line)
    way.valid |= mask
    way.dirty |= mask
    total.last_write = max(total.last_write, arrival + slice_wait(mem, mach, k, now, sectors))


@njit(cache=True, nogil=True)
def borrow_memory(memory):
    return MemoryState(borrow(memory.tags), borrow(memory.ways), borrow(memory.slice_free), borrow(memory.channel_free),
                       borrow(memory.ports), borrow(memory.shared), borrow(memory.total))


@njit(cache=True, nogil=True)
def serve(memory, machine, requests, order, lines, done):
    """Serve the requests of a window in the order of ``order``; fills ``done``, returns how many rows.

    lines: REQUEST rows, what (first, count) of a record names.
    """
    count, mach, mem = 0, borrow(machine)[0], borrow_memory(memory)
    for i in order:
        request, port = requests[i], mem.ports[requests[i].sm]
        last = float(request.time)
        for j in range(request.count):
            target = lines[request.first + j]
            line = (request.base + target.line_offset) >> LINE_BITS
            mask, time = np.int64(target.sector_mask), float(request.time + j * mach.tag_interval)
            if request.is_write:
                write_line(mem, mach, port, line, mask, time)
            else:
                last = max(last, read_line(mem, mach, port, request.sm, line, mask, request.fill, time))
        if not request.is_write:
            row = done[count]
            row["time"] = max(int(np.ceil(last)), request.time + mach.lookahead)
            row["sm"], row["slot"], row["token"] = request.sm, request.slot, request.token
            row["asynchronous"], row["op"], row["issued"] = request.asynchronous, request.op, request.time
            row["age"] = request.age
            row["data_cycles"] = request.data_cycles
            count += 1
    return count


@njit(cache=True, nogil=True)
def warm_lines(mem, machine, first_line, count):
    """Put lines into the slices that own them and into their copies, as after a run that read them."""
    mach = machine[0]
    for line in range(first_line, first_line + count):
        home, k, x = owner(mach, mix(line))
        for partition in range(mach.partitions):
            near = k + (partition - home) * (mach.slices // mach.partitions)
            touch(mem, mach, near, x, line).valid = 15
