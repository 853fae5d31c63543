"""Models what an instruction does when it issues: which pipe, queue and stage it takes, and when its barriers release.
Leaves out when it may issue (gpusim.engine.scoreboards) and who is chosen (gpusim.engine.turns)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.attribution import record, record_stage
from gpusim.engine.barriers import issue_barrier
from gpusim.engine.bulk import flush_group, start_load, start_store
from gpusim.engine.clusters import use_cluster_barrier
from gpusim.engine.fetch import await_constant
from gpusim.engine.image import ACTIVE, FENCE, VARIABLE
from gpusim.engine.lsu import NO_BOARD, post, writes
from gpusim.engine.mbarriers import will_follow
from gpusim.engine.operands import FLUSH, PLAIN
from gpusim.engine.operands import STORE as BULK_STORE
from gpusim.engine.queues import COMMITS, NOTHING, ORDERS, SHARED, SIGNALS, TAGGED, WRITES, enqueue
from gpusim.engine.resources import take_pipe
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.scoreboards import close_group, hold_board, release
from gpusim.engine.state import BULK, COUNTERS, FENCE_TOKEN, GROUPS, NEVER
from gpusim.engine.stores import forget_lines
from gpusim.engine.warpgroup import control_wgmma, issue_wgmma

__all__ = ["execute", "is_indexed", "send"]

KINDS = {name: int(member) for name, member in Kind.__members__.items()}
MMA, ASYNC_COPY, COMMIT, BARRIER = (KINDS[name] for name in ("mma", "async_copy", "commit", "barrier"))
CONSTANT_LOAD, MEMBAR = KINDS["constant_load"], KINDS["membar"]
WGMMA, MBARRIER, BULK_COPY = KINDS["wgmma"], KINDS["mbarrier"], KINDS["bulk_copy"]  # the last kinds but wgmma_control
CLUSTER_BARRIER = KINDS["cluster_barrier"]
MEMBAR_STATE = WARP_STATES.index("membar")
NO_PIPE, LSU = int(Pipe.none), int(Pipe.lsu)
HMMA_COUNT = COUNTERS.index("hmma_instructions")
MMA_EVENT = EVENT_KINDS.index("mma")


@njit(cache=True, nogil=True, forceinline=True)
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


@njit(cache=True, nogil=True, forceinline=True)
def is_indexed(row):
    """LDC, which alone waits for its line of constants after it has issued."""
    return row.kind == CONSTANT_LOAD and row.flags & VARIABLE


@njit(cache=True, nogil=True, forceinline=True)
def fixed_latency(sm, constants, part, warp, mach, win, row, time):
    """Everything that only takes a pipe; sub-partitions share the way of the SM's LDC."""
    if row.pipe != NO_PIPE and row.pipe != LSU:
        take_pipe(part, mach, win, row, time)
    sm.counters[HMMA_COUNT] += row.kind == MMA
    if row.flags & VARIABLE:
        if is_indexed(row):
            time = max(time, sm.constant_path)
            sm.constant_path = time + mach.constant_load
            time = await_constant(constants, row.constant, mach.indexed_constant, time)
        release(warp, row.write_barrier, time + row.latency, 0)
        release(warp, row.read_barrier, time + row.read_release, 0)


@njit(cache=True, nogil=True)
def await_writes(sm, warp, acc, win, s, w, row, time):
    """MEMBAR: ask when everything that the SM has written is there for all others. The access says which warps do."""
    if row.access >= 0 and acc[row.access + warp.warp_row].count == 0:
        return
    forget_lines(sm)
    request = win.requests[win.counts[0]]
    request.time = max(time, max(sm.tag_stage, sm.write_port))
    request.sm, request.slot, request.token = s, w, FENCE_TOKEN
    request.count, request.data_cycles, request.is_write, request.asynchronous, request.flag = 0, 0, 0, 0, -1
    request.bytes = request.lead = request.last = request.early = request.reads = 0
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
    if stores:
        record_stage(win, sm, w, warp, row.pc, warp.op, np.int64(access.wavefronts))
    request = win.requests[win.counts[0]]
    base, token = bases[warp.cta, access.tensor] + row.global_offset, 0 if stores else row.operand
    post(sm, warp, request, base, access, s, w, row, warp.op, start, token, 0, 0, np.int64(access.data_cycles))
    request.is_write, request.asynchronous, request.bytes = stores, BULK, access.bulk_bytes
    request.lead, request.ranks = start - time, access.cta_mask
    win.counts[0] += 1


