"""Models the way registers are read: by slot, the place of an operand, and by bank of the register file, even or odd.
Leaves out what a bank gives in a cycle (gpusim.engine.register_banks) and constants: what stands behind one counts a
slot earlier."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusim.program.ops import PREDICATE_BASE

__all__ = ["BANKS", "slot_reads"]

BANKS, SLOTS = 2, 3
"""Even and odd registers; factors and the addend."""


def slot_reads(ops: np.ndarray, counted: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Slot, bank and which of the ``counted`` OP rows read a vector register of that bank there, in order."""
    for slot in range(SLOTS):
        registers = ops["src_start"][:, slot]
        reads = counted & (ops["src_count"][:, slot] > 0) & (registers < PREDICATE_BASE)
        for bank in range(BANKS):
            yield slot, bank, np.flatnonzero(reads & (registers % BANKS == bank))
