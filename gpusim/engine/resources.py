"""Models what instructions share: pipes, the operand path and queues of a sub-partition, the SM's data and tag stage.
Leaves out which warp gets them (gpusim.engine.scheduler)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.image import ACTIVE

__all__ = ["enqueue", "free_time", "pass_data_stage", "pass_tag_stage", "queue_of", "send_operands"]

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
def free_time(st, mach, s, p, row):
    """First cycle in which the pipe or the queue that ``row`` needs has room."""
    if not row.flags & ACTIVE:
        return 0
    queue = queue_of(row)
    if queue < 0:
        return st.pipe_free[s, p, row.pipe] if row.pipe != NO_PIPE and row.pipe != LSU else 0
    depth = mach.mio_queue_depth if queue == 0 else mach.lg_queue_depth
    count = st.queue_count[s, p, queue]
    return st.queue[s, p, queue, count % depth] if count >= depth else 0


@njit(cache=True, nogil=True)
def enqueue(st, mach, s, p, queue, departure):
    """Take a queue entry until ``departure``."""
    depth = mach.mio_queue_depth if queue == 0 else mach.lg_queue_depth
    st.queue[s, p, queue, st.queue_count[s, p, queue] % depth] = departure
    st.queue_count[s, p, queue] += 1


@njit(cache=True, nogil=True)
def send_operands(st, mach, s, p, time, registers):
    """Addresses and data leave the register file over one path per sub-partition; returns when they start to."""
    start = max(time, st.operand_free[s, p])
    st.operand_free[s, p] = start + (registers * REGISTER_BYTES) // mach.operand_bytes_per_cycle
    return start


@njit(cache=True, nogil=True)
def pass_data_stage(st, s, arrival, cycles):
    """Take the SM's 128-byte data stage for ``cycles``; returns when the last wavefront has passed.

    The stage never idles while work waits, so its time is one number; which of two waiting accesses goes first
    changes neither's sum.
    """
    st.data_stage[s] = max(st.data_stage[s], arrival) + cycles
    return st.data_stage[s]


@njit(cache=True, nogil=True)
def pass_tag_stage(st, mach, s, arrival, lines):
    """Take the L1 tag stage, one line at a time; returns when the first line passes."""
    start = max(st.tag_stage[s], arrival)
    st.tag_stage[s] = start + lines * mach.tag_interval
    return start
