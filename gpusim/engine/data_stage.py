"""Models the paths through the SM's 128-byte data stage: which access has which, and stores to global memory in turn.
Leaves out what stands in front of them: the load/store unit's buffer (gpusim.engine.resources)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.state import NEVER, WAITING_STORES

__all__ = ["MATRIX_CYCLES", "hold_data_stage", "pass_data_stage", "pass_lines"]

MATRIX_CYCLES = 8
"""For which an ldmatrix of four wavefronts has its path."""


@njit(cache=True, nogil=True)
def show_wavefronts(sm, arrival, waves):
    """Give wavefronts a place among the events of the data stage, one per cycle."""
    sm.data_stage = max(sm.data_stage, arrival) + waves


@njit(cache=True, nogil=True)
def choose_path(paths, mach, begin):
    """The path for what can begin then, and when it does: that of all free ones which has been so for the shortest
    time, else the first to get free.

    A path moves a wavefront every other cycle, so the stage moves one per cycle only while two accesses are under way;
    those of one warp follow each other (data_paths.csv).
    """
    best, other = 0, np.int64(0)
    for i in range(mach.data_paths):
        free = paths[i]
        if i == 0 or (free <= begin < other) or (free <= begin and free > other) or other > free > begin:
            best, other = i, free
    return best, max(begin, other)


@njit(cache=True, nogil=True)
def store_ready(sm, k):
    """When waiting store ``k`` can begin: not before the one in front of it, and when its warp's last one has
    passed."""
    i, last = k % WAITING_STORES, sm.store_before[k % WAITING_STORES]
    passed = sm.store_ends[last % WAITING_STORES] if last >= max(0, sm.stores_come - WAITING_STORES) else 0
    return max(max(sm.store_ready[i], sm.stores_begun), passed)


@njit(cache=True, nogil=True)
def begin_store(sm, mach, paths, k):
    """Waiting store ``k`` takes a path as soon as it can; returns which, and when it begins."""
    i = k % WAITING_STORES
    path, begin = choose_path(paths, mach, store_ready(sm, k))
    paths[path] = sm.store_ends[i] = begin + sm.store_cycles[i]
    sm.stores_begun = begin
    return path, begin


@njit(cache=True, nogil=True)
def next_store(sm, mach):
    """When the first store that waits could begin, NEVER: none does."""
    if sm.stores_gone == sm.stores_come:
        return NEVER
    return choose_path(sm.paths, mach, store_ready(sm, sm.stores_gone))[1]


@njit(cache=True, nogil=True)
def begin_next(sm, mach):
    """The first store that waits has its path."""
    path, _ = begin_store(sm, mach, sm.paths, sm.stores_gone)
    sm.path_stores[path] = 1
    sm.stores_gone += 1
    sm.stores_turn = 0


@njit(cache=True, nogil=True)
def settle_stores(sm, mach, until):
    """Stores that wait take paths for which nothing else has asked before ``until``."""
    while next_store(sm, mach) < until:
        begin_next(sm, mach)


@njit(cache=True, nogil=True)
def take_path(sm, mach, arrival):
    """The path, and when it is had, for what is no store to global memory. Where a store waits, too, they take turns,
    whichever path it is (store_loads.csv: behind stores of four warps loads begin one by one, 7 to 13 cycles apart)."""
    settle_stores(sm, mach, arrival)
    path, begin = choose_path(sm.paths, mach, arrival)
    while sm.stores_turn and next_store(sm, mach) <= begin:
        begin_next(sm, mach)
        path, begin = choose_path(sm.paths, mach, arrival)
    sm.stores_turn = 1
    return path, begin


@njit(cache=True, nogil=True)
def plan_stores(sm, mach):
    """When the last store that waits begins and has passed, if nothing else takes a path before."""
    sm.planned_paths[:] = sm.paths
    begun, begin = sm.stores_begun, np.int64(0)
    for k in range(sm.stores_gone, sm.stores_come):
        begin = begin_store(sm, mach, sm.planned_paths, k)[1]
    sm.stores_begun = begun
    return begin, sm.store_ends[(sm.stores_come - 1) % WAITING_STORES]


@njit(cache=True, nogil=True)
def read_end(sm, mach, k, before):
    """(From when, until when) the port reads the lines of store ``k`` in the data array, all at once, behind those of
    the store in front of it, which it has read ``before``: a little after they have passed, when it takes them."""
    i = k % WAITING_STORES
    begin = max(max(before, sm.store_ends[i] + mach.read_lag), np.float64(sm.store_leaves[i]))
    return begin, begin + sm.store_reads[i]


@njit(cache=True, nogil=True)
def lost_to_port(sm, mach, now, begin, end):
    """By how much an access takes longer as it does not go on while the port reads lines of stores beside it
    (store_loads.csv). Nothing asks for a time before ``now``."""
    if sm.stores_gone < sm.stores_come:
        plan_stores(sm, mach)
    lost, before, k = 0.0, sm.lines_read, max(sm.reads_done, sm.stores_come - WAITING_STORES // 2)
    while k < sm.stores_come:
        starts, before = read_end(sm, mach, k, before)
        if starts >= end + lost:
            break
        lost += max(0.0, before - max(starts, begin))
        k += 1
        if before <= now:
            sm.reads_done, sm.lines_read = k, before
    return np.int64(np.ceil(lost))


@njit(cache=True, nogil=True)
def find_turn(sm, mach, path, begin, waited, apart):
    """When an ldmatrix can begin that has its path at ``begin``: in the cycles between the other path's wavefronts, and
    if it has ``waited`` so long behind the other one's start (load_returns.csv: of four that come at once two begin a
    cycle apart, the others 8 and 11 cycles behind the first). Beside a store to global memory it begins at once."""
    other = sm.paths[1 - path]
    if other > begin and mach.data_paths == 2 and mach.wavefront_interval == 2 and not sm.path_stores[1 - path]:
        if waited:
            begin += max(0, apart - (begin - other) % MATRIX_CYCLES)
        begin += (other - begin) % 2 == 0
    return begin


@njit(cache=True, nogil=True)
def pass_data_stage(sm, mach, arrival, waves, earliest, beside_stores=False, apart=0):
    """Take a path through the data stage from ``earliest`` on, not before ``arrival``; ``beside_stores``: to the part
    of the data array that stores share; ``apart``: an ldmatrix, which begins so long behind another one. Returns (when
    it begins, when the path is free again)."""
    show_wavefronts(sm, arrival, waves)
    path, begin = take_path(sm, mach, max(arrival, earliest))
    if apart:
        begin = find_turn(sm, mach, path, begin, begin > arrival, apart)
    end = begin + mach.wavefront_interval * waves
    sm.paths[path], sm.path_stores[path] = end, 0
    if beside_stores:
        sm.paths[path] += lost_to_port(sm, mach, arrival, begin, end)
    return begin, sm.paths[path]


@njit(cache=True, nogil=True)
def pass_lines(sm, warp, mach, now, arrival, lines, room, reads):
    """Lines of a store to global memory take a path, behind those of its warp; no store overtakes another, and none
    begins before its last line will find ``room``. The port ``reads`` them for so many cycles. Returns (when it begins,
    when it has passed), if nothing else takes a path before it; nothing does before ``now``."""
    show_wavefronts(sm, arrival, lines)
    settle_stores(sm, mach, NEVER if sm.stores_come - sm.stores_gone == WAITING_STORES // 2 else now)
    i, cycles = sm.stores_come % WAITING_STORES, mach.wavefront_interval * lines
    sm.store_ready[i], sm.store_cycles[i] = max(arrival, room - cycles), cycles
    sm.store_before[i], sm.store_leaves[i], sm.store_reads[i] = warp.stored - 1, 0, reads
    sm.stores_come += 1
    warp.stored = sm.stores_come
    begun, passed = plan_stores(sm, mach)
    sm.stores_passed = max(sm.stores_passed, passed)
    return begun, passed


@njit(cache=True, nogil=True)
def hold_data_stage(sm, mach, arrival, waves):
    """Wavefronts at full rate, of units that do not go through the load/store unit: the paths move that many less.
    Returns when the last one has passed."""
    show_wavefronts(sm, arrival, waves)
    passed = max(arrival, sm.paths[:mach.data_paths].min()) + waves
    for i in range(mach.data_paths):
        sm.paths[i] = max(sm.paths[i], arrival) + waves * mach.wavefront_interval // mach.data_paths
    return passed
