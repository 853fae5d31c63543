"""Models loads of fragments from stages in shared memory: what a k step reads lies alike in every stage.
Leaves out what the addresses are, and the instructions (common.operand, common.simt, common.sparse)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gpusim import Code, Context, SharedAccess

__all__ = ["FragmentLoads"]

Target = TypeVar("Target")
"""Names the registers that a load fills."""


@dataclass(eq=False)
class FragmentLoads(Generic[Target]):
    """Loads from stages ``stage_bytes`` apart; ``access(step)`` and ``code(step, target)`` are worked out once."""

    ctx: Context
    stage_bytes: int
    access: Callable[[int], SharedAccess]
    code: Callable[[int, Target], Code]
    _accesses: dict[int, SharedAccess] = field(default_factory=dict)
    _codes: dict[tuple[int, Target], Code] = field(default_factory=dict)

    def load(self, step: int, stage: int, target: Target) -> None:
        """Emit the loads of a k step."""
        if step not in self._accesses:
            self._accesses[step] = self.access(step)
        if (step, target) not in self._codes:
            self._codes[step, target] = self.code(step, target)
        self.ctx.code(self._codes[step, target], self._accesses[step].instance(stage * self.stage_bytes))
