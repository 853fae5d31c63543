"""Models what instructions share: pipes, the operand path and queues of a sub-partition, the SM's data and tag stage.
Leaves out which warp gets them (gpusim.engine.scheduler)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.image import ACTIVE
from gpusim.engine.state import QUEUE_ENTRIES

__all__ = ["enqueue", "free_time", "operand_cycles", "pass_data_stage", "pass_tag_stage", "queue_of", "send_operands"]

LSU, NO_PIPE = int(Pipe.lsu), int(Pipe.none)
SHARED_KINDS = (int(Kind.shared_load), int(Kind.shared_store), int(Kind.ldmatrix), int(Kind.stmatrix),
                int(Kind.shuffle))
GLOBAL_KINDS = (int(Kind.global_load), int(Kind.global_store), int(Kind.async_copy), int(Kind.atomic))
REGISTER_BYTES = 128  # one 32-bit register of all lanes


@njit(cache=True, nogil=True)
def queue_of(row):
    """0: queue of shared-memory instructions, 1: of global ones, -1: needs none."""
    if not row.flags & ACTIVE:
        return -1
    if row.kind in SHARED_KINDS:
        return 0
    return 1 if row.kind in GLOBAL_KINDS else -1


@njit(cache=True, nogil=True)
def free_time(part, mach, row):
    """First cycle in which the pipe or the queue that ``row`` needs has room."""
    if not row.flags & ACTIVE:
        return 0
    queue = queue_of(row)
    if queue < 0:
        return part.pipe_free[row.pipe] if row.pipe != NO_PIPE and row.pipe != LSU else 0
    depth = mach.mio_queue_depth if queue == 0 else mach.lg_queue_depth
    count = part.queue_count[queue]
    return part.queue[queue * QUEUE_ENTRIES + count % depth] if count >= depth else 0


@njit(cache=True, nogil=True)
def enqueue(part, mach, queue, departure):
    """Take a queue entry until ``departure``."""
    depth = mach.mio_queue_depth if queue == 0 else mach.lg_queue_depth
    part.queue[queue * QUEUE_ENTRIES + part.queue_count[queue] % depth] = departure
    part.queue_count[queue] += 1


@njit(cache=True, nogil=True)
def operand_cycles(mach, registers):
    """Cycles in which registers of 32 lanes cross the operand path of a sub-partition."""
    return registers * REGISTER_BYTES // mach.operand_bytes_per_cycle


@njit(cache=True, nogil=True)
def send_operands(part, mach, time, registers):
    """Addresses and data leave the register file over one path per sub-partition; returns when they start to."""
    start = max(time, part.operand_free)
    part.operand_free = start + operand_cycles(mach, registers)
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
