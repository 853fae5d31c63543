"""Models the choice among the six scoreboard barriers: who needs one, who is covered by a later one, who shares.
Leaves out the waits (gpusim.dsl.backend.control), which are right whatever is chosen here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpusim.arch import Kind, Pipe, ResultCycles
from gpusim.dsl.backend.instruction import IN_ORDER, Instruction, accumulates, has_tensor_work, late_reads
from gpusim.dsl.backend.uses import Dues, Edges
from gpusim.program import NO_BARRIER

__all__ = ["COMMIT_BARRIER", "NUM_BARRIERS", "BarrierFields", "assign_barriers", "in_time"]

NUM_BARRIERS = 6
COMMIT_BARRIER = 0
"""LDGDEPBAR counts cp.async groups on SB0, where DEPBAR.LE looks; nobody else uses it in a kernel that has groups."""

BATCH_CYCLES, IN_TIME_CYCLES = 48, 30
"""A fragment load takes the barrier of an earlier one if their first uses are no further apart than the first, and if
the earlier use comes no sooner than the second and as long again as the uses are apart behind the load, so that nobody
waits for it. So do 707 of 784 pairs of loads in 148 loops of mma.sync (load_barriers.csv); most of the others are a few
cycles off. With warps of 64x64 the loads of a k step take two barriers where there is time, and four where tensor
instructions wait for them."""

BATCH_ROWS = 8
"""Beside products on the fma pipe: uses so many instructions apart. Where nothing multiplies only what one instruction
awaits shares a barrier (183 of 1,848 pairs of LDS in epilogues of h200/cutlass_replays.csv; 94 more are far apart)."""

MOST_OF_GLOBAL_LOADS = 4
"""Barriers that loads from global memory take at once: two to four in 19 loops of MmaPipelined as nvcc 13.0 compiles
them (h200/cutlass_replays.csv). A fragment load that has to share one makes the multiplication wait for them."""


@dataclass(frozen=True)
class BarrierFields:
    """Per row of a block: OP.write_barrier and OP.read_barrier."""

    write: list[int]
    read: list[int]


@dataclass(frozen=True)
class _Claim:
    """A barrier in use until position ``due``, by instructions of one kind, for their results or for their operands."""

    barrier: int
    due: int
    kind: Kind
    is_result: bool


def assign_barriers(codes: Sequence[Sequence[Instruction]], dues: Sequence[Dues], edges: Edges) -> list[BarrierFields]:
    """Barriers of every block. The second round knows what is still in use when a loop comes round."""
    has_groups = any(instruction.kind == Kind.commit for code in codes for instruction in code)
    pool = tuple(barrier for barrier in range(NUM_BARRIERS) if not (has_groups and barrier == COMMIT_BARRIER))
    leftover: dict[int, list[_Claim]] = {}
    fields = {}
    for _ in range(2):
        for block, code in enumerate(codes):
            carried = [claim for before, after in edges if after == block for claim in leftover.get(before, [])]
            fields[block], leftover[block] = _assign(code, dues[block], pool, carried)
    return [fields[block] for block in range(len(codes))]


def _assign(code: Sequence[Instruction], dues: Dues, pool: tuple[int, ...],
            claims: list[_Claim]) -> tuple[BarrierFields, list[_Claim]]:
    write_due, read_due = _needs(code, dues)
    cycles = _issue_cycles(code) if has_tensor_work(code) else None
    batch_rows = BATCH_ROWS if any(map(accumulates, code)) else 0
    fields = BarrierFields([NO_BARRIER] * len(code), [NO_BARRIER] * len(code))
    for row, instruction in enumerate(code):
        claims = [claim for claim in claims if claim.due > row]
        for due, target in ((write_due[row], fields.write), (read_due[row], fields.read)):
            if due is not None:
                wanted = _Claim(NO_BARRIER, due, instruction.kind, target is fields.write)
                target[row] = _choose(pool, claims, wanted, _Place(row, len(code), cycles, batch_rows))
                claims.append(replace(wanted, barrier=target[row]))
        if instruction.kind == Kind.commit:
            fields.write[row] = COMMIT_BARRIER
    return fields, [replace(claim, due=claim.due - len(code)) for claim in claims if claim.due >= len(code)]


@dataclass(frozen=True)
class _Place:
    """Where in a block a barrier is wanted. ``cycles``: when each row issues, if the block has tensor work, else uses
    of a shared one are no more than ``batch_rows`` apart."""

    row: int
    rows: int
    cycles: Sequence[int] | None
    batch_rows: int

    def joins(self, due: int, first_due: int) -> bool:
        """Whether a result that is awaited at ``due`` takes the barrier of one that is awaited at ``first_due``."""
        if self.cycles is None:
            return 0 <= due - first_due <= self.batch_rows
        return in_time(self.cycles[self.row], self.cycles[first_due], self.cycles[due])


def in_time(issue: int, first_use: int, use: int) -> bool:
    """Whether a load that issues then is there soon enough to be awaited with one used ``first_use``; in cycles."""
    apart = use - first_use
    return 0 <= apart <= BATCH_CYCLES and issue + IN_TIME_CYCLES + apart <= first_use


def _issue_cycles(code: Sequence[Instruction]) -> list[int]:
    """(rows + 1,) when each row issues as a compiler sees it, and the block's end; all that comes in is there."""
    free: dict[Pipe, int] = {}
    ready: dict[int, ResultCycles] = {}
    cycles: list[int] = []
    now = 0
    for instruction in code:
        waits = [instruction.after(ready[unit], unit) for unit in instruction.reads if unit in ready]
        now = max([now, free.get(instruction.pipe, 0), *waits])
        cycles.append(now)
        free[instruction.pipe] = now + instruction.interval_cycles
        ready.update(dict.fromkeys(instruction.writes, instruction.result.moved(now)))
        now += 1
    return [*cycles, now]


