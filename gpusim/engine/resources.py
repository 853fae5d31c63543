"""Models what instructions share: pipes and queues of a sub-partition, the SM's data and tag stage.
Leaves out reads of registers (gpusim.engine.register_reads) and which warp gets what (gpusim.engine.turns)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Pipe
from gpusim.engine.data_stage import pass_data_stage
from gpusim.engine.queues import keep_buffer, turn_in_buffer
from gpusim.engine.register_reads import hold_tensor, uses_tensor
from gpusim.engine.returns import stop_returns
from gpusim.engine.rings import keep_places, places_free

__all__ = [
    "ask",
    "ask_room",
    "leave_buffer",
    "leave_unhindered",
    "occupy_tags",
    "pass_addresses",
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
        stop_returns(part, win.reads[row.reads], time)
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
def leave_buffer(sm, mach, time, arrival, waves, earliest, beside_stores=False, apart=0):
    """From the front of the buffer through the data stage, in order; returns when it has passed.

    It is at the front not before ``time``. What cannot begin at once leaves it when one of a few places behind it is
    free, and waits there; when none is, it stays, and all behind it wait (access_reads.csv).
    """
    front = turn_in_buffer(sm, time)
    begun, passed = pass_data_stage(sm, mach, max(arrival, front), waves, earliest, beside_stores, apart)
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
