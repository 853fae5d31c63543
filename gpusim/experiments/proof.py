"""Models the proof that a program's shared-memory accesses are free of bank conflicts: all are counted, most explained.
Leaves out the search for the layout (gpusim.experiments.swizzle_search) and time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gpusim.experiments.bank_algebra import Column, PhaseRank, access_rank, column_of
from gpusim.experiments.shared_accesses import SourceAccess, access_cost, source_accesses
from gpusim.program import Program

__all__ = ["AccessProof", "Proof", "prove"]


@dataclass(frozen=True)
class AccessProof:
    """One source access: what was counted over all its warps and addresses, and the argument where there is one."""

    label: str
    file: str
    line: int
    operation: str
    is_copy: bool
    warps: int
    checked: int  # warp accesses: distinct pairs of warp and address
    phases: int  # in those
    wavefronts: int  # in those
    bank_conflicts: float  # in those
    rank: PhaseRank | None
    rank_before: PhaseRank | None  # of the same access without a swizzle
    column: Column | None  # what it reads without a swizzle, if that is the simple case

    @property
    def argument(self) -> str:
        """One line: the ranks over F2, or how else the access was decided."""
        if self.is_copy:
            return "asynchronous copy: counted by global line and shared row"
        if self.rank is None:
            return "banks not linear over F2: counted lane by lane"
        bits = self.rank.bank_bits
        before = f" ({self.rank_before.bank_rank} without swizzle)" if self.rank_before else ""
        ways = "1 wavefront" if self.rank.ways == 1 else f"{self.rank.ways} wavefronts"
        return (f"lane bits to words: rank {self.rank.rank}; to bank bits {bits[0]}-{bits[-1]}: rank "
                f"{self.rank.bank_rank}{before}; {ways} a phase")


@dataclass(frozen=True)
class Proof:
    """All shared-memory accesses of a program."""

    accesses: tuple[AccessProof, ...]

    @property
    def conflict_free(self) -> bool:
        return not self.conflicting

    @property
    def conflicting(self) -> tuple[AccessProof, ...]:
        return tuple(access for access in self.accesses if access.bank_conflicts > 0)

    @property
    def formulas(self) -> dict[Column, str]:
        """The simple cases among the accesses, and the swizzle that the closed formula gives for each ("": none)."""
        columns = {access.column for access in self.accesses if access.column}
        ordered = sorted(columns, key=lambda column: (column.unit_bytes, column.row_bytes))
        return {column: str(column.swizzle() or "") for column in ordered}

    def table(self) -> pd.DataFrame:
        """One row per source access."""
        names = ("label", "file", "line", "operation", "warps", "checked", "phases", "wavefronts", "bank_conflicts",
                 "argument")
        return pd.DataFrame([{name: getattr(access, name) for name in names} for access in self.accesses])

    def sentence(self) -> str:
        """What was checked, and the answer."""
        checked = sum(access.checked for access in self.accesses)
        scope = f"{checked:,} warp accesses ({len(self.accesses)} source accesses, every warp, every stage)"
        if not self.conflict_free:
            worst = ", ".join(f"{access.label} at {access.file}:{access.line}" for access in self.conflicting)
            return f"{scope}: bank conflicts remain in {worst}"
        phases = sum(access.phases for access in self.accesses if not access.is_copy)
        copies = sum(access.checked for access in self.accesses if access.is_copy)
        waits = f"; {copies:,} asynchronous copies without a conflict" if copies else ""
        return f"{scope} are free of bank conflicts: {phases:,} phases of one wavefront each{waits}"


def prove(program: Program, unswizzled: Program | None = None) -> Proof:
    """Count every access of ``program``; ``unswizzled``, the same kernel without a swizzle, serves the arguments."""
    plain = {_place(access): access for access in source_accesses(unswizzled)} if unswizzled else {}
    return Proof(tuple(_prove(access, plain.get(_place(access))) for access in source_accesses(program)))


def _place(access: SourceAccess) -> tuple[str, str, int]:
    return access.label, access.file, access.line


def _prove(access: SourceAccess, plain: SourceAccess | None) -> AccessProof:
    cost = access_cost(access)
    return AccessProof(
        access.label, Path(access.file).name, access.line, access.operation, access.is_copy,
        len(set(access.warp.tolist())), len(access.shared),
        int(cost.ideal_wavefronts.sum()), int(cost.wavefronts.sum()), float(cost.bank_conflicts.sum()),
        access_rank(access), access_rank(plain) if plain else None, column_of(plain) if plain else None,
    )
