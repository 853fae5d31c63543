"""Models what an instruction does when it issues: which pipe, queue and stage it takes, and when its barriers release.
Leaves out when it may issue (gpusim.engine.scoreboards) and who is chosen (gpusim.engine.scheduler)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.attribution import record
from gpusim.engine.image import ACTIVE, VARIABLE
from gpusim.engine.resources import enqueue, pass_data_stage, pass_tag_stage, queue_of, send_operands
from gpusim.engine.result import EVENT_KINDS
from gpusim.engine.scoreboards import close_group, ready_time
from gpusim.engine.state import COUNTERS, GROUPS, NEVER

__all__ = ["execute"]

NO_BOARD = 7
KINDS = {name: int(member) for name, member in Kind.__members__.items()}
MMA, LDMATRIX, SHARED_LOAD, SHUFFLE = KINDS["mma"], KINDS["ldmatrix"], KINDS["shared_load"], KINDS["shuffle"]
ASYNC_COPY, COMMIT, GLOBAL_LOAD, GLOBAL_STORE = (
    KINDS["async_copy"], KINDS["commit"], KINDS["global_load"], KINDS["global_store"])
ATOMIC, BARRIER, EXIT = KINDS["atomic"], KINDS["barrier"], KINDS["exit"]
NO_PIPE, LSU = int(Pipe.none), int(Pipe.lsu)
REQUESTS, WAVEFRONTS, IDEAL, CONFLICTS = 0, 3, 6, 9  # first of load, store, ldgsts in COUNTERS
LOAD, STORE, LDGSTS = 0, 1, 2
HMMA_COUNT, LDSM_COUNT, LDGSTS_COUNT, STAGE_CYCLES = (
    COUNTERS.index(name) for name in ("hmma_instructions", "ldsm_instructions", "ldgsts_instructions",
                                      "data_stage_cycles"))
SHARED_EVENT, MMA_EVENT = EVENT_KINDS.index("shared"), EVENT_KINDS.index("mma")
ADDRESS_REGISTERS = 1


@njit(cache=True, nogil=True)
def count_shared(st, s, access, side):
    counters = st.counters[s]
    counters[REQUESTS + side] += 1
    counters[WAVEFRONTS + side] += access.wavefronts
    counters[IDEAL + side] += access.ideal
    counters[CONFLICTS + side] += access.conflicts


@njit(cache=True, nogil=True)
def release(st, s, w, board, time, is_long):
    """An internal result or operand read releases a scoreboard barrier at ``time``."""
    if board != NO_BOARD:
        st.scoreboard[s, w, board] = max(st.scoreboard[s, w, board], time)
        st.long_board[s, w, board] = is_long


@njit(cache=True, nogil=True)
def operands_read(mach, start, row):
    """Cycle at which the load/store unit has read all registers of an instruction whose operands start at ``start``."""
    return start + mach.read_release_base + row.operand_registers * 128 // mach.operand_bytes_per_cycle


@njit(cache=True, nogil=True)
def shared_access(st, mach, acc, win, rec, s, w, row, time):
    """LDS, LDSM, STS, STSM, SHFL: operands, queue, data stage; one wavefront every other cycle for one warp alone."""
    p = w % 4
    start = send_operands(st, mach, s, p, time, max(row.operand_registers, ADDRESS_REGISTERS))
    arrival = start + max(row.operand_registers - ADDRESS_REGISTERS, 0) * 128 // mach.operand_bytes_per_cycle
    waves = 1
    if row.access >= 0:
        access = acc[row.access + st.warp_row[s, w]]
        waves = access.wavefronts
        is_load = row.kind == SHARED_LOAD or row.kind == LDMATRIX
        count_shared(st, s, access, LOAD if is_load else STORE)
    passed = pass_data_stage(st, s, arrival, waves)
    st.counters[s, STAGE_CYCLES] += waves
    alone = max(arrival, st.data_free[s, w]) + mach.shared_latency_per_wavefront * waves
    st.data_free[s, w] = max(passed, alone)
    enqueue(st, mach, s, p, 0, passed)
    release(st, s, w, row.write_barrier, max(passed, alone) + mach.shared_latency_base, 0)
    release(st, s, w, row.read_barrier, operands_read(mach, start, row), 0)
    st.counters[s, LDSM_COUNT] += row.kind == LDMATRIX
    record(st, win, rec, s, w, SHARED_EVENT, 0, row.pc, st.op[s, w], passed - waves, passed)


@njit(cache=True, nogil=True)
def post(st, win, bases, acc, s, w, row, time, token):
    """Send a global access to the memory system; it is answered in a later window."""
    access = acc[row.access + st.warp_row[s, w]]
    request = win.requests[win.counts[0]]
    request["time"], request["sm"], request["slot"], request["token"] = time, s, w, token
    cta = st.slot_cta[s, st.cta_slot[s, w]]
    request["base"] = bases[cta, access.tensor] + row.global_offset
    request["first"], request["count"], request["data_bytes"] = access.first, access.count, access.data_bytes
    request["is_write"], request["asynchronous"] = row.kind == GLOBAL_STORE, row.kind == ASYNC_COPY
    request["sequence"], request["op"] = st.sequence[s], st.op[s, w]
    st.sequence[s] += 1
    win.counts[0] += 1


@njit(cache=True, nogil=True)
def global_access(st, mach, acc, bases, win, s, w, row, time):
    """LDG, STG, LDGSTS: operands, queue, tags; then the memory system decides."""
    p = w % 4
    access = acc[row.access + st.warp_row[s, w]]
    start = send_operands(st, mach, s, p, time, row.operand_registers)
    arrival = start + row.operand_registers * 128 // mach.operand_bytes_per_cycle
    tags = pass_tag_stage(st, mach, s, arrival, access.count)
    enqueue(st, mach, s, p, 1, st.tag_stage[s])
    release(st, s, w, row.read_barrier, operands_read(mach, start, row), 0)
    token = 0
    if row.kind == ASYNC_COPY:
        token = st.group_tail[s, w] % GROUPS
        count_shared(st, s, access, LDGSTS)
        st.counters[s, LDGSTS_COUNT] += 1
        st.group_missing[s, w, token] += access.count > 0
    elif row.kind == GLOBAL_STORE:
        st.drain[s, w] = st.tag_stage[s]
    else:
        token = row.write_barrier
        if token != NO_BOARD:
            st.pending[s, w, token] += access.count > 0
            st.long_board[s, w, token] = 1
    if access.count > 0:
        post(st, win, bases, acc, s, w, row, tags, token)


@njit(cache=True, nogil=True)
def arrive(st, mach, ops, s, w, row, time):
    """BAR.SYNC: warps arrive one by one at the SM's barrier unit; the last one releases all."""
    slot, barrier = st.cta_slot[s, w], row.operand & 15
    st.barrier_unit[s] = max(st.barrier_unit[s], time) + mach.barrier_per_warp
    st.slot_arrived[s, slot, barrier] += 1
    st.barrier_end[s, w] = NEVER + barrier
    if st.slot_arrived[s, slot, barrier] < st.slot_warps[s, slot]:
        return
    st.slot_arrived[s, slot, barrier] = 0
    end = st.barrier_unit[s] + mach.barrier_base
    for other in range(st.live.shape[1]):
        if st.live[s, other] and st.cta_slot[s, other] == slot and st.barrier_end[s, other] == NEVER + barrier:
            st.barrier_end[s, other] = end
            if other != w:
                st.ready[s, other] = ready_time(st, s, other, ops[st.op[s, other]])
                p = other % 4
                st.next_issue[s, p] = min(st.next_issue[s, p], st.ready[s, other])


@njit(cache=True, nogil=True)
def execute(st, mach, ops, acc, bases, win, rec, s, w, row, time):
    """Effects of issuing ``row`` at ``time``, all but EXIT."""
    if not row.flags & ACTIVE:
        return
    queue = queue_of(row)
    if queue == 0:
        shared_access(st, mach, acc, win, rec, s, w, row, time)
    elif queue == 1:
        global_access(st, mach, acc, bases, win, s, w, row, time)
    elif row.kind == COMMIT:
        close_group(st, s, w, row.write_barrier, time + row.latency)
    elif row.kind == BARRIER:
        arrive(st, mach, ops, s, w, row, time)
    else:
        if row.pipe != NO_PIPE and row.pipe != LSU:
            st.pipe_free[s, w % 4, row.pipe] = time + row.interval
        if row.kind == MMA:
            st.counters[s, HMMA_COUNT] += 1
            record(st, win, rec, s, w, MMA_EVENT, 0, row.pc, st.op[s, w], time, time + row.interval)
        if row.flags & VARIABLE:
            release(st, s, w, row.write_barrier, time + row.latency, 0)
            release(st, s, w, row.read_barrier, time + row.latency, 0)
