"""Models where an instruction stands: before, in, or after the main loop, from backward branches in the text.
Leaves out how often a loop runs, and control flow that is not a loop."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.sass.parser import INSTRUCTION_BYTES, SassFunction, SassInstruction

__all__ = ["Loop", "loops", "main_loop", "scopes"]


@dataclass(frozen=True)
class Loop:
    """Instructions ``first`` to ``last`` (the backward branch), inclusive."""

    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def loops(function: SassFunction) -> tuple[Loop, ...]:
    """Every backward branch with its target, in the order of the branches; the trap behind the code (a branch to
    itself) is none."""
    found = []
    for index, instruction in enumerate(function.instructions):
        target = _target(instruction)
        if target is not None and target < index:
            found.append(Loop(target, index))
    return tuple(found)


def main_loop(function: SassFunction) -> Loop | None:
    """The largest loop."""
    return max(loops(function), key=lambda loop: loop.size, default=None)


def scopes(function: SassFunction) -> tuple[str, ...]:
    """``prologue``, ``main_loop`` or ``epilogue`` of each instruction; empty where the code has no loop."""
    loop = main_loop(function)
    if loop is None:
        return ("",) * len(function.instructions)
    indices = range(len(function.instructions))
    return tuple("prologue" if i < loop.first else "main_loop" if i <= loop.last else "epilogue" for i in indices)


def _target(instruction: SassInstruction) -> int | None:
    operands = instruction.operands
    if instruction.base != "BRA" or not operands or operands[-1].kind != "immediate":
        return None
    return operands[-1].value // INSTRUCTION_BYTES