def _needs(code: Sequence[Instruction], dues: Dues) -> tuple[list[int | None], list[int | None]]:
    """Dues of those that need a barrier of their own: no later one of the same in-order class is awaited as early.

    Copies of another group say nothing: a predicate may keep them from setting theirs.
    """
    write_due: list[int | None] = [None] * len(code)
    read_due: list[int | None] = [None] * len(code)
    returned: dict[int, int] = {}  # by in-order class: due of the soonest awaited later result,
    consumed: dict[int, int] = {}  # and of the soonest awaited later operands or result
    for row in reversed(range(len(code))):
        instruction, result, operands = code[row], dues.result[row], dues.operands[row]
        order_class = IN_ORDER.get(instruction.kind, -1 - row)
        if instruction.kind == Kind.commit:
            consumed.pop(IN_ORDER[Kind.async_copy], None)
        if instruction.variable and result is not None and result < returned.get(order_class, result + 1):
            write_due[row] = returned[order_class] = result
            consumed[order_class] = min(result, consumed.get(order_class, result))
        if late_reads(instruction) and operands is not None and operands < consumed.get(order_class, operands + 1):
            read_due[row] = consumed[order_class] = operands
    return write_due, read_due


def _choose(pool: Sequence[int], claims: Sequence[_Claim], wanted: _Claim, place: _Place) -> int:
    """The barrier that delays nobody: one that the same kind uses until then, or, where results return in order, until
    shortly before; else a free one (but for loads from global memory that have many); else one of the same kind; else
    the one whose present users are awaited soonest after this one (they are older, so done), else the last awaited one.

    Whatever is awaited beyond the block shares one barrier, so its first user waits for all: ptxas does so in the 60
    loops of h200/src/gemm.cu for the fragments that the next iteration starts with.
    """
    alike = {claim.barrier: min(_first_due(claims, claim.barrier), place.rows) for claim in claims
             if (claim.kind, claim.is_result) == (wanted.kind, wanted.is_result)}
    due = min(wanted.due, place.rows)
    in_order = wanted.kind in IN_ORDER and wanted.is_result
    near = [barrier for barrier, first_due in alike.items()
            if due == first_due or (in_order and place.joins(due, first_due))]
    taken = {claim.barrier for claim in claims}
    free = [barrier for barrier in pool if barrier not in taken]
    kindred = sorted(alike, key=lambda barrier: abs(alike[barrier] - due))
    if wanted.kind == Kind.global_load and len(alike) >= MOST_OF_GLOBAL_LOADS:
        free = []
    return (near or free or kindred or [min(pool, key=lambda barrier: _harm(_first_due(claims, barrier), due))])[0]


def _first_due(claims: Iterable[_Claim], barrier: int) -> int:
    return min(claim.due for claim in claims if claim.barrier == barrier)


def _harm(first_due: int, due: int) -> tuple[bool, int]:
    return first_due < due, abs(first_due - due)
