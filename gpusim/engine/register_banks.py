"""Models the two banks of the register file that FFMAs read, a register a cycle each, and the reuse cache in front.
Leaves out banks for all other instructions: what they lose is counted by registers (gpusim.engine.register_reads)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.program import BANKS, slot_reads

__all__ = ["bank_reads", "bank_start"]


def bank_reads(ops: np.ndarray, banked: np.ndarray) -> np.ndarray:
    """(N, BANKS) registers that each of the ``banked`` rows among OP rows, in the order of one warp, takes from a bank.

    The reuse cache keeps one register per slot and bank: what was read there last, if that instruction flagged it and
    none has let other warps go first since (reuse_cache.csv).
    """
    reads = np.zeros((len(ops), BANKS), np.uint8)
    chosen = np.flatnonzero(banked & (ops["active"] > 0))  # few: most programs multiply on the tensor pipe
    yields = np.cumsum(ops["yield_"], dtype=np.int64)[chosen] - ops["yield_"][chosen]
    few = ops[chosen]
    for slot, bank, rows in slot_reads(few, np.ones(len(few), bool)):
        before, after = rows[:-1], rows[1:]
        kept = (few["reuse"][before] >> slot & 1 > 0) & (yields[before] == yields[after])
        kept &= few["src_start"][before, slot] == few["src_start"][after, slot]
        reads[chosen[rows], bank] += 1
        reads[chosen[after[kept]], bank] -= 1
    return reads


@njit(cache=True, nogil=True)
def bank_start(part, row, time):
    """When an instruction that is dispatched at ``time`` begins to read its registers: once each bank can give it what
    it wants within as many cycles as it would take alone (register_banks.csv)."""
    alone = max(row.even, row.odd)
    start = time
    if row.even:
        start = max(start, part.even_free + row.even - alone)
    if row.odd:
        start = max(start, part.odd_free + row.odd - alone)
    if row.even:
        part.even_free = max(part.even_free, start) + row.even
    if row.odd:
        part.odd_free = max(part.odd_free, start) + row.odd
    return start
