"""Models what an instruction does when it issues: which pipe, queue and stage it takes, and when its barriers release.
Leaves out when it may issue (gpusim.engine.scoreboards) and who is chosen (gpusim.engine.scheduler)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.attribution import record
from gpusim.engine.image import FENCE, FLAG, VARIABLE, WHOLE_LINE
from gpusim.engine.l1 import look_up
from gpusim.engine.resources import accept, occupy_lsu, pass_data_stage, pass_queue, pass_tag_stage
from gpusim.engine.result import EVENT_KINDS
from gpusim.engine.scoreboards import close_group, ready_time
from gpusim.engine.state import COUNTERS, FENCE_TOKEN, GROUPS, NEVER

__all__ = ["NO_BOARD", "execute", "open_barrier"]

NO_BOARD = 7
ALL_SECTORS = 15
KINDS = {name: int(member) for name, member in Kind.__members__.items()}
MMA, LDMATRIX, SHARED_LOAD = KINDS["mma"], KINDS["ldmatrix"], KINDS["shared_load"]
ASYNC_COPY, COMMIT, GLOBAL_STORE = KINDS["async_copy"], KINDS["commit"], KINDS["global_store"]
BARRIER, ATOMIC = KINDS["barrier"], KINDS["atomic"]
NO_PIPE, LSU = int(Pipe.none), int(Pipe.lsu)
REQUESTS, WAVEFRONTS, IDEAL, CONFLICTS = 0, 3, 6, 9  # first of load, store, ldgsts in COUNTERS
LOAD, STORE, LDGSTS = 0, 1, 2
HMMA_COUNT, LDSM_COUNT, LDGSTS_COUNT, STAGE_CYCLES, L1_SECTORS, L1_HITS = (
    COUNTERS.index(name) for name in ("hmma_instructions", "ldsm_instructions", "ldgsts_instructions",
                                      "data_stage_cycles", "l1_sectors", "l1_sector_hits"))
SHARED_EVENT, MMA_EVENT = EVENT_KINDS.index("shared"), EVENT_KINDS.index("mma")


@njit(cache=True, nogil=True)
def count_shared(sm, access, side):
    sm.counters[REQUESTS + side] += 1
    sm.counters[WAVEFRONTS + side] += access.wavefronts
    sm.counters[IDEAL + side] += access.ideal
    sm.counters[CONFLICTS + side] += access.conflicts


@njit(cache=True, nogil=True)
def release(warp, board, time, is_long):
    """An internal result or operand read releases a scoreboard barrier at ``time``."""
    if board != NO_BOARD:
        warp.scoreboard[board] = max(warp.scoreboard[board], time)
        if is_long or warp.pending[board] == 0:
            warp.long_board[board] = is_long


@njit(cache=True, nogil=True)
def operands_read(mach, start, row):
    """Cycle at which the load/store unit has read all registers of an instruction whose operands start at ``start``."""
    return start + mach.read_release_base + row.operand_cycles


@njit(cache=True, nogil=True)
def shared_access(sm, part, warp, mach, row, waves, time):
    """LDS, LDSM, STS, STSM, SHFL: operands, data stage; one wavefront every other cycle for one warp alone.

    They pass the tag stage too, without looking anything up: not before the copies that came first.

    Returns when the last wavefront has passed the data stage.
    """
    start = accept(sm, part, mach, row, time)
    arrival = max(start + row.lead_cycles, sm.tag_stage)
    passed = pass_data_stage(sm, time, arrival, waves)
    occupy_lsu(sm, mach, passed)
    sm.counters[STAGE_CYCLES] += waves
    alone = max(arrival, warp.data_free) + mach.shared_latency_per_wavefront * waves
    warp.data_free = max(passed, alone)
    release(warp, row.write_barrier, max(passed, alone) + mach.shared_latency_base, 0)
    release(warp, row.read_barrier, operands_read(mach, start, row), 0)
    sm.counters[LDSM_COUNT] += row.kind == LDMATRIX
    return passed


@njit(cache=True, nogil=True)
def writes(row):
    """Stores, and atomics whose result nobody waits for."""
    return row.kind == GLOBAL_STORE or (row.kind == ATOMIC and row.write_barrier == NO_BOARD)


@njit(cache=True, nogil=True)
def post(sm, warp, request, base, access, s, w, row, time, token, number, skip):
    """Send a global access to the memory system; it is answered in a later window."""
    request.time, request.sm, request.slot, request.token = time, s, w, token
    request.base = base
    request.first, request.count, request.data_cycles = access.first, access.count, access.data_cycles
    request.is_write, request.asynchronous = writes(row), row.kind == ASYNC_COPY
    request.cta, request.flag = warp.cta, row.operand if row.flags & FLAG else -1
    request.sequence, request.op, request.age = sm.sequence, warp.op, warp.age
    request.fill = ALL_SECTORS if row.flags & WHOLE_LINE else 0
    request.l1, request.skip = number, skip
    sm.sequence += 1


@njit(cache=True, nogil=True)
def expect(sm, warp, access, row):
    """Note that an answer is due; returns what it will release: a cp.async group or a scoreboard barrier."""
    if row.kind == ASYNC_COPY:
        token = warp.group_tail % GROUPS
        warp.group_missing[token] += access.count > 0
        sm.counters[LDGSTS_COUNT] += 1
        count_shared(sm, access, LDGSTS)
        return token
    token = np.int64(row.write_barrier)
    if writes(row):
        warp.drain = sm.write_port
    elif token != NO_BOARD:
        warp.pending[token] += access.count > 0
        warp.long_board[token] = 1
    return token


@njit(cache=True, nogil=True)
def global_access(sm, part, warp, mach, row, access, time):
    """LDG, STG, LDGSTS: operands, queue, tags; then the memory system decides. Returns when the request leaves.

    That is when its first tag passes; a store waits for the SM's port to the crossbar too.
    """
    start = accept(sm, part, mach, row, time)
    leaves = pass_tag_stage(sm, start + row.operand_cycles, access.tag_cycles)
    until = sm.tag_stage
    if writes(row):
        leaves = max(leaves, sm.write_port)
        until = sm.write_port = leaves + access.data_cycles
    occupy_lsu(sm, mach, until)
    release(warp, row.read_barrier, operands_read(mach, start, row), 1)
    return leaves


@njit(cache=True, nogil=True)
def arrive(sm, slot, warp, mach, barrier, time):
    """BAR.SYNC: warps arrive one by one at the SM's barrier unit; returns when all may go on, 0 before the last."""
    sm.barrier_unit = max(sm.barrier_unit, time) + mach.barrier_per_warp
    slot.arrived[barrier] += 1
    warp.barrier_end = NEVER + barrier
    if warp.polls:
        slot.flag = warp.flag
    if slot.arrived[barrier] < slot.warps:
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
def fixed_latency(sm, part, warp, mach, row, time):
    """Everything that only takes a pipe."""
    if row.pipe != NO_PIPE and row.pipe != LSU:
        part.pipe_free[row.pipe] = time + row.interval
    sm.counters[HMMA_COUNT] += row.kind == MMA
    if row.flags & VARIABLE:
        release(warp, row.write_barrier, time + row.latency, 0)
        release(warp, row.read_barrier, time + row.latency, 0)


