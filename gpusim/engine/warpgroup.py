"""Models wgmma: four warps start an instruction together, the SM's tensor pipe works on it, groups of them complete.
Leaves out registers: that a warpgroup waits before it touches its accumulators is in the control instructions."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Pipe
from gpusim.engine.attribution import record
from gpusim.engine.operands import FROM_REGISTERS
from gpusim.engine.resources import begin_reads
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.scoreboards import ready_time
from gpusim.engine.state import COUNTERS, GROUPS, NEVER, READS, WGMMAS

__all__ = ["await_wgmma", "issue_wgmma"]

TENSOR, GMMA = int(Pipe.tensor), WARP_STATES.index("gmma")
CLOSES, WARPS = 1, 4
HMMA_COUNT, STAGE_CYCLES, PIPE_CYCLES = (
    COUNTERS.index(name) for name in ("hmma_instructions", "data_stage_cycles", "wgmma_pipe_cycles"))
MMA_EVENT = EVENT_KINDS.index("mma")


@njit(cache=True, nogil=True)
def take_pipe(mach, sm, parts, group, row, time):
    """Cycle in which the tensor pipes of all sub-partitions start on an instruction that is complete at ``time``."""
    start = max(time + mach.wgmma_start, sm.tensor_free)
    if row.operand & FROM_REGISTERS:
        start = max(start, group.pipe_end + mach.wgmma_register_gap)
    for p in range(WARPS):
        start = max(start, parts[p].pipe_free[TENSOR])
    sm.tensor_free = group.pipe_end = start + row.interval
    for p in range(WARPS):
        parts[p].pipe_free[TENSOR] = sm.tensor_free
    sm.counters[PIPE_CYCLES] += row.interval
    return start


@njit(cache=True, nogil=True)
def plan_reads(sm, start, waves):
    """From ``start`` on the operands take turns at the data stage; see gpusim.engine.resources.begin_reads."""
    if sm.read_last - sm.read_first >= READS:
        raise RuntimeError("more wgmma in flight on one SM than the simulator tracks")
    sm.read_start[sm.read_last % READS], sm.read_waves[sm.read_last % READS] = start, waves
    sm.read_last += 1
    sm.counters[STAGE_CYCLES] += waves


@njit(cache=True, nogil=True)
def close(st, ops, s, cta_slot, number):
    """A group of the warpgroup is closed by all its warps: those that wait for it learn when it is complete."""
    group, warps = st.warpgroups[s, cta_slot, number], st.warps[s]
    closed = group.groups
    group.group_end[closed % GROUPS] = group.end
    group.groups = closed + 1
    for w in range(len(warps)):
        warp = warps[w]
        if (warp.live and warp.cta_slot == cta_slot and warp.warp // WARPS == number
                and warp.membar_end == NEVER + 1 + closed):
            warp.membar_end = group.end
            warp.ready = ready_time(warp, ops[warp.op])
            part = st.parts[s, w % 4]
            part.next_issue = min(part.next_issue, warp.ready)


@njit(cache=True, nogil=True)
def record_wgmma(st, win, s, w, row, start):
    """The instruction in the pipe, for each of its warps."""
    mine, warps = st.warps[s, w], st.warps[s]
    for other in range(len(warps)):
        warp = warps[other]
        if warp.live and warp.cta_slot == mine.cta_slot and warp.warp // WARPS == mine.warp // WARPS:
            record(win, st.sms[s], other, warp, MMA_EVENT, 0, row.pc, mine.op, start, start + row.interval)


@njit(cache=True, nogil=True)
def issue_wgmma(st, mach, ops, win, s, w, row, time):
    """One warp's share; the last warp of the warpgroup starts the instruction."""
    sm, warp = st.sms[s], st.warps[s, w]
    number = warp.warp // WARPS
    group = st.warpgroups[s, warp.cta_slot, number]
    sm.counters[HMMA_COUNT] += 1
    place = warp.wgmma_issued % WGMMAS
    if warp.wgmma_issued - group.started >= WGMMAS:
        raise RuntimeError("a warp is more wgmma ahead of its warpgroup than the simulator tracks")
    warp.wgmma_issued += 1
    warp.wgmma_groups += row.operand & CLOSES
    group.arrived[place] += 1
    if group.arrived[place] < WARPS:
        return
    group.arrived[place] = 0
    group.started += 1
    start = take_pipe(mach, sm, st.parts[s], group, row, time)
    begin_reads(sm, time)
    plan_reads(sm, start, row.access)
    group.end = max(group.end, start + row.interval + row.latency)
    if row.operand & CLOSES:
        close(st, ops, s, warp.cta_slot, number)
    if sm.record_end:
        record_wgmma(st, win, s, w, row, start)


@njit(cache=True, nogil=True)
def await_wgmma(st, s, w, row):
    """WARPGROUP.DEPBAR: until at most so many groups that the warp has closed are under way."""
    warp = st.warps[s, w]
    group = st.warpgroups[s, warp.cta_slot, warp.warp // WARPS]
    newest = warp.wgmma_groups - 1 - row.operand
    if row.operand < 0 or newest < 0 or newest < group.groups - GROUPS:
        return
    warp.fence_state = GMMA
    warp.membar_end = group.group_end[newest % GROUPS] if newest < group.groups else NEVER + 1 + newest
