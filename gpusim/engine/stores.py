"""Models stores on their way out of an SM: the queue in front of its port, and how many L2 may have left unconfirmed.
Leaves out what slices do with them (gpusim.engine.crossbar) and bulk stores (gpusim.engine.bulk)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.queues import keep_registers
from gpusim.engine.register_reads import operands_read
from gpusim.engine.resources import leave_buffer
from gpusim.engine.rings import keep_places, places_free
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
    return places_free(sm.lines, sm.lines_head, mach.store_lines, lines)


@njit(cache=True, nogil=True)
def keep_lines(sm, mach, leaves, cycles, lines):
    """They leave that queue one after the other, evenly."""
    for i in range(lines):
        gone = leaves + (i + 1) * cycles // lines
        sm.lines_head = keep_places(sm.lines, sm.lines_head, mach.store_lines, 1, gone)


@njit(cache=True, nogil=True)
def store(sm, warp, mach, row, access, stores, start):
    """STG, RED: through the data stage, a cycle for each line (stores_beside.csv), into the queue in front of the SM's
    port to the crossbar; the warp may end when it has left that. Returns when the port takes it."""
    lines = np.int64(access.count)
    room = max(line_room(sm, mach, lines) - lines, confirmed(sm, stores, mach, access.data_cycles, start))
    _, passed = leave_buffer(sm, mach, row, start, room, lines, start)
    queued = passed - mach.wavefront_interval * lines
    sm.counters[STAGE_CYCLES] += lines
    leaves = max(max(queued, sm.write_port), start + row.operand_cycles)
    sm.write_port = warp.drain = leaves + access.data_cycles
    keep_registers(sm, mach, row, passed)
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
