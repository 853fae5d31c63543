"""Compares loads with bank conflicts by several warps of a CTA with an H200's (data_paths.csv): two of them pass the
data stage side by side, every other cycle one wavefront of each; those of one warp follow each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from engine_programs import Memory, Row, issue_cycles, program, row, run, small_gpu

from gpusim.arch.paths import find_data

MEASURED = pd.read_csv(find_data("gpusim/data/hardware/h200/data_paths.csv"))
MATRICES, PATHS = 4, 2


def is_limited_by_the_stage(launch: pd.DataFrame) -> bool:
    """Else by what stands around the loads."""
    wavefronts = MATRICES * launch.ways * launch.loads
    return bool(launch.cycles.max() < 1.08 * max(PATHS * wavefronts.max(), wavefronts.sum()))


LAUNCHES = [pytest.param(launch, id=f"{len(launch)}-warps-{number}") for number, launch in MEASURED.groupby("launch")
            if is_limited_by_the_stage(launch)]
TOLERANCE = 0.06
"""A warp whose loads follow each other loses 1 to 3 cycles per load, which is not known why, nor seen in main loops."""
AROUND_A_PAIR = 20
"""Cycles of the loop around two loads that it waits for: sums of what was loaded, addresses, the branch."""


def stream(start: int, loads: int, drains: bool) -> list[Row]:
    """A load is always under way, or two and then none."""
    wait = [Row("NOP", stall=15)] * (start // 15) + [Row("NOP", stall=max(1, start % 15))]
    first, second = (row(f"LDSM.16.M88.4 access=a write={board} stall=2") for board in (0, 1))
    used = [row(f"NOP wait={board} stall=2") for board in (0, 1)]
    if drains:
        return wait + [first, second, *used, *[Row("NOP", stall=AROUND_A_PAIR // 2)] * 2] * (loads // 2)
    return [*wait, first, *[second, used[0], first, used[1]] * (loads // 2), used[0]]


@pytest.mark.parametrize("measured", LAUNCHES)
def test_loads_with_conflicts_take_as_long_as_on_silicon(measured: pd.DataFrame) -> None:
    begun = measured.start.min()
    roles = [(1, stream(line.start - begun, line.loads, bool(line.drains))) for line in measured.itertuples()]
    memory = {"a": Memory("LDSM4", (measured.ways.iloc[0],))}
    result = run(program(roles, memory), small_gpu())
    ends = [issue_cycles(result, warp)[-1] for warp in range(len(roles))]
    took = [end - (line.start - begun) for end, line in zip(ends, measured.itertuples(), strict=True)]
    print(measured.cycles.tolist(), took)
    assert max(took) == pytest.approx(measured.cycles.max(), rel=TOLERANCE)
    assert sum(took) == pytest.approx(measured.cycles.sum(), rel=TOLERANCE)


MARKS = pd.read_csv(find_data("gpusim/data/hardware/h200/epilogue_marks.csv")).query("parts == 14")


def test_accesses_begin_a_group_of_lanes_after_each_other() -> None:
    """epilogue_marks.csv: four warps that load 16 bytes a lane at once have their data four cycles apart."""
    measured = (MARKS.loaded - MARKS.stored).groupby([MARKS.step, MARKS.warp]).first().unstack()
    spread = (measured.max(axis=1) - measured.min(axis=1)).median()
    loads = [(4, [row("LDS access=s write=0 stall=2"), row("NOP wait=0")])]
    for operation, groups in (("LDS128", 4), ("LDS64", 2)):
        result = run(program(loads, {"s": Memory(operation)}), small_gpu())
        ends = sorted(issue_cycles(result, warp)[-1] for warp in range(4))
        assert [later - earlier for earlier, later in pairwise(ends)] == [groups] * 3
        if groups == 4:
            assert ends[-1] - ends[0] == spread


MEETINGS = pd.read_csv(find_data("gpusim/data/hardware/h200/store_meet.csv")).query("warps == 4 and how == 1")


def test_of_four_ldmatrix_two_and_two_pass_together() -> None:
    """store_meet.csv: those of four warps behind a barrier have their data 0, 1, 8 and 11 cycles after the first."""
    done = MEETINGS.groupby(["stores", "bytes", "storing", "pitch"]).done.apply(sorted)
    measured = pd.DataFrame([np.subtract(times, times[0]) for times in done]).median().tolist()
    loads = [(4, [row("LDSM.16.M88.4 access=s write=0 stall=2"), row("NOP wait=0")])]
    result = run(program(loads, {"s": Memory("LDSM4")}), small_gpu())
    ends = sorted(issue_cycles(result, warp)[-1] for warp in range(4))
    assert [end - ends[0] for end in ends] == pytest.approx(measured, abs=2)
    assert [end - ends[0] for end in ends][:3] == measured[:3]


def test_an_access_that_waits_for_its_own_warp_holds_up_no_other() -> None:
    """The second load of a warp begins when the first has passed; those of others need not wait for that."""
    parts = [(1, [row("LDS access=a write=0 stall=1"), row("LDS access=a write=1 stall=2"), row("NOP wait=0,1")]),
             (1, [row("NOP stall=6"), row("LDS access=s write=0 stall=2"), row("NOP wait=0")])]
    result = run(program(parts, {"a": Memory("LDS32", (32,)), "s": Memory("LDS32")}), small_gpu())
    first, other = (issue_cycles(result, warp)[-1] for warp in (0, 1))
    assert other < first - 64
