"""Models stores on their way out of an SM: the buffer in front of its port, and how many L2 may have left unconfirmed.
Leaves out what slices do with them (gpusim.engine.crossbar) and bulk stores (gpusim.engine.bulk)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.queues import pass_buffer
from gpusim.engine.register_reads import operands_read
from gpusim.engine.resources import pass_data_stage, path_room
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
def store(sm, warp, mach, row, access, stores, start):
    """STG, RED: through the data stage, a cycle for each line (stores_beside.csv), into the buffer in front of the SM's
    port to the crossbar, where the warp may end. Returns when the port takes it."""
    room = max(sm.write_port - mach.store_buffer, confirmed(sm, stores, mach, access.data_cycles, start))
    warp.drain = pass_buffer(sm, mach, start, max(room, path_room(sm, mach)), row.buffered)
    pass_data_stage(sm, mach, warp.drain, np.int64(access.count), warp.drain)
    sm.counters[STAGE_CYCLES] += access.count
    leaves = max(max(warp.drain, sm.write_port), start + row.operand_cycles)
    sm.write_port = leaves + access.data_cycles
    settle_board(warp, row.read_barrier, operands_read(mach, start, row))
    return leaves


@njit(cache=True, nogil=True)
def confirm(stores, mach, request, performed):
    """Tell the SM when it will know that L2 has a store."""
    i = stores.count % STORES_KEPT
    stores.turns += request.data_cycles
    stores.left[i], stores.turn[i], stores.time[i] = request.time, stores.turns, performed + mach.l2_latency / 2
    stores.count += 1
