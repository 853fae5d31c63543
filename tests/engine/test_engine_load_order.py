"""Compares bursts of shared-memory accesses by warps that start apart with an H200's (load_order.csv): a warp has four
of them in hand, and the next one waits at the front of the load/store unit's buffer, with all that is behind it."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest
from engine_programs import Memory, Row, issue_cycles, program, row, run, small_gpu

from gpusim.arch.paths import find_data

MEASURED = pd.read_csv(find_data("gpusim/data/hardware/h200/load_order.csv"), keep_default_na=False)
GPU = small_gpu(1)
BETWEEN = {"": [], "cp.async": [*[Row("LDS", off=True, stall=1)] * 3, Row("LDGSTS", access="g", stall=8)]}
"""ptxas puts three loads that are predicated off in front of a thread's first copies."""
TO_FIRST_LOAD = 6
"""Cycles from the clock that is read to the first ldmatrix behind it."""
WITHIN_PCT = {"": 2.1, "cp.async": 4}
"""Mean error of when warps have all their fragments."""


def burst(begun: int, loads: int, more: int, between: str) -> list[Row]:
    wait = begun + TO_FIRST_LOAD
    load = Row("LDSM.16.M88.4", access="a", write=0, stall=4)
    return [*[Row("NOP", stall=15)] * (wait // 15), Row("NOP", stall=max(1, wait % 15)), *[load] * loads,
            *BETWEEN[between], *[load] * more, Row("NOP", wait=(0,))]


def ended(launch: pd.DataFrame) -> list[int]:
    roles = [(1, burst(line.begun, line.loads, line.more, line.between)) for line in launch.itertuples()]
    memory = {"a": Memory("LDSM4", (launch.ways.iloc[0],)), "g": Memory("CPA16", lines=4)}
    result = run(program(roles, memory), GPU)
    return [issue_cycles(result, warp)[-1] for warp in range(len(roles))]


IN_DIFFERENT_SUB_PARTITIONS = MEASURED.groupby("launch").warp.transform("max") < 4
OF_ONE_COPY_AT_MOST = MEASURED["between"].isin(BETWEEN) & (MEASURED.others <= 1)
GROUPS = MEASURED[IN_DIFFERENT_SUB_PARTITIONS & OF_ONE_COPY_AT_MOST].groupby(["between", "loads", "others", "more"])


@pytest.mark.parametrize(("group", "launches"), [pytest.param(group, launches, id="-".join(map(str, group)))
                                                 for group, launches in GROUPS])
def test_bursts_end_as_on_silicon(group: tuple[str, int, int, int], launches: pd.DataFrame) -> None:
    errors = pd.concat([ended(launch) / launch.ended - 1 for _, launch in launches.groupby("launch")])
    print(f"{len(errors)} warps, mean {errors.abs().mean():.1%}, {errors.min():.0%} to {errors.max():.0%}")
    assert 100 * errors.abs().mean() <= WITHIN_PCT[group[0]]


BUSY, BANKS = GPU.shared.latency_cycles_per_wavefront * 32, 32
IN_HAND = 1 + GPU.mio.waiting_accesses
"""Of one warp: one takes its path through the data stage, the others wait for it."""


def round_trip(behind: list[Row], after: int = 60) -> int:
    """Cycles of a load of one wavefront, by a warp that asks when the other one's rows have been issued."""
    asks = [*[Row("NOP", stall=15)] * (after // 15), Row("LDS", access="s", write=0, stall=2), Row("NOP", wait=(0,))]
    memory = {"b": Memory("LDS32", (BANKS,)), "s": Memory("LDS32"), "w": Memory("STS32", (BANKS,))}
    *_, asked, there, _ = issue_cycles(run(program([(1, behind), (1, asks)], memory), GPU), 1)
    return there - asked


@cache
def alone() -> int:
    return round_trip([Row("NOP")])


@pytest.mark.parametrize("kind", ["LDS access=b write=1 stall=2", "STS access=w stall=2"])
def test_the_fifth_access_of_a_warp_waits_for_the_first_with_all_behind_it(kind: str) -> None:
    busy = [row(kind)]
    assert round_trip(busy * IN_HAND) == alone()
    fifth, sixth = round_trip(busy * (IN_HAND + 1)), round_trip(busy * (IN_HAND + 2))
    assert alone() < fifth < alone() + BUSY
    assert sixth == fifth + BUSY


def test_a_load_that_is_predicated_off_comes_in_turn_among_those_of_its_warp() -> None:
    """Three of them stand in front of ptxas' copies: behind them goes no access before the first load has ended."""
    busy, off = row("LDS access=b write=1 stall=2"), Row("LDS", off=True, stall=2)
    assert round_trip([busy, *[off] * (IN_HAND - 1)]) == alone()
    assert round_trip([busy, *[off] * IN_HAND]) == round_trip([busy] * (IN_HAND + 1))


def test_what_needs_more_places_is_not_passed_by_what_needs_one() -> None:
    """The buffer is full of one warp's loads; another one's copy has its turn as soon as four of them have left."""
    loads = [row("LDSM access=a write=1 stall=2")] * 60
    copy = [*[Row("NOP", stall=15)] * 20, row("LDGSTS access=g read=0 stall=2"), Row("NOP", wait=(0,))]
    memory = {"a": Memory("LDSM4", (8,)), "g": Memory("CPA16", lines=4)}
    *_, asked, read, _ = issue_cycles(run(program([(1, loads), (1, copy)], memory), GPU), 1)
    assert 0 <= read - asked - GPU.mio.copy_buffer_entries * BUSY < BUSY
