"""Models virtual register numbers: 32-bit registers in aligned groups, predicates, uniform registers.
Leaves out how many a thread really needs (gpusim.dsl.backend.registers)."""

from __future__ import annotations

from gpusim.program import PREDICATE_BASE, UNIFORM_BASE

__all__ = ["Group", "Registers"]

Group = tuple[int, int]
"""(first register, count)"""


class Registers:
    """Hands out numbers; groups of 2 and 4 start at a multiple of their size, as SASS wants them."""

    def __init__(self) -> None:
        self._vector, self._predicate, self._uniform = 0, PREDICATE_BASE, UNIFORM_BASE

    @property
    def vectors(self) -> int:
        """32-bit registers handed out so far."""
        return self._vector

    def vector(self, count: int = 1) -> Group:
        alignment = min(4, 1 << (count - 1).bit_length())
        start = -(-self._vector // alignment) * alignment
        self._vector = start + count
        return start, count

    def predicate(self) -> Group:
        self._predicate += 1
        return self._predicate - 1, 1

    def uniform(self, count: int = 1) -> Group:
        self._uniform += count
        return self._uniform - count, count
