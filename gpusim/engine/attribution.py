"""Models where a warp's cycles go: every cycle between two issues belongs to exactly one of Nsight's warp states.
Leaves out names and ratios (gpusim.report)."""

from __future__ import annotations

from numba import njit

from gpusim.engine.resources import queue_of
from gpusim.engine.result import EVENT_KINDS, WARP_STATES
from gpusim.engine.scoreboards import boards_release

__all__ = ["account", "attribute_issue", "record"]

SELECTED, NOT_SELECTED, WAIT = (WARP_STATES.index(name) for name in ("selected", "not_selected", "wait"))
LONG, SHORT = WARP_STATES.index("long_scoreboard"), WARP_STATES.index("short_scoreboard")
MIO, LG, MATH = (WARP_STATES.index(name) for name in ("mio_throttle", "lg_throttle", "math_pipe_throttle"))
BARRIER, BRANCH = WARP_STATES.index("barrier"), WARP_STATES.index("branch_resolving")
STATE_EVENT, ISSUE_EVENT = EVENT_KINDS.index("state"), EVENT_KINDS.index("issue")


@njit(cache=True, nogil=True)
def record(win, rec, s, w, warp, kind, state, pc, op, start, end):
    """Keep an event when it falls into the window that the user asked for (SM, first and last cycle)."""
    if s != rec[0] or end <= rec[1] or start >= rec[2] or win.counts[2] >= len(win.events):
        return
    event = win.events[win.counts[2]]
    event.kind, event.state, event.sub_partition, event.warp_slot = kind, state, w % 4, w
    event.cta, event.warp, event.pc, event.op = warp.cta, warp.warp, pc, op
    event.start, event.end = start, end
    win.counts[2] += 1


@njit(cache=True, nogil=True)
def account(sm, win, rec, s, w, warp, pc, state, start, end):
    """Charge the cycles [start, end) to a state; returns where the next state starts."""
    if end <= start:
        return start
    win.state_cycles[pc, state] += end - start
    sm.states[state] += end - start
    if s == rec[0]:
        record(win, rec, s, w, warp, ISSUE_EVENT if state == SELECTED else STATE_EVENT, state, pc, warp.op, start, end)
    return end


@njit(cache=True, nogil=True)
def throttle_state(row):
    queue = queue_of(row)
    if queue == 0:
        return MIO
    return LG if queue == 1 else MATH


@njit(cache=True, nogil=True)
def attribute_issue(sm, win, rec, s, w, warp, row, time):
    """Charge the cycles since the warp's last issue. Order as in hardware: what is checked first hides the rest."""
    start = warp.last_issue + 1
    if start < time:
        long_release, short_release = boards_release(warp, row)
        start = account(sm, win, rec, s, w, warp, row.pc, WAIT, start, warp.stall_end)
        start = account(sm, win, rec, s, w, warp, row.pc, BRANCH, start, warp.branch_end)
        start = account(sm, win, rec, s, w, warp, row.pc, BARRIER, start, warp.barrier_end)
        start = account(sm, win, rec, s, w, warp, row.pc, LONG, start, long_release)
        start = account(sm, win, rec, s, w, warp, row.pc, SHORT, start, short_release)
        throttled = max(0, time - start - warp.not_selected)
        start = account(sm, win, rec, s, w, warp, row.pc, throttle_state(row), start, start + throttled)
        account(sm, win, rec, s, w, warp, row.pc, NOT_SELECTED, start, time)
    account(sm, win, rec, s, w, warp, row.pc, SELECTED, time, time + 1)
    win.issued[row.pc] += 1
