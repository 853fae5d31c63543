"""Models the advice of a report: what costs time, where, how much, in sentences Nsight Compute users know.
Leaves out the fix that must be proved by simulating it (gpusim.experiments.compare)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gpusim.engine.result import SimulationResult
from gpusim.program import Program
from gpusim.report.states import ISSUED_STATE, STATES
from gpusim.report.tables import shared_memory_table, source_table, warp_state_table

__all__ = ["Advice", "advise"]

_KINDS = {"LD": "shared load", "ST": "shared store", "CP": "shared store from asynchronous copy"}
_NOTABLE_WAYS = 1.05
_NOTABLE_SHARE_PCT = 20.0


@dataclass(frozen=True)
class Advice:
    """One rule that found something. ``level``: OPT (can be faster), INF (worth knowing), WRN (doubt the numbers)."""

    level: str
    place: str
    sentence: str

    def __str__(self) -> str:
        return " ".join(part for part in (self.level, self.place, self.sentence) if part)


def advise(program: Program, result: SimulationResult) -> tuple[Advice, ...]:
    """Advice for a simulated program: bank conflicts by access, the main stall, assumptions made."""
    return (*_bank_conflicts(program), *_main_stall(program, result), *_assumptions(program, result))


def _bank_conflicts(program: Program) -> Iterator[Advice]:
    table = shared_memory_table(program)
    files = {static.line: Path(static.file).name for static in program.statics}
    for row in table[(table["ways"] > _NOTABLE_WAYS) & (table["bank_conflicts"] > 0)].itertuples():
        share = 100 * row.bank_conflicts / max(row.wavefronts, 1)
        kind = _KINDS.get(row.operation[:2], "shared access")
        yield Advice(
            "OPT", f"{files.get(row.line, '')}:{row.line} {row.label}:",
            f"The memory access pattern for {kind}s might not be optimal and causes on average a "
            f"{row.wavefronts / max(row.requests, 1):.1f} - way bank conflict across all {row.requests:.0f} "
            f"{kind} requests. This results in {row.bank_conflicts:.0f} bank conflicts, which represent "
            f"{share:.2f}% of the overall {row.wavefronts:.0f} wavefronts for {kind}s; without them "
            f"{row.wavefronts_ideal:.0f} would do ({row.ways:.2f} ways).",
        )


def _main_stall(program: Program, result: SimulationResult) -> Iterator[Advice]:
    states = warp_state_table(result)
    states = states[states["state"] != ISSUED_STATE]
    top = states.iloc[0]
    if top["share_pct"] < _NOTABLE_SHARE_PCT:
        return
    total = float(result.state_cycles.sum() / max(result.issued.sum(), 1))
    lines = source_table(program, result)
    place, share = _worst_line(lines, str(top["state"]))
    yield Advice(
        "INF", place,
        f"On average, each warp of this kernel spends {top['cycles_per_issued']:.1f} cycles in {top['title']}: "
        f"{STATES[top['state']].sentence}. This represents about {top['share_pct']:.1f}% of the total average of "
        f"{total:.1f} cycles between issuing two instructions; {share:.0f}% of it is on this line.",
    )


def _worst_line(lines: pd.DataFrame, state: str) -> tuple[str, float]:
    """The source line with most cycles in ``state``, and its share of them in per cent."""
    worst = lines.loc[lines[state].idxmax()]
    return f"{Path(worst['file']).name}:{worst['line']}", float(100 * worst[state] / max(lines[state].sum(), 1))


def _assumptions(program: Program, result: SimulationResult) -> Iterator[Advice]:
    for sentence in (*program.notes, *result.assumptions):
        yield Advice("WRN", "", sentence)
