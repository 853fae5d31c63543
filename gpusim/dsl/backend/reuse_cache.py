"""Models the flags by which ptxas keeps registers in the reuse cache: those that the next FFMA reads in the same slot.
Leaves out the banks that registers are assigned to: a kernel's author chooses them."""

from __future__ import annotations

import numpy as np

from gpusim.program import slot_reads

__all__ = ["reuse_flags"]


def reuse_flags(ops: np.ndarray, banked: np.ndarray) -> np.ndarray:
    """(N,) OP.reuse of a block's rows in issue order. ``banked``: by mnemonic, whether banks give it its registers.

    The cache has a register per slot and bank, so one is kept until the slot reads another one of its bank.
    """
    flags = np.zeros(len(ops), np.uint8)
    for slot, _, rows in slot_reads(ops, banked[ops["pc"]]):
        registers = ops["src_start"][rows, slot]
        flags[rows[:-1][registers[:-1] == registers[1:]]] |= 1 << slot
    return flags
