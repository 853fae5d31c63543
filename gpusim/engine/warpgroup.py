"""Models wgmma: four warps issue an instruction, the SM's tensor pipe works on one at a time, groups of them complete.
Leaves out registers: that a warpgroup waits before it touches its accumulators is in the control instructions.

The first warp of a warpgroup puts instructions into a queue that all warpgroups of the SM share, and waits for a place
there; the other three go on, and wait for it at the next fence (wgmma_groups.csv: a fourth of what a full queue costs
shows as mio throttle, the rest at the first instruction behind the fence as gmma)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Pipe
from gpusim.engine.attribution import record, record_stage
from gpusim.engine.data_stage import hold_data_stage
from gpusim.engine.operands import FENCES, WAVES_SHIFT
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.scoreboards import ready_time
from gpusim.engine.state import COUNTERS, GROUPS, NEVER, WARPS_PER_WARPGROUP, WGMMAS

__all__ = ["approach_wgmma", "control_wgmma", "issue_wgmma", "start_wgmma"]

TENSOR = int(Pipe.tensor)
BARRIER, GMMA, MIO = (WARP_STATES.index(name) for name in ("barrier", "gmma", "mio_throttle"))
CLOSES, WARPS = 1, WARPS_PER_WARPGROUP
HMMA_COUNT, STAGE_CYCLES, PIPE_CYCLES = (
    COUNTERS.index(name) for name in ("hmma_instructions", "data_stage_cycles", "wgmma_pipe_cycles"))
MMA_EVENT = EVENT_KINDS.index("mma")


@njit(cache=True, nogil=True)
def issue_wgmma(st, mach, s, w, row, op, time):
    """One warp's share; with the last warp of the warpgroup the instruction is ready for the tensor pipe."""
    sm, warp = st.sms[s], st.warps[s, w]
    group = st.warpgroups[s, warp.cta_slot, warp.warp // WARPS]
    if warp.wgmma_issued - group.started >= WGMMAS:
        raise RuntimeError("more wgmma of one warpgroup wait for the tensor pipe than the simulator tracks")
    place = warp.wgmma_issued % WGMMAS
    warp.wgmma_issued += 1
    warp.wgmma_groups += row.operand & CLOSES
    sm.counters[HMMA_COUNT] += 1
    sm.wgmma_queued += warp.warp % WARPS == 0
    group.arrived[place] += 1
    if group.arrived[place] == WARPS:
        group.arrived[place] = 0
        group.row[place], group.ready[place] = op, time + mach.wgmma_start
        group.issued += 1
        sm.wgmma_event = min(sm.wgmma_event, max(group.ready[place], pipe_free(st.parts[s])))


@njit(cache=True, nogil=True)
def approach_wgmma(st, mach, s, w):
    """The warp's next instruction is a wgmma: it may have to wait for its warpgroup's others, or for a place. Not
    behind another wait, at whose end there is room."""
    warp = st.warps[s, w]
    group = st.warpgroups[s, warp.cta_slot, warp.warp // WARPS]
    if warp.membar_end > warp.last_issue:
        return
    if warp.wgmma_fences > group.fences:
        warp.membar_end, warp.fence_state = NEVER, GMMA
    elif warp.warp % WARPS == 0 and st.sms[s].wgmma_queued >= mach.wgmma_places:
        warp.membar_end, warp.fence_state = NEVER, MIO


@njit(cache=True, nogil=True)
def go_on(st, ops, s, w):
    """When what the warp waits for comes is known now."""
    warp, part = st.warps[s, w], st.parts[s, w % 4]
    warp.ready = ready_time(warp, ops[warp.op])
    part.next_issue = min(part.next_issue, warp.ready)


@njit(cache=True, nogil=True)
def fill_queue(st, ops, s, time):
    """A place in the queue is free: the warp that has waited longest for one goes on."""
    warps, longest = st.warps[s], -1
    for w in range(len(warps)):
        warp = warps[w]
        if warp.live and warp.membar_end == NEVER and warp.fence_state == MIO and (
                longest < 0 or warp.last_issue < warps[longest].last_issue):
            longest = w
    if longest >= 0:
        warps[longest].membar_end = time
        go_on(st, ops, s, longest)


@njit(cache=True, nogil=True)
def pipe_free(parts):
    """When the tensor pipes of all sub-partitions are."""
    free = parts[0].unit_free[TENSOR]
    for p in range(1, WARPS):
        free = max(free, parts[p].unit_free[TENSOR])
    return free


@njit(cache=True, nogil=True)
def ready_of(group):
    """When the warpgroup's next instruction could start."""
    return group.ready[group.started % WGMMAS] if group.started < group.issued else NEVER


@njit(cache=True, nogil=True)
def choose(groups):
    """(CTA slot, number) of the warpgroup whose next instruction was ready first."""
    slot, number = 0, 0
    for i in range(groups.shape[0]):
        for j in range(groups.shape[1]):
            if ready_of(groups[i, j]) < ready_of(groups[slot, number]):
                slot, number = i, j
    return slot, number


@njit(cache=True, nogil=True)
def plan_next(sm, parts, groups):
    """When the pipe is free and some warpgroup ready."""
    ready = NEVER
    for i in range(groups.shape[0]):
        for j in range(groups.shape[1]):
            ready = min(ready, ready_of(groups[i, j]))
    sm.wgmma_event = max(ready, pipe_free(parts))


@njit(cache=True, nogil=True)
def close(st, ops, s, slot, number):
    """A group of the warpgroup is closed: warps that wait for it learn when it is complete."""
    group, warps = st.warpgroups[s, slot, number], st.warps[s]
    closed = group.groups
    group.group_end[closed % GROUPS] = group.end
    group.groups = closed + 1
    for w in range(len(warps)):
        warp = warps[w]
        if warp.live and warp.cta_slot == slot and warp.warp // WARPS == number and (
                warp.membar_end == NEVER + 1 + closed):
            warp.membar_end = group.end
            go_on(st, ops, s, w)


@njit(cache=True, nogil=True)
def record_wgmma(st, win, s, slot, number, op, row, time):
    """The instruction in the pipe, for each of its warps; its operands at the data stage, for the first."""
    waves = np.int64(row.operand >> WAVES_SHIFT)
    for w in range(len(st.warps[s])):
        warp = st.warps[s, w]
        if warp.live and warp.cta_slot == slot and warp.warp // WARPS == number:
            record(win, st.sms[s], w, warp, MMA_EVENT, 0, row.pc, op, time, time + row.interval)
            record_stage(win, st.sms[s], w, warp, row.pc, op, waves)
            waves = np.int64(0)


@njit(cache=True, nogil=True)
def start_wgmma(st, mach, ops, win, s, time):
    """The tensor pipe takes the next instruction. Its operands take turns at the data stage: it waits for nothing that
    is there already, everything that comes later waits for them."""
    sm, parts, groups = st.sms[s], st.parts[s], st.warpgroups[s]
    if pipe_free(parts) <= time:
        slot, number = choose(groups)
        group = groups[slot, number]
        op = group.row[group.started % WGMMAS]
        row = ops[op]
        group.started += 1
        sm.wgmma_queued -= 1
        for p in range(WARPS):
            parts[p].unit_free[TENSOR] = time + row.interval
        hold_data_stage(sm, mach, time, row.operand >> WAVES_SHIFT)
        sm.counters[STAGE_CYCLES] += row.operand >> WAVES_SHIFT
        sm.counters[PIPE_CYCLES] += row.interval
        group.end = max(group.end, time + row.interval + row.latency)
        if row.operand & CLOSES:
            close(st, ops, s, slot, number)
        fill_queue(st, ops, s, time)
        if sm.record_end:
            record_wgmma(st, win, s, slot, number, op, row, time)
    plan_next(sm, parts, groups)


@njit(cache=True, nogil=True)
def fence_wgmma(st, mach, ops, s, w, time):
    """WARPGROUP.ARRIVE: wgmma behind it issue when all four warps have come here."""
    warp, warps = st.warps[s, w], st.warps[s]
    group = st.warpgroups[s, warp.cta_slot, warp.warp // WARPS]
    warp.wgmma_fences += 1
    group.fenced += 1
    if group.fenced == WARPS:
        group.fenced = 0
        group.fences += 1
        for i in range(len(warps)):
            other = warps[i]
            together = other.live and other.cta_slot == warp.cta_slot and other.warp // WARPS == warp.warp // WARPS
            if together and other.membar_end == NEVER and other.fence_state == GMMA:
                other.membar_end = 0
                approach_wgmma(st, mach, s, i)
                other.membar_end = max(other.membar_end, time + 1)
                go_on(st, ops, s, i)


@njit(cache=True, nogil=True)
def control_wgmma(st, mach, ops, s, w, row, time):
    """WARPGROUP instructions that do something."""
    if row.operand == FENCES:
        fence_wgmma(st, mach, ops, s, w, time)
    else:
        await_wgmma(st, s, w, row)


@njit(cache=True, nogil=True)
def await_wgmma(st, s, w, row):
    """WARPGROUP.DEPBAR: until at most so many groups that the warp has closed are under way; Nsight calls it barrier.
    """
    warp = st.warps[s, w]
    newest = warp.wgmma_groups - 1 - row.operand
    if newest < 0:
        return
    group = st.warpgroups[s, warp.cta_slot, warp.warp // WARPS]
    if newest < group.groups - GROUPS:
        return
    warp.fence_state = BARRIER
    warp.membar_end = group.group_end[newest % GROUPS] if newest < group.groups else NEVER + 1 + newest
