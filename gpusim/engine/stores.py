"""Models stores on their way out of an SM: the buffer in front of its port, and how many L2 may have left unconfirmed.
Leaves out what slices do with them (gpusim.engine.crossbar) and bulk stores (gpusim.engine.bulk)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.queues import keep_buffer, keep_data
from gpusim.engine.register_reads import operands_read
from gpusim.engine.resources import leave_buffer
from gpusim.engine.scoreboards import settle_board
from gpusim.engine.state import COUNTERS, STORES_KEPT

__all__ = ["confirm", "store"]

STAGE_CYCLES = COUNTERS.index("data_stage_cycles")


@njit(cache=True, nogil=True)
def confirmed(sm, stores, mach, turns, start):
    """When L2 has confirmed enough for one more store of so many ``turns``: all but ``stores_in_flight`` of them.

    Asked at ``start``, it knows what left at least a longest window before, whatever the windows are.
    """
    sm.turns += turns
    needed = sm.turns - mach.stores_in_flight
    while sm.answered < stores.count and stores.turn[sm.answered % STORES_KEPT] < needed:
        sm.answered += 1
    i = sm.answered % STORES_KEPT
    if needed <= 0 or sm.answered >= stores.count or stores.left[i] > start - mach.lookahead:
        return start
    return np.int64(np.ceil(stores.time[i]))


@njit(cache=True, nogil=True)
def line_room(sm, mach, lines):
    """When the queue in front of the port has room for so many lines."""
    last = sm.lines_head + lines - 1
    return sm.lines[last if last < mach.store_lines else last - mach.store_lines] if lines else 0


@njit(cache=True, nogil=True)
def keep_lines(sm, mach, leaves, cycles, lines):
    """They leave that queue one after the other, evenly."""
    for i in range(lines):
        sm.lines[sm.lines_head] = leaves + (i + 1) * cycles // lines
        sm.lines_head = sm.lines_head + 1 if sm.lines_head + 1 < mach.store_lines else 0


@njit(cache=True, nogil=True)
def store(sm, warp, mach, row, access, stores, start):
    """STG, RED: through the data stage, a cycle for each line (stores_beside.csv), into the buffer in front of the SM's
    port to the crossbar, where the warp may end. Returns when the port takes it."""
    lines = np.int64(access.count)
    room = max(line_room(sm, mach, lines) - lines, confirmed(sm, stores, mach, access.data_cycles, start))
    left, passed = leave_buffer(sm, mach, start, start, room, lines, start)
    warp.drain = passed - mach.wavefront_interval * lines
    sm.counters[STAGE_CYCLES] += lines
    leaves = max(max(warp.drain, sm.write_port), start + row.operand_cycles)
    sm.write_port = leaves + access.data_cycles
    keep_buffer(sm, mach, left, row.buffered)
    keep_data(sm, mach, passed, row.stored)
    keep_lines(sm, mach, leaves, access.data_cycles, lines)
    settle_board(warp, row.read_barrier, operands_read(mach, start, row))
    return leaves


@njit(cache=True, nogil=True)
def confirm(stores, mach, request, performed):
    """Tell the SM when it will know that L2 has a store."""
    i = stores.count % STORES_KEPT
    stores.turns += request.data_cycles
    stores.left[i], stores.turn[i], stores.time[i] = request.time, stores.turns, performed + mach.l2_latency / 2
    stores.count += 1
