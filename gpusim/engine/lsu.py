"""Models the load/store unit: what it does with an instruction that it takes out of a queue, up to data stage or L1.
Leaves out whose turn it is (gpusim.engine.queues) and what happens in L2 (gpusim.engine.memory)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Kind
from gpusim.engine.attribution import record_stage
from gpusim.engine.barriers import follow_barrier
from gpusim.engine.data_stage import MATRIX_CYCLES, pass_data_stage
from gpusim.engine.image import FLAG, WHOLE_LINE
from gpusim.engine.l1 import look_up
from gpusim.engine.mbarriers import use_mbarrier
from gpusim.engine.operands import VIEW
from gpusim.engine.queues import (
    COMMITS,
    NOTHING,
    ORDERS,
    SHARED,
    SIGNALS,
    choose_next,
    keep_buffer,
    keep_registers,
    pass_buffer,
    take_head,
)
from gpusim.engine.register_reads import (
    addresses_cross,
    cross_data,
    operands_read,
    read_operands,
)
from gpusim.engine.resources import (
    ask,
    ask_room,
    leave_buffer,
    leave_unhindered,
    occupy_tags,
    pass_addresses,
    pass_tag_stage,
    tag_room,
    write_copy,
)
from gpusim.engine.returns import expect_return
from gpusim.engine.scoreboards import copy_arrived, settle_board
from gpusim.engine.state import COUNTERS
from gpusim.engine.stores import store

__all__ = ["NO_BOARD", "accept", "post", "writes"]

NO_BOARD = 7
ALL_SECTORS = 15
LDMATRIX, SHARED_LOAD, ASYNC_COPY, GLOBAL_STORE, ATOMIC = (
    int(kind) for kind in (Kind.ldmatrix, Kind.shared_load, Kind.async_copy, Kind.global_store, Kind.atomic))
REQUESTS, WAVEFRONTS, IDEAL, CONFLICTS = 0, 3, 6, 9  # first of load, store, ldgsts in COUNTERS
LOAD, STORE, LDGSTS = 0, 1, 2
LDSM_COUNT, LDGSTS_COUNT, STAGE_CYCLES, L1_SECTORS, L1_HITS = (
    COUNTERS.index(name) for name in ("ldsm_instructions", "ldgsts_instructions", "data_stage_cycles", "l1_sectors",
                                      "l1_sector_hits"))


@njit(cache=True, nogil=True)
def count_shared(sm, access, side):
    sm.counters[REQUESTS + side] += 1
    sm.counters[WAVEFRONTS + side] += access.wavefronts
    sm.counters[IDEAL + side] += access.ideal
    sm.counters[CONFLICTS + side] += access.conflicts


@njit(cache=True, nogil=True)
def pass_in_order(sm, warp, mach, row, arrival, waves, start, beside_stores=False, apart=0):
    """Take a path through the data stage behind all other shared-memory accesses of the warp.

    Those that wait for others of their warp keep no other warp waiting (load_order.csv).
    """
    warp.data_free = leave_buffer(sm, mach, start, arrival, waves, warp.data_free, beside_stores, apart)
    keep_registers(sm, mach, row, warp.data_free)
    sm.drained = max(sm.drained, warp.data_free + mach.barrier_after_access)
    sm.counters[STAGE_CYCLES] += waves


@njit(cache=True, nogil=True)
def take_turn(sm, mach, time):
    """Pass the data stage without data, as what is predicated off does; returns when it has passed."""
    passed = leave_buffer(sm, mach, time, time, 1, time)
    sm.counters[STAGE_CYCLES] += 1
    return passed - mach.wavefront_interval + 1


@njit(cache=True, nogil=True)
def enter_tags(sm, warp, mach, row, time):
    """Loads and copies come to the queue for the tag stage: (when they leave the front of the buffer, when they are
    there). Copies take a turn of the data stage on their way."""
    if row.kind != ASYNC_COPY:
        entered = pass_buffer(sm, mach, time)
        return entered, entered
    entered, passed = leave_unhindered(sm, mach, time, warp.data_free)
    sm.counters[STAGE_CYCLES] += 1
    return entered, passed - mach.wavefront_interval + 1


@njit(cache=True, nogil=True)
def leave_tags(sm, mach, row, entered, begun):
    """An access leaves its last entry of the queue for the tag stage when the second one in front of it is looked up,
    or a while before it is itself, which is when it has ``begun``; its others a little after the one in front has left
    its last. Copies keep a place of the buffer for each until then (copy_places.csv)."""
    first = max(entered, sm.tag_left + mach.entry_interval)
    last = max(entered, min(sm.tag_before, begun - mach.entry_lead))
    occupy_tags(sm, mach, first, mach.access_tags - 1)
    occupy_tags(sm, mach, last, 1)
    if row.kind == ASYNC_COPY:
        keep_buffer(sm, mach, row.places - 1, first)
        keep_buffer(sm, mach, 1, last)
    sm.tag_before, sm.tag_begun, sm.tag_left = sm.tag_begun, begun, last


@njit(cache=True, nogil=True)
def pass_fence(sm, warp, row, time):
    """A fence of a CTA has come to the front of its queue. That of the asynchronous proxy waits until all that the unit
    has taken, of any warp, has passed the data stage; a MEMBAR waits for nothing else (fences.csv)."""
    sm.address_path = time + row.address_cycles
    done = (max(time, sm.paths.max(), sm.stores_passed) if row.operand == VIEW else time) + row.latency
    settle_board(warp, row.write_barrier, done)
    settle_board(warp, row.read_barrier, done)


@njit(cache=True, nogil=True)
def writes(row):
    """Stores, and atomics whose result nobody waits for."""
    return row.kind == GLOBAL_STORE or (row.kind == ATOMIC and row.write_barrier == NO_BOARD)


@njit(cache=True, nogil=True)
def post(sm, warp, request, base, access, s, w, row, op, time, token, number, skip, data_cycles):
    """Send a global access to the memory system; it is answered in a later window."""
    request.time, request.sm, request.slot, request.token = time, s, w, token
    request.base = base
    request.first, request.count, request.data_cycles = access.first, access.count, data_cycles
    request.is_write, request.asynchronous = writes(row), row.kind == ASYNC_COPY
    request.cta, request.flag = warp.cta, row.operand if row.flags & FLAG else -1
    request.sequence, request.op, request.age = sm.sequence, op, warp.age
    request.fill = ALL_SECTORS if row.flags & WHOLE_LINE else 0
    request.l1, request.skip = number, skip
    request.early = access.early_cycles
    request.bytes = request.lead = request.last = request.reads = 0
    sm.sequence += 1


@njit(cache=True, nogil=True)
def global_access(sm, warp, mach, row, access, start):
    """LDG, LDGSTS: operands, tags; then the memory system decides. Returns when the request leaves.

    That is when its first tag passes, or when all requests before it have left. What finds no room in the queue for the
    tag stage waits at the front of the buffer, and all behind it wait, too. An access keeps a barrier waiting until a
    while before the turn of the one in front of it (barrier_copies.csv); copies to few classes of lines are late in
    that (barrier_lines.csv).
    """
    room, before = tag_room(sm, mach, mach.access_tags), sm.tag_begun
    entered, passed = enter_tags(sm, warp, mach, row, max(start, room))
    begun = pass_tag_stage(sm, max(passed, start + row.operand_cycles, ask_room(sm, mach)), access.tag_cycles)
    if access.copy_cycles:
        write_copy(sm, begun, access.copy_cycles)
    leaves = ask(sm, mach, begun, access.ask_cycles) if access.ask_cycles else begun
    leave_tags(sm, mach, row, entered, begun + access.copy_lag)
    sm.tag_passed = sm.tag_stage + access.copy_lag
    sm.drained = max(sm.drained, entered, before - mach.tag_lead)
    keep_registers(sm, mach, row, passed)
    settle_board(warp, row.read_barrier, operands_read(mach, start, row))
    if row.kind == ASYNC_COPY:
        sm.counters[LDGSTS_COUNT] += access.wavefronts > 0
        count_shared(sm, access, LDGSTS)
    elif access.count == 0:
        settle_board(warp, row.write_barrier, start + 1)
    return leaves


@njit(cache=True, nogil=True)
def expect_answers(warp, token, is_copy, more):
    """Note that an access gets ``more`` answers than one."""
    if is_copy:
        warp.group_missing[token] += more
    elif token != NO_BOARD:
        warp.pending[token] += more


@njit(cache=True, nogil=True)
def hit_l1(sm, warp, mach, access, token, is_copy, leaves):
    """All sectors of an access are in L1: they cross the data stage as those of shared memory do."""
    waves = np.int64(access.data_cycles)
    warp.data_free = max(pass_data_stage(sm, mach, leaves, waves, warp.data_free)[1], sm.tag_stage)
    sm.counters[STAGE_CYCLES] += waves
    there = warp.data_free + mach.l1_after_data
    if is_copy:
        copy_arrived(warp, token, there)
    else:
        settle_board(warp, token, there)


@njit(cache=True, nogil=True)
def pass_l1(st, mach, s, w, row, access, base, token, leaves):
    """Look a load up in L1: (number of its request to L2, 0 when it needs none; lines that it need not ask for)."""
    sm, warp, is_copy = st.sms[s], st.warps[s, w], row.kind == ASYNC_COPY
    number, skip, answers, sectors, hits = look_up(st.l1, s, access, base, w, token, warp.age, is_copy)
    sm.counters[L1_SECTORS] += sectors
    sm.counters[L1_HITS] += hits
    if answers == 0:
        hit_l1(sm, warp, mach, access, token, is_copy, leaves)
    else:
        expect_answers(warp, token, is_copy, answers - 1)
    return number, skip


@njit(cache=True, nogil=True)
def requests_sent(access, skip):
    """How many requests an access sends to L2: none for lines that L1 has, or expects, a bit of ``skip`` each."""
    requests = np.int64(access.count)
    while skip:
        skip &= skip - 1
        requests -= 1
    return requests


@njit(cache=True, nogil=True)
def write_memory(st, mach, acc, bases, win, s, w, row, op, token, start):
    """STG, RED: into the queue in front of the port, then a request for what no other store brings."""
    sm, warp = st.sms[s], st.warps[s, w]
    access = acc[row.access + warp.warp_row]
    base = bases[warp.cta, access.tensor] + row.global_offset
    joins = row.kind == GLOBAL_STORE and row.flags & FLAG == 0
    leaves, turns, skip = store(sm, warp, mach, row, access, st.l1.lines, base, st.stores[s], start, joins)
    if access.count == 0:
        return
    record_stage(win, sm, w, warp, row.pc, op, np.int64(access.count))
    if requests_sent(access, skip):
        request = win.requests[win.counts[0]]
        post(sm, warp, request, base, access, s, w, row, op, leaves, token, np.int64(0), skip, turns)
        win.counts[0] += 1


@njit(cache=True, nogil=True)
def reach_memory(st, mach, acc, bases, win, s, w, row, op, token, start):
    """A load or copy: through the load/store unit, then a request if any lane needs what L1 does not have, behind the
    lines of all stores that the unit has taken before, through the same port (loads_behind_writes.csv)."""
    sm, warp = st.sms[s], st.warps[s, w]
    access = acc[row.access + warp.warp_row]
    leaves = global_access(sm, warp, mach, row, access, start)
    if row.kind == ASYNC_COPY:
        record_stage(win, sm, w, warp, row.pc, op, np.int64(1))
    if access.count == 0:
        return
    base, number, skip = bases[warp.cta, access.tensor] + row.global_offset, np.int64(0), np.int64(0)
    if row.cached:
        stage = sm.data_stage
        number, skip = pass_l1(st, mach, s, w, row, access, base, token, leaves)
        if sm.data_stage > stage:
            record_stage(win, sm, w, warp, row.pc, op, np.int64(access.data_cycles))
    if number or not row.cached:
        request = win.requests[win.counts[0]]
        post(sm, warp, request, base, access, s, w, row, op, max(leaves, sm.write_port), token, number, skip,
             np.int64(access.data_cycles))
        request.reads = requests_sent(access, skip)
        sm.under_way += request.reads
        win.counts[0] += 1


@njit(cache=True, nogil=True, forceinline=True)
def begins_apart(mach, row, waves, matrices):
    """How long an ldmatrix begins behind another one for which it has waited: longer if it loads four matrices without
    conflicts (load_pairs.csv; two matrices, and others with conflicts, one cycle). 0: it is none."""
    if row.kind != LDMATRIX:
        return np.int64(0)
    four = waves == matrices and waves * mach.wavefront_interval == MATRIX_CYCLES
    return np.int64(mach.matrix_start if four else min(1, mach.matrix_start))


@njit(cache=True, nogil=True)
def return_registers(sm, part, mach, w, warp, row, registers, waves, there):
    """A load whose last wavefront has been ``there``: ldmatrix fills a register with every one or two of them, further
    apart than anything stops them when it takes more; other loads all of theirs at the end (load_stops.csv)."""
    interval = mach.wavefront_interval * waves // registers
    if row.kind != LDMATRIX:
        interval, there = np.int64(1), there + registers - 1
    elif waves >= 2 * registers:
        registers = np.int64(1)
    expect_return(sm, part, mach, w, warp, row.write_barrier, registers, there, interval)


@njit(cache=True, nogil=True)
def reach_shared(st, mach, acc, win, s, w, row, op, start):
    """LDS, LDSM, STS, STSM, or a shuffle, which has no addresses: operands, then a path through the data stage, then
    registers. The latency of an instruction is that of one wavefront.

    What works out banks takes an ldmatrix at once (store_meet.csv: of four that come together two and two have their
    data), other accesses by groups of lanes.
    """
    sm, warp, waves, groups, registers = st.sms[s], st.warps[s, w], np.int64(1), np.int64(1), np.int64(0)
    loads, beside_stores = row.kind == SHARED_LOAD or row.kind == LDMATRIX, False
    if row.access >= 0:
        access = acc[row.access + warp.warp_row]
        waves = np.int64(access.wavefronts)
        groups = np.int64(1 if row.kind == LDMATRIX else access.ideal)
        registers = np.int64(access.registers)
        place = warp.cta_slot * mach.cta_shared_bytes + row.shared_offset + access.shared_last
        beside_stores = place >= mach.stores_from
        count_shared(sm, access, LOAD if loads else STORE)
    arrival = pass_addresses(sm, start, groups) + row.lead_cycles
    pass_in_order(sm, warp, mach, row, arrival, waves, start, beside_stores, begins_apart(mach, row, waves, registers))
    there = warp.data_free + row.latency - mach.wavefront_interval
    if registers and row.write_barrier != NO_BOARD:
        return_registers(sm, st.parts[s, w % 4], mach, w, warp, row, registers, waves, there)
    else:
        settle_board(warp, row.write_barrier, there)
    settle_board(warp, row.read_barrier, operands_read(mach, start, row))
    sm.counters[LDSM_COUNT] += row.kind == LDMATRIX
    record_stage(win, sm, w, warp, row.pc, op, waves)


@njit(cache=True, nogil=True)
def close_copies(sm, mach, row, time):
    """LDGDEPBAR: it leaves the queue for the tag stage as copies do, but has passed when all lines before it have."""
    pass_buffer(sm, mach, max(time, tag_room(sm, mach, mach.commit_tags)))
    occupy_tags(sm, mach, sm.tag_begun - mach.tag_lead, mach.commit_tags)
    sm.drained = max(sm.drained, sm.tag_passed - mach.tag_lead)
    sm.copy_writes = max(sm.copy_writes, time) + mach.commit_write


@njit(cache=True, nogil=True)
def accept(st, mach, ops, acc, bases, win, s, time):
    """The load/store unit takes the next instruction out of its queue at ``time``.

    Returns the sub-partition and the warp slot.
    """
    sm, p = st.sms[s], st.sms[s].next_part
    part = st.parts[s, p]
    i = take_head(sm, part, mach, p, time)
    w, op, work = part.queue_slot[i], part.queue_op[i], part.queue_work[i]
    warp, row = st.warps[s, w], ops[op]
    warp.queued -= 1
    warp.sent = time + 1
    if work == COMMITS:
        close_copies(sm, mach, row, time)
    elif work == ORDERS:
        pass_fence(sm, warp, row, time)
    elif work == NOTHING:
        sm.address_path = time + row.address_cycles
        if row.kind == SHARED_LOAD or row.kind == LDMATRIX:
            pass_in_order(sm, warp, mach, row, time, np.int64(1), time)
        else:
            take_turn(sm, mach, time)
        record_stage(win, sm, w, warp, row.pc, op, np.int64(1))
    else:
        sm.address_path = time + addresses_cross(part, win, row, time)
        start = read_operands(part, mach, win, row, time)
        if row.data_turns:
            start += cross_data(sm, part, row, start)
        if work == SIGNALS:
            use_mbarrier(st, mach, ops, acc, win, s, w, row, part.queue_token[i], start)
            record_stage(win, sm, w, warp, row.pc, op, np.int64(1))
        elif work == SHARED:
            reach_shared(st, mach, acc, win, s, w, row, op, start)
        elif writes(row):
            write_memory(st, mach, acc, bases, win, s, w, row, op, part.queue_token[i], start)
        else:
            reach_memory(st, mach, acc, bases, win, s, w, row, op, part.queue_token[i], start)
    follow_barrier(st, ops, s, w, time)
    choose_next(sm, st.parts[s], mach, time)
    return p, w
