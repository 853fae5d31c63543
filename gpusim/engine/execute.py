"""Models what an instruction does when it issues: which pipe, queue and stage it takes, and when its barriers release.
Leaves out when it may issue (gpusim.engine.scoreboards) and who is chosen (gpusim.engine.scheduler)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.attribution import record
from gpusim.engine.bulk import flush_group, start_load, start_store
from gpusim.engine.image import ACTIVE, FENCE, FLAG, VARIABLE, WHOLE_LINE
from gpusim.engine.l1 import look_up
from gpusim.engine.mbarriers import use_mbarrier, will_follow
from gpusim.engine.operands import ARRIVE_ONLY, FLUSH, PLAIN
from gpusim.engine.operands import STORE as BULK_STORE
from gpusim.engine.queues import (
    COMMITS,
    NOTHING,
    SHARED,
    SIGNALS,
    TAGGED,
    choose_next,
    enqueue,
    pass_buffer,
    take_head,
)
from gpusim.engine.resources import (
    occupy_lsu,
    occupy_tags,
    operands_read,
    pass_data_stage,
    pass_tag_stage,
    read_operands,
)
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.scoreboards import close_group, copy_arrived, hold_board, ready_time, release, settle_board
from gpusim.engine.state import BULK, COUNTERS, FENCE_TOKEN, GROUPS, NEVER
from gpusim.engine.warpgroup import await_wgmma, issue_wgmma

__all__ = ["NO_BOARD", "accept", "execute", "open_barrier", "send"]

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
def shared_access(sm, warp, mach, row, waves, start):
    """LDS, LDSM, STS, STSM, SHFL: operands, data stage; one wavefront every other cycle for one warp alone.

    Returns when the last wavefront has passed the data stage.
    """
    arrival = max(start + row.lead_cycles, pass_buffer(sm, mach, start, sm.lsu[sm.lsu_head]))
    passed = pass_data_stage(sm, arrival, waves)
    occupy_lsu(sm, mach, passed)
    sm.counters[STAGE_CYCLES] += waves
    alone = max(arrival, warp.data_free) + mach.shared_latency_per_wavefront * waves
    warp.data_free = max(passed, alone)
    settle_board(warp, row.write_barrier, max(passed, alone) + mach.shared_latency_base)
    settle_board(warp, row.read_barrier, operands_read(mach, start, row))
    sm.counters[LDSM_COUNT] += row.kind == LDMATRIX
    return passed


@njit(cache=True, nogil=True)
def writes(row):
    """Stores, and atomics whose result nobody waits for."""
    return row.kind == GLOBAL_STORE or (row.kind == ATOMIC and row.write_barrier == NO_BOARD)


@njit(cache=True, nogil=True)
def post(sm, warp, request, base, access, s, w, row, op, time, token, number, skip):
    """Send a global access to the memory system; it is answered in a later window."""
    request.time, request.sm, request.slot, request.token = time, s, w, token
    request.base = base
    request.first, request.count, request.data_cycles = access.first, access.count, access.data_cycles
    request.is_write, request.asynchronous = writes(row), row.kind == ASYNC_COPY
    request.cta, request.flag = warp.cta, row.operand if row.flags & FLAG else -1
    request.sequence, request.op, request.age = sm.sequence, op, warp.age
    request.fill = ALL_SECTORS if row.flags & WHOLE_LINE else 0
    request.l1, request.skip = number, skip
    request.bytes = request.lead = request.last = 0
    sm.sequence += 1


@njit(cache=True, nogil=True)
def expect(warp, count, row, is_long):
    """Note at issue what the instruction will release; returns its cp.async group, else its scoreboard barrier."""
    hold_board(warp, row.read_barrier, is_long)
    if row.kind == ASYNC_COPY:
        token = warp.group_tail % GROUPS
        warp.group_missing[token] += count > 0
        return token
    if not writes(row):
        hold_board(warp, row.write_barrier, is_long)
    return np.int64(row.write_barrier)


@njit(cache=True, nogil=True)
def global_access(sm, warp, mach, row, access, start):
    """LDG, STG, LDGSTS: operands, tags; then the memory system decides. Returns when the request leaves.

    That is when its first tag passes; a store waits for the SM's port to the crossbar too.
    """
    entered = pass_buffer(sm, mach, start, sm.tags[sm.tag_head])
    leaves = pass_tag_stage(sm, max(entered, start + row.operand_cycles), access.tag_cycles)
    until = sm.tag_stage
    if writes(row):
        leaves = max(leaves, sm.write_port)
        until = sm.write_port = leaves + access.data_cycles
        warp.drain = until
    occupy_tags(sm, mach, until)
    settle_board(warp, row.read_barrier, operands_read(mach, start, row))
    if row.kind == ASYNC_COPY:
        warp.tag_end = sm.tag_stage
        sm.counters[LDGSTS_COUNT] += 1
        count_shared(sm, access, LDGSTS)
    elif access.count == 0 and not writes(row):
        settle_board(warp, row.write_barrier, start + 1)
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
def expect_answers(warp, token, is_copy, more):
    """Note that an access gets ``more`` answers than one."""
    if is_copy:
        warp.group_missing[token] += more
    elif token != NO_BOARD:
        warp.pending[token] += more


@njit(cache=True, nogil=True)
def hit_l1(sm, warp, mach, access, token, is_copy, leaves):
    """All sectors of an access are in L1: they cross the data stage as those of shared memory do."""
    waves = np.int64(access.data_cycles)
    passed = max(pass_data_stage(sm, leaves, waves), sm.tag_stage)
    sm.counters[STAGE_CYCLES] += waves
    warp.data_free = max(passed, max(leaves, warp.data_free) + mach.shared_latency_per_wavefront * waves)
    there = warp.data_free + mach.l1_after_data
    if is_copy:
        copy_arrived(warp, token, there)
    else:
        settle_board(warp, token, there)


@njit(cache=True, nogil=True)
def pass_l1(st, mach, s, w, row, access, base, token, leaves):
    """Look a load up in L1: (number of its request to L2, 0 when it needs none; lines that it need not ask for)."""
    sm, warp, is_copy = st.sms[s], st.warps[s, w], row.kind == ASYNC_COPY
    number, skip, answers, sectors, hits = look_up(st.l1, s, access, base, w, token, warp.age, is_copy)
    sm.counters[L1_SECTORS] += sectors
    sm.counters[L1_HITS] += hits
    if answers == 0:
        hit_l1(sm, warp, mach, access, token, is_copy, leaves)
    else:
        expect_answers(warp, token, is_copy, answers - 1)
    return number, skip


@njit(cache=True, nogil=True)
def reach_memory(st, mach, acc, bases, win, s, w, row, op, token, start):
    """A global access: through the load/store unit, then a request if any lane needs what L1 does not have."""
    sm, warp = st.sms[s], st.warps[s, w]
    access = acc[row.access + warp.warp_row]
    leaves = global_access(sm, warp, mach, row, access, start)
    if access.count == 0:
        return
    base, number, skip = bases[warp.cta, access.tensor] + row.global_offset, np.int64(0), np.int64(0)
    if row.cached:
        number, skip = pass_l1(st, mach, s, w, row, access, base, token, leaves)
    if number or not row.cached:
        post(sm, warp, win.requests[win.counts[0]], base, access, s, w, row, op, leaves, token, number, skip)
        win.counts[0] += 1


@njit(cache=True, nogil=True)
def reach_shared(st, mach, acc, win, s, w, row, op, start):
    """A shared-memory access, or a shuffle, which has no addresses."""
    sm, warp, waves = st.sms[s], st.warps[s, w], np.int64(1)
    if row.access >= 0:
        access = acc[row.access + warp.warp_row]
        waves = np.int64(access.wavefronts)
        count_shared(sm, access, LOAD if row.kind == SHARED_LOAD or row.kind == LDMATRIX else STORE)
    passed = shared_access(sm, warp, mach, row, waves, start)
    if sm.record_end:
        record(win, sm, w, warp, SHARED_EVENT, 0, row.pc, op, passed - waves, passed)


@njit(cache=True, nogil=True)
def accept(st, mach, ops, acc, bases, win, s, time):
    """The load/store unit takes the next instruction out of its queue at ``time``.

    Returns the sub-partition, the warp slot and whether the queue was full.
    """
    sm, p = st.sms[s], st.sms[s].next_part
    part = st.parts[s, p]
    i, was_full = take_head(sm, part, mach, p, time)
    w, op, work = part.queue_slot[i], part.queue_op[i], part.queue_work[i]
    warp, row = st.warps[s, w], ops[op]
    warp.queued -= 1
    warp.sent = time + 1
    if work == COMMITS:
        pass_buffer(sm, mach, time, warp.tag_end)
    elif work != NOTHING:
        read_operands(part, mach, row, time)
        sm.address_path = time + row.address_cycles
        if work == SIGNALS:
            use_mbarrier(st, mach, ops, acc, win.arrivals, s, w, row, part.queue_token[i], time)
        elif work == SHARED:
            reach_shared(st, mach, acc, win, s, w, row, op, time)
        else:
            reach_memory(st, mach, acc, bases, win, s, w, row, op, part.queue_token[i], time)
    choose_next(sm, st.parts[s], time)
    return p, w, was_full


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
    request.l1, request.skip = 0, 0
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
    base, token = bases[warp.cta, access.tensor] + row.global_offset, 0 if stores else row.operand
    post(sm, warp, request, base, access, s, w, row, warp.op, start, token, 0, 0)
    request.is_write, request.asynchronous, request.bytes = stores, BULK, access.bulk_bytes
    request.lead = start - time
    win.counts[0] += 1


@njit(cache=True, nogil=True)
def asynchronous(st, mach, ops, acc, bases, win, s, w, row, time):
    """What works on while the warp goes on: bulk copies, wgmma."""
    if row.kind == BULK_COPY:
        copy_in_bulk(st, mach, acc, bases, win, s, w, row, time)
    elif row.kind == WGMMA:
        issue_wgmma(st, mach, s, w, row, st.warps[s, w].op, time)
    else:
        await_wgmma(st, s, w, row)


@njit(cache=True, nogil=True)
def send_signal(st, mach, ops, win, s, w, row, time):
    """SYNCS and ARRIVES on their way to an mbarrier; copies that it follows are those before it."""
    warp = st.warps[s, w]
    hold_board(warp, row.read_barrier, 0)
    hold_board(warp, row.write_barrier, 1)
    return np.int64(will_follow(warp, row, time))


@njit(cache=True, nogil=True)
def send(st, mach, ops, acc, win, s, w, row, time):
    """An instruction for the load/store unit goes into its queue."""
    sm, warp = st.sms[s], st.warps[s, w]
    work, token = NOTHING, np.int64(NO_BOARD)
    if row.flags & ACTIVE and row.kind == COMMIT:
        work = COMMITS
    elif row.flags & ACTIVE and row.kind == MBARRIER and row.operand != PLAIN:
        work, token = SIGNALS, send_signal(st, mach, ops, win, s, w, row, time)
    elif row.flags & ACTIVE and row.kind != MBARRIER:
        if row.kind == ASYNC_COPY or row.queue == 1:
            if row.access >= 0:
                work, token = TAGGED, expect(warp, acc[row.access + warp.warp_row].count, row, 1)
        else:
            work, token = SHARED, expect(warp, 0, row, 0)
    enqueue(sm, st.parts[s], w % 4, warp, w, work, token, time)
    if row.flags & ACTIVE and row.kind == COMMIT:
        close_group(warp, np.int64(row.write_barrier), time + row.latency)


@njit(cache=True, nogil=True)
def execute(st, mach, ops, acc, bases, win, s, w, row, time):
    """Effects of issuing ``row`` at ``time``, all but EXIT."""
    sm, part, warp = st.sms[s], st.parts[s, w % 4], st.warps[s, w]
    if row.kind >= WGMMA and row.operand != PLAIN:
        asynchronous(st, mach, ops, acc, bases, win, s, w, row, time)
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
