"""Models the compiler's output before scheduling: instructions with register groups, tied to the statement they serve.
Leaves out their order in time and control fields (gpusim.dsl.backend)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gpusim.dsl.registers import Group, Registers
from gpusim.dsl.source import SourceLine
from gpusim.program import MAX_SOURCES

__all__ = ["NONE", "NO_STATEMENT", "Emitter", "Instruction"]

NO_STATEMENT = -1
NONE: Group = (0, 0)
"""No register."""


@dataclass(frozen=True, slots=True)
class Instruction:
    mnemonic: str
    dst: Group
    sources: tuple[Group, ...]
    line: SourceLine
    statement: int = NO_STATEMENT  # of the block: its instance says whether this is active
    piece: int = -1  # row of the access table after the instance's first, -1: touches no memory
    memory_key: int = -1
    carries_operand: bool = False
    active: bool = True  # False: guarded by a predicate that is never true
    immediate: int = 0
    parameter: int | None = None  # byte of the kernel's parameters that it reads
    skips: int = 0  # instructions behind it that nobody runs


class Emitter:
    """Collects the instructions of one basic block; ``line``, ``statement`` and ``guard`` hold for what follows."""

    def __init__(self, registers: Registers) -> None:
        self.registers = registers
        self.instructions: list[Instruction] = []
        self.line = SourceLine()
        self.statement = NO_STATEMENT
        self.guard: Group | None = None

    @contextmanager
    def unguarded(self) -> Iterator[None]:
        """What is emitted in it runs whatever the present guard says."""
        saved, self.guard = self.guard, None
        yield
        self.guard = saved

    def op(self, mnemonic: str, *sources: Group, dst: Group = NONE, piece: int = -1, memory_key: int = -1,
           operand: bool = False, active: bool = True, immediate: int = 0, parameter: int | None = None,
           skips: int = 0) -> Group:
        """Append one instruction under the present guard; returns ``dst``."""
        guarded = sources if self.guard is None else (*sources, self.guard)
        if len(guarded) > MAX_SOURCES:
            raise ValueError(f"{mnemonic} has {len(guarded)} register sources, the op table holds {MAX_SOURCES}")
        tied = self.statement if piece >= 0 or operand or self.guard is not None else NO_STATEMENT
        self.instructions.append(
            Instruction(mnemonic, dst, guarded, self.line, tied, piece, memory_key, operand, active,
                        immediate, parameter, skips))
        return dst

    def new(self, mnemonic: str, *sources: Group, parameter: int | None = None) -> Group:
        """An instruction with a fresh 32-bit result."""
        return self.op(mnemonic, *sources, dst=self.registers.vector(), parameter=parameter)

    def wide(self, mnemonic: str, *sources: Group) -> Group:
        """An instruction with a fresh 64-bit result."""
        return self.op(mnemonic, *sources, dst=self.registers.vector(2))

    def uniform(self, mnemonic: str, *sources: Group, count: int = 1, parameter: int | None = None) -> Group:
        return self.op(mnemonic, *sources, dst=self.registers.uniform(count), parameter=parameter)

    def chain(self, mnemonics: Sequence[str], source: Group) -> Group:
        """Each instruction takes the one before's result."""
        for mnemonic in mnemonics:
            source = self.new(mnemonic, source)
        return source
