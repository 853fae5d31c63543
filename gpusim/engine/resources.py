"""Models what instructions share: pipes, the operand path and queues of a sub-partition, the SM's data and tag stage.
Leaves out which warp gets them (gpusim.engine.scheduler)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Pipe
from gpusim.engine.image import ACTIVE
from gpusim.engine.state import HOLDS

__all__ = ["accept", "dispatch_time", "fill_data_stage", "free_time", "occupy_lsu", "operands_read", "pass_data_stage",
           "pass_queue", "pass_tag_stage"]

LSU, NO_PIPE, UNIFORM = int(Pipe.lsu), int(Pipe.none), int(Pipe.uniform)


@njit(cache=True, nogil=True)
def free_time(part, row):
    """First cycle in which the pipe or the queue that ``row`` needs has room."""
    if row.queue >= 0:
        return part.queue[part.queue_head]
    if row.flags & ACTIVE and row.pipe != NO_PIPE and row.pipe != LSU:
        return part.pipe_free[row.pipe]
    return 0


@njit(cache=True, nogil=True)
def enqueue(part, mach, departure):
    """Take the queue entry that was taken longest ago, until ``departure``."""
    part.queue[part.queue_head] = departure
    part.queue_head = part.queue_head + 1 if part.queue_head + 1 < mach.mio_queue_depth else 0


@njit(cache=True, nogil=True)
def accept(sm, part, mach, row, time):
    """The load/store unit takes an instruction out of its queue when it has an entry; returns when.

    Shared-memory and global instructions wait in one queue, in order. Then it reads the registers, over a path of its
    own per sub-partition; the dispatcher cannot read meanwhile.
    """
    start = max(time, max(part.operand_free, sm.lsu[sm.lsu_head]))
    part.operand_free = start + row.operand_cycles
    if part.hold_last - part.hold_first >= HOLDS:
        part.hold_first += 1
    part.hold_start[part.hold_last % HOLDS] = start + mach.read_release_base
    part.hold_end[part.hold_last % HOLDS] = start + mach.read_release_base + row.operand_cycles
    part.hold_last += 1
    enqueue(part, mach, start)
    return start


@njit(cache=True, nogil=True)
def pass_queue(part, mach, time):
    """An instruction without work for the load/store unit: it waits for those before it and is gone."""
    enqueue(part, mach, max(time, part.operand_free))


@njit(cache=True, nogil=True)
def occupy_lsu(sm, mach, until):
    """The instruction keeps its entry of the load/store unit until its last line or wavefront has passed."""
    sm.lsu[sm.lsu_head] = until
    sm.lsu_head = sm.lsu_head + 1 if sm.lsu_head + 1 < mach.lsu_entries else 0


@njit(cache=True, nogil=True)
def dispatch_time(part, row, time):
    """When an instruction that is issued at ``time`` can read its registers; the LSU reads those of its own later."""
    if row.pipe == NO_PIPE or row.pipe == UNIFORM or row.pipe == LSU or not row.flags & ACTIVE:
        return time
    while part.hold_first < part.hold_last and part.hold_end[part.hold_first % HOLDS] <= time:
        part.hold_first += 1
    i = part.hold_first
    while i < part.hold_last and part.hold_start[i % HOLDS] <= time:
        time = max(time, part.hold_end[i % HOLDS])
        i += 1
    return time


@njit(cache=True, nogil=True)
def operands_read(mach, start, row):
    """Cycle at which the load/store unit has read all registers of an instruction whose operands start at ``start``."""
    return start + mach.read_release_base + row.operand_cycles


@njit(cache=True, nogil=True)
def pass_data_stage(sm, now, arrival, cycles):
    """Take the SM's 128-byte data stage for ``cycles`` once the access has come to it at ``arrival``, ``now`` or later.

    Returns when the last wavefront has passed. Accesses of the LSU pass in the order in which it took them: one that
    waits for its turn in the tag stage leaves a gap in front of it.
    """
    free = max(sm.data_stage, now)
    if arrival > free:
        sm.gap_start, sm.gap_end = free, arrival
    sm.data_stage = max(free, arrival) + cycles
    return sm.data_stage


@njit(cache=True, nogil=True)
def fill_data_stage(sm, now, cycles):
    """Data from memory go into the last gap, the rest behind all accesses; returns when they are written."""
    start = max(now, sm.gap_start)
    inside = min(cycles, max(0, sm.gap_end - start))
    if inside > 0:
        sm.gap_start = start + inside
    if inside == cycles:
        return start + inside
    sm.data_stage = max(sm.data_stage, now) + cycles - inside
    return sm.data_stage


@njit(cache=True, nogil=True)
def pass_tag_stage(sm, arrival, cycles):
    """Take the L1 tag stage; returns when the first line passes."""
    start = max(sm.tag_stage, arrival)
    sm.tag_stage = start + cycles
    return start
