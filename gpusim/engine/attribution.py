"""Models where a warp's cycles go: every cycle between two issues belongs to exactly one of Nsight's warp states.
Leaves out names and ratios (gpusim.report)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Kind
from gpusim.engine.image import FENCE
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.scoreboards import barrier_release, boards_release

__all__ = ["add_span", "attribute_issue", "record", "record_spans", "record_stage"]

SELECTED, NOT_SELECTED, WAIT = (WARP_STATES.index(name) for name in ("selected", "not_selected", "wait"))
LONG, SHORT = WARP_STATES.index("long_scoreboard"), WARP_STATES.index("short_scoreboard")
MIO, LG, MATH = (WARP_STATES.index(name) for name in ("mio_throttle", "lg_throttle", "math_pipe_throttle"))
DISPATCH, SLEEPING = WARP_STATES.index("dispatch_stall"), WARP_STATES.index("sleeping")
BARRIER, BRANCH = WARP_STATES.index("barrier"), WARP_STATES.index("branch_resolving")
NO_INSTRUCTION, IMC_MISS = WARP_STATES.index("no_instruction"), WARP_STATES.index("imc_miss")
MEMBAR, DRAIN = WARP_STATES.index("membar"), WARP_STATES.index("drain")
BAR, EXIT = int(Kind.barrier), int(Kind.exit)
STATE_EVENT, ISSUE_EVENT, SHARED_EVENT = (EVENT_KINDS.index(name) for name in ("state", "issue", "shared"))


@njit(cache=True, nogil=True)
def record(win, sm, w, warp, kind, state, pc, op, start, end):
    """Keep an event when it falls into the window that the user asked for."""
    if end <= sm.record_start or start >= sm.record_end or win.counts[2] >= len(win.events):
        return
    event = win.events[win.counts[2]]
    event.kind, event.state, event.sub_partition, event.warp_slot = kind, state, w % 4, w
    event.cta, event.warp, event.pc, event.op = warp.cta, warp.warp, pc, op
    event.start, event.end = start, end
    win.counts[2] += 1


@njit(cache=True, nogil=True)
def record_stage(win, sm, w, warp, pc, op, cycles):
    """Keep the turn at the data stage that has just been taken."""
    if sm.record_end and cycles > 0:
        record(win, sm, w, warp, SHARED_EVENT, 0, pc, op, sm.data_stage - cycles, sm.data_stage)


@njit(cache=True, nogil=True)
def add_span(sm, line, state, start, end):
    """Charge the cycles [start, end) to a state; returns where the next state starts."""
    if end <= start:
        return start
    line.cycles[state] += end - start
    sm.states[state] += end - start
    if sm.record_end:
        sm.span_state[sm.spans], sm.span_end[sm.spans] = state, end
        sm.spans += 1
    return end


@njit(cache=True, nogil=True)
def throttle_state(row):
    if row.queue == 0 or row.kind == BAR:
        return MIO
    return LG if row.queue == 1 else MATH


@njit(cache=True, nogil=True, forceinline=True)
def attribute_issue(sm, line, warp, row, time):
    """Charge the cycles since the warp's last issue. Order as in hardware: what is checked first hides the rest."""
    sm.spans = 0
    start = warp.last_issue + 1
    if start < time:
        long_release, short_release = boards_release(warp, row)
        start = add_span(sm, line, WAIT, start, warp.stall_end)
        start = add_span(sm, line, BRANCH, start, warp.branch_end)
        start = add_span(sm, line, NO_INSTRUCTION, start, warp.code_end)
        start = add_span(sm, line, IMC_MISS, start, warp.constant_end)
        start = add_span(sm, line, BARRIER, start, barrier_release(warp, row))
        start = add_span(sm, line, warp.fence_state, start, warp.membar_end)
        if warp.slept:
            start = add_span(sm, line, LONG, start, long_release - warp.slept)
            start = add_span(sm, line, SLEEPING, start, long_release)
            warp.slept = 0
        start = add_span(sm, line, LONG, start, long_release)
        start = add_span(sm, line, SHORT, start, short_release)
        if row.kind == EXIT or row.flags & FENCE:
            start = add_span(sm, line, DRAIN if row.kind == EXIT else MEMBAR, start, warp.sent)
        start = add_span(sm, line, DISPATCH, start, min(time - warp.not_selected, start + warp.dispatch))
        throttled = max(0, time - start - warp.not_selected)
        start = add_span(sm, line, throttle_state(row), start, start + throttled)
        add_span(sm, line, NOT_SELECTED, start, time)
    add_span(sm, line, SELECTED, time, time + 1)
    line.issued += 1


@njit(cache=True, nogil=True)
def record_spans(win, sm, w, warp, pc, op, start):
    """Keep the states since a warp's last issue as events."""
    for i in range(sm.spans):
        state = sm.span_state[i]
        kind = ISSUE_EVENT if state == SELECTED else STATE_EVENT
        record(win, sm, w, warp, kind, state, pc, op, start, sm.span_end[i])
        start = sm.span_end[i]
