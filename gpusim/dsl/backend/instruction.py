"""Models one op as the back end sees it: register units read and written, and the machine's facts about its mnemonic.
Leaves out control fields and addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.arch import InstructionTable, Kind, Pipe, ResultCycles
from gpusim.program import PREDICATE_BASE, UNIFORM_BASE

__all__ = ["ASYNC_ORDER", "FENCES", "IN_ORDER", "MEMORY", "Instruction", "accumulates", "arithmetic_leads", "decode",
           "has_tensor_work", "late_reads", "place_beside_tensor", "waits_for_group"]

_SHARED, _COPY, _GLOBAL = 1, 2, 3

IN_ORDER = {
    Kind.ldmatrix: _SHARED, Kind.shared_load: _SHARED, Kind.shared_store: _SHARED, Kind.stmatrix: _SHARED,
    Kind.async_copy: _COPY, Kind.global_store: _GLOBAL,
}
"""Kinds whose operands are read, and whose results return, in program order within a class: ptxas gives a barrier only
to the last of a batch (h200/sass: the first LDSM and every other LDGSTS of a batch carry none)."""

MEMORY = frozenset(IN_ORDER) | {Kind.global_load, Kind.atomic, Kind.bulk_copy}
"""Kinds that touch shared or global memory and so stay between the synchronisations around them."""

ASYNC_ORDER = frozenset({Kind.commit, Kind.depbar, Kind.barrier, Kind.membar, Kind.mbarrier, Kind.wgmma,
                         Kind.wgmma_control})
"""Kinds that synchronise: they keep their mutual order, and no memory access moves across them."""

FENCES = frozenset({Kind.branch, Kind.exit, Kind.cluster_barrier})
"""Kinds nothing moves across."""

LOAD_TO_USE_CYCLES = 300
"""What a compiler counts on between a load from global memory and its use: in the 14 loops of CUTLASS's MmaPipelined
(f16 to s8, tiles from 64x64 to 256x128) ptxas puts the first st.shared 294 to 370 cycles of stall counts behind its
load wherever the loop is so long."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """Register units are the numbers of the op table (vector, predicate and uniform files in one numbering).

    ``result``: cycles to its result, by reader; of variable latency, what a compiler counts on. ``expected_cycles`` and
    ``interval_cycles`` are that, too: those of an access without bank conflicts, all lanes at different addresses.
    ``operand_delay_cycles``: how much later it wants operands of other pipes. ``guard``: the predicate that guards it.
    ``arithmetic_leads``: of a tensor instruction, where arithmetic stands in front of the next one.
    """

    kind: Kind
    pipe: Pipe
    interval_cycles: int
    latency_cycles: int  # the least there is
    expected_cycles: int
    variable: bool
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    result: ResultCycles
    operand_delay_cycles: int = 0
    guard: int | None = None
    arithmetic_leads: tuple[int, ...] = (1,)

    @property
    def has_registers(self) -> bool:
        """Not so the dead loads that ptxas writes in front of copies."""
        return bool(self.reads or self.writes)

    def after(self, result: ResultCycles, unit: int) -> int:
        """The cycle in which it can read ``unit``, whose result is there then."""
        return result.to(self.pipe, self.operand_delay_cycles, guard=unit == self.guard)


def late_reads(instruction: Instruction) -> tuple[int, ...]:
    """Vector registers that queued instructions read some time after issue; the others read theirs at issue."""
    if instruction.variable:
        return tuple(unit for unit in instruction.reads if unit < PREDICATE_BASE)
    return ()


def waits_for_tensor_reads(instruction: Instruction) -> bool:
    """Whether it is vector arithmetic that reads vector registers, and waits while a tensor instruction reads its own.

    So ptxas puts it into the last cycle before the next tensor instruction: 583 of 595 that stand alone between two in
    h200/sass, nearly all in CUTLASS's loops with bf16, tf32 and m16n8k8, half of them where sums are f16 and few with
    IMMA, which take fewer registers. Moves, which read none, stand anywhere.
    """
    return (instruction.kind not in MEMORY | {Kind.mma} and instruction.pipe != Pipe.uniform
            and any(unit < PREDICATE_BASE for unit in instruction.reads))


def has_tensor_work(code: Sequence[Instruction]) -> bool:
    """Whether a block multiplies on the tensor pipe with mma.sync."""
    return any(instruction.kind == Kind.mma for instruction in code)


def accumulates(instruction: Instruction) -> bool:
    """A product of two factors onto its own accumulator: FFMA, IDP.4A, DFMA."""
    reads, writes = set(instruction.reads), set(instruction.writes)
    return instruction.pipe in (Pipe.fma, Pipe.fp64) and writes < reads and len(reads) == 3 * len(writes)


def arithmetic_leads(code: Sequence[Instruction]) -> tuple[int, ...]:
    """How many cycles in front of the next tensor instruction ptxas puts arithmetic that reads vector registers, the
    first place first, and so how many such instructions between two of them.

    In blocks with copies that goes by type: 1 with sums in f32 (3,914 of 4,192 in 131 loops of mma.sync, nvcc 13.0),
    4 and 1 with sums in f16, which read two registers less (287 of 309), 3, 2 and 1 with s8 (136 of 142). Those of
    MmaPipelined leave a single place for any of them (their distances of tensor instructions come out 2 to 5 % too
    short with more).
    """
    tensor = next((one for one in code if one.kind == Kind.mma), None)
    copies = any(one.kind == Kind.async_copy for one in code)
    return tensor.arithmetic_leads if tensor and copies else (1,)


def place_beside_tensor(instruction: Instruction, leads: Sequence[int], tensor_free: int, cycle: int) -> int:
    """The first of the places ``leads`` for an instruction that can issue at ``cycle``, where the next tensor
    instruction does at ``tensor_free``. Moves, which read no register, stand anywhere."""
    if not waits_for_tensor_reads(instruction):
        return cycle
    return next((tensor_free - lead for lead in leads if cycle <= tensor_free - lead), cycle)


_Units = tuple[int, ...]

_BY_WAVEFRONT = frozenset({Kind.ldmatrix, Kind.shared_load, Kind.async_copy})
_WAVEFRONTS = {"2": 2, "4": 4, "64": 2, "128": 4}


def _wavefronts(mnemonic: str) -> int:
    """Matrices of an LDSM, words per lane of an LDS or LDGSTS; the table's cycles are those of one wavefront."""
    return _WAVEFRONTS.get(mnemonic.split(".")[-1], 1)


