"""Models the issue of instructions and the life of warps and CTAs on an SM: what happens in which order of time.
Leaves out whose turn it is (gpusim.engine.turns), what an instruction does (gpusim.engine.execute) and the order of
CTAs (gpusim.engine.blocks)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.attribution import add_span, attribute_issue, record, record_spans, record_stage
from gpusim.engine.barriers import release_barriers
from gpusim.engine.bulk import land
from gpusim.engine.clusters import leave_cluster, receive_message
from gpusim.engine.data_stage import pass_data_stage
from gpusim.engine.execute import execute, is_indexed, send
from gpusim.engine.fetch import await_constant, enter_piece
from gpusim.engine.image import ACTIVE, FLAG, TAKEN
from gpusim.engine.l1 import REQUESTS
from gpusim.engine.lsu import NO_BOARD, accept
from gpusim.engine.mbarriers import deliver_copies
from gpusim.engine.queues import free_reads
from gpusim.engine.register_banks import bank_start
from gpusim.engine.register_reads import charge_vector, dispatch_time
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.returns import settle_return
from gpusim.engine.scoreboards import copy_arrived, ready_time, settle_board
from gpusim.engine.state import BULK, COUNTERS, FENCE_TOKEN, NEVER
from gpusim.engine.turns import candidate_time, look_ahead, select
from gpusim.engine.views import borrow, prefetch
from gpusim.engine.warpgroup import approach_wgmma, start_wgmma

__all__ = ["advance_group"]

TENSOR = int(Pipe.tensor)
EXIT, BRANCH, WGMMA = int(Kind.exit), int(Kind.branch), int(Kind.wgmma)
DRAIN = WARP_STATES.index("drain")
COPY_EVENT = EVENT_KINDS.index("copy")
STAGE_CYCLES = COUNTERS.index("data_stage_cycles")


@njit(cache=True, nogil=True, forceinline=True)
def hold_others(part, warps, w, time, dispatched):
    """An issued instruction waits for the register file: no other warp of the sub-partition can issue until then."""
    for i in range(part.live):
        other = part.slots[i]
        if other != w:
            warps[other].dispatch += max(0, dispatched + 1 - max(time + 1, warps[other].ready))


@njit(cache=True, nogil=True)
def leave(part, w):
    """Take a warp off its sub-partition's list."""
    kept = 0
    for i in range(part.live):
        if part.slots[i] != w:
            part.slots[kept] = part.slots[i]
            kept += 1
    part.live = kept


@njit(cache=True, nogil=True, forceinline=True)
def retire(sm, slot, line, warp, time):
    """EXIT: the warp leaves once its stores have left the SM; the CTA ends with its last warp: then 1, else 0."""
    end = max(time + 1, warp.drain)
    add_span(sm, line, DRAIN, time + 1, end)
    warp.live = 0
    sm.warp_cycles += end
    slot.warps -= 1
    slot.end = max(slot.end, end)
    return slot.warps == 0


@njit(cache=True, nogil=True)
def next_row(warp, row):
    """Rows to the warp's next op: 1, but for a branch back while a flag is missing, or on because it is there."""
    if row.kind == BRANCH and row.flags & FLAG and (row.operand < 0) == (warp.flag != 0):
        return np.int64(row.operand)
    return np.int64(1)


