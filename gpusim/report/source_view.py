"""Models a kernel's source as a profiler shows it: beside each line its instructions, stall cycles and conflicts.
Leaves out the instructions one by one (gpusim.report.tables)."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from gpusim.engine.result import WARP_STATES, SimulationResult
from gpusim.program import Program
from gpusim.report.executions import access_executions
from gpusim.report.tables import source_table

__all__ = ["SourceFile", "SourceLine", "source_files"]

_MOST_MNEMONICS = 4
_CONTEXT_LINES = 3
"""Lines without instructions that are still shown between two with."""


@dataclass(frozen=True)
class SourceLine:
    """One line of source. ``states``: warp cycles by state, longest first, what it waits for before it issues."""

    number: int  # 0: made by no line
    text: str
    issued: int = 0
    warp_cycles: int = 0
    states: dict[str, int] = field(default_factory=dict)
    wavefronts: int = 0
    bank_conflicts: int = 0

    @property
    def is_gap(self) -> bool:
        """Stands for lines that are left out."""
        return not self.number and not self.issued


@dataclass(frozen=True)
class SourceFile:
    """A file of the kernel with the lines around its instructions; ``text`` of lines is empty where it is not found."""

    name: str
    lines: tuple[SourceLine, ...]
    warp_cycles: int


def source_files(program: Program, result: SimulationResult) -> tuple[SourceFile, ...]:
    """The kernel's files, the one with most warp cycles first."""
    table, shared = source_table(program, result), _shared_costs(program)
    files = [_source_file(program, str(name), rows, shared) for name, rows in table.groupby("file", sort=False)]
    return tuple(sorted(files, key=lambda file: -file.warp_cycles))


def _shared_costs(program: Program) -> dict[tuple[str, int], tuple[int, int]]:
    """Wavefronts and bank conflicts of the launch by file and line."""
    accesses = access_executions(program)
    for column in ("wavefronts", "bank_conflicts"):
        accesses[column] = accesses[column] * accesses["executions"]
    sums = accesses.groupby(["file", "line"])[["wavefronts", "bank_conflicts"]].sum()
    return {(row.Index[0], row.Index[1]): (int(row.wavefronts), int(row.bank_conflicts)) for row in sums.itertuples()}


def _source_file(
    program: Program, name: str, rows: pd.DataFrame, shared: dict[tuple[str, int], tuple[int, int]]
) -> SourceFile:
    names = [state for state in WARP_STATES if state in rows.columns]
    sums = rows.groupby("line")[["issued", "warp_cycles", *names]].sum()
    lines = {}
    for number, row in zip(sums.index.tolist(), sums.to_dict("records"), strict=True):
        states = {state: int(row[state]) for state in sorted(names, key=lambda state: -row[state]) if row[state]}
        text = _text(name, number) or _mnemonics(program, name, number)
        lines[number] = SourceLine(number, text, int(row["issued"]), int(row["warp_cycles"]), states,
                                   *shared.get((name, number), (0, 0)))
    return SourceFile(_short(name), _dedented(_with_context(name, lines)), int(sums["warp_cycles"].sum()))


def _mnemonics(program: Program, name: str, number: int) -> str:
    """What stands for a line whose source is not there: its instructions."""
    found = dict.fromkeys(static.mnemonic for static in program.statics if (static.file, static.line) == (name, number))
    return ", ".join([*list(found)[:_MOST_MNEMONICS], *(["..."] if len(found) > _MOST_MNEMONICS else [])])


def _with_context(name: str, busy: dict[int, SourceLine]) -> Iterator[SourceLine]:
    """The busy lines and what stands between them; a gap where much stands between."""
    previous = 0
    for number in sorted(busy, key=lambda number: (number == 0, number)):
        between = range(previous + 1, number) if previous and number else range(0)
        if len(between) > _CONTEXT_LINES:
            yield SourceLine(0, "")
        else:
            yield from (SourceLine(line, _text(name, line)) for line in between)
        yield busy[number]
        previous = number


def _dedented(lines: Iterable[SourceLine]) -> tuple[SourceLine, ...]:
    """Lines without the indentation that all of them share."""
    kept = tuple(lines)
    shared = min((len(line.text) - len(line.text.lstrip()) for line in kept if line.number and line.text), default=0)
    return tuple(replace(line, text=line.text[shared:]) if line.number else line for line in kept)


def _text(name: str, number: int) -> str:
    return "" if number == 0 else linecache.getline(name, number).rstrip()


def _short(name: str) -> str:
    """The file and its folder."""
    return "/".join(Path(name).parts[-2:]) or "unknown file"
