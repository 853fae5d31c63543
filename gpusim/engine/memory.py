"""Models the way from the SMs' tag stages through the crossbar, L2 slices and DRAM channels and back, line by line.
Leaves out L1 (gpusim.engine.l1), atomics' arithmetic and DRAM banks: a channel is a queue with a latency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from gpusim.engine.flags import SWAP, borrow_flags, note_write, word_line, word_value, writes_flag
from gpusim.engine.machine import Machine
from gpusim.engine.state import FENCE_TOKEN
from gpusim.engine.views import borrow

__all__ = ["MEMORY_COUNTERS", "MemoryState", "new_memory", "serve", "settle", "warm_lines"]

MEMORY_COUNTERS = ("l2_sectors_read", "l2_sectors_write", "l2_sector_hits_read", "l2_sectors_fabric",
                   "dram_bytes_read", "dram_bytes_written", "sectors_to_sms", "coalesced_sectors")
READ, WRITE, HIT, FABRIC, DRAM_READ, DRAM_WRITTEN, TO_SMS, COALESCED = range(len(MEMORY_COUNTERS))
LINE_BITS = 7
EMPTY = -1
NEAR = 1 << 60
"""A line that SMs of the partition use counts as used later than any that only other partitions do."""
SCATTER_SIGMA = 0x10000 / 3**0.5
"""Standard deviation of the sum of four numbers that are even over 16 bits."""
COALESCER_ENTRIES = 4096
"""A direct-mapped table per GPC; two lines in one entry lose a chance to share, not correctness."""


WAY = np.dtype([("ready", "<f8"), ("used", "<i8"), ("valid", "<i4"), ("dirty", "<i4")], align=True)
"""State of a line of L2: when its last fill arrives, order of last use, sectors present and written."""
SHARED_READ = np.dtype([("line", "<i8"), ("time", "<f8"), ("sectors", "<i8")], align=True)
"""A line that an SM of the GPC has asked for: which sectors, when the answer is back at the coalescer."""
PORT = np.dtype([
    ("read_free", "<f8"), ("written", "<f8"), ("length", "<f8"), ("gpc", "<i8"), ("partition", "<i8"),
], align=True)
"""An SM's door to the crossbar. written: its last write is in L2; length: cycles its round trips take more."""
TOTAL = np.dtype([("clock", "<i8"), ("last_write", "<f8"), ("counters", "<f8", (len(MEMORY_COUNTERS),))], align=True)


class MemoryState(NamedTuple):
    """Partitions keep copies of what their SMs read; K slices, X sets, Y ways, D channels, G GPCs, S SMs."""

    tags: np.ndarray  # (K, X, Y) i8: line numbers, apart from the rest because they are searched
    ways: np.ndarray  # (K, X, Y) WAY
    slice_free: np.ndarray  # (K,) f8
    channel_free: np.ndarray  # (D,) f8
    ports: np.ndarray  # (S,) PORT
    gpc_free: np.ndarray  # (G,) f8: what the SMs of a GPC receive together
    shared: np.ndarray  # (G, COALESCER_ENTRIES) SHARED_READ
    total: np.ndarray  # (1,) TOTAL


def new_memory(mach: Machine, gpc: np.ndarray, gpc_latency: Sequence[int] = ()) -> MemoryState:
    """A cold L2 and idle queues. gpc[s]: group of SM s; gpc_latency[g]: what its round trips take more, default 0."""
    gpcs = int(gpc.max()) + 1
    memory = MemoryState(
        tags=np.full((mach.slices, mach.l2_sets, mach.l2_ways), EMPTY, np.int64),
        ways=np.zeros((mach.slices, mach.l2_sets, mach.l2_ways), WAY), slice_free=np.zeros(mach.slices),
        channel_free=np.zeros(mach.dram_channels), ports=np.zeros(mach.num_sms, PORT), gpc_free=np.zeros(gpcs),
        shared=np.zeros((gpcs, COALESCER_ENTRIES), SHARED_READ), total=np.zeros(1, TOTAL))
    memory.shared["line"] = EMPTY
    memory.ports["gpc"], memory.ports["partition"] = gpc, gpc % mach.partitions
    memory.ports["length"] = np.append(gpc_latency, np.zeros(gpcs))[gpc]
    return memory


def settle(memory: MemoryState, *, flush: bool) -> None:
    """Start time and counters anew with the lines that are there, or with none (``flush``)."""
    memory.ways["ready"] = 0.0
    memory.ports["read_free"] = memory.ports["written"] = 0.0
    for queue in (memory.slice_free, memory.channel_free, memory.gpc_free):
        queue[:] = 0.0
    memory.shared["line"] = EMPTY
    memory.total["last_write"], memory.total["counters"] = 0.0, 0.0
    if flush:
        memory.tags[:] = EMPTY
        memory.ways[:] = 0


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
    return wait(mem.slice_free, k, now, sectors * mach.slice_cycles_per_sector)


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


