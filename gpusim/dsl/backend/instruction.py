"""Models one op as the back end sees it: register units read and written, and the machine's facts about its mnemonic.
Leaves out control fields and addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.arch import InstructionTable, Kind, Pipe
from gpusim.program import PREDICATE_BASE

__all__ = ["ASYNC_ORDER", "FENCES", "IN_ORDER", "MEMORY", "Instruction", "decode", "late_reads"]

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

FENCES = frozenset({Kind.branch, Kind.exit})
"""Kinds nothing moves across."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """Register units are the numbers of the op table (vector, predicate and uniform files in one numbering)."""

    kind: Kind
    pipe: Pipe
    interval_cycles: int
    latency_cycles: int
    variable: bool
    reads: tuple[int, ...]
    writes: tuple[int, ...]

    @property
    def is_fixed(self) -> bool:
        """Writes registers a fixed number of cycles after issue."""
        return bool(self.writes) and not self.variable


def late_reads(instruction: Instruction) -> tuple[int, ...]:
    """Vector registers that queued instructions read some time after issue; the others read theirs at issue."""
    if instruction.variable:
        return tuple(unit for unit in instruction.reads if unit < PREDICATE_BASE)
    return ()


_BY_WAVEFRONT = frozenset({Kind.ldmatrix, Kind.shared_load, Kind.async_copy})
_WAVEFRONTS = {"2": 2, "4": 4, "64": 2, "128": 4}


def _wavefronts(mnemonic: str) -> int:
    """At least so many wavefronts: matrices of an LDSM, words of an LDS; the table's cycles are those of one."""
    return _WAVEFRONTS.get(mnemonic.split(".")[-1], 1)


def _units(start: int, count: int) -> range:
    return range(start, start + count)


def decode(ops: np.ndarray, mnemonics: Sequence[str], table: InstructionTable) -> list[Instruction]:
    """One Instruction per OP row. Raises UserError for a mnemonic the table does not know."""
    columns = (ops[name].tolist() for name in ("pc", "dst_start", "dst_count", "src_start", "src_count"))
    decoded = []
    for pc, dst, dst_count, starts, counts in zip(*columns, strict=True):
        entry = table.lookup(mnemonics[pc])
        waves = _wavefronts(mnemonics[pc]) if entry.kind in _BY_WAVEFRONT else 1
        interval, latency = entry.issue_interval_cycles, entry.latency_cycles
        reads = (unit for start, count in zip(starts, counts, strict=True) for unit in _units(start, count))
        decoded.append(Instruction(entry.kind, entry.pipe, waves * interval, latency + (waves - 1) * interval,
                                   entry.variable_latency, tuple(dict.fromkeys(reads)), tuple(_units(dst, dst_count))))
    return decoded