def decode(ops: np.ndarray, mnemonics: Sequence[str], table: InstructionTable) -> list[Instruction]:
    """One Instruction per OP row. Raises UserError for a mnemonic the table does not know."""
    columns = (ops[name].tolist() for name in ("pc", "dst_start", "dst_count", "src_start", "src_count"))
    return [_instruction(mnemonics[pc], table, _units([dst], [dst_count]), _units(starts, counts))
            for pc, dst, dst_count, starts, counts in zip(*columns, strict=True)]


def waits_for_group(kind: Kind) -> bool:
    """Whether results are awaited by groups: WARPGROUP.DEPBAR hands them over, no register keeps track of them."""
    return kind == Kind.wgmma


def _instruction(mnemonic: str, table: InstructionTable, writes: _Units, reads: _Units) -> Instruction:
    entry = table.lookup(mnemonic)
    if waits_for_group(entry.kind):
        return Instruction(entry.kind, entry.pipe, 1, 1, 1, False, reads, writes, ResultCycles(entry.pipe, 1, 1, 1))
    waves = _wavefronts(mnemonic) if entry.kind in _BY_WAVEFRONT else 1
    interval, latency, result = entry.issue_interval_cycles, entry.latency_cycles, entry.result_cycles
    expected = LOAD_TO_USE_CYCLES if entry.kind == Kind.global_load else latency + (waves - 1) * interval
    if entry.variable_latency:
        result = ResultCycles(entry.pipe, expected, expected, expected)
    return Instruction(entry.kind, entry.pipe, interval, latency, expected, entry.variable_latency, reads, writes,
                       result, entry.operand_delay_cycles, _guard(mnemonic, reads),
                       entry.arithmetic_lead_cycles)


def _guard(mnemonic: str, reads: _Units) -> int | None:
    """The predicate in front of an instruction; that of a SEL is one of its operands."""
    if mnemonic.split(".")[0] == "SEL":
        return None
    return next((unit for unit in reads if PREDICATE_BASE <= unit < UNIFORM_BASE), None)


def _units(starts: Sequence[int], counts: Sequence[int]) -> _Units:
    """Register units of some groups, each once."""
    groups = (range(start, start + count) for start, count in zip(starts, counts, strict=True))
    return tuple(dict.fromkeys(unit for group in groups for unit in group))
