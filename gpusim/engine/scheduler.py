"""Models a sub-partition's warp scheduler and the life of warps and CTAs on an SM.
Leaves out the effects of an instruction (gpusim.engine.execute) and the order of CTAs (gpusim.engine.blocks)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Kind
from gpusim.engine.attribution import account, attribute_issue, record
from gpusim.engine.execute import execute
from gpusim.engine.image import TAKEN, YIELD
from gpusim.engine.machine import POLICIES
from gpusim.engine.resources import free_time, pass_data_stage
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.scoreboards import copy_arrived, ready_time
from gpusim.engine.state import COUNTERS, NEVER

__all__ = ["advance_group"]

EXIT = int(Kind.exit)
DRAIN = WARP_STATES.index("drain")
COPY_EVENT = EVENT_KINDS.index("copy")
STAGE_CYCLES = COUNTERS.index("data_stage_cycles")
GTO, LRR, OLDEST = (POLICIES.index(name) for name in ("gto", "lrr", "oldest"))


@njit(cache=True, nogil=True)
def candidate_time(st, mach, ops, s, p, w):
    """First cycle in which warp ``w`` could be issued if it were alone."""
    ready = st.ready[s, w]
    if ready >= NEVER:
        return NEVER
    return max(max(ready, st.issue_free[s, p]), free_time(st, mach, s, p, ops[st.op[s, w]]))


@njit(cache=True, nogil=True)
def preferred(st, mach, ops, s, w, best, last):
    """Whether eligible warp ``w`` goes before eligible warp ``best``."""
    if mach.policy == LRR:
        warps = st.live.shape[1]
        return (w - last - 1) % warps < (best - last - 1) % warps
    if mach.policy == GTO and (w == last or best == last):
        switch = ops[st.op[s, last] - 1].flags & YIELD
        return (w == last) != (switch != 0)
    older = st.age[s, w] < st.age[s, best]
    return older if mach.policy == GTO or mach.policy == OLDEST else not older


@njit(cache=True, nogil=True)
def select(st, mach, ops, s, p, time):
    """The warp to issue at ``time``; the other eligible ones are not selected in this cycle."""
    best, last = -1, st.last_slot[s, p]
    for w in range(p, st.live.shape[1], 4):
        if st.live[s, w] and candidate_time(st, mach, ops, s, p, w) <= time:
            st.not_selected[s, w] += 1
            if best < 0 or preferred(st, mach, ops, s, w, best, last):
                best = w
    if best >= 0:
        st.not_selected[s, best] -= 1
    return best


@njit(cache=True, nogil=True)
def look_ahead(st, mach, ops, s, p):
    """Earliest cycle in which the sub-partition can issue again."""
    earliest = NEVER
    for w in range(p, st.live.shape[1], 4):
        if st.live[s, w]:
            earliest = min(earliest, candidate_time(st, mach, ops, s, p, w))
    st.next_issue[s, p] = earliest


@njit(cache=True, nogil=True)
def retire(st, win, rec, s, w, row, time):
    """EXIT: the warp leaves once its stores have left the SM; the CTA ends with its last warp."""
    end = max(time + 1, st.drain[s, w])
    account(st, win, rec, s, w, row.pc, DRAIN, time + 1, end)
    slot = st.cta_slot[s, w]
    st.live[s, w] = 0
    st.warp_cycles[s] += end
    st.slot_warps[s, slot] -= 1
    st.slot_end[s, slot] = max(st.slot_end[s, slot], end)
    if st.slot_warps[s, slot] == 0:
        ended = win.ended[win.counts[1]]
        ended[0], ended[1], ended[2] = s, slot, st.slot_end[s, slot]
        win.counts[1] += 1


@njit(cache=True, nogil=True)
def issue(st, mach, ops, acc, bases, win, rec, s, p, time):
    """Issue one instruction of sub-partition ``p`` at ``time``."""
    w = select(st, mach, ops, s, p, time)
    if w >= 0:
        row = ops[st.op[s, w]]
        attribute_issue(st, win, rec, s, w, row, time)
        execute(st, mach, ops, acc, bases, win, rec, s, w, row, time)
        st.last_issue[s, w], st.issue_free[s, p], st.last_slot[s, p] = time, time + 1, w
        st.stall_end[s, w] = time + max(row.stall, 1)
        st.not_selected[s, w] = 0
        if row.flags & TAKEN:
            st.branch_end[s, w] = time + mach.taken_branch
        if row.kind == EXIT:
            retire(st, win, rec, s, w, row, time)
        else:
            st.op[s, w] += 1
            st.ready[s, w] = ready_time(st, s, w, ops[st.op[s, w]])
    look_ahead(st, mach, ops, s, p)


@njit(cache=True, nogil=True)
def complete(st, mach, ops, win, rec, s, done):
    """Data from memory reach the SM: they cross the data stage, then a group or a scoreboard barrier releases."""
    w, p = done.slot, done.slot % 4
    cycles = (done.data_bytes + mach.bytes_per_wavefront - 1) // mach.bytes_per_wavefront
    passed = pass_data_stage(st, s, done.time, cycles)
    st.counters[s, STAGE_CYCLES] += cycles
    if not st.live[s, w] or done.issued < st.start[s, w]:
        return  # the warp has left without waiting for its data
    if done.asynchronous:
        copy_arrived(st, s, w, done.token, passed)
        record(st, win, rec, s, w, COPY_EVENT, 0, ops[done.op].pc, done.op, done.issued, passed)
    else:
        st.pending[s, w, done.token] -= 1
        st.scoreboard[s, w, done.token] = max(st.scoreboard[s, w, done.token], passed)
    if st.ready[s, w] >= NEVER:
        st.ready[s, w] = ready_time(st, s, w, ops[st.op[s, w]])
        st.next_issue[s, p] = min(st.next_issue[s, p], candidate_time(st, mach, ops, s, p, w))


@njit(cache=True, nogil=True)
def advance_sm(st, mach, ops, acc, bases, win, rec, s, done, first, last, end):
    """Run one SM up to cycle ``end``: answers of memory and issues in the order of time."""
    while True:
        time = end
        for p in range(4):
            time = min(time, st.next_issue[s, p])
        if first < last and done[first].time <= time and done[first].time < end:
            complete(st, mach, ops, win, rec, s, done[first])
            first += 1
            continue
        if time >= end:
            return
        for p in range(4):
            if st.next_issue[s, p] == time:
                issue(st, mach, ops, acc, bases, win, rec, s, p, time)


@njit(cache=True, nogil=True)
def advance_group(st, mach, ops, acc, bases, win, rec, sm_first, sm_last, done, done_first, end):
    """Run the SMs [sm_first, sm_last) up to cycle ``end``.

    done: COMPLETION rows of this window, sorted by (SM, time); done_first[s]: the first row of SM s.
    """
    for s in range(sm_first, sm_last):
        advance_sm(st, mach, ops, acc, bases, win, rec, s, done, done_first[s], done_first[s + 1], end)
