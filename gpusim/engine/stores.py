"""Models stores on their way out of an SM: the queue in front of its port, and how many L2 may have left unconfirmed.
Leaves out what slices do with them (gpusim.engine.crossbar) and bulk stores (gpusim.engine.bulk)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.queues import keep_registers, turn_in_buffer
from gpusim.engine.register_reads import operands_read
from gpusim.engine.resources import pass_lines
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
def leaves_buffer(sm, mach):
    """When the next store leaves the load/store unit's buffer: behind that a few wait for the data stage."""
    return places_free(sm.stores, sm.stores_head, mach.store_places, mach.buffer_entries + 1) - mach.buffer_return


@njit(cache=True, nogil=True)
def keep_place(sm, mach, begun):
    """A store keeps a place in the buffer, or behind it, until then; others learn of it a while later."""
    sm.stores_head = keep_places(sm.stores, sm.stores_head, mach.store_places, 1, begun + mach.buffer_return)


@njit(cache=True, nogil=True)
def store(sm, warp, mach, row, access, stores, start):
    """STG, RED: through the data stage, a cycle for each line (stores_beside.csv), into the queue in front of the SM's
    port to the crossbar; the warp may end when the port has taken it. Returns when it leaves the SM.

    Loads pass stores that wait for the data stage, a barrier only a few of them (global_meet.csv). What the port reads
    of the data array (store_halves.csv) is spread over its turns.
    """
    lines = np.int64(access.count)
    front = turn_in_buffer(sm, start)
    sm.drained = max(sm.drained, max(front, leaves_buffer(sm, mach)))
    arrival = max(max(front, start + row.lead_cycles), confirmed(sm, stores, mach, access.data_cycles, start))
    begun, passed = pass_lines(sm, mach, arrival, lines, line_room(sm, mach, lines))
    keep_place(sm, mach, begun)
    sm.counters[STAGE_CYCLES] += lines
    leaves = begun + mach.store_exit
    if leaves > sm.write_port:
        sm.port_begun = leaves
    leaves = max(leaves, sm.write_port)
    sm.write_port = leaves + access.data_cycles
    warp.drain = sm.write_port - mach.store_exit
    sm.port_share = access.line_reads / max(access.data_cycles, 1)
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