@njit(cache=True, nogil=True)
def expect_answers(warp, token, is_copy, more):
    """Note that an access gets ``more`` answers than one."""
    if is_copy:
        warp.group_missing[token] += more
    elif token != NO_BOARD:
        warp.pending[token] += more


@njit(cache=True, nogil=True)
def hit_l1(sm, warp, mach, access, token, is_copy, leaves, time):
    """All sectors of an access are in L1: they cross the data stage as those of shared memory do."""
    waves = np.int64(access.data_cycles)
    passed = max(pass_data_stage(sm, time, leaves, waves), sm.tag_stage)
    sm.counters[STAGE_CYCLES] += waves
    warp.data_free = max(passed, max(leaves, warp.data_free) + mach.shared_latency_per_wavefront * waves)
    there = warp.data_free + mach.l1_after_data
    if is_copy:
        warp.group_time[token] = max(warp.group_time[token], there)
    else:
        release(warp, token, there, 1)


@njit(cache=True, nogil=True)
def pass_l1(st, mach, s, w, row, access, base, token, leaves, time):
    """Look a load up in L1: (number of its request to L2, 0 when it needs none; lines that it need not ask for)."""
    sm, warp, is_copy = st.sms[s], st.warps[s, w], row.kind == ASYNC_COPY
    number, skip, answers, sectors, hits = look_up(st.l1, s, access, base, w, token, warp.age, is_copy)
    sm.counters[L1_SECTORS] += sectors
    sm.counters[L1_HITS] += hits
    expect_answers(warp, token, is_copy, answers - 1)
    if answers == 0:
        hit_l1(sm, warp, mach, access, token, is_copy, leaves, time)
    return number, skip