@njit(cache=True, nogil=True)
def issue(st, mach, ops, acc, bases, win, s, p, time):
    """Issue one instruction of sub-partition ``p`` at ``time``."""
    sm, part, warps = st.sms[s], st.parts[s, p], st.warps[s]
    w = select(part, mach, warps, ops, time)
    if w >= 0:
        warp = warps[w]
        op = warp.op
        row = ops[op]
        line = win.statics[row.pc]
        attribute_issue(sm, line, warp, row, time)
        since = warp.last_issue + 1
        dispatched = dispatch_time(part, mach, win, row, time)
        if row.even | row.odd:
            dispatched = bank_start(part, row, dispatched)
        charge_vector(part, win, row, time)
        if dispatched > time:
            hold_others(part, warps, w, time, dispatched)
        if row.wide:
            part.tensor_due += dispatched - time + row.second_pass
        if row.queue >= 0:
            send(st, mach, ops, acc, win, s, w, row, dispatched)
        elif row.flags & ACTIVE:
            execute(st, mach, ops, acc, bases, win, s, w, row, dispatched)
        warp.last_issue, part.issue_free, part.last_slot = time, dispatched + 1, w
        part.taken[warp.unit] += 1
        if row.pipe == TENSOR:
            part.tensor_turn = part.last_tensor != w
            part.last_tensor = w
        warp.stall_end = dispatched + max(row.stall, 1)
        warp.not_selected, warp.dispatch = 0, 0
        distance = next_row(warp, row)
        if row.flags & TAKEN or distance != 1:
            warp.branch_end = time + mach.taken_branch
        if row.kind != EXIT or not row.flags & ACTIVE:
            warp.op += distance
            following = ops[warp.op]
            warp.unit = following.unit
            warp.taken = part.taken[warp.unit]
            if following.piece != row.piece:
                warp.code_end = enter_piece(st.code[s], mach, following.piece, warp.stall_end)
            if following.constant and not is_indexed(following):
                warp.constant_end = await_constant(
                    st.constants[s], following.constant, mach.uniform_constant, warp.stall_end)
            if following.kind == WGMMA:
                approach_wgmma(st, mach, s, w)
            warp.ready = ready_time(warp, following)
            prefetch(win.statics, following.pc)
        else:
            leave(part, w)
            slot = st.slots[s, warp.cta_slot]
            if retire(sm, slot, line, warp, time):
                ended = win.ended[win.counts[1]]
                ended[0], ended[1], ended[2] = s, warp.cta_slot, slot.end
                win.counts[1] += 1
            else:
                release_barriers(st, mach, ops, s, w, time)
                leave_cluster(st, mach, win, s, warp, time)
        if sm.record_end:
            record_spans(win, sm, w, warp, row.pc, op, since)
    look_ahead(part, warps)


@njit(cache=True, nogil=True)
def wake(part, warp, ops, earliest):
    """Something has become known that the warp may have waited for; it goes on at ``earliest`` or later."""
    if warp.ready >= NEVER:
        warp.ready = max(ready_time(warp, ops[warp.op]), earliest)
        part.next_issue = min(part.next_issue, candidate_time(part, warp))


@njit(cache=True, nogil=True)
def serve_queue(st, mach, ops, acc, bases, win, s):
    """The load/store unit takes an instruction; its warp may go on, or others for which the queue had no room."""
    time = st.sms[s].next_accept
    p, w = accept(st, mach, ops, acc, bases, win, s, time)
    wake(st.parts[s, p], st.warps[s, w], ops, time + 1)
    if st.parts[s, p].next_issue > time + 1:
        look_ahead(st.parts[s, p], st.warps[s])


@njit(cache=True, nogil=True)
def return_results(st, mach, ops, s, time):
    """It is known when some loads from shared memory have their results; their warps may go on, if they are there."""
    w, age, board, done = settle_return(st.sms[s], st.parts[s], mach, time)
    while w >= 0:
        warp = st.warps[s, w]
        if warp.live and warp.age == age:
            settle_board(warp, board, done)
            wake(st.parts[s, w % 4], warp, ops, time)
        w, age, board, done = settle_return(st.sms[s], st.parts[s], mach, time)


@njit(cache=True, nogil=True)
def complete(sm, part, mach, warp, ops, done):
    """Data from memory reach the SM: they cross the data stage, then a group or a scoreboard barrier releases.

    Returns when the data are there, 0 if the warp has left without waiting for them.
    """
    passed = np.int64(done.time)
    if done.data_cycles:
        passed = pass_data_stage(sm, mach, passed, done.data_cycles, passed)[1] + 1
        passed -= mach.wavefront_interval * (done.early + 1)
    sm.counters[STAGE_CYCLES] += done.data_cycles
    if done.age != warp.age or not (warp.live or warp.async_arrivals):
        return np.int64(0)
    if done.asynchronous:
        copy_arrived(warp, done.token, passed)
    elif done.token == FENCE_TOKEN:
        warp.membar_end = passed
    elif done.token != NO_BOARD:
        warp.pending[done.token] -= 1
        warp.scoreboard[done.token] = max(warp.scoreboard[done.token], passed)
    if done.flag >= 0:
        warp.flag, warp.polls = done.flag, 1
    wake(part, warp, ops, done.time)
    return passed


