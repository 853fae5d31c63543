"""Models what instructions share: pipes and queues of a sub-partition, the SM's data and tag stage.
Leaves out reads of registers (gpusim.engine.register_reads) and which warp gets what (gpusim.engine.turns)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Pipe
from gpusim.engine.queues import keep_buffer, turn_in_buffer
from gpusim.engine.register_reads import hold_tensor, uses_tensor
from gpusim.engine.rings import keep_places, places_free

__all__ = [
    "ask",
    "ask_room",
    "hold_data_stage",
    "leave_buffer",
    "leave_unhindered",
    "occupy_tags",
    "pass_addresses",
    "pass_data_stage",
    "pass_lines",
    "pass_tag_stage",
    "tag_room",
    "take_pipe",
    "write_copy",
]

TENSOR = int(Pipe.tensor)
ALU, FMA, XU = int(Pipe.alu), int(Pipe.fma), int(Pipe.xu)


@njit(cache=True, nogil=True, forceinline=True)
def take_pipe(part, mach, win, row, time):
    """Keep the pipe for the instruction's interval; tensor instructions and IMAD.WIDE keep each other waiting, and the
    XU reads its register as the load/store unit does."""
    part.unit_free[row.pipe] = time + row.interval
    if row.pipe == TENSOR:
        part.tensor_start, part.tensor_interval, part.tensor_reads = time, row.interval, row.reads
        part.tensor_end = part.tensor_due = time + row.interval
        part.fetched = win.reads[row.reads].fetch if row.fetches else 0
    elif row.triple:
        part.triple_start = time
    elif row.pipe == ALU or row.pipe == FMA:
        part.vector_start = time
    elif row.pipe == XU and uses_tensor(part, time):
        hold_tensor(part, win.reads[part.tensor_reads].register_cost)
    if row.wide:
        part.unit_free[TENSOR] = max(part.unit_free[TENSOR], time + mach.tensor_after_wide)


@njit(cache=True, nogil=True, forceinline=True)
def tag_room(sm, mach, entries):
    """When so many entries of the queue for the tag stage are free."""
    return places_free(sm.tags, sm.tag_head, mach.tag_entries, entries)


@njit(cache=True, nogil=True)
def occupy_tags(sm, mach, until, entries):
    """An instruction keeps so many entries of the queue for the tag stage until then."""
    sm.tag_head = keep_places(sm.tags, sm.tag_head, mach.tag_entries, entries, until)


@njit(cache=True, nogil=True)
def show_wavefronts(sm, arrival, waves):
    """Give wavefronts a place among the events of the data stage, one per cycle."""
    sm.data_stage = max(sm.data_stage, arrival) + waves


@njit(cache=True, nogil=True)
def free_path(sm, path, begin):
    """When a path is free for what can begin then and is no store, which goes before stores that wait for it: behind
    what keeps it, and behind the store that is on it. When it was free last, if it is."""
    last, ends = sm.paths[path], sm.store_ends[path]
    at = max(begin, last)
    if last < begin and sm.store_begins[path] <= at < ends:
        return at + (ends - at) % sm.store_turns[path]
    return last if last > begin or ends > begin else max(last, ends)


@njit(cache=True, nogil=True)
def delay_stores(sm, path, begin, end):
    """Another access is on a path then: stores that wait for it are so much later."""
    if begin < sm.store_ends[path]:
        sm.store_ends[path] += max(0, end - max(begin, sm.store_begins[path]))
        if begin < sm.store_begins[path]:
            sm.store_begins[path] = max(sm.store_begins[path], end)


@njit(cache=True, nogil=True)
def put_store(sm, path, begin, cycles):
    """A store is on a path then. Nothing goes any more before those in front of a pause."""
    if begin > sm.store_ends[path]:
        sm.paths[path] = max(sm.paths[path], sm.store_ends[path])
        sm.store_begins[path] = begin
    sm.store_ends[path], sm.store_turns[path] = begin + cycles, max(1, cycles)


@njit(cache=True, nogil=True)
def choose_path(sm, mach, begin, stores=False):
    """The path through the SM's 128-byte data stage for what can begin then, and when it is free: that of all free ones
    which has been so for the shortest time, else the first to get free. ``stores`` go behind each other.

    A path moves a wavefront every other cycle, so the stage moves one per cycle only while two accesses are under way;
    those of one warp follow each other (data_paths.csv).
    """
    best, other = 0, np.int64(0)
    for i in range(mach.data_paths):
        free = max(sm.paths[i], sm.store_ends[i]) if stores else free_path(sm, i, begin)
        if i == 0 or (free <= begin < other) or (free <= begin and free > other) or other > free > begin:
            best, other = i, free
    return best, max(begin, other)


@njit(cache=True, nogil=True)
def lost_to_port(sm, begin, cycles):
    """By how much an access takes longer while the port reads lines of stores beside it (store_halves.csv)."""
    if begin >= sm.write_port or begin + cycles <= sm.port_begun:
        return 0
    beside = cycles - max(0, sm.port_begun - begin)
    until = sm.write_port - max(begin, sm.port_begun)
    if sm.port_share >= 1.0:
        return until
    return np.int64(sm.port_share * min(beside / (1.0 - sm.port_share), until))


@njit(cache=True, nogil=True)
def pass_data_stage(sm, mach, arrival, waves, earliest, beside_stores=False):
    """Take a path through the data stage from ``earliest`` on, not before ``arrival``; ``beside_stores``: to the part
    of the data array that stores share. Returns (when it begins, when the path is free again)."""
    show_wavefronts(sm, arrival, waves)
    path, begin = choose_path(sm, mach, max(arrival, earliest))
    cycles = mach.wavefront_interval * waves
    if beside_stores:
        cycles += lost_to_port(sm, begin, cycles)
    delay_stores(sm, path, begin, begin + cycles)
    sm.paths[path] = begin + cycles
    return begin, sm.paths[path]


@njit(cache=True, nogil=True)
def pass_lines(sm, warp, mach, arrival, lines, room):
    """The same for lines of a store, behind those of its warp; no store overtakes another. The last line passes when
    its queue has ``room``; where that is late, stores go one behind the other and keep one path: others have the
    rest."""
    show_wavefronts(sm, arrival, lines)
    cycles = mach.wavefront_interval * lines
    path, begin = choose_path(sm, mach, max(max(arrival, warp.stored), sm.stores_begun), True)
    if room > begin + cycles:
        path, begin = choose_path(sm, mach, max(arrival, sm.stores_passed), True)
        sm.paths[path] = warp.stored = max(begin + cycles, room)
    else:
        put_store(sm, path, begin, cycles)
        warp.stored = begin + cycles
    sm.stores_begun, sm.stores_passed = begin, max(sm.stores_passed, warp.stored)
    return begin, warp.stored


@njit(cache=True, nogil=True)
def leave_buffer(sm, mach, time, arrival, waves, earliest, beside_stores=False):
    """From the front of the buffer through the data stage, in order; returns when it has passed.

    It is at the front not before ``time``. What cannot begin at once leaves it when one of a few places behind it is
    free, and waits there; when none is, it stays, and all behind it wait (access_reads.csv).
    """
    front = turn_in_buffer(sm, time)
    begun, passed = pass_data_stage(sm, mach, max(arrival, front), waves, earliest, beside_stores)
    place = 0
    for i in range(1, mach.waiting_accesses):
        if sm.waiting[i] < sm.waiting[place]:
            place = i
    left = max(front, sm.waiting[place])
    if begun > left:
        sm.waiting[place] = begun + mach.waiting_return
    sm.front = min(left, begun)
    keep_buffer(sm, mach, 1, sm.front)
    return passed


@njit(cache=True, nogil=True)
def leave_unhindered(sm, mach, time, before):
    """From the front of the buffer, and then a turn of the data stage, in no order with the warp's accesses ``before``,
    of which the last one has passed then: (when the front is left, when its turn has passed). While as many of them as
    can are waiting it stays at the front, and all behind it (copy_places.csv)."""
    front = turn_in_buffer(sm, time)
    if before > front:
        front = sm.front = max(front, sm.waiting[:mach.waiting_accesses].min())
    return front, pass_data_stage(sm, mach, front, 1, front)[1]


@njit(cache=True, nogil=True)
def pass_addresses(sm, time, groups):
    """Take what works out which banks an access needs, a group of lanes a cycle, from ``time`` on, when its addresses
    are there; returns when its first wavefront can go. It runs ahead of the data stage, in order (epilogue_marks.csv:
    four loads of 16 bytes a lane that come at once have their data four cycles apart)."""
    begun = max(time, sm.addresses)
    sm.addresses = begun + groups
    return begun


@njit(cache=True, nogil=True)
def hold_data_stage(sm, mach, arrival, waves):
    """Wavefronts at full rate, of units that do not go through the load/store unit: the paths move that many less.
    Returns when the last one has passed."""
    show_wavefronts(sm, arrival, waves)
    passed = max(arrival, sm.paths[:mach.data_paths].min()) + waves
    for i in range(mach.data_paths):
        sm.paths[i] = max(sm.paths[i], arrival) + waves * mach.wavefront_interval // mach.data_paths
    return passed


@njit(cache=True, nogil=True)
def pass_tag_stage(sm, arrival, cycles):
    """Take the L1 tag stage; returns when the first line passes."""
    begun = max(sm.tag_stage, arrival)
    sm.tag_stage = begun + cycles
    return begun


@njit(cache=True, nogil=True, forceinline=True)
def ask_room(sm, mach):
    """When there is a place for the requests of one access more behind the tag stage."""
    return places_free(sm.asks, sm.ask_head, mach.ask_places, 1)


@njit(cache=True, nogil=True)
def ask(sm, mach, looked_up, cycles):
    """Requests of an access leave behind those of others, and keep their place until they do. A padded copy has more
    requests than lines, so that its lines run ahead of them (barrier_copies.csv). Returns when the first one leaves."""
    begun = max(looked_up, sm.asked)
    sm.asked = begun + cycles
    sm.ask_head = keep_places(sm.asks, sm.ask_head, mach.ask_places, 1, begun + mach.ask_return)
    return begun


@njit(cache=True, nogil=True)
def write_copy(sm, looked_up, cycles):
    """Take what writes the data of copies that bypass L1; the tag stage does not run ahead of it."""
    sm.copy_writes = max(sm.copy_writes, looked_up) + cycles
    sm.tag_stage = max(sm.tag_stage, sm.copy_writes)
