"""Models what instructions share: pipes, the operand path and queues of a sub-partition, the SM's data and tag stage.
Leaves out which warp gets them (gpusim.engine.scheduler)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Pipe
from gpusim.engine.image import ACTIVE
from gpusim.engine.state import QUEUE_ENTRIES

__all__ = ["enqueue", "free_time", "pass_data_stage", "pass_tag_stage", "send_operands"]

LSU, NO_PIPE = int(Pipe.lsu), int(Pipe.none)


@njit(cache=True, nogil=True)
def free_time(part, row):
    """First cycle in which the pipe or the queue that ``row`` needs has room."""
    if row.queue >= 0:
        return part.queue[row.queue * QUEUE_ENTRIES + part.queue_head[row.queue]]
    if row.flags & ACTIVE and row.pipe != NO_PIPE and row.pipe != LSU:
        return part.pipe_free[row.pipe]
    return 0


@njit(cache=True, nogil=True)
def enqueue(part, mach, queue, departure):
    """Take the queue entry that was taken longest ago, until ``departure``."""
    head = part.queue_head[queue]
    part.queue[queue * QUEUE_ENTRIES + head] = departure
    depth = mach.mio_queue_depth if queue == 0 else mach.lg_queue_depth
    part.queue_head[queue] = head + 1 if head + 1 < depth else 0


@njit(cache=True, nogil=True)
def send_operands(part, row, time):
    """Addresses and data leave the register file over one path per sub-partition; returns when they start to."""
    start = max(time, part.operand_free)
    part.operand_free = start + row.operand_cycles
    return start


@njit(cache=True, nogil=True)
def pass_data_stage(sm, arrival, cycles):
    """Take the SM's 128-byte data stage for ``cycles``; returns when the last wavefront has passed.

    The stage never idles while work waits, so its time is one number; which of two waiting accesses goes first
    changes neither's sum.
    """
    sm.data_stage = max(sm.data_stage, arrival) + cycles
    return sm.data_stage


@njit(cache=True, nogil=True)
def pass_tag_stage(sm, mach, arrival, lines):
    """Take the L1 tag stage, one line at a time; returns when the first line passes."""
    start = max(sm.tag_stage, arrival)
    sm.tag_stage = start + lines * mach.tag_interval
    return start
