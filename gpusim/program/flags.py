"""Models flags: 32-bit words in global memory by which CTAs wait for each other, and the ops that read and write them.
Leaves out when a write becomes visible (gpusim.engine.flags) and in which order CTAs may run (gpusim.verify.order)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

__all__ = ["FLAG_ACTIONS", "JUMP_ALL_THERE", "JUMP_MISSING", "FlagAction", "FlagTable", "FlagUse", "flag_action"]

JUMP_MISSING, JUMP_ALL_THERE = 1, 2
"""``operand`` of a BRA that depends on a flag: back to the poll before it while the awaited value is missing; or on
behind the next such branch because it is there."""
_SLOT_BITS, _SPAN_BITS = 16, 24

FlagAction = IntEnum("FlagAction", ["poll", "swap", "set", "add"], start=0)
"""poll: compare with a value; swap: the same, and write 0 when equal; set: write a value; add: add one."""

FLAG_ACTIONS = {
    "LDG.E.STRONG.GPU": FlagAction.poll, "ATOMG.E.CAS.STRONG.GPU": FlagAction.swap,
    "STG.E.STRONG.GPU": FlagAction.set, "RED.E.ADD.S32.STRONG.GPU": FlagAction.add,
}
"""By mnemonic, of programs that have a FlagTable; the op's ``operand`` is a FlagUse."""


@dataclass(frozen=True)
class FlagUse:
    """Which flag an op names: ``slot`` numbers the words that a CTA knows, ``span`` words from there on are added to
    (one per lane); ``value``: awaited, written or added."""

    slot: int
    value: int
    span: int = 1

    def __post_init__(self) -> None:
        if not (0 <= self.slot < 256 and 0 <= self.value < 1 << _SLOT_BITS and 1 <= self.span <= 32):
            raise ValueError(f"a flag's slot, value or span is out of range: {self}")

    @property
    def operand(self) -> int:
        return self.value | self.slot << _SLOT_BITS | (self.span - 1) << _SPAN_BITS

    @classmethod
    def of(cls, operand: int) -> FlagUse:
        return cls(operand >> _SLOT_BITS & 0xFF, operand & 0xFFFF, (operand >> _SPAN_BITS) + 1)


@dataclass(frozen=True)
class FlagTable:
    """The flags of a launch, all zero when it starts. ``name``, for messages, and ``base_address`` of their tensor."""

    name: str = ""
    base_address: int = 0
    words: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """(C, slots) which word of the tensor a flag of a CTA is"""

    @property
    def num_words(self) -> int:
        """Words that some CTA may touch; ops that span several start at the last one at most."""
        return int(self.words.max(initial=-1)) + 32 if self.words.size else 0


def flag_action(mnemonic: str) -> FlagAction | None:
    """What an instruction does with a flag; None: nothing."""
    return FLAG_ACTIONS.get(mnemonic)
