"""Models reads of registers: what tensor instructions, arithmetic and the load/store unit lose to each other's.
Leaves out which bank a register stands in: what counts is how many an instruction reads (DEVIATIONS 1 and 2)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch import GpuSpec
from gpusim.arch.instructions import Pipe
from gpusim.engine.image import ACTIVE
from gpusim.engine.state import HOLDS, TENSOR_READS, VECTOR_PLACES

__all__ = ["addresses_cross", "charge_vector", "cross_data", "dispatch_time", "hold_tensor", "operands_read",
           "read_operands", "reads_of_kinds", "uses_tensor"]

LSU, NO_PIPE, UNIFORM, TENSOR = int(Pipe.lsu), int(Pipe.none), int(Pipe.uniform), int(Pipe.tensor)


def reads_of_kinds(spec: GpuSpec) -> tuple[np.ndarray, np.ndarray]:
    """``spec.tensor_reads`` for compiled code: (R,) TENSOR_READS, and (R, 2, VECTOR_PLACES) cycles by place behind the
    instruction, for arithmetic that writes a register and for what writes predicates only."""
    kinds = (spec.issue.tensor_reads, *spec.tensor_reads[1:])
    costs = np.zeros((len(kinds), 2, VECTOR_PLACES))
    for rows, kind in zip(costs, kinds, strict=True):
        for row, cycles in zip(rows, (kind.vector_cost_cycles, kind.predicate_cost_cycles), strict=True):
            row[1:1 + len(cycles)] = cycles
    table = [(kind.fetch_cycles, kind.triple_after_cycles, kind.vector_after_cycles, kind.after_triple_cycles,
              kind.registers, kind.vector_turn_cost_cycles, kind.register_cost_cycles,
              kind.first_read_cycles, kind.stop_after_cycles, kind.stop_cycles) for kind in kinds]
    return np.array(table, TENSOR_READS), costs


@njit(cache=True, nogil=True)
def uses_tensor(part, time):
    """Whether the sub-partition's tensor pipe is busy."""
    return part.tensor_end > time


@njit(cache=True, nogil=True)
def hold_tensor(part, cycles):
    """The tensor instruction beside which others' registers are read keeps its pipe that much longer; parts of a cycle
    add up. Returns the whole cycles."""
    owed = part.tensor_owed + cycles
    whole = np.int64(owed)
    part.tensor_owed = owed - whole
    part.tensor_end += whole
    part.unit_free[TENSOR] = max(part.unit_free[TENSOR], part.tensor_end)
    return whole


@njit(cache=True, nogil=True, forceinline=True)
def charge_vector(part, win, row, time):
    """Arithmetic that reads one or two registers and is issued at ``time``, beside a tensor instruction."""
    if not row.vector:
        return
    place = time - part.tensor_start
    if place < 1 or place >= min(part.tensor_interval, VECTOR_PLACES):
        return
    cost = win.vector_costs[part.tensor_reads, row.vector - 1, place]
    if place == 1 and part.tensor_turn and row.vector == 1:
        cost = win.reads[part.tensor_reads].turn_cost
    if cost > 0:
        part.tensor_due += hold_tensor(part, cost)


@njit(cache=True, nogil=True, forceinline=True)
def cycles_beside(part, reads, registers):
    """How long the LSU takes for so many registers beside tensor instructions."""
    return np.int64(registers * (part.tensor_interval / reads.registers + reads.register_cost))


@njit(cache=True, nogil=True)
def addresses_cross(part, win, row, time):
    """For how long an instruction has the way of addresses that all sub-partitions share: a copy from its first one to
    its second one, which beside a tensor instruction is read in the next interval (tensor_shares.csv, four askers)."""
    alone = np.int64(row.address_cycles)
    if alone > 1 and uses_tensor(part, time):
        return max(alone, cycles_beside(part, win.reads[part.tensor_reads], alone - 1))
    return alone


