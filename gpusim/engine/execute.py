"""Models what an instruction does when it issues: which pipe, queue and stage it takes, and when its barriers release.
Leaves out when it may issue (gpusim.engine.scoreboards) and who is chosen (gpusim.engine.scheduler)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.attribution import record
from gpusim.engine.bulk import flush_group, start_load, start_store
from gpusim.engine.image import FENCE, FLAG, VARIABLE, WHOLE_LINE
from gpusim.engine.mbarriers import use_mbarrier
from gpusim.engine.operands import ARRIVE_ONLY, FLUSH, PLAIN
from gpusim.engine.operands import STORE as BULK_STORE
from gpusim.engine.resources import accept, occupy_lsu, operands_read, pass_data_stage, pass_queue, pass_tag_stage
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.scoreboards import close_group, ready_time, release
from gpusim.engine.state import BULK, COUNTERS, FENCE_TOKEN, GROUPS, NEVER
from gpusim.engine.warpgroup import await_wgmma, issue_wgmma

__all__ = ["NO_BOARD", "execute", "open_barrier"]

NO_BOARD = 7
ALL_SECTORS = 15
KINDS = {name: int(member) for name, member in Kind.__members__.items()}
MMA, LDMATRIX, SHARED_LOAD = KINDS["mma"], KINDS["ldmatrix"], KINDS["shared_load"]
ASYNC_COPY, COMMIT, GLOBAL_STORE = KINDS["async_copy"], KINDS["commit"], KINDS["global_store"]
BARRIER, ATOMIC = KINDS["barrier"], KINDS["atomic"]
WGMMA, MBARRIER, BULK_COPY = KINDS["wgmma"], KINDS["mbarrier"], KINDS["bulk_copy"]  # the last kinds but wgmma_control
MEMBAR_STATE = WARP_STATES.index("membar")
NO_PIPE, LSU = int(Pipe.none), int(Pipe.lsu)
REQUESTS, WAVEFRONTS, IDEAL, CONFLICTS = 0, 3, 6, 9  # first of load, store, ldgsts in COUNTERS
LOAD, STORE, LDGSTS = 0, 1, 2
HMMA_COUNT, LDSM_COUNT, LDGSTS_COUNT, STAGE_CYCLES = (
    COUNTERS.index(name) for name in ("hmma_instructions", "ldsm_instructions", "ldgsts_instructions",
                                      "data_stage_cycles"))
SHARED_EVENT, MMA_EVENT = EVENT_KINDS.index("shared"), EVENT_KINDS.index("mma")


@njit(cache=True, nogil=True)
def count_shared(sm, access, side):
    sm.counters[REQUESTS + side] += 1
    sm.counters[WAVEFRONTS + side] += access.wavefronts
    sm.counters[IDEAL + side] += access.ideal
    sm.counters[CONFLICTS + side] += access.conflicts


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
def post(sm, warp, request, base, access, s, w, row, time, token):
    """Send a global access to the memory system; it is answered in a later window."""
    request.time, request.sm, request.slot, request.token = time, s, w, token
    request.base = base + row.global_offset
    request.first, request.count, request.data_cycles = access.first, access.count, access.data_cycles
    request.is_write, request.asynchronous = writes(row), row.kind == ASYNC_COPY
    request.cta, request.flag = warp.cta, row.operand if row.flags & FLAG else -1
    request.sequence, request.op, request.age = sm.sequence, warp.op, warp.age
    request.fill = ALL_SECTORS if row.flags & WHOLE_LINE else 0
    request.bytes = request.lead = request.last = 0
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
def arrive(sm, slot, warp, mach, operand, time):
    """BAR: warps arrive one by one at the SM's barrier unit; returns when all may go on, 0 before the last."""
    barrier, needed = operand & 15, operand >> 8 & 0xFF
    sm.barrier_unit = max(sm.barrier_unit, time) + mach.barrier_per_warp
    slot.arrived[barrier] += 1
    slot.needed[barrier] = needed
    if not operand & ARRIVE_ONLY:
        warp.barrier_end = NEVER + barrier
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
def fixed_latency(sm, part, warp, mach, row, time):
    """Everything that only takes a pipe."""
    if row.pipe != NO_PIPE and row.pipe != LSU:
        part.pipe_free[row.pipe] = time + row.interval
    sm.counters[HMMA_COUNT] += row.kind == MMA
    if row.flags & VARIABLE:
        release(warp, row.write_barrier, time + row.latency, 0)
        release(warp, row.read_barrier, time + row.latency, 0)