@njit(cache=True, nogil=True)
def asynchronous(st, mach, ops, acc, bases, win, s, w, row, time):
    """What works on while the warp goes on: bulk copies, wgmma."""
    if row.kind == BULK_COPY:
        copy_in_bulk(st, mach, acc, bases, win, s, w, row, time)
    elif row.kind == WGMMA:
        issue_wgmma(st, mach, s, w, row, st.warps[s, w].op, time)
    elif row.kind == CLUSTER_BARRIER:
        use_cluster_barrier(st, mach, win, s, w, row, time)
    else:
        control_wgmma(st, mach, ops, s, w, row, time)


@njit(cache=True, nogil=True)
def send_signal(st, mach, ops, win, s, w, row, time):
    """SYNCS and ARRIVES on their way to an mbarrier; copies that it follows are those before it."""
    warp = st.warps[s, w]
    hold_board(warp, row.read_barrier, 0)
    hold_board(warp, row.write_barrier, 1)
    return np.int64(will_follow(warp, row, time))


@njit(cache=True, nogil=True, forceinline=True)
def send(st, mach, ops, acc, win, s, w, row, time):
    """An instruction for the load/store unit goes into its queue."""
    sm, warp = st.sms[s], st.warps[s, w]
    work, token = NOTHING, np.int64(NO_BOARD)
    if row.flags & ACTIVE and row.kind == COMMIT:
        work = COMMITS
    elif row.flags & ACTIVE and row.kind == MBARRIER and row.operand != PLAIN:
        work, token = SIGNALS, send_signal(st, mach, ops, win, s, w, row, time)
    elif row.flags & ACTIVE and row.kind == MEMBAR:
        work = ORDERS
        hold_board(warp, row.read_barrier, 1)
        hold_board(warp, row.write_barrier, 1)
    elif row.flags & ACTIVE and row.kind != MBARRIER:
        if row.kind == ASYNC_COPY or row.queue == 1:
            if row.access >= 0:
                work = WRITES if writes(row) else TAGGED
                token = expect(warp, acc[row.access + warp.warp_row].count, row, 1)
        else:
            work, token = SHARED, expect(warp, 0, row, 0)
    enqueue(sm, st.parts[s], mach, w % 4, warp, w, work, token, row, time)
    if row.flags & ACTIVE and row.kind == COMMIT:
        close_group(warp, np.int64(row.write_barrier), time + row.latency)


@njit(cache=True, nogil=True, forceinline=True)
def execute(st, mach, ops, acc, bases, win, s, w, row, time):
    """Effects of issuing ``row`` at ``time``, all but EXIT."""
    sm, part, warp = st.sms[s], st.parts[s, w % 4], st.warps[s, w]
    if row.kind >= WGMMA and row.operand != PLAIN:
        asynchronous(st, mach, ops, acc, bases, win, s, w, row, time)
    elif row.kind == BARRIER:
        issue_barrier(st, mach, ops, s, w, row, time)
    elif row.flags & FENCE:
        await_writes(sm, warp, acc, win, s, w, row, time)
    else:
        fixed_latency(sm, st.constants[s], part, warp, mach, win, row, time)
        if sm.record_end and row.kind == MMA:
            record(win, sm, w, warp, MMA_EVENT, 0, row.pc, warp.op, time, time + row.interval)
