"""Models the queues of memory instructions, one per sub-partition, and whose turn it is at the load/store unit.
Leaves out what it does with the one it takes (gpusim.engine.lsu)."""

from __future__ import annotations

from numba import njit

from gpusim.engine.rings import keep_any, places_free_of_any
from gpusim.engine.state import NEVER, QUEUE, QUEUE_ENTRIES

__all__ = ["COMMITS", "NOTHING", "ORDERS", "SHARED", "SIGNALS", "TAGGED", "WRITES", "choose_next", "enqueue",
           "free_reads", "keep_buffer", "keep_registers", "pass_buffer", "take_head", "turn_in_buffer"]

NOTHING, SHARED, TAGGED, COMMITS, WRITES, SIGNALS, ORDERS = range(7)
"""What an instruction needs of the load/store unit: a turn (predicated off), an entry for its wavefronts,
entries of the queue for the tag stage (loads and copies; the end of a cp.async group), room in front of the port, a
turn at an mbarrier, the path of addresses (a fence: everything of its warp before it has left the queue)."""
PARTS = 4


@njit(cache=True, nogil=True, forceinline=True)
def note_room(part, mach):
    """First cycle in which the queue has room for the next instruction: when the place is free that it would have, the
    one of as many instructions before as there are places."""
    before = part.queue_last - mach.mio_queue_depth
    part.unit_free[QUEUE] = NEVER if before >= part.queue_first else part.queue_free[before % QUEUE_ENTRIES]


@njit(cache=True, nogil=True, forceinline=True)
def enqueue(sm, parts, mach, p, warp, w, work, token, row, time):
    """An instruction of warp slot ``w`` comes to the queue of sub-partition ``p`` at ``time``."""
    part = parts[p]
    i = part.queue_last % QUEUE_ENTRIES
    part.queue_time[i], part.queue_op[i], part.queue_slot[i] = time, warp.op, w
    part.queue_work[i], part.queue_token[i], part.queue_held[i] = work, token, warp.behind
    part.queue_last += 1
    note_room(part, mach)
    part.queue_places[i], part.queue_kept[i] = row.places, row.kept
    warp.queued += 1
    if part.queue_last == part.queue_first + 1 and time <= sm.next_turn:  # else another one has its turn and keeps it
        choose_next(sm, parts, mach, time)


@njit(cache=True, nogil=True, forceinline=True)
def head_time(sm, part, mach):
    """When the oldest instruction of a queue can have its turn; NEVER while an answer of L2 or a fence decides.

    Its registers have to go after those of the sub-partition's instructions before it, and those of what stores nothing
    after what others store meanwhile: on the path that all share they take turns (store_loads.csv). Loads and copies
    hold back their own sub-partition while the SM has as many requests under way to L2 as it can (reads_under_way.csv).
    """
    if part.queue_first == part.queue_last:
        return NEVER
    i = part.queue_first % QUEUE_ENTRIES
    work, time = part.queue_work[i], part.queue_time[i]
    if part.queue_held[i] or (work == TAGGED and sm.under_way >= mach.reads_under_way):
        return NEVER
    time = max(time, part.operand_free)
    stores = work == WRITES or part.queue_kept[i] > 0
    return time if stores or part.crossing <= sm.data_begun else max(time, sm.data_path)


@njit(cache=True, nogil=True, forceinline=True)
def room_time(sm, part, mach):
    """When there is room for that instruction in the load/store unit's buffer, beside stores to global memory, for what
    it stores, and on the path that all sub-partitions share. What is stored is read before a place is needed."""
    i = part.queue_first % QUEUE_ENTRIES
    room = places_free_of_any(sm.buffer, part.queue_places[i])
    if part.queue_kept[i]:
        room = max(room - mach.store_lead, places_free_of_any(sm.kept, part.queue_kept[i]))
    return max(max(room, sm.stores[sm.stores_head]), sm.address_path)


@njit(cache=True, nogil=True, forceinline=True)
def choose_next(sm, parts, mach, now):
    """The head that can have its turn first is next, at ``now`` or later; of several, the sub-partitions take turns. It
    keeps its turn until there is room, also for more registers than others need (load_order.csv)."""
    sm.next_turn = NEVER
    for turn in range(1, PARTS + 1):
        p = (sm.last_part + turn) % PARTS
        time = max(now, head_time(sm, parts[p], mach))
        if time < sm.next_turn:
            sm.next_turn, sm.next_part = time, p
    sm.next_accept = sm.next_turn
    if sm.next_turn < NEVER:
        sm.next_accept = max(sm.next_turn, room_time(sm, parts[sm.next_part], mach))


@njit(cache=True, nogil=True)
def free_reads(sm, parts, mach, requests, time):
    """L2 has answered so many requests, which are no longer under way. What waited for that can have its turn, unless
    another one has it."""
    was_full = sm.under_way >= mach.reads_under_way
    sm.under_way -= requests
    if was_full and sm.under_way < mach.reads_under_way and time <= sm.next_turn:
        choose_next(sm, parts, mach, time)


@njit(cache=True, nogil=True)
def keep_buffer(sm, mach, places, until):
    """An instruction keeps so many places of the load/store unit's buffer until then; others learn of it a while
    later."""
    keep_any(sm.buffer, mach.buffer_entries, places, until + mach.buffer_return)


@njit(cache=True, nogil=True)
def keep_registers(sm, mach, row, until):
    """What a store stores is kept until it has passed the data stage; others learn of it a while later."""
    keep_any(sm.kept, mach.kept_registers, row.kept, until + mach.kept_return)


@njit(cache=True, nogil=True)
def turn_in_buffer(sm, time):
    """When an instruction is at the front of that buffer: in order, and when what it needs next has room."""
    sm.front = max(sm.front, time)
    return sm.front


@njit(cache=True, nogil=True)
def pass_buffer(sm, mach, time):
    """An instruction leaves the buffer when it is its turn."""
    keep_buffer(sm, mach, 1, turn_in_buffer(sm, time))
    return sm.front


@njit(cache=True, nogil=True)
def take_head(sm, part, mach, p, time):
    """Take the oldest instruction off a queue; what waits for its place comes a cycle later or more. Returns it."""
    i = part.queue_first % QUEUE_ENTRIES
    part.queue_first += 1
    part.queue_free[i] = time + 1 + mach.queue_return
    note_room(part, mach)
    sm.last_part = p
    return i
