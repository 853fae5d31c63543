"""Models the control fields ptxas writes: stall counts for fixed latencies and pipes, waits for barriers, yield hints.
Leaves out register reuse flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gpusim.arch import Kind, Pipe
from gpusim.dsl.backend.barriers import COMMIT_BARRIER, BarrierFields, assign_barriers
from gpusim.dsl.backend.instruction import (
    FENCES,
    IN_ORDER,
    Instruction,
    arithmetic_leads,
    late_reads,
    place_beside_tensor,
)
from gpusim.dsl.backend.state import FlowState, Pending
from gpusim.dsl.backend.uses import Dues, Edges, dues_of_blocks
from gpusim.program import NO_BARRIER, UNIFORM_BASE

__all__ = ["MAX_STALL_CYCLES", "ControlFields", "control_fields"]

MAX_STALL_CYCLES = 15
"""Four bits in the encoding."""

_SET_TO_WAIT_CYCLES = 2
"""A barrier counts one cycle after the instruction that sets it, so a wait stands two cycles behind (as in every
h200/sass listing)."""


_DESCRIPTOR_CYCLES = 5
"""A uniform result reaches a wgmma's descriptors so much later than other pipes: UIADD3 to HGMMA takes 11 cycles in
CUTLASS's sm90 loops as ptxas 13 compiles them, but behind WARPGROUP.ARRIVE, for which the next wgmma waits anyway."""


@dataclass
class ControlFields:
    """Control fields of one block, rows in scheduled order. ``gap_cycles[row]``: cycles from this instruction to the
    next one, possibly more than one stall count holds. ``yields[row]``: the scheduler had better take another warp."""

    barriers: BarrierFields
    yields: list[bool]
    wait_mask: list[int] = field(default_factory=list)
    gap_cycles: list[int] = field(default_factory=list)


@dataclass
class _Block:
    number: int
    code: Sequence[Instruction]
    dues: Dues
    fields: ControlFields
    entry: FlowState
    entry_delay_cycles: int = 0


def control_fields(codes: Sequence[Sequence[Instruction]], edges: Edges) -> list[ControlFields]:
    """Fields that keep every register hazard apart on every way through ``edges``.

    One block has one set of fields, as compiled code has, so its entry state joins those of all blocks that may precede
    it, itself included; what its first instruction must wait goes into the stall count of the one before.
    """
    dues = dues_of_blocks(codes, edges)
    barriers = assign_barriers(codes, dues, edges)
    blocks = [_Block(i, code, dues[i], ControlFields(barriers[i], _yields(code)), FlowState())
              for i, code in enumerate(codes)]
    unsettled = set(range(len(blocks)))
    while unsettled:
        number = min(unsettled)
        unsettled.remove(number)
        leaving = _run(blocks[number])
        unsettled |= {after for before, after in edges if before == number and blocks[after].entry.merge(leaving)}
    for before, block in enumerate(blocks):
        delays = [blocks[after].entry_delay_cycles for source, after in edges if source == before]
        block.fields.gap_cycles[-1] += max(delays, default=0)
    return [block.fields for block in blocks]


def _yields(code: Sequence[Instruction]) -> list[bool]:
    """In front of the first tensor instruction of each k step: so, and nowhere else, 148 loops of mma.sync by ptxas
    13.0 (access_spacing.csv). Most of them begin with one, which has nothing of the loop in front of it."""
    yields, sums = [False] * len(code), set[tuple[int, ...]]()
    for row, instruction in enumerate(code):
        if instruction.kind != Kind.mma:
            continue
        if not sums or instruction.writes in sums:
            if row:
                yields[row - 1] = True
            sums.clear()
        sums.add(instruction.writes)
    return yields


def _run(block: _Block) -> FlowState:
    """Fills in the fields for the block's entry state; the state when its last instruction lets another one issue,
    which is the next cycle, or, behind a branch, when that is resolved."""
    state = block.entry.moved(0)
    fields = block.fields
    fields.wait_mask, cycles, earliest = [], [], 0
    waits_anyway = False
    leads = arithmetic_leads(block.code)
    for row, instruction in enumerate(block.code):
        mask = state.wait_mask(instruction.reads, instruction.writes, IN_ORDER.get(instruction.kind))
        delay = _DESCRIPTOR_CYCLES if instruction.kind == Kind.wgmma and not waits_anyway else 0
        waits_anyway = instruction.kind == Kind.wgmma_control or (waits_anyway and instruction.kind != Kind.wgmma)
        cycle = place_beside_tensor(instruction, leads, state.pipe_free.get(Pipe.tensor, 0),
                                    _issue_cycle(state, instruction, mask, earliest, delay))
        state.waited(mask)
        _after_issue(state, block, row, cycle)
        fields.wait_mask.append(mask)
        cycles.append(cycle)
        earliest = cycle + (instruction.interval_cycles if instruction.kind in FENCES else 1)
    block.entry_delay_cycles = cycles[0]
    fields.gap_cycles = [later - cycle for cycle, later in pairwise([*cycles, earliest])]
    return state.moved(earliest)


def _issue_cycle(state: FlowState, instruction: Instruction, mask: int, earliest: int, delay: int) -> int:
    """``delay``: cycles that uniform results take longer to get here."""
    reads = [instruction.after(state.ready[unit], unit) + (delay if unit >= UNIFORM_BASE else 0)
             for unit in instruction.reads if unit in state.ready]
    writes = [state.ready[unit].own - instruction.latency_cycles + 1
              for unit in instruction.writes if unit in state.ready]
    waits = [at + _SET_TO_WAIT_CYCLES for barrier, at in state.set_at.items() if _watches(instruction, mask, barrier)]
    return max([earliest, state.pipe_free.get(instruction.pipe, 0), *reads, *writes, *waits])


def _watches(instruction: Instruction, mask: int, barrier: int) -> bool:
    return bool(mask >> barrier & 1) or (instruction.kind == Kind.depbar and barrier == COMMIT_BARRIER)


def _after_issue(state: FlowState, block: _Block, row: int, cycle: int) -> None:
    instruction = block.code[row]
    state.pipe_free[instruction.pipe] = cycle + instruction.interval_cycles
    if instruction.kind == Kind.commit:
        state.seal(IN_ORDER[Kind.async_copy])
    if not instruction.variable:
        state.ready.update(dict.fromkeys(instruction.writes, instruction.result.moved(cycle)))
        return
    _set_barriers(state, block, row, cycle)


def _set_barriers(state: FlowState, block: _Block, row: int, cycle: int) -> None:
    instruction, barriers = block.code[row], block.fields.barriers
    write, read = barriers.write[row], barriers.read[row]
    order_class = IN_ORDER.get(instruction.kind)
    own_result = (write,) if write != NO_BARRIER else ()
    own_operands = own_result + ((read,) if read != NO_BARRIER else ())
    if block.dues.result[row] is not None:
        units = frozenset(instruction.writes)
        state.pending[block.number, row, True] = Pending(units, True, order_class, own_result)
    if block.dues.operands[row] is not None:
        units = frozenset(late_reads(instruction))
        state.pending[block.number, row, False] = Pending(units, False, order_class, own_operands[::-1])
    for barrier in {write, read} - {NO_BARRIER}:
        state.set_at[barrier] = cycle
        state.cover(order_class, barrier, results=barrier == write)
