"""Models a sub-partition's warp scheduler and the life of warps and CTAs on an SM.
Leaves out the effects of an instruction (gpusim.engine.execute) and the order of CTAs (gpusim.engine.blocks)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.attribution import add_span, attribute_issue, record, record_spans, record_stage
from gpusim.engine.barriers import release_barriers
from gpusim.engine.bulk import land
from gpusim.engine.clusters import leave_cluster, receive_message
from gpusim.engine.execute import execute, is_indexed, send
from gpusim.engine.fetch import await_constant, enter_piece
from gpusim.engine.image import ACTIVE, FLAG, TAKEN, YIELD
from gpusim.engine.l1 import REQUESTS
from gpusim.engine.lsu import NO_BOARD, accept
from gpusim.engine.machine import POLICIES
from gpusim.engine.mbarriers import deliver_copies
from gpusim.engine.queues import free_reads
from gpusim.engine.register_reads import charge_vector, dispatch_time
from gpusim.engine.resources import pass_data_stage
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.scoreboards import copy_arrived, ready_time
from gpusim.engine.state import BULK, COUNTERS, FENCE_TOKEN, NEVER, QUEUE
from gpusim.engine.views import borrow, prefetch
from gpusim.engine.warpgroup import approach_wgmma, start_wgmma

__all__ = ["advance_group"]

TENSOR = int(Pipe.tensor)
EXIT, BRANCH, WGMMA = int(Kind.exit), int(Kind.branch), int(Kind.wgmma)
DRAIN = WARP_STATES.index("drain")
COPY_EVENT = EVENT_KINDS.index("copy")
STAGE_CYCLES = COUNTERS.index("data_stage_cycles")
GTO, LRR, OLDEST, GRR = (POLICIES.index(name) for name in ("gto", "lrr", "oldest", "grr"))


@njit(cache=True, nogil=True)
def candidate_time(part, warp):
    """First cycle in which the warp could be issued if it were alone."""
    return max(max(warp.ready, part.issue_free), part.unit_free[warp.unit])


@njit(cache=True, nogil=True)
def turn_time(part, warps, w):
    """First cycle in which a warp may take the tensor pipe from another one of its CTA: not while that one's
    instructions only stand behind an IMAD.WIDE, which reads its registers twice (tensor_pairs.csv: H3r W2 V1)."""
    last = part.last_tensor
    if warps[w].unit != TENSOR or w == last or last < 0 or warps[w].cta_slot != warps[last].cta_slot:
        return np.int64(0)
    return part.tensor_due


@njit(cache=True, nogil=True)
def yields(warp, ops):
    """Whether the last instruction of a warp lets others go first."""
    return warp.op > 0 and ops[warp.op - 1].flags & YIELD != 0


@njit(cache=True, nogil=True)
def brisk(warp, ops):
    """Whether the last instruction of a warp let it go on in the very next cycle, but for a second pass of its own."""
    return warp.op > 0 and ops[warp.op - 1].stall - ops[warp.op - 1].second_pass <= 1


@njit(cache=True, nogil=True)
def precedes_other_cta(part, warps, ops, w, best, time):
    """Whether ``w`` goes before ``best``, of another CTA: not behind a yield, else if it is of the older one.

    But where the tensor pipe gets free and the last instructions of both let them go on in the next cycle, the one that
    has just issued makes room (tensor_yields.csv).
    """
    steps_back = yields(warps[w], ops)
    if steps_back != yields(warps[best], ops):
        return not steps_back
    last = part.last_slot
    gets_free = part.issue_free == time == part.unit_free[TENSOR]
    if gets_free and (w == last or best == last) and brisk(warps[w], ops) and brisk(warps[best], ops):
        return best == last
    return warps[w].age < warps[best].age


@njit(cache=True, nogil=True)
def goes_on(part, warps, ops, other, time):
    """Whether the warp that issued last goes before ``other`` of its CTA though it has paused, because it has the
    tensor pipe (tensor_pairs.csv).

    It does when its next tensor instruction comes in time, when the pipe would be free if the load/store unit had read
    nothing beside its last one, and right behind another instruction (sequences of H5r V1 and H4r L1 V1, not of H6r,
    H3r V1 or H3r V3); and when it has something else to issue in the cycle in which the pipe gets free for the other
    one (H6r V1). Not behind a yield.
    """
    last = part.last_slot
    if last != part.last_tensor or yields(warps[last], ops):
        return False
    if warps[last].unit == TENSOR:
        return brisk(warps[last], ops) and warps[last].ready >= part.tensor_due
    return warps[other].unit == TENSOR and max(part.unit_free[TENSOR], turn_time(part, warps, other)) == time


@njit(cache=True, nogil=True)
def preferred(mach, part, warps, ops, w, best, time, contested):
    """Whether eligible warp ``w`` goes before eligible warp ``best``.

    Under ``grr`` the last one goes on while it can issue without a pause, or else comes last of its CTA, whose warps
    take turns; CTAs have an order, the older one first (issue_turns.csv). Where the tensor pipe or the queue of memory
    instructions is ``contested`` that order is the first thing to decide. Of a CTA's warps that want the tensor pipe
    one that yields steps back (tensor_pairs.csv: H6r beside N1y).
    """
    last = part.last_slot
    is_last = w == last or best == last
    paused = time > part.issue_free
    if mach.policy == GRR and warps[w].cta_slot != warps[best].cta_slot:
        if contested:
            return precedes_other_cta(part, warps, ops, w, best, time)
        if paused or not is_last:
            return warps[w].age < warps[best].age
    elif mach.policy == GRR and warps[w].unit == TENSOR and warps[best].unit == TENSOR:
        steps_back = yields(warps[w], ops)
        if steps_back != yields(warps[best], ops):
            return not steps_back
    if mach.policy == GRR and paused and is_last:
        return (w == last) == goes_on(part, warps, ops, best if w == last else w, time)
    if (mach.policy == GTO or mach.policy == GRR) and is_last:
        return (w == last) != yields(warps[last], ops)
    if mach.policy == LRR or mach.policy == GRR:
        count = len(warps)
        return (w - last - 1) % count < (best - last - 1) % count
    older = warps[w].age < warps[best].age
    return older if mach.policy == GTO or mach.policy == OLDEST else not older


@njit(cache=True, nogil=True)
def choose(part, mach, warps, ops, time, eligible, contested):
    """The one of several eligible warps, a bit each, that goes first."""
    best = np.int64(-1)
    for i in range(part.live):
        w = part.slots[i]
        if eligible >> i & 1 and (best < 0 or preferred(mach, part, warps, ops, w, best, time, contested)):
            best = w
    return best


@njit(cache=True, nogil=True, forceinline=True)
def select(part, mach, warps, ops, time):
    """The warp to issue at ``time``; the other eligible ones are not selected in this cycle."""
    best, eligible, contested = np.int64(-1), 0, 0
    for i in range(part.live):  # without branches: the host cannot foresee them
        w = part.slots[i]
        warp = warps[w]
        can = (candidate_time(part, warp) <= time) & (turn_time(part, warps, w) <= time)
        warp.not_selected += can
        eligible |= can << i
        contested |= can & ((warp.unit == TENSOR) | (warp.unit == QUEUE))
        best = w if can else best
    if eligible & (eligible - 1):
        best = choose(part, mach, warps, ops, time, eligible, contested)
    if best >= 0:
        warps[best].not_selected -= 1
    return best


@njit(cache=True, nogil=True, forceinline=True)
def look_ahead(part, warps):
    """Earliest cycle in which the sub-partition can issue again."""
    earliest = NEVER
    for i in range(part.live):
        w = part.slots[i]
        earliest = min(earliest, max(candidate_time(part, warps[w]), turn_time(part, warps, w)))
    part.next_issue = earliest


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