@njit(cache=True, nogil=True)
def reach_memory(sm, part, warp, mach, acc, bases, win, s, w, row, time):
    """A global access: through the load/store unit, then a request if any lane takes part."""
    access = acc[row.access + warp.warp_row]
    leaves = global_access(sm, part, warp, mach, row, access, time)
    token = expect(sm, warp, access, row)
    if access.count > 0:
        post(sm, warp, win.requests[win.counts[0]], bases[warp.cta, access.tensor], access, s, w, row, leaves, token)
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
    request.bytes = request.lead = request.last = 0
    request.sequence, request.op, request.age = sm.sequence, warp.op, warp.age
    warp.membar_end, warp.fence_state = NEVER, MEMBAR_STATE
    sm.sequence += 1
    win.counts[0] += 1


@njit(cache=True, nogil=True)
def copy_in_bulk(st, mach, acc, bases, win, s, w, row, time):
    """UTMALDG, UTMASTG, UBLKCP of the warps that the access names, and the end of a bulk group."""
    sm, warp = st.sms[s], st.warps[s, w]
    if row.operand == FLUSH:
        flush_group(warp, row, time)
        return
    access = acc[row.access + warp.warp_row]
    if access.bulk_bytes == 0:
        return
    stores = row.operand == BULK_STORE
    start = start_store(sm, warp, mach, row, access, time) if stores else start_load(sm, warp, mach, row, access, time)
    request = win.requests[win.counts[0]]
    post(sm, warp, request, bases[warp.cta, access.tensor], access, s, w, row, start, 0 if stores else row.operand)
    request.is_write, request.asynchronous, request.bytes = stores, BULK, access.bulk_bytes
    request.lead = start - time
    win.counts[0] += 1


@njit(cache=True, nogil=True)
def asynchronous(st, mach, ops, acc, bases, win, s, w, row, time):
    """What works on while the warp goes on: mbarriers, bulk copies, wgmma."""
    if row.kind == MBARRIER:
        use_mbarrier(st, mach, ops, acc, win.arrivals, s, w, row, time)
    elif row.kind == BULK_COPY:
        copy_in_bulk(st, mach, acc, bases, win, s, w, row, time)
    elif row.kind == WGMMA:
        issue_wgmma(st, mach, s, w, row, st.warps[s, w].op, time)
    else:
        await_wgmma(st, s, w, row)


@njit(cache=True, nogil=True)
def execute(st, mach, ops, acc, bases, win, s, w, row, time):
    """Effects of issuing ``row`` at ``time``, all but EXIT."""
    sm, part, warp = st.sms[s], st.parts[s, w % 4], st.warps[s, w]
    if row.kind == COMMIT:
        pass_queue(part, mach, time)
        close_group(warp, np.int64(row.write_barrier), time + row.latency)
    elif row.kind >= WGMMA and row.operand != PLAIN:
        asynchronous(st, mach, ops, acc, bases, win, s, w, row, time)
    elif row.kind == ASYNC_COPY or row.queue == 1:
        if row.access >= 0:
            reach_memory(sm, part, warp, mach, acc, bases, win, s, w, row, time)
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
        end = arrive(sm, st.slots[s, warp.cta_slot], warp, mach, row.operand, time)
        if end:
            open_barrier(st.warps[s], st.parts[s], ops, w, row.operand & 15, end, st.slots[s, warp.cta_slot].flag)
    elif row.flags & FENCE:
        await_writes(sm, warp, acc, win, s, w, row, time)
    else:
        fixed_latency(sm, part, warp, mach, row, time)
        if sm.record_end and row.kind == MMA:
            record(win, sm, w, warp, MMA_EVENT, 0, row.pc, warp.op, time, time + row.interval)