@njit(cache=True, nogil=True)
def fill_l1(st, mach, ops, win, s, done, passed):
    """A request's sectors are in L1: the accesses that wait for them get their data too, and count as the request's."""
    cache, waiters, kept = st.l1.caches[s], st.l1.waiters[s], 0
    st.l1.answered[s, done.l1 % REQUESTS] = 1
    for i in range(cache.waiting):
        waiter = waiters[i]
        if waiter.request == done.l1:
            waiter.time = max(passed, done.time)
            complete(st.sms[s], st.parts[s, waiter.slot % 4], mach, st.warps[s, waiter.slot], ops, waiter)
            if passed:
                record_stage(win, st.sms[s], done.slot, st.warps[s, done.slot], ops[done.op].pc, done.op,
                             np.int64(waiter.data_cycles))
        else:
            waiters[kept] = waiter
            kept += 1
    cache.waiting = kept


@njit(cache=True, nogil=True)
def record_answer(win, sm, w, warp, ops, done, passed):
    """Keep what an answer did as events: its turn at the data stage, the copy in flight; of the op that started it."""
    if done.asynchronous != BULK:
        record_stage(win, sm, w, warp, ops[done.op].pc, done.op, np.int64(done.data_cycles))
    if done.asynchronous != BULK or done.last:
        record(win, sm, w, warp, COPY_EVENT, 0, ops[done.op].pc, done.op, done.issued - done.lead, passed)


@njit(cache=True, nogil=True)
def accept_answer(st, mach, ops, win, s, done):
    """An answer of the memory, of a warp's access or part of a bulk copy, or a message of another SM."""
    if done.asynchronous == BULK:
        return land(st, mach, ops, win.arrivals, s, done)
    if done.asynchronous > BULK:
        receive_message(st, mach, ops, win.arrivals, s, done)
        return np.int64(0)
    warp = st.warps[s, done.slot]
    free_reads(st.sms[s], st.parts[s], mach, done.reads, done.time)
    passed = complete(st.sms[s], st.parts[s, done.slot % 4], mach, warp, ops, done)
    if warp.async_arrivals and passed:
        deliver_copies(st, mach, ops, win.arrivals, s, warp)
    return passed


@njit(cache=True, nogil=True)
def advance_sm(st, mach, ops, acc, bases, win, s, done, first, last, end):
    """Run one SM up to cycle ``end``: answers of memory and issues in the order of time."""
    parts, sm = st.parts[s], st.sms[s]
    while True:
        first_pair = min(parts[0].next_issue, parts[1].next_issue)
        time = min(first_pair, min(parts[2].next_issue, parts[3].next_issue))
        upcoming = min(time, sm.next_accept)
        event = sm.return_event
        if event <= upcoming and event < end and (first == last or event <= done[first].time):
            return_results(st, mach, ops, s, event)
            continue
        event = sm.wgmma_event
        if event <= upcoming and event < end and (first == last or event <= done[first].time):
            start_wgmma(st, mach, ops, win, s, event)
            continue
        if first < last and done[first].time <= upcoming:
            w = done[first].slot
            passed = accept_answer(st, mach, ops, win, s, done[first])
            if passed and sm.record_end:
                record_answer(win, sm, w, st.warps[s, w], ops, done[first], passed)
            if done[first].l1:
                fill_l1(st, mach, ops, win, s, done[first], passed)
            first += 1
            continue
        if upcoming >= end:
            return
        if sm.next_accept < time:
            serve_queue(st, mach, ops, acc, bases, win, s)
            continue
        p = 0 if parts[0].next_issue == time else 1
        if first_pair > time:
            p = 2 if parts[2].next_issue == time else 3
        issue(st, mach, ops, acc, bases, win, s, p, time)


@njit(cache=True, nogil=True)
def advance_group(st, machine, ops, acc, bases, win, sm_first, sm_last, done, done_first, end):
    """Run the SMs [sm_first, sm_last) up to cycle ``end``.

    done: COMPLETION rows of this window, sorted by (SM, time); done_first[s]: the first row of SM s.
    """
    state, window, mach = borrow(st), borrow(win), borrow(machine)[0]
    rows, accesses, pointers, answers = borrow(ops), borrow(acc), borrow(bases), borrow(done)
    for s in range(sm_first, sm_last):
        advance_sm(state, mach, rows, accesses, pointers, window, s, answers, done_first[s], done_first[s + 1], end)
