"""Random basic blocks for the back end's tests: few registers, so that every kind of hazard is frequent.
Leaves out meaning: nothing here computes anything."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from gpusim.arch import InstructionTable, load_gpu
from gpusim.dsl.backend import Block
from gpusim.program import PREDICATE_BASE, UNIFORM_BASE, empty_ops

TABLE: InstructionTable = load_gpu("h200").instruction_table

SHAPES: dict[str, tuple[int, tuple[int, ...]]] = {
    "IMAD": (1, (1, 1, 1)), "LEA": (1, (1, 1)), "IMAD.WIDE": (2, (1, 1, 2)), "LDSM.16.M88.4": (4, (1,)),
    "LDS.64": (2, (1,)), "STS": (0, (1, 1)), "LDG.E": (1, (2,)), "STG.E": (0, (2, 1)),
    "LDGSTS.E.BYPASS.LTC128B.128": (0, (1, 2)), "HMMA.16816.F32": (4, (4, 2, 4)), "LDC": (1, ()), "MUFU": (1, (1,)),
    "S2R": (1, ()), "LDGDEPBAR": (0, ()), "DEPBAR.LE": (0, ()), "BAR.SYNC.DEFER_BLOCKING": (0, ()), "UIADD3": (0, ()),
}
"""Registers written, and vector register groups read."""
MNEMONICS = (*SHAPES, "BRA", "EXIT", "HMMA.1688.F32", "ISETP.NE.AND", "SEL", "LDL")
NUM_GROUPS = 5


def op(mnemonic: str, dst: tuple[int, int] = (0, 0), *sources: tuple[int, int]) -> np.ndarray:
    """One OP row with register groups (start, count)."""
    row = empty_ops(1)
    row["pc"] = MNEMONICS.index(mnemonic)
    row["dst_start"], row["dst_count"] = dst
    for slot, (start, count) in enumerate(sources):
        row["src_start"][0, slot], row["src_count"][0, slot] = start, count
    return row


def block(*rows: np.ndarray, repeats: int = 1, keys: tuple[int, ...] = ()) -> Block:
    return Block(np.tile(np.concatenate(rows), repeats), "test", np.array(keys, np.int32), repeats)


@st.composite
def random_rows(draw: st.DrawFn) -> np.ndarray:
    """One instruction on random, overlapping groups of 4 * NUM_GROUPS vector registers and a few others."""
    mnemonic = draw(st.sampled_from(sorted(SHAPES)))
    group = st.integers(0, NUM_GROUPS - 1).map(lambda number: 4 * number)
    written, read = SHAPES[mnemonic]
    row = op(mnemonic, (draw(group), written), *((draw(group), count) for count in read))
    if mnemonic == "UIADD3":
        row["dst_start"], row["dst_count"] = UNIFORM_BASE + draw(st.integers(0, 1)), 1
    if draw(st.booleans()) and len(read) < 4:
        base = PREDICATE_BASE if mnemonic == "UIADD3" else UNIFORM_BASE
        row["src_start"][0, 3], row["src_count"][0, 3] = base + draw(st.integers(0, 1)), 1
    return row


@st.composite
def random_blocks(draw: st.DrawFn, *, max_rows: int = 12) -> Block:
    rows = draw(st.lists(random_rows(), min_size=1, max_size=max_rows))
    ending = [op("BRA")] if draw(st.booleans()) else []
    keys = draw(st.lists(st.integers(-1, 1), min_size=len(rows), max_size=len(rows)))
    return block(*rows, *ending, repeats=draw(st.integers(1, 3)), keys=(*keys, *(-1 for _ in ending)))


programs = st.lists(random_blocks(), min_size=1, max_size=4)
"""Blocks in execution order; a prologue, loops, an epilogue."""