@njit(cache=True, nogil=True)
def read_operands(part, mach, win, row, time):
    """The LSU reads the registers of an instruction that it takes at ``time``; returns when it begins to.

    It has a path of its own per sub-partition, at half the rate of a register bank, and keeps the dispatcher from
    reading for a cycle per pair of registers only. Beside tensor instructions it reads one register in each of their
    intervals, or as many as their kind lets it, which get longer by it, each in a cycle of its own, and begins when the
    tensor instruction has read its own.
    """
    start, free, hold = time, time + row.path_cycles, row.hold_cycles
    if uses_tensor(part, time):
        reads = win.reads[part.tensor_reads]
        start = max(time, part.tensor_start + reads.first_read)
        start += max(0, cycles_beside(part, reads, row.registers - 1) - row.lead_cycles)
        free = max(free, time + cycles_beside(part, reads, row.registers))
        hold_tensor(part, row.registers * reads.register_cost)
        hold = row.registers * mach.register_read
    part.operand_free = free
    if part.hold_last - part.hold_first >= HOLDS:
        part.hold_first += 1
    part.hold_start[part.hold_last % HOLDS] = start + mach.read_release_base
    part.hold_end[part.hold_last % HOLDS] = start + mach.read_release_base + hold
    part.hold_last += 1
    return start


@njit(cache=True, nogil=True)
def cross_data(sm, part, row, start):
    """What all sub-partitions store takes one path, a register a cycle, beside their addresses. Returns by how much
    later than read it is all there (access_reads.csv)."""
    first = start + row.data_lead
    if first > sm.data_path:
        sm.data_begun = first
    sm.data_path = max(sm.data_path, first) + row.data_turns
    part.crossing = sm.data_path
    late = max(0, sm.data_path - (start + row.operand_cycles))
    part.operand_free += late
    return late


@njit(cache=True, nogil=True)
def wide_start(part, mach, time):
    """IMAD.WIDE reads registers twice, which a tensor instruction in the middle of its own reads does not allow."""
    begun = part.tensor_start
    if time <= begun + mach.tensor_last_read:
        return max(time, begun + mach.wide_between_tensor)
    return max(time, begun + mach.wide_after_tensor)


@njit(cache=True, nogil=True)
def tensor_start(part, reads, fetches, time):
    """A tensor instruction reads behind arithmetic; a new A operand later than that, where no pause of the pipe hides
    it."""
    fetch = reads.fetch if fetches else 0
    start = max(time, max(part.triple_start + reads.after_triple + fetch, part.vector_start + 1))
    if start <= part.tensor_end and part.vector_start + 1 == start:
        start += fetch
    return start


@njit(cache=True, nogil=True, forceinline=True)
def dispatch_time(part, mach, win, row, time):
    """When an instruction that is issued at ``time`` can read its registers; the LSU reads those of its own later, and
    costs tensor instructions what ``hold_tensor`` says."""
    if row.queue >= 0 or row.pipe == NO_PIPE or row.pipe == UNIFORM or row.pipe == LSU or not row.flags & ACTIVE:
        return time
    if row.wide:
        time = wide_start(part, mach, time)
    elif row.triple:
        time = max(time, part.tensor_start + win.reads[part.tensor_reads].triple_after + part.fetched)
    elif row.vector == 1:
        time = max(time, part.tensor_start + win.reads[part.tensor_reads].vector_after)
    elif row.pipe == TENSOR:
        return tensor_start(part, win.reads[row.reads], row.fetches, time)
    while part.hold_first < part.hold_last and part.hold_end[part.hold_first % HOLDS] <= time:
        part.hold_first += 1
    i = part.hold_first
    while i < part.hold_last and part.hold_start[i % HOLDS] <= time:
        time = max(time, part.hold_end[i % HOLDS])
        i += 1
    return time


@njit(cache=True, nogil=True)
def operands_read(mach, start, row):
    """Cycle at which the load/store unit has read all registers of an instruction whose operands start at ``start``."""
    return start + mach.read_release_base + row.operand_cycles
