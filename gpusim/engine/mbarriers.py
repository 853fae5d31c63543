"""Models mbarriers: arrivals and bytes of a phase, and the warps that its completion releases.
Leaves out the eight bytes themselves: an operation takes its turn at shared memory like any other access."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.messages import REMOTE_ARRIVE, post_message
from gpusim.engine.register_reads import operands_read
from gpusim.engine.resources import leave_buffer
from gpusim.engine.scoreboards import close_group, ready_time, settle_board
from gpusim.engine.state import BOARDS, COUNTERS, GROUPS, NEVER
from gpusim.program import MBarrierAction

__all__ = ["deliver_copies", "settle_phase", "use_mbarrier", "waits_for", "will_follow"]

NO_BOARD, ONE_LANE = 7, 1
EXPECT, WAIT, ARRIVE_ASYNC = (int(MBarrierAction[name]) for name in ("expect_tx", "wait", "arrive_async"))
STAGE_CYCLES = COUNTERS.index("data_stage_cycles")


@njit(cache=True, nogil=True)
def waits_for(index, parity):
    """What a scoreboard barrier holds while a wait for a phase is not released."""
    return NEVER + 1 + 2 * index + parity


@njit(cache=True, nogil=True)
def pass_shared(sm, mach, row, start):
    """One turn at the data stage, on the way of all shared accesses; returns when it has passed."""
    passed = leave_buffer(sm, mach, start, start + row.lead_cycles, 1, start)
    sm.counters[STAGE_CYCLES] += 1
    return passed - mach.wavefront_interval + 1


@njit(cache=True, nogil=True)
def release_waits(st, mach, ops, s, cta_slot, index):
    """The phase is complete: warps of the CTA that wait for its parity may go on."""
    warps, barrier = st.warps[s], st.mbarriers[s, cta_slot, index]
    awaited, end = waits_for(index, (barrier.phase - 1) & 1), barrier.completed + mach.mbarrier_wake
    for w in range(len(warps)):
        warp = warps[w]
        if warp.live and warp.cta_slot == cta_slot:
            for board in range(BOARDS):
                if warp.scoreboard[board] == awaited:
                    warp.scoreboard[board] = end if warp.poll_start < 0 else look_until(warp, mach, barrier.completed)
                    if warp.ready >= NEVER:
                        warp.ready = ready_time(warp, ops[warp.op])
                        part = st.parts[s, w % 4]
                        part.next_issue = min(part.next_issue, warp.ready)


@njit(cache=True, nogil=True)
def look_until(warp, mach, completed):
    """A lane that waits alone looks again and again; when it goes on after the look that finds the phase complete."""
    looks = max(1, -(-(completed - warp.poll_start) // mach.mbarrier_poll))
    warp.slept = looks * mach.mbarrier_sleep
    return warp.poll_start + looks * mach.mbarrier_poll + mach.mbarrier_poll_release


@njit(cache=True, nogil=True)
def settle_phase(st, mach, ops, counts, s, cta_slot, index, time):
    """Something that the phase waited for happened at ``time``; it completes when nothing is left. ``counts``: arrivals
    of each mbarrier's next phase."""
    barrier = st.mbarriers[s, cta_slot, index]
    barrier.time = max(barrier.time, time)
    if barrier.pending <= 0 and barrier.bytes == 0:
        barrier.phase += 1
        barrier.pending += counts[index]
        barrier.completed, barrier.time = barrier.time, 0
        release_waits(st, mach, ops, s, cta_slot, index)


@njit(cache=True, nogil=True)
def await_phase(barrier, warp, mach, row, index, passed):
    """A wait releases its scoreboard barrier when the phase with its parity has completed."""
    board, parity = row.write_barrier, row.operand >> 12 & 1
    if board == NO_BOARD:
        return
    if barrier.phase & 1 != parity:
        end = max(passed + mach.mbarrier_wait, barrier.completed + mach.mbarrier_wake)
        warp.scoreboard[board] = max(warp.scoreboard[board], end)
    else:
        warp.scoreboard[board] = waits_for(index, parity)
        warp.poll_start = passed if row.operand >> 16 == ONE_LANE else -1


@njit(cache=True, nogil=True)
def deliver_copies(st, mach, ops, counts, s, warp):
    """Groups of cp.async that are complete arrive at the mbarriers that wait for them, once per lane."""
    for group in range(max(0, warp.group_done - GROUPS), warp.group_done):
        index = warp.group_arrives[group % GROUPS] - 1
        if index >= 0:
            warp.group_arrives[group % GROUPS] = 0
            warp.async_arrivals -= 1
            st.mbarriers[s, warp.cta_slot, index].pending -= 32
            settle_phase(st, mach, ops, counts, s, warp.cta_slot, index,
                         warp.group_time[group % GROUPS] + mach.mbarrier_arrive)


@njit(cache=True, nogil=True)
def will_follow(warp, row, time):
    """Note at issue which copies an arrival follows: those so far, a group of their own; returns its place."""
    if row.operand >> 8 & 15 != ARRIVE_ASYNC:
        return 0
    group = warp.group_tail
    warp.async_arrivals += 1
    close_group(warp, warp.group_board, time)
    return group % GROUPS


@njit(cache=True, nogil=True)
def follow_copies(st, mach, ops, counts, s, warp, index, group, passed):
    """The copies of a group will arrive at the mbarrier."""
    warp.group_time[group] = max(warp.group_time[group], passed)
    warp.group_arrives[group] = index + 1
    deliver_copies(st, mach, ops, counts, s, warp)


@njit(cache=True, nogil=True)
def arrive_elsewhere(st, mach, win, s, warp, index, ranks, passed):
    """Arrive at the mbarriers of other CTAs of the cluster; whether the own one is meant, too."""
    own = np.int64(1) << st.slots[s, warp.cta_slot].rank
    if ranks & ~own:
        post_message(win, st.sms[s], s, REMOTE_ARRIVE, passed + mach.remote_arrive, warp.cta, index, ranks & ~own)
    return ranks & own != 0


@njit(cache=True, nogil=True)
def use_mbarrier(st, mach, ops, acc, win, s, w, row, group, start):
    """SYNCS and ARRIVES: arrive, expect bytes, wait, or follow the copies of the warp."""
    sm, warp, counts = st.sms[s], st.warps[s, w], win.arrivals
    passed = pass_shared(sm, mach, row, start)
    settle_board(warp, row.read_barrier, operands_read(mach, start, row))
    settle_board(warp, row.write_barrier, 0)
    lanes = row.operand >> 16
    if row.access >= 0:
        lanes = acc[row.access + warp.warp_row].bulk_bytes
        if lanes == 0:
            return
    index, action = row.operand & 255, row.operand >> 8 & 15
    if row.access >= 0 and acc[row.access + warp.warp_row].cta_mask:
        lanes = 1
        if not arrive_elsewhere(st, mach, win, s, warp, index, acc[row.access + warp.warp_row].cta_mask, passed):
            return
    barrier = st.mbarriers[s, warp.cta_slot, index]
    if action == WAIT:
        await_phase(barrier, warp, mach, row, index, passed)
    elif action == ARRIVE_ASYNC:
        follow_copies(st, mach, ops, counts, s, warp, index, group, passed)
    else:
        if action == EXPECT:
            barrier.bytes += row.global_offset
            lanes = 1
        barrier.pending -= lanes
        settle_phase(st, mach, ops, counts, s, warp.cta_slot, index, passed + mach.mbarrier_arrive)
