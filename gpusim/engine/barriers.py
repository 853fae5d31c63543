"""Models CTA barriers: warps arrive at the SM's barrier unit one by one, and all go on together.
Leaves out the way there, which is that of memory instructions (gpusim.engine.queues), and mbarriers."""

from __future__ import annotations

from numba import njit

from gpusim.engine.scoreboards import ready_time
from gpusim.engine.state import NAMED_BARRIERS, NEVER

__all__ = ["reach_barrier", "release_barriers"]


@njit(cache=True, nogil=True)
def arrive(sm, slot, warp, mach, operand, time):
    """BAR: warps arrive one by one at the SM's barrier unit, and each is there when its shared-memory accesses before
    have left the data stage (barrier_arrival.csv); returns when all may go on, 0 before the last has come."""
    barrier, needed = operand & 15, operand >> 8 & 0xFF
    sm.barrier_unit = max(sm.barrier_unit, time) + mach.barrier_per_warp
    accesses = warp.access_ends[(warp.access_count - 1) % mach.accesses_per_warp] + mach.barrier_after_access
    slot.complete[barrier] = max(slot.complete[barrier], sm.barrier_unit + mach.barrier_base, accesses)
    slot.arrived[barrier] += 1
    slot.needed[barrier] = needed
    if warp.polls:
        slot.flag = warp.flag
    if slot.arrived[barrier] < (needed if needed else slot.warps):
        return 0
    slot.arrived[barrier] = 0
    return slot.complete[barrier]


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
    """BAR comes to the barrier unit, behind the memory instructions of its warp that went before."""
    warp, slot = st.warps[s, w], st.slots[s, st.warps[s, w].cta_slot]
    end = arrive(st.sms[s], slot, warp, mach, row.operand, time)
    if end:
        open_barrier(st.warps[s], st.parts[s], ops, w, row.operand & 15, end, slot.flag)


@njit(cache=True, nogil=True)
def release_barriers(sm, slot, warps, parts, ops, mach, w, time):
    """A warp that leaves is not waited for: barriers at which all others stand open."""
    for barrier in range(NAMED_BARRIERS):
        if slot.arrived[barrier] > 0 and slot.arrived[barrier] >= slot.warps and slot.needed[barrier] == 0:
            slot.arrived[barrier] = 0
            end = max(slot.complete[barrier], max(sm.barrier_unit, time) + mach.barrier_base)
            open_barrier(warps, parts, ops, w, barrier, end, slot.flag)
