"""Compares groups of wgmma with what an H200 answered: how long a turn takes, and which warp states it consists of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from engine_programs import Row, arrive, issue_cycles, loop, program, run, small_gpu, wait, wgmma

import gpusim as gs
from gpusim.engine import WARP_STATES

TURNS = 40
H200 = Path(gs.__file__).parent / "data/hardware/h200"
TURNS_MEASURED = pd.read_csv(H200 / "wgmma_groups.csv").query("delay == 0").drop(columns="delay").values.tolist()
WAKE = pd.read_csv(H200 / "mbarrier_wake.csv")


@pytest.mark.parametrize("row", TURNS_MEASURED, ids=lambda row: "-".join(f"{number:.0f}" for number in row[:5]))
def test_a_turn_takes_as_long_and_waits_where_silicon_waits(row: list[float]) -> None:
    """Of a full queue a fourth shows as mio throttle, since only one of four warps stands at it; the others wait for it
    at the first instruction behind the fence."""
    columns, count, _, warpgroups, pending, cycles, gmma, mio, _ = row
    group = [*[wgmma(int(columns), stall=4)] * int(count - 1), wgmma(int(columns), closes=True, stall=4)]
    turn = [Row("WARPGROUP.ARRIVE", stall=4), *group, Row("WARPGROUP.DEPBAR.LE", operand=int(pending), stall=4)]
    result = run(program([(4 * int(warpgroups), loop(turn, TURNS))]), record=None)
    found = {state: result.state_cycles[:, WARP_STATES.index(state)].sum() / (TURNS * 4 * warpgroups)
             for state in ("gmma", "mio_throttle")}
    print(f"turn {cycles:.0f} {result.cycles / TURNS:.0f}", f"gmma {gmma:.0f} {found['gmma']:.0f}",
          f"mio throttle {mio:.0f} {found['mio_throttle']:.0f}")
    assert result.cycles / TURNS == pytest.approx(cycles, rel=0.03)
    assert abs(found["gmma"] - gmma) < 0.11 * cycles
    assert abs(found["mio_throttle"] - mio) < 0.07 * cycles


def test_the_first_warp_of_a_warpgroup_waits_for_a_place_and_no_other() -> None:
    places = small_gpu().wgmma.queue_instructions
    result = run(program([(4, [wgmma(64, stall=2)] * (places + 4))]))
    gaps = [np.diff(issue_cycles(result, warp)[:-1]).tolist() for warp in range(4)]
    assert all(gap == 2 for other in gaps[1:] for gap in other)
    assert gaps[0] == [2] * places + [gaps[0][places], 32, 32] and 2 < gaps[0][places] < 32, "one more is in the pipe"


def test_wgmma_wait_at_the_fence_until_the_last_warp_has_come() -> None:
    late = program([(1, [Row("NOP", stall=15), Row("WARPGROUP.ARRIVE"), wgmma(64)]),
                    (3, [Row("WARPGROUP.ARRIVE"), wgmma(64)])])
    result = run(late)
    _, fence, first, _ = issue_cycles(result)
    assert [first, *(issue_cycles(result, warp)[1] for warp in range(1, 4))] == [fence + 1] * 4
    assert result.state_cycles[:, WARP_STATES.index("gmma")].sum() == 3 * fence


def test_a_lane_that_waits_alone_goes_on_after_a_look() -> None:
    """Whole warps go on when the phase completes; on silicon a single lane does so every 150 cycles."""
    unit = small_gpu().mbarrier

    def ends(lanes: int) -> list[int]:
        """When the branch behind a wait issues, by when the other warp arrives."""
        roles = [[(1, [*[Row("NOP", stall=10)] * late, arrive(0)]), (1, wait(0, 0, lanes=lanes))]
                 for late in range(6, 60)]
        return [issue_cycles(run(program(role, mbarriers=[32])), 1)[1] for role in roles]

    alone, together = ends(1), ends(32)
    assert set(np.diff(together)) == {10}
    assert set(np.diff(alone)) == {0, unit.poll_cycles}
    extra = [one - all_ - unit.poll_release_cycles + unit.wake_cycles
             for one, all_ in zip(alone, together, strict=True)]
    assert min(extra) >= 0 and max(extra) < unit.poll_cycles


def test_silicon_wakes_whole_warps_at_once_and_single_lanes_every_150_cycles() -> None:
    """The table behind the two numbers."""
    whole = WAKE[WAKE.what == "try_wait all lanes"]
    assert whole.from_arrival_cycles.max() - whole.from_arrival_cycles.min() <= 1
    alone = WAKE[WAKE.what == "try_wait one lane"].sort_values("arrival_after_wait_cycles")
    steps = alone.whole_wait_cycles.diff().dropna()
    assert steps[steps > 10].between(145, 156).all()
