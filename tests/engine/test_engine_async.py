"""Laws of what works on while warps go on: when an mbarrier's phase completes, what is conserved, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_programs import (
    Memory,
    Row,
    arrive,
    expect,
    follow,
    issue_cycles,
    loop,
    program,
    rows,
    run,
    small_gpu,
    wait,
    wgmma,
)
from test_engine_async_golden import ACCESSES, STORIES, warp_specialised

from gpusim.arch import load_gpu
from gpusim.engine import EVENT_KINDS, WARP_STATES, simulate
from gpusim.errors import SimulatedFailure, UserError

GPU = small_gpu()
WAIT, WAKE, ARRIVE = GPU.mbarrier.wait_cycles, GPU.mbarrier.wake_cycles, GPU.mbarrier.arrive_cycles
LONG, BARRIER = WARP_STATES.index("long_scoreboard"), WARP_STATES.index("barrier")
MMA, COPY = EVENT_KINDS.index("mma"), EVENT_KINDS.index("copy")
ONE_TURN = 1
"""Cycles of an mbarrier op in the data stage; its single operand register is no lead."""


def test_a_wait_for_a_completed_phase_takes_its_own_time_only() -> None:
    tiny = program([(1, [arrive(0), Row("NOP", stall=15), *[Row("NOP", stall=15)] * 5, *wait(0, 0), Row("FFMA")])],
                   mbarriers=[32])
    cycles = issue_cycles(run(tiny))
    waited, went_on = cycles[7], cycles[8]
    assert went_on == waited + ONE_TURN + WAIT


def test_a_phase_that_has_not_begun_counts_as_complete_for_the_other_parity() -> None:
    """As a producer waits the first time: parity 1 of a fresh barrier."""
    cycles = issue_cycles(run(program([(1, wait(0, 1))], mbarriers=[1])))
    assert cycles[1] == cycles[0] + ONE_TURN + WAIT


@pytest.mark.parametrize("early", [0, 40])
def test_the_last_arrival_releases_the_wait_not_a_cycle_before(early: int) -> None:
    late = [*[Row("NOP", stall=15)] * 20, arrive(0, 1)]
    tiny = program([(1, wait(0, 0)), (1, [arrive(0, 31), *late])], mbarriers=[32])
    result = run(tiny)
    arrived = issue_cycles(result, warp=1)[-2]
    assert issue_cycles(result, warp=0)[1] == arrived + ONE_TURN + ARRIVE + WAKE
    assert result.state_cycles[:, LONG].sum() > 250
    missing = program([(1, wait(0, 0)), (1, [arrive(0, 30), *late])], mbarriers=[32])
    with pytest.raises(SimulatedFailure, match="lacks 1 of 32 arrivals"):
        run(missing)


def test_bytes_release_the_wait_when_the_last_of_them_is_written() -> None:
    lines = 40
    copy = [expect(0, lines * 128), Row("UTMALDG.2D", access="tile"), *wait(0, 0)]
    result = run(program([(1, copy)], {"tile": Memory("TMALDG", lines=lines)}, mbarriers=[1]))
    event, = result.events[result.events["kind"] == COPY]
    assert issue_cycles(result)[3] == event["end"] + GPU.tma.arrive_cycles + WAKE
    assert event["start"] == issue_cycles(result)[1]
    assert event["end"] - event["start"] > GPU.l2.hit_latency_cycles - GPU.l2.hit_latency_spread_cycles


def test_one_byte_too_few_is_a_deadlock_that_names_barrier_phase_and_line() -> None:
    copy = [expect(0, 128), *wait(0, 1), expect(1, 40 * 128 + 1), Row("UTMALDG.2D", access="tile", operand=1),
            *(replace(row, line=77) for row in wait(1, 0))]
    with pytest.raises(SimulatedFailure) as failure:
        run(program([(1, copy)], {"tile": Memory("TMALDG", lines=40)}, mbarriers=[1, 1]))
    assert "waits for phase 0 (parity 0) of mbarrier 1 (bar[1]), which lacks 1 bytes" in str(failure.value)
    assert "tiny.py:77 SYNCS.PHASECHK.TRANS64.TRYWAIT" in str(failure.value)


def test_a_warpgroup_with_a_missing_warp_never_starts() -> None:
    tiny = program([(3, [wgmma(64, closes=True), Row("WARPGROUP.DEPBAR.LE", line=5)])])
    with pytest.raises(SimulatedFailure, match=r"wgmma group 0 of its warpgroup.*\n?.*tiny\.py:5 WARPGROUP\.DEPBAR"):
        run(tiny)


def test_a_warpgroup_of_which_a_warp_never_comes_to_the_fence_says_so() -> None:
    tiny = program([(3, [Row("WARPGROUP.ARRIVE", line=5), wgmma(64)])])
    with pytest.raises(SimulatedFailure, match=r"waits at the fence of its warpgroup, where 3 of 4 warps have come.*"
                                               r"\n?.*tiny\.py:5 WARPGROUP\.ARRIVE"):
        run(tiny)


@pytest.mark.parametrize(("columns", "registers", "pipe"), [
    (8, False, 18), (32, False, 24), (64, False, 32), (256, False, 128), (8, True, 13), (64, True, 32)])
def test_wgmma_follow_each_other_as_fast_as_operands_or_arithmetic_allow(
    columns: int, registers: bool, pipe: int
) -> None:
    body = [wgmma(columns, registers=registers, stall=2)] * 7
    result = run(program([(4, [*body, wgmma(columns, registers=registers, closes=True), Row("WARPGROUP.DEPBAR.LE")])]))
    events = result.events[(result.events["kind"] == MMA) & (result.events["warp"] == 0)]
    assert np.diff(events["start"]).tolist() == [pipe] * 7
    assert (events["end"] - events["start"] == pipe).all()
    assert set(result.events["warp"][result.events["kind"] == MMA].tolist()) == {0, 1, 2, 3}


def test_a_wait_for_groups_lets_go_with_the_results_of_the_group() -> None:
    spec, closing = GPU.wgmma, [wgmma(128, closes=True, stall=2)]
    first = run(program([(4, [*closing * 2, Row("WARPGROUP.DEPBAR.LE", operand=1), Row("FFMA")])]))
    both = run(program([(4, [*closing * 2, Row("WARPGROUP.DEPBAR.LE", operand=0), Row("FFMA")])]))
    start = issue_cycles(first, 3)[0] + spec.start_cycles
    fetch = (64 + 64) * 32 // 128
    assert issue_cycles(first, 3)[3] == start + fetch + 64 + spec.latency_cycles
    assert issue_cycles(both, 3)[3] == issue_cycles(first, 3)[3] + 64
    assert both.state_cycles[:, BARRIER].sum() > 4 * 100


def test_bulk_copies_are_written_while_wgmma_reads_all_the_time() -> None:
    """bulk_sharing.csv: n = 32 keeps the data stage busy, copies neither wait nor delay it."""
    copy = [expect(0, 64 * 128), Row("UTMALDG.2D", access="tile"), *wait(0, 0), Row("FFMA")]
    accesses = {"tile": Memory("TMALDG", lines=64)}
    busy = [wgmma(32, stall=1)] * 60 + [wgmma(32, closes=True, stall=2), Row("WARPGROUP.DEPBAR.LE"), Row("FFMA")]
    alone = run(program([(4, busy), (1, copy)], accesses, mbarriers=[1]))
    idle = run(program([(4, [Row("NOP")]), (1, copy)], accesses, mbarriers=[1]))
    multiply = run(program([(4, busy), (1, [Row("NOP")])], accesses, mbarriers=[1]))
    assert issue_cycles(alone, 4)[-2] < issue_cycles(idle, 4)[-2] + 100  # the mbarrier is behind operands
    late = issue_cycles(alone, 3)[-2] - issue_cycles(multiply, 3)[-2]
    assert 0 <= late <= 1  # the fifth warp begins before the first


def test_two_warpgroups_take_turns_and_the_pipe_never_rests() -> None:
    one = [*[wgmma(128)] * 7, wgmma(128, closes=True), Row("WARPGROUP.DEPBAR.LE")]
    result = run(program([(8, loop(one, 6))]))
    events = result.events[(result.events["kind"] == MMA) & (result.events["warp"] % 4 == 0)]
    starts = np.sort(events["start"])
    assert len(starts) == 2 * 6 * 8 and starts[-1] - starts[0] <= 64 * (len(starts) - 1) + 8


def test_operands_of_wgmma_take_turns_at_the_data_stage_from_other_accesses() -> None:
    loads = [Row("LDSM", access="ldsm", write=0)] * 40 + [Row("FFMA", wait=(0,))]
    alone = run(program([(4, [Row("NOP")]), (4, loads)], ACCESSES))
    beside = run(program([(4, [wgmma(32, stall=1)] * 20 + [wgmma(32, closes=True)]), (4, loads)], ACCESSES))
    assert issue_cycles(beside, 7)[-2] > issue_cycles(alone, 7)[-2] + 300


@pytest.mark.parametrize("story", STORIES)
def test_what_is_asked_for_arrives_and_states_sum_to_warp_cycles(story: str) -> None:
    result = run(STORIES[story])
    assert result.counters["bulk_bytes_asked"] == result.counters["bulk_bytes_loaded"]
    assert result.sm_state_cycles.sum() == result.state_cycles.sum() == result.sm_warp_cycles.sum()


def test_sectors_of_bulk_copies_pass_the_memory_system_like_all_others() -> None:
    result = run(warp_specialised())
    assert result.counters["sectors_to_sms"] == result.counters["bulk_bytes_loaded"] / 32 == 5 * 40 * 4
    assert result.counters["bulk_bytes_stored"] == 24 * 128
    assert 24 * 4 <= result.counters["l2_sectors_write"] <= 2 * 24 * 4  # those of the other partition pass both


@pytest.mark.parametrize("window", [1, 7, 64])
def test_windows_change_nothing(window: int) -> None:
    tiny = replace(warp_specialised(), name="ws")
    whole, cut = run(tiny), run(tiny, window_cycles=window)
    np.testing.assert_array_equal(whole.events, cut.events)
    np.testing.assert_array_equal(whole.state_cycles, cut.state_cycles)
    assert whole.cycles == cut.cycles


def test_workers_change_nothing() -> None:
    stages, wide = STORIES["two consumer warpgroups share the tensor pipe"], small_gpu(40)
    many = replace(stages, cta_class=np.zeros(40, np.int32), cta_bases=np.repeat(stages.cta_bases, 40, axis=0),
                   cta_index=np.repeat(stages.cta_index, 40, axis=0), launch=replace(stages.launch, grid=(40, 1, 1)))
    one, two = (run(many, wide, workers=workers) for workers in (1, 2))
    np.testing.assert_array_equal(one.cta_end, two.cta_end)
    np.testing.assert_array_equal(one.state_cycles, two.state_cycles)


def test_cp_async_arrivals_count_lanes() -> None:
    copies = [Row("LDGSTS", access="copy"), follow(0)]
    run(program([(2, [*copies, *wait(0, 0)])], ACCESSES, mbarriers=[64]))
    with pytest.raises(SimulatedFailure, match="lacks 1 of 65 arrivals"):
        run(program([(2, [*copies, *wait(0, 0)])], ACCESSES, mbarriers=[65]))


def test_a_counted_barrier_does_not_open_because_a_warp_leaves() -> None:
    with pytest.raises(SimulatedFailure, match="barrier 1, where 1 of"):
        run(program([(1, rows("BAR.SYNC operand=16385")), (1, rows("NOP"))]))


def test_gpus_without_the_units_refuse_in_a_sentence() -> None:
    bulk = program([(1, [Row("UTMALDG.2D", access="tile")])], ACCESSES, mbarriers=[1])
    for tiny in (program([(4, [wgmma(64)])]), bulk, program([(1, wait(0, 0))], mbarriers=[1])):
        with pytest.raises(UserError):
            simulate(tiny, load_gpu("a100"))


def test_an_mbarrier_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="got mbarrier 1 of 1"):
        run(program([(1, wait(1, 0))], mbarriers=[1]))
    with pytest.raises(UserError, match="got mbarrier 0 of 0"):
        run(program([(1, [Row("UTMALDG.2D", access="tile")])], ACCESSES))