@njit(cache=True, nogil=True)
def reach_memory(st, mach, acc, bases, win, s, w, row, time):
    """A global access: through the load/store unit, then a request if any lane needs what L1 does not have."""
    sm, part, warp = st.sms[s], st.parts[s, w % 4], st.warps[s, w]
    access = acc[row.access + warp.warp_row]
    leaves = global_access(sm, part, warp, mach, row, access, time)
    token = expect(sm, warp, access, row)
    if access.count == 0:
        return
    base, number, skip = bases[warp.cta, access.tensor] + row.global_offset, np.int64(0), np.int64(0)
    if row.cached:
        number, skip = pass_l1(st, mach, s, w, row, access, base, token, leaves, time)
    if number or not row.cached:
        post(sm, warp, win.requests[win.counts[0]], base, access, s, w, row, leaves, token, number, skip)
        win.counts[0] += 1


@njit(cache=True, nogil=True)
def await_writes(sm, warp, acc, win, s, w, row, time):
    """MEMBAR: ask when everything that the SM has written is there for all others. The access says which warps do."""
    if row.access >= 0 and acc[row.access + warp.warp_row].count == 0:
        return
    request = win.requests[win.counts[0]]
    request.time = max(time, max(sm.tag_stage, sm.write_port))
    request.sm, request.slot, request.token = s, w, FENCE_TOKEN
    request.count, request.data_cycles, request.is_write, request.asynchronous, request.flag = 0, 0, 0, 0, -1
    request.sequence, request.op, request.age = sm.sequence, warp.op, warp.age
    request.l1, request.skip = 0, 0
    warp.membar_end = NEVER
    sm.sequence += 1
    win.counts[0] += 1


@njit(cache=True, nogil=True)
def execute(st, mach, ops, acc, bases, win, s, w, row, time):
    """Effects of issuing ``row`` at ``time``, all but EXIT."""
    sm, part, warp = st.sms[s], st.parts[s, w % 4], st.warps[s, w]
    if row.kind == COMMIT:
        pass_queue(part, mach, time)
        close_group(warp, np.int64(row.write_barrier), time + row.latency)
    elif row.kind == ASYNC_COPY or row.queue == 1:
        if row.access >= 0:
            reach_memory(st, mach, acc, bases, win, s, w, row, time)
    elif row.queue == 0:
        waves = np.int64(1)
        if row.access >= 0:
            access = acc[row.access + warp.warp_row]
            waves = np.int64(access.wavefronts)
            count_shared(sm, access, LOAD if row.kind == SHARED_LOAD or row.kind == LDMATRIX else STORE)
        passed = shared_access(sm, part, warp, mach, row, waves, time)
        if sm.record_end:
            record(win, sm, w, warp, SHARED_EVENT, 0, row.pc, warp.op, passed - waves, passed)
    elif row.kind == BARRIER:
        end = arrive(sm, st.slots[s, warp.cta_slot], warp, mach, row.operand & 15, time)
        if end:
            open_barrier(st.warps[s], st.parts[s], ops, w, row.operand & 15, end, st.slots[s, warp.cta_slot].flag)
    elif row.flags & FENCE:
        await_writes(sm, warp, acc, win, s, w, row, time)
    else:
        fixed_latency(sm, part, warp, mach, row, time)
        if sm.record_end and row.kind == MMA:
            record(win, sm, w, warp, MMA_EVENT, 0, row.pc, warp.op, time, time + row.interval)
