"""Models how loads' results come from shared memory to registers: one of the SM a cycle, sub-partitions in turn, none
while a tensor instruction stops it. Leaves out what arithmetic writes, and which bank a register stands in."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.state import NEVER, STOPS

__all__ = ["expect_return", "settle_return", "stop_returns"]

PARTS = 4


@njit(cache=True, nogil=True)
def stop_returns(part, reads, time):
    """Beside a tensor instruction that begins at ``time`` no result can be written in a cycle or two a while later, as
    many as its accumulators fill (load_stops.csv)."""
    i = part.stops % STOPS
    part.stop_start[i] = time + reads.stop_after
    part.stop_end[i] = part.stop_start[i] + reads.stop
    part.stops += 1


@njit(cache=True, nogil=True)
def expect_return(sm, part, mach, w, warp, board, registers, last, interval):
    """The registers of a load will be there an ``interval`` apart, the last one at ``last``, if nothing stops them;
    then barrier ``board`` lets its warp ``w`` go."""
    i = part.returns
    part.return_time[i], part.return_left[i] = last - (registers - 1) * interval, registers
    part.return_interval[i] = interval
    part.return_slot[i], part.return_age[i], part.return_board[i] = w, warp.age, board
    part.return_first = part.return_time[i] if i == 0 else min(part.return_first, part.return_time[i])
    part.returns += 1
    sm.return_event = min(sm.return_event, last - mach.return_lead)


@njit(cache=True, nogil=True)
def first_return(part):
    """Which of a sub-partition's loads has the register that was there first."""
    first = np.int64(0)
    for i in range(1, part.returns):
        if part.return_time[i] < part.return_time[first]:
            first = np.int64(i)
    return first


@njit(cache=True, nogil=True)
def end_of_stops(part, time):
    """When results can be written to the sub-partition's registers, not before ``time``."""
    oldest, k = max(0, part.stops - STOPS), part.stops
    while k > oldest and part.stop_end[(k - 1) % STOPS] > time:
        k -= 1
    while k < part.stops and part.stop_start[k % STOPS] <= time:
        time = max(time, part.stop_end[k % STOPS])
        k += 1
    return time


@njit(cache=True, nogil=True)
def forget_return(part, i):
    """A load has all its registers."""
    part.returns -= 1
    for k in range(i, part.returns):
        part.return_time[k], part.return_left[k] = part.return_time[k + 1], part.return_left[k + 1]
        part.return_interval[k], part.return_slot[k] = part.return_interval[k + 1], part.return_slot[k + 1]
        part.return_age[k], part.return_board[k] = part.return_age[k + 1], part.return_board[k + 1]
    part.return_first = part.return_time[first_return(part)] if part.returns else NEVER


@njit(cache=True, nogil=True)
def plan_event(sm, parts, mach, now):
    """When the next load will have its last register, for all that is known at ``now``: a while before that it is
    sure."""
    last = NEVER
    for p in range(PARTS):
        part = parts[p]
        for i in range(part.returns):
            last = min(last, part.return_time[i] + (part.return_left[i] - 1) * part.return_interval[i])
    sm.return_event = NEVER if last == NEVER else max(max(last, sm.return_free) - mach.return_lead, now + 1)


@njit(cache=True, nogil=True)
def settle_return(sm, parts, mach, now):
    """Registers are written one by one, as far as all tensor instructions that could stop them have begun before
    ``now``. Returns (warp slot, its age, scoreboard barrier, when it lets go) of the first load that is complete; slot
    -1: none is."""
    while True:
        chosen, time = np.int64(-1), now + mach.return_lead + 1
        for turn in range(1, PARTS + 1):
            p = (sm.return_part + turn) % PARTS
            part = parts[p]
            if part.returns and max(sm.return_free, part.return_first) < time:
                there = end_of_stops(part, max(sm.return_free, part.return_first))
                if there < time:
                    chosen, time = p, there
        if chosen < 0:
            plan_event(sm, parts, mach, now)
            return np.int64(-1), np.int64(0), np.int64(0), now
        part = parts[chosen]
        i = first_return(part)
        part.return_time[i] += part.return_interval[i]
        part.return_left[i] -= 1
        sm.return_free, sm.return_part = time + 1, chosen
        if part.return_left[i] > 0:
            part.return_first = part.return_time[first_return(part)]
        else:
            slot, age, board = part.return_slot[i], part.return_age[i], part.return_board[i]
            forget_return(part, i)
            return slot, age, board, time