@njit(cache=True, nogil=True)
def way_length(mach, sm, k):
    """Cycles of the round trip that depend on where SM and slice are on the chip: spread evenly, fixed per pair."""
    spread = mach.l2_latency_spread
    slice_number = k % (mach.slices // mach.partitions)
    return pick(mix(slice_number + 131 * (sm >> 1)), 0, 2 * spread + 1) - spread


@njit(cache=True, nogil=True)
def read_line(mem, mach, port, sm, line, mask, fill, now):
    """One line's sectors for one SM; returns when they are in the SM.

    Out to the GPC's coalescer, which sends one read for all that ask for the same sectors while its answer is due (it
    remembers the last request of a line); to the slice and back; through the GPC's port, once for all of them; through
    the SM's.
    """
    h, total, place = mix(line), mem.total[0], owner(mach, line)
    way = (mach.l2_latency + port.length + way_length(mach, sm, place[1]) - mach.slice_latency) / 2
    arrival = now + way
    shared = mem.shared[port.gpc, h & (COALESCER_ENTRIES - 1)]
    if mach.coalescer and shared.line == line and shared.sectors == mask and shared.time > arrival:
        total.counters[COALESCED] += bits(mask)
    else:
        port_wait = wait(mem.gpc_free, port.gpc, now, bits(mask) * 32 / mach.gpc_read_bytes_per_cycle)
        shared.time = port_wait + read_near(mem, mach, port.partition, place, h, line, mask, fill, now,
                                            arrival + mach.slice_latency)
        shared.line, shared.sectors = line, mask
    total.counters[TO_SMS] += bits(mask)
    port.read_free = max(port.read_free, now) + bits(mask) * 32 / mach.sm_read_bytes_per_cycle
    return shared.time + way + port.read_free - now


@njit(cache=True, nogil=True)
def write_line(mem, mach, port, line, mask, now):
    """Write sectors through to the owning slice; a far owner costs a pass through both partitions. Returns when the
    owner has them.

    Both slices work off what came before at the same time, so the longer backlog is the wait.
    """
    home, k, x = owner(mach, line)
    total, sectors = mem.total[0], bits(mask)
    arrival, near_wait = now + mach.l2_latency / 2, 0.0
    total.counters[WRITE] += sectors
    if port.partition != home:
        near = k + (port.partition - home) * (mach.slices // mach.partitions)
        total.counters[WRITE] += sectors
        near_wait = write_wait(mem, mach, near, now, sectors)
        arrival += mach.fabric_latency / 2
    way = touch(mem, mach, k, x, line)
    way.valid |= mask
    way.dirty |= mask
    performed = arrival + max(near_wait, write_wait(mem, mach, k, now, sectors))
    total.last_write, port.written = max(total.last_write, performed), max(port.written, performed)
    return performed


@njit(cache=True, nogil=True)
def borrow_memory(memory):
    return MemoryState(borrow(memory.tags), borrow(memory.ways), borrow(memory.slice_free), borrow(memory.channel_free),
                       borrow(memory.ports), borrow(memory.gpc_free), borrow(memory.shared),
                       borrow(memory.total))


@njit(cache=True, nogil=True)
def read_owner(mem, mach, port, sm, line, mask, now):
    """Read sectors at the slice that owns the line, past all copies: (when it has them, when they are in the SM)."""
    h = mix(line)
    home, k, x = owner(mach, line)
    length = mach.l2_latency + port.length + way_length(mach, sm, k)
    length += mach.fabric_latency if home != port.partition else 0
    there = read_home(mem, mach, k, x, h, line, mask, 0, now, now + length / 2, True)
    mem.total[0].counters[TO_SMS] += bits(mask)
    return there, there + length / 2


@njit(cache=True, nogil=True)
def serve_flag(mem, mach, flags, request):
    """A poll or a write of a flag: (when the answer is in the SM, what the warp's flag becomes, -1 for a write)."""
    op, port = flags.ops[request.flag], mem.ports[request.sm]
    line, mask, now = word_line(flags, request.cta, op) >> LINE_BITS, np.int64(1), float(request.time)
    if writes_flag(op.action):
        note_write(flags, request.cta, op, write_line(mem, mach, port, line, mask, now))
        return now, -1
    there, back = read_owner(mem, mach, port, request.sm, line, mask, now)
    if word_value(flags, flags.words[request.cta, op.slot], there) != op.value:
        return back, request.flag + 1
    if op.action == SWAP:
        note_write(flags, request.cta, op, there)
    return back, 0


@njit(cache=True, nogil=True)
def serve_lines(mem, mach, lines, request):
    """Read or write the lines of a request; returns when the last one is in the SM."""
    port, last = mem.ports[request.sm], float(request.time)
    for j in range(request.count):
        if j < 63 and request.skip >> j & 1:
            continue
        target = lines[request.first + j]
        line = (request.base + target.line_offset) >> LINE_BITS
        mask, time = np.int64(target.sector_mask), float(request.time + j * mach.tag_interval)
        if request.is_write:
            write_line(mem, mach, port, line, mask, time)
        else:
            last = max(last, read_line(mem, mach, port, request.sm, line, mask, request.fill, time))
    return last


@njit(cache=True, nogil=True)
def serve(memory, machine, requests, order, lines, flag_state, done):
    """Serve the requests of a window in the order of ``order``; fills ``done``, returns how many rows.

    lines: REQUEST rows, what (first, count) of a record names.
    """
    count, mach, mem, flags = 0, borrow(machine)[0], borrow_memory(memory), borrow_flags(flag_state)
    for i in order:
        request, flag = requests[i], -1
        if request.token == FENCE_TOKEN:
            written = mem.ports[request.sm].written
            last = max(float(request.time + mach.l2_latency), written + mach.l2_latency / 2)
        elif request.flag >= 0:
            last, flag = serve_flag(mem, mach, flags, request)
        else:
            last = serve_lines(mem, mach, lines, request)
        if not request.is_write:
            row = done[count]
            row["time"] = max(int(np.ceil(last)), request.time + mach.lookahead)
            row["sm"], row["slot"], row["token"] = request.sm, request.slot, request.token
            row["asynchronous"], row["op"], row["issued"] = request.asynchronous, request.op, request.time
            row["age"], row["flag"] = request.age, flag
            row["data_cycles"], row["l1"] = request.data_cycles, request.l1
            row["bytes"], row["lead"], row["last"] = request.bytes, request.lead, request.last
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
            touch(mem, mach, near, x, line).valid = 15
