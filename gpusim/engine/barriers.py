"""Models CTA barriers: warps arrive at the SM's barrier unit one by one, and all go on together.
Leaves out what the load/store unit does with instructions before and behind BAR (gpusim.engine.lsu), and mbarriers."""

from __future__ import annotations

from numba import njit

from gpusim.engine.operands import ARRIVE_ONLY
from gpusim.engine.queues import COMMITS, WRITES, pass_buffer
from gpusim.engine.scoreboards import ready_time
from gpusim.engine.state import NAMED_BARRIERS, NEVER

__all__ = ["follow_barrier", "issue_barrier", "release_barriers"]


@njit(cache=True, nogil=True)
def arrive(sm, slot, warp, mach, operand, time):
    """BAR: warps arrive one by one at the SM's barrier unit; returns when all may go on, 0 before the last has come."""
    barrier, needed = operand & 15, operand >> 8 & 0xFF
    sm.barrier_unit = max(sm.barrier_unit, time) + mach.barrier_per_warp
    slot.arrived[barrier] += 1
    slot.needed[barrier] = needed
    if warp.polls:
        slot.flag = warp.flag
    if slot.arrived[barrier] < (needed if needed else slot.warps):
        return 0
    slot.arrived[barrier] = 0
    return sm.barrier_unit + mach.barrier_base


@njit(cache=True, nogil=True)
def open_barrier(warps, parts, ops, w, barrier, end, flag):
    """All warps of the CTA that wait at a barrier may go on at ``end``; they learn what its last poll found."""
    cta_slot = warps[w].cta_slot
    for w2 in range(len(warps)):
        other = warps[w2]
        if other.live and other.cta_slot == cta_slot and other.barrier_end == NEVER + barrier:
            was_shut = other.ready >= NEVER
            other.barrier_end, other.flag = end, flag
            if w2 != w and was_shut:
                other.ready = ready_time(other, ops[other.op])
                part = parts[w2 % 4]
                part.next_issue = min(part.next_issue, other.ready)


@njit(cache=True, nogil=True)
def reach_barrier(st, mach, ops, s, w, row, time):
    """BAR comes to the barrier unit."""
    warp, slot = st.warps[s, w], st.slots[s, st.warps[s, w].cta_slot]
    end = arrive(st.sms[s], slot, warp, mach, row.operand, time)
    if end:
        open_barrier(st.warps[s], st.parts[s], ops, w, row.operand & 15, end, slot.flag)


@njit(cache=True, nogil=True)
def fence(sm, mach, row, time):
    """BAR in the load/store unit: it waits at the front of the buffer, and all behind it, whoever's they are, until
    accesses before it have left the data stage and the queue for the tag stage (barrier_arrival.csv,
    barrier_copies.csv)."""
    pass_buffer(sm, mach, time, sm.drained, row.buffered)


@njit(cache=True, nogil=True)
def issue_barrier(st, mach, ops, s, w, row, time):
    """BAR issues. It does not wait in the queue, where other warps' instructions may stand before it
    (barrier_beside.csv), but for those of its own warp: to arrive, for loads and copies, to pass the load/store unit
    for the ends of groups of copies, too; for stores to global memory not at all."""
    warp = st.warps[s, w]
    if not row.operand & ARRIVE_ONLY:
        warp.barrier_end = NEVER + (row.operand & 15)
    warp.barrier_op = warp.op
    warp.before_fence = warp.queued - warp.stores_queued
    warp.before_arrival = warp.before_fence - warp.commits_queued
    if warp.before_fence == 0:
        fence(st.sms[s], mach, row, time)
    if warp.before_arrival == 0:
        reach_barrier(st, mach, ops, s, w, row, time)


@njit(cache=True, nogil=True)
def follow_barrier(st, mach, ops, s, w, work, time):
    """The load/store unit has taken an instruction for which the warp's BAR may have waited."""
    warp = st.warps[s, w]
    warp.commits_queued -= work == COMMITS
    warp.stores_queued -= work == WRITES
    if work == WRITES or warp.before_fence == 0:
        return
    warp.before_fence -= 1
    if warp.before_fence == 0:
        fence(st.sms[s], mach, ops[warp.barrier_op], time)
    if work != COMMITS and warp.before_arrival > 0:
        warp.before_arrival -= 1
        if warp.before_arrival == 0:
            reach_barrier(st, mach, ops, s, w, ops[warp.barrier_op], time)


@njit(cache=True, nogil=True)
def release_barriers(sm, slot, warps, parts, ops, mach, w, time):
    """A warp that leaves is not waited for: barriers at which all others stand open."""
    for barrier in range(NAMED_BARRIERS):
        if slot.arrived[barrier] > 0 and slot.arrived[barrier] >= slot.warps and slot.needed[barrier] == 0:
            slot.arrived[barrier] = 0
            open_barrier(warps, parts, ops, w, barrier, max(sm.barrier_unit, time) + mach.barrier_base, slot.flag)
