"""How far apart the back end keeps accesses of memory: 148 loops as ptxas has them, and blocks without tensor work."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from backend_strategies import MNEMONICS, TABLE, block, op

import gpusim as gs
from gpusim.dsl.backend import Block, finish
from gpusim.dsl.backend.instruction import decode
from gpusim.dsl.backend.spacing import spaced

LOOPS = pd.read_csv(Path(gs.__file__).parent / "data" / "hardware" / "h200" / "access_spacing.csv").set_index("kernel")
LOAD, COPY = "LDSM.16.M88.4", "LDGSTS.E.BYPASS.LTC128B.128"


def loop_block(tensor: int, ldsm: int, ldgsts: int, sts: int, ldg: int, others: int,
               mnemonic: str = "HMMA.16816.F32") -> Block:
    """As many instructions of each kind, in no order that matters."""
    return block(*[op(LOAD, (300 + 4 * i, 4), (1, 1)) for i in range(ldsm)],
                 *[op(COPY, (0, 0), (1, 1), (2, 2)) for _ in range(ldgsts)],
                 *[op("STS", (0, 0), (1, 1), (4, 1)) for _ in range(sts)],
                 *[op("LDG.E", (900 + i, 1), (2, 2)) for i in range(ldg)],
                 *[op("IMAD", (800, 1), (6, 1)) for _ in range(others)],
                 *[op(mnemonic, (20, 4), (24, 4), (28, 2), (20, 4)) for _ in range(tensor)])


def interval_cycles(given_block: Block, mnemonic: str = LOAD) -> int:
    code = spaced(decode(given_block.ops, MNEMONICS, TABLE))
    return next(one.interval_cycles for one, pc in zip(code, given_block.ops["pc"], strict=True)
                if MNEMONICS[pc] == mnemonic)


def distances(kernel: str) -> tuple[int, int]:
    """Cycles between two ldmatrix that follow each other: ours, and the most frequent stall count of compiled code."""
    row = LOOPS.loc[kernel]
    accesses = row.ldsm + row.ldgsts + row.sts + row.lds
    given = loop_block(row.tensor, row.ldsm, row.ldgsts, row.sts + row.lds, row.ldg,
                       row.instructions - row.tensor - accesses - row.ldg,
                       "HMMA.16816.F32" if row.tensor_cycles == 6 else "HMMA.1688.F32")
    gaps = [tuple(map(int, gap.split(":"))) for gap in row.gaps.split()]
    return interval_cycles(given), max(gaps, key=lambda gap: gap[1])[0]


@pytest.mark.parametrize("kernel", LOOPS.index)
def test_loads_of_a_tensor_loop_are_as_far_apart_as_in_compiled_code(kernel: str) -> None:
    ours, theirs = distances(kernel)
    assert abs(ours - theirs) <= 1


def test_five_of_six_loops_have_just_the_distance_of_compiled_code() -> None:
    equal = [ours == theirs for ours, theirs in map(distances, LOOPS.index)]
    assert sum(equal) >= 125 and len(equal) == 148


@pytest.mark.parametrize("mnemonic", ["STS", "LDS.64", LOAD, COPY])
def test_accesses_of_any_width_are_four_cycles_apart_without_tensor_work(mnemonic: str) -> None:
    rows = [op(mnemonic, (10 * i, 4) if mnemonic in ("LDS.64", LOAD) else (0, 0), (200, 1), (202, 1)) for i in range(3)]
    ops = finish([block(*rows)], MNEMONICS, TABLE).ops
    assert ops["stall"][:2].tolist() == [4, 4]


def test_dead_loads_follow_at_once() -> None:
    code = spaced(decode(block(op("LDS.64"), op("LDS.64", (0, 2), (4, 1))).ops, MNEMONICS, TABLE))
    assert [one.interval_cycles for one in code] == [1, 4]
