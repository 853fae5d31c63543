"""Models CTA barriers: warps arrive at the SM's barrier unit one by one, and all go on together.
Leaves out what the load/store unit does with instructions before and behind BAR (gpusim.engine.lsu), and mbarriers."""

from __future__ import annotations

from numba import njit

from gpusim.engine.operands import ARRIVE_ONLY
from gpusim.engine.queues import turn_in_buffer
from gpusim.engine.scoreboards import ready_time
from gpusim.engine.state import NAMED_BARRIERS, NEVER, QUEUE_ENTRIES

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
def let_go(warps, parts, ops, cta_slot, held, time):
    """What stays behind a fence may go on: instructions that are queued, when the registers of all in front of it have
    been read (half_epilogue.csv: sub-partitions take turns behind it), and warps that stand at their next BAR."""
    read = time
    for p in range(4):
        read = max(read, parts[p].operand_free)
    for p in range(4):
        for entry in range(parts[p].queue_first, parts[p].queue_last):
            i = entry % QUEUE_ENTRIES
            if parts[p].queue_held[i] == held and warps[parts[p].queue_slot[i]].cta_slot == cta_slot:
                parts[p].queue_held[i] = 0
                parts[p].queue_time[i] = max(parts[p].queue_time[i], read)
    for w in range(len(warps)):
        warp = warps[w]
        if warp.live and warp.cta_slot == cta_slot and warp.behind == held:
            warp.behind = 0
            if warp.ready >= NEVER:
                warp.ready = max(ready_time(warp, ops[warp.op]), time + 1)
                parts[w % 4].next_issue = min(parts[w % 4].next_issue, warp.ready)


@njit(cache=True, nogil=True)
def fence(st, ops, s, cta_slot, barrier, time):
    """A barrier passes the load/store unit, once, when it has opened and what its warps had queued has been taken.

    All that comes behind, whoever's it is, waits until accesses before have left the data stage and the queue for the
    tag stage (barrier_arrival.csv, barrier_copies.csv, store_meet.csv).
    """
    sm, slot = st.sms[s], st.slots[s, cta_slot]
    if slot.to_fence[barrier] and slot.unfenced[barrier] == 0:
        slot.to_fence[barrier] = 0
        turn_in_buffer(sm, max(time, sm.drained))
        let_go(st.warps[s], st.parts[s], ops, cta_slot, 1 + barrier, time)


@njit(cache=True, nogil=True)
def open_barrier(st, ops, s, w, barrier, end, time):
    """All warps of the CTA that wait at a barrier may go on at ``end``; they learn what its last poll found."""
    warps, parts, cta_slot = st.warps[s], st.parts[s], st.warps[s, w].cta_slot
    slot = st.slots[s, cta_slot]
    for w2 in range(len(warps)):
        other = warps[w2]
        if other.live and other.cta_slot == cta_slot and other.barrier_end == NEVER + barrier:
            was_shut = other.ready >= NEVER
            other.barrier_end, other.flag = end, slot.flag
            if w2 != w and was_shut:
                other.ready = ready_time(other, ops[other.op])
                part = parts[w2 % 4]
                part.next_issue = min(part.next_issue, other.ready)
    slot.to_fence[barrier] = 1
    fence(st, ops, s, cta_slot, barrier, time)


@njit(cache=True, nogil=True)
def issue_barrier(st, mach, ops, s, w, row, time):
    """BAR comes to the barrier unit at once, whatever is queued (store_meet.csv). Loads and copies behind it stay in
    their queues, and the warp at its next BAR, until those in front of it, of all its warps, have been taken."""
    warp, barrier = st.warps[s, w], row.operand & 15
    slot = st.slots[s, warp.cta_slot]
    if not row.operand & ARRIVE_ONLY:
        warp.barrier_end, warp.behind = NEVER + barrier, 1 + barrier
    warp.fenced, warp.before_fence = barrier, warp.queued
    slot.unfenced[barrier] += warp.before_fence > 0
    end = arrive(st.sms[s], slot, warp, mach, row.operand, time)
    if end:
        open_barrier(st, ops, s, w, barrier, end, time)


@njit(cache=True, nogil=True)
def follow_barrier(st, ops, s, w, time):
    """The load/store unit has taken an instruction for which the warp's BAR may have waited."""
    warp = st.warps[s, w]
    if warp.before_fence == 0:
        return
    warp.before_fence -= 1
    if warp.before_fence == 0:
        st.slots[s, warp.cta_slot].unfenced[warp.fenced] -= 1
        fence(st, ops, s, warp.cta_slot, warp.fenced, time)


@njit(cache=True, nogil=True)
def release_barriers(st, mach, ops, s, w, time):
    """A warp that leaves is not waited for: barriers at which all others stand open."""
    slot = st.slots[s, st.warps[s, w].cta_slot]
    for barrier in range(NAMED_BARRIERS):
        if slot.arrived[barrier] > 0 and slot.arrived[barrier] >= slot.warps and slot.needed[barrier] == 0:
            slot.arrived[barrier] = 0
            open_barrier(st, ops, s, w, barrier, max(st.sms[s].barrier_unit, time) + mach.barrier_base, time)
