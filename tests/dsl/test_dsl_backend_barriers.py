"""Which fragment loads share a scoreboard barrier: 148 loops as ptxas has them, and blocks with and without time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from backend_strategies import MNEMONICS, TABLE, block, op

import gpusim as gs
from gpusim.dsl.backend import finish
from gpusim.dsl.backend.barriers import BATCH_CYCLES, IN_TIME_CYCLES, in_time
from gpusim.program import NO_BARRIER

LOOPS = pd.read_csv(Path(gs.__file__).parent / "data" / "hardware" / "h200" / "load_barriers.csv").set_index("kernel")
LOAD, TENSOR = "LDSM.16.M88.4", "HMMA.16816.F32"
TENSOR_CYCLES = TABLE.lookup(TENSOR).issue_interval_cycles


def barriers(between: int, apart: int) -> list[int]:
    """Of two loads with ``between`` tensor instructions before the first one's use, and ``apart`` from there to that of
    the other one."""
    loads = [op(LOAD, (300 + 4 * i, 4), (8, 1)) for i in range(2)]
    tensor = [op(TENSOR, (4 * i, 4), (400, 4), (404, 2), (4 * i, 4)) for i in range(between + apart + 1)]
    for user, fragment in ((between, 300), (between + apart, 304)):
        tensor[user]["src_start"][0, 0] = fragment
    ops = finish([block(*loads, *tensor)], MNEMONICS, TABLE, schedule="source").ops
    return ops["write_barrier"][:2].tolist()


@pytest.mark.parametrize("apart", [1, 2, 4, 8])
def test_a_load_that_is_there_in_time_takes_the_barrier_of_the_one_before(apart: int) -> None:
    """And the former one, whose result comes sooner, needs none if both are awaited at once; here each has its use."""
    between = -(-(IN_TIME_CYCLES + 8) // TENSOR_CYCLES) + apart
    first, second = barriers(between + 1, apart)
    assert first == second != NO_BARRIER
    first, second = barriers(0, apart)
    assert first != second and NO_BARRIER not in (first, second)


def test_uses_further_apart_than_a_batch_have_barriers_of_their_own() -> None:
    first, second = barriers(40, BATCH_CYCLES // TENSOR_CYCLES + 1)
    assert first != second


def test_nine_of_ten_pairs_of_compiled_loads_share_or_not_as_the_rule_says() -> None:
    """Each load against the last earlier one that is still awaited and needed no later, in cycles."""
    right = []
    for row in LOOPS.loads:
        awaited: dict[int, int] = {}
        for issue, use, barrier in (np.array(load.split("/"), int)[[0, 1, 3]].tolist() for load in row.split()):
            awaited = {other: first for other, first in awaited.items() if first > issue}
            before = [(first, other) for other, first in awaited.items() if first <= use]
            if before:
                first, other = max(before)
                right.append((use == first or in_time(issue, first, use)) == (other == barrier))
            awaited[barrier] = min(use, awaited.get(barrier, use))
    assert len(right) == 784 and np.mean(right) > 0.9
