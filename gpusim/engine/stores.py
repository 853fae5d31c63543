"""Models stores on their way out of an SM: the queue in front of its port, and how many L2 may have left unconfirmed.
Leaves out what slices do with them (gpusim.engine.crossbar) and bulk stores (gpusim.engine.bulk)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.data_stage import pass_lines
from gpusim.engine.places import bits
from gpusim.engine.queues import keep_registers, turn_in_buffer
from gpusim.engine.register_reads import operands_read
from gpusim.engine.rings import keep_places, places_free
from gpusim.engine.scoreboards import settle_board
from gpusim.engine.state import COUNTERS, STORES_KEPT, WAITING_STORES

__all__ = ["confirm", "forget_lines", "store"]

STAGE_CYCLES = COUNTERS.index("data_stage_cycles")
LINE_BITS, SECTORS, WORDS_PER_SECTOR, WHOLE = 7, 4, 8, 0xFF
NO_LINE = -1


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
def port_cycles(mach, sectors, words):
    """(How long a line takes the port, whether that is because a sector is not filled)."""
    partly = False
    for k in range(SECTORS):
        partly |= (sectors >> k & 1) and (words >> k * WORDS_PER_SECTOR & WHOLE) != WHOLE
    return bits(sectors) * mach.sector_write + partly * mach.unfilled_line, partly


@njit(cache=True, nogil=True)
def waiting_line(sm, mach, line, newest):
    """The place of a line among the newest ones in front of the port, -1: there is none."""
    place = sm.lines_head
    for _ in range(newest):
        place = place - 1 if place else mach.store_lines - 1
        if sm.line_numbers[place] == line:
            return place
    return -1


@njit(cache=True, nogil=True)
def merge_lines(sm, mach, lines, access, base):
    """Words for a line that waits with a sector not filled join it there; other lines take a place, and all of a store
    have to find one (store_merges.csv: 24 lines later they join it, whatever the time, 32 lines later they do not).

    Returns the cycles that the port takes more, the turns of what L2 gets, the lines that it has already, a bit each,
    and how many take a place.
    """
    cycles, turns, skip, fresh, joined = 0.0, 0.0, np.int64(0), 0, 0
    for j in range(access.count):
        target = lines[access.first + j]
        sectors, words = np.int64(target.sector_mask), np.int64(target.word_mask)
        line = (base + target.line_offset) >> LINE_BITS
        place = waiting_line(sm, mach, line, mach.store_lines - access.count)
        before, partly = 0.0, False
        if place >= 0:
            before, partly = port_cycles(mach, sm.line_sectors[place], sm.line_words[place])
        if partly:
            joined += 1
            if sectors & ~sm.line_sectors[place] == 0 and j < 63:
                skip |= np.int64(1) << j
            sectors |= sm.line_sectors[place]
            words |= sm.line_words[place]
        else:
            before, place = 0.0, (sm.lines_head + fresh) % mach.store_lines
            fresh += 1
        sm.line_numbers[place], sm.line_sectors[place], sm.line_words[place] = line, sectors, words
        more = port_cycles(mach, sectors, words)[0] - before
        cycles += more
        if skip >> j & 1 == 0:
            turns += max(0.0, more)
    if joined == 0:
        return access.data_cycles, access.data_cycles, np.int64(0), fresh
    return np.int64(np.ceil(cycles)), np.int64(np.ceil(turns)), skip, fresh


@njit(cache=True, nogil=True)
def forget_lines(sm):
    """Nothing joins what waits in front of the port: a fence lets it go."""
    sm.line_numbers[:] = NO_LINE


@njit(cache=True, nogil=True)
def leaves_buffer(sm, mach):
    """When the next store leaves the load/store unit's buffer: behind that a few wait for the data stage."""
    return places_free(sm.stores, sm.stores_head, mach.store_places, mach.buffer_entries + 1) - mach.buffer_return


@njit(cache=True, nogil=True)
def keep_place(sm, mach, begun):
    """A store keeps a place in the buffer, or behind it, until then; others learn of it a while later."""
    sm.stores_head = keep_places(sm.stores, sm.stores_head, mach.store_places, 1, begun + mach.buffer_return)


@njit(cache=True, nogil=True)
def store(sm, warp, mach, row, access, lines, base, stores, start, joins):
    """STG, RED: through the data stage, a cycle for each line (stores_beside.csv), into the queue in front of the SM's
    port to the crossbar, where STG ``joins`` others; the warp may end when the port has taken it. Returns when it
    leaves the SM, the turns of its request, and the lines that this need not bring, a bit each.

    Loads take turns with stores that wait for the data stage (gpusim.engine.data_stage), barriers pass only a few of
    these (global_meet.csv). The port takes lines when all of a store have passed, and a little later (store_loads.csv).
    """
    count = np.int64(access.count)
    room = line_room(sm, mach, count)
    cycles, turns, skip, fresh = np.int64(access.data_cycles), np.int64(access.data_cycles), np.int64(0), count
    if joins:
        cycles, turns, skip, fresh = merge_lines(sm, mach, lines, access, base)
    else:
        for i in range(count):
            sm.line_numbers[(sm.lines_head + i) % mach.store_lines] = NO_LINE
    front = turn_in_buffer(sm, start)
    sm.drained = max(sm.drained, max(front, leaves_buffer(sm, mach)))
    there = start + row.lead_cycles + mach.store_stage + -(-count // mach.store_line_rate)
    arrival = max(max(front, there), confirmed(sm, stores, mach, turns, start))
    begun, passed = pass_lines(sm, warp, mach, start, arrival, count, room - mach.read_lag, access.line_reads)
    keep_place(sm, mach, begun)
    sm.counters[STAGE_CYCLES] += count
    leaves = max(passed + mach.read_lag, sm.write_port)
    sm.store_leaves[(sm.stores_come - 1) % WAITING_STORES] = leaves
    sm.write_port = leaves + cycles
    warp.drain = sm.write_port
    keep_registers(sm, mach, row, passed)
    keep_lines(sm, mach, leaves, cycles, fresh)
    settle_board(warp, row.read_barrier, operands_read(mach, start, row))
    return leaves, turns, skip


@njit(cache=True, nogil=True)
def confirm(stores, mach, request, performed):
    """Tell the SM when it will know that L2 has a store."""
    i = stores.count % STORES_KEPT
    stores.turns += request.data_cycles
    stores.left[i], stores.turn[i], stores.time[i] = request.time, stores.turns, performed + mach.l2_latency / 2
    stores.count += 1
