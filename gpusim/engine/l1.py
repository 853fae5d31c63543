"""Models the L1 data cache of each SM: which sectors of a load are there, under way, or have to be asked for.
Leaves out stores, which write through and change no tag, and the data's way through the SM (gpusim.engine.lsu)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gpusim.arch import GpuSpec
from gpusim.program import Launch

__all__ = ["REQUESTS", "L1State", "l1_bytes", "look_up", "new_l1"]

LINE_BITS = 7
SECTORS = 4
EMPTY = -1
SETS = 32
"""The chip's sets are fewer and larger, too large to search: a line's place is a fold of its number, as that of its tag
bank (gpusim.memory.l1_tags), so that neither streams nor power-of-two pitches crowd a set."""
REQUESTS = 4096
"""Requests of an SM whose answers are remembered: more than its warps can have under way."""
WAITING = 512
"""Accesses that wait for the answer of another; with more than that an access asks for its sectors once more."""

WAY = np.dtype([("used", "<i8"), ("request", "<i4", (SECTORS,))], align=True)
"""A line: order of last use; the request that brings, or brought, each sector, 0 for an absent one."""
WAITER = np.dtype([
    ("time", "<i8"), ("age", "<i8"), ("request", "<i4"), ("data_cycles", "<i4"), ("slot", "<i2"), ("token", "<i2"),
    ("asynchronous", "<i4"), ("flag", "<i4"), ("early", "<i4"),
], align=True)
"""An access that needs sectors that another one's request brings; completes as that does (see COMPLETION)."""
CACHE = np.dtype([("clock", "<i8"), ("last_request", "<i4"), ("waiting", "<i4")], align=True)


class L1State(NamedTuple):
    """S SMs, X sets, Y ways; X is 0 for programs whose accesses all pass L1 by."""

    lines: np.ndarray  # LINE rows, what (first, count) of an access names
    tags: np.ndarray  # (S, X, Y) i8: line numbers
    ways: np.ndarray  # (S, X, Y) WAY
    answered: np.ndarray  # (S, REQUESTS) i1: whether request number n % REQUESTS has been answered
    waiters: np.ndarray  # (S, WAITING) WAITER, the first CACHE.waiting of them in the order in which they came
    caches: np.ndarray  # (S,) CACHE


def l1_bytes(spec: GpuSpec, launch: Launch, blocks_per_sm: int) -> int:
    """What is left for L1 beside the smallest shared memory that holds all CTAs an SM can have."""
    unit = spec.sm.shared_allocation_unit_bytes
    per_cta = -(-(launch.shared_bytes + spec.sm.shared_reserved_bytes_per_cta) // unit) * unit
    fitting = [kib << 10 for kib in spec.sm.shared_carveouts_kib if kib << 10 >= per_cta * blocks_per_sm]
    return max(0, spec.l1.capacity_bytes - min(fitting, default=spec.sm.shared_bytes))


def new_l1(sms: int, lines: np.ndarray, capacity_bytes: int | None) -> L1State:
    """Cold caches, of one way at least; None: the program keeps nothing there."""
    sets, requests, waiting = (0, 0, 0) if capacity_bytes is None else (SETS, REQUESTS, WAITING)
    ways = max(1, ((capacity_bytes or 0) >> LINE_BITS) // SETS)
    return L1State(lines, np.full((sms, sets, ways), EMPTY, np.int64), np.zeros((sms, sets, ways), WAY),
                   np.zeros((sms, requests), np.int8), np.zeros((sms, waiting), WAITER), np.zeros(sms, CACHE))


@njit(cache=True, nogil=True)
def set_of(line):
    """XOR of the digits of a line number to the base SETS."""
    x = line ^ line >> 20
    x ^= x >> 10
    return (x ^ x >> 5) & (SETS - 1)


@njit(cache=True, nogil=True)
def touch(tags, ways, cache, line):
    """The way that holds a line; the least recently used one of its set gives way when none does."""
    x = set_of(line)
    cache.clock += 1
    for y in range(tags.shape[1]):
        if tags[x, y] == line:
            ways[x, y].used = cache.clock
            return ways[x, y]
    y = 0
    for other in range(tags.shape[1]):
        if ways[x, other].used < ways[x, y].used:
            y = other
    tags[x, y] = line
    ways[x, y].used = cache.clock
    ways[x, y].request[:] = 0
    return ways[x, y]


@njit(cache=True, nogil=True)
def wait_for(waiters, cache, first, request, slot, token, age, asynchronous):
    """Wait for another access's answer, once per access (``first``: its first waiter); False when there is no room."""
    for i in range(first, cache.waiting):
        if waiters[i].request == request:
            return True
    if cache.waiting == len(waiters):
        return False
    waiter = waiters[cache.waiting]
    waiter.request, waiter.slot, waiter.token, waiter.age = request, slot, token, age
    waiter.data_cycles, waiter.early, waiter.asynchronous, waiter.flag = 0, 0, asynchronous, -1
    cache.waiting += 1
    return True


@njit(cache=True, nogil=True)
def look_up(l1, s, access, base, slot, token, age, asynchronous):
    """Look up the lines of an access, which allocates them: (request, skip, answers, sectors, hits).

    request: its number if something has to be asked for, else 0; skip: the lines it need not ask for, a bit each;
    answers: how many the access has to wait for, its own and those of others.
    """
    cache, tags, ways, answered, waiters = l1.caches[s], l1.tags[s], l1.ways[s], l1.answered[s], l1.waiters[s]
    number, first = cache.last_request + 1, cache.waiting
    skip, asked, sectors, hits = np.int64(0), False, 0, 0
    answered[number % REQUESTS] = 0
    for j in range(access.count):
        target = l1.lines[access.first + j]
        way, misses = touch(tags, ways, cache, (base + target.line_offset) >> LINE_BITS), False
        for k in range(SECTORS):
            if target.sector_mask >> k & 1:
                request = way.request[k]
                sectors += 1
                if request and (number - request >= REQUESTS or answered[request % REQUESTS]):
                    hits += 1
                elif request == 0 or (request != number and not wait_for(
                        waiters, cache, first, request, slot, token, age, asynchronous)):
                    way.request[k], misses = number, True
        asked |= misses
        if not misses and j < 63:
            skip |= np.int64(1) << j
    answers = cache.waiting - first + asked
    if asked:
        cache.last_request = number
    elif answers:
        waiters[first].data_cycles, waiters[first].early = access.data_cycles, access.early_cycles
    return number if asked else 0, skip, answers, sectors, hits
