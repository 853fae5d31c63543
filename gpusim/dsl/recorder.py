"""Models the tape of one warp role: blocks of statements with their instances, registers, distinct accesses.
Leaves out the verbs a kernel calls (gpusim.dsl.context) and what the statements become (gpusim.dsl.lowering)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from gpusim.dsl.partition import same_places
from gpusim.dsl.registers import Registers
from gpusim.dsl.source import SourceLine
from gpusim.dsl.statements import BasicBlock, Instance, Spec, Statement
from gpusim.program.access_builder import Access

__all__ = ["Recorder"]

Made = TypeVar("Made")


@dataclass
class Recorder:
    """What one role has recorded so far."""

    name: str
    first_warp: int
    num_warps: int
    registers: Registers = field(default_factory=Registers)
    blocks: list[BasicBlock] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)
    _loop: int = -1
    _loops: int = 0
    _open: bool = False
    _rows: dict[Hashable, int] = field(default_factory=dict)
    _places: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _statements: dict[tuple[Spec, SourceLine, bool], Statement] = field(default_factory=dict)
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    def add(self, spec: Spec, line: SourceLine, instance: Instance, *, predicated: bool = False) -> None:
        """Append a statement to the open block."""
        if not self._open:
            self.blocks.append(BasicBlock("/".join(self.scopes), self._loop))
            self._open = True
        block = self.blocks[-1]
        block.statements.append(self._statement(spec, line, predicated))
        block.instances.append(instance)

    def _statement(self, spec: Spec, line: SourceLine, predicated: bool) -> Statement:
        key = (spec, line, predicated)
        found = self._statements.get(key)
        return found if found is not None else self._statements.setdefault(key, Statement(spec, line, predicated))

    @property
    def in_loop(self) -> bool:
        """Whether what is recorded now is the body of a loop."""
        return self._loop >= 0

    def end_block(self) -> None:
        self._open = False

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        self.end_block()
        self.scopes.append(name)
        yield
        self.scopes.pop()
        self.end_block()

    def iterations(self, count: int, name: str) -> Iterator[int]:
        """A loop: every iteration is a block, equal ones share their code."""
        outer, self._loop = self._loop, self._loops
        self._loops += 1
        with self.scope(name):
            for index in range(count):
                yield index
                self.end_block()
        self._loop = outer

    def access_row(self, key: Hashable, make: Callable[[], list[Access]]) -> int:
        """First row of the accesses named ``key``, made when first asked for."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.accesses)
            self.accesses.extend(make())
        return row

    def kept(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` gave when it was first asked for under ``key``: code that iterations of a loop share."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def amend(self, change: Callable[[Spec], Spec | None]) -> bool:
        """Change the last statement of the open block; whether there is one that can be changed."""
        block = self.blocks[-1] if self._open else None
        last = block.statements[-1] if block is not None and block.statements else None
        spec = change(last.spec) if last is not None else None
        if block is None or last is None or spec is None:
            return False
        block.statements[-1] = self._statement(spec, last.line, last.predicated)
        return True

    def place_number(self, rows: np.ndarray, columns: np.ndarray) -> int:
        """Number of a map from (piece, thread) to (row, column); maps that agree where both are defined share it."""
        for number, known in enumerate(self._places):
            if same_places(known, (rows, columns)):
                return number
        self._places.append((rows, columns))
        return len(self._places) - 1
