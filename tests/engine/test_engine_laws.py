"""What holds for every simulation: nothing is lost or counted twice, and how it is computed changes no answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from engine_programs import Memory, Row, depbar, loop, program, rows, run, small_gpu
from engine_strategies import ACCESSES, programs
from hypothesis import given, settings

from gpusim.arch import GpuSpec
from gpusim.engine import EVENT_KINDS, WARP_STATES, SimulationResult
from gpusim.engine.state import GROUPS
from gpusim.program import Program

HOST_TIMES = ("host_seconds", "compile_seconds")
SELECTED = WARP_STATES.index("selected")
COPIES = rows("""
    LDGSTS access=tile
    LDGSTS access=scattered stall=2
    LDGDEPBAR write=5
    DEPBAR.LE operand=327680
    BAR.SYNC stall=2
    LDSM access=ldsm write=0
    HMMA.16816.F32 wait=0 stall=4
""")


def differences(left: SimulationResult, right: SimulationResult) -> list[str]:
    """Fields in which two results differ, those about the host apart."""
    names = [field.name for field in dataclasses.fields(left) if field.name not in HOST_TIMES]
    return [name for name in names if not _equal(getattr(left, name), getattr(right, name))]


def _equal(left: object, right: object) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(value, right[name]) for name, value in left.items())
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.array_equal(left, right)
    return left == right


def waves(ctas: int, warps: int = 4) -> Program:
    """More CTAs than fit at once, of two kinds that take different times."""
    short, long = loop(COPIES, 1), loop(COPIES, 3)
    kinds = [cta % 2 for cta in range(ctas)]
    return program([(warps, short)], ACCESSES, ctas=ctas, other_classes=[long], cta_class=kinds, cta_bytes=4096,
                   shared_bytes=100_000)


@given(programs())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_states_of_warps_add_up_to_their_lives(tiny: Program) -> None:
    result = run(tiny)
    assert result.state_cycles.sum() == result.sm_warp_cycles.sum()
    np.testing.assert_array_equal(result.state_cycles.sum(axis=0), result.sm_state_cycles.sum(axis=0))
    np.testing.assert_array_equal(result.state_cycles[:, SELECTED], result.issued)
    assert result.warp_instructions == sum(
        len(role.ops) * role.num_warps for cta in tiny.cta_class for role in tiny.classes[cta].roles)


def test_states_add_up_on_every_sm() -> None:
    result = run(waves(40), small_gpu(6), l2="cold")
    np.testing.assert_array_equal(result.sm_state_cycles.sum(axis=1), result.sm_warp_cycles)
    np.testing.assert_array_equal(result.state_cycles.sum(axis=0), result.sm_state_cycles.sum(axis=0))


def test_a_warp_is_in_one_state_at_a_time() -> None:
    events = run(program([(6, loop(COPIES, 3))], ACCESSES)).events
    for warp in range(6):
        spans = events[(events["warp"] == warp) & (events["kind"] <= EVENT_KINDS.index("state"))]
        np.testing.assert_array_equal(spans["start"][1:], spans["end"][:-1])


def test_events_cover_the_whole_life_of_a_warp() -> None:
    result = run(program([Row("STG", access="stg")], ACCESSES))
    spans = result.events[result.events["kind"] <= EVENT_KINDS.index("state")]
    assert (spans["end"] - spans["start"]).sum() == result.sm_warp_cycles.sum()


def test_events_name_rows_of_their_role() -> None:
    events = run(program([(1, rows("NOP\nNOP")), (1, rows("FFMA"))])).events
    assert events["op"][events["warp"] == 1].tolist() == [0, 1]


@pytest.mark.parametrize("l2", ["cold", "warm"])
def test_every_sector_that_is_asked_for_reaches_an_sm(l2: str) -> None:
    tiny = waves(24)
    counters = run(tiny, small_gpu(4), l2=l2).counters
    assert counters["sectors_to_sms"] == _sectors(tiny)
    fabric = counters["l2_sectors_fabric"]
    assert counters["l2_sectors_read"] == _sectors(tiny) - counters["coalesced_sectors"] + fabric
    assert counters["dram_bytes_read"] == 32 * (counters["l2_sectors_read"] - counters["l2_sector_hits_read"] - fabric)
    assert (counters["dram_bytes_read"] == 0) == (l2 == "warm")


def test_no_group_is_taken_for_anything_else() -> None:
    """More groups than a warp can have in flight: each number of a group comes up."""
    tiny = program([(2, loop(COPIES, 2 * GROUPS))], ACCESSES)
    assert run(tiny).counters["sectors_to_sms"] == _sectors(tiny)


def _sectors(tiny: Program) -> int:
    """32-byte sectors that the launch's accesses name, counted one by one."""
    total = 0
    for number in tiny.cta_class:
        for role in tiny.classes[number].roles:
            for access in role.ops["access"][role.ops["access"] >= 0]:
                for warp in range(role.num_warps):
                    first = role.accesses.request_first[access, warp]
                    lines = role.accesses.requests[first : first + role.accesses.request_count[access, warp]]
                    total += sum(int(mask).bit_count() for mask in lines["sector_mask"])
    return total


def test_every_cta_starts_once_and_ends_once_in_launch_order() -> None:
    gpu = small_gpu(3)
    result = run(waves(31), gpu, l2="cold")
    assert (result.cta_start >= 0).all()
    assert (result.cta_end > result.cta_start).all()
    for sm in range(gpu.sm.count):
        starts, ends = result.cta_start[result.cta_sm == sm], result.cta_end[result.cta_sm == sm]
        assert (np.diff(starts) >= 0).all()
        for start in starts:
            assert ((starts <= start) & (ends > start)).sum() <= result.blocks_per_sm
        successors = starts[starts > 0]
        assert all((start - gpu.launch.cta_gap_cycles) in ends for start in successors)


def test_the_first_ctas_go_round_the_sms() -> None:
    gpu = small_gpu(3)
    result = run(waves(6), gpu)
    assert result.cta_sm.tolist() == [0, 1, 2, 0, 1, 2]


def test_the_same_input_twice_gives_the_same_output() -> None:
    gpu = small_gpu(4)
    assert differences(run(waves(20), gpu, l2="cold"), run(waves(20), gpu, l2="cold")) == []


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_change_nothing(workers: int) -> None:
    gpu = small_gpu(8)
    assert differences(run(waves(40), gpu, l2="cold"), run(waves(40), gpu, l2="cold", workers=workers)) == []


def window_differences(tiny: Program, gpu: GpuSpec) -> list[list[str]]:
    """For every length of window: what differs from windows of one cycle."""
    smallest = run(tiny, gpu, l2="cold", window_cycles=1)
    return [differences(smallest, run(tiny, gpu, l2="cold", window_cycles=cycles))
            for cycles in (7, 50, gpu.l2.lookahead_cycles)]


def test_the_window_changes_nothing_for_one_sm() -> None:
    assert window_differences(program([(8, loop(COPIES, 4))], ACCESSES, ctas=2), small_gpu()) == [[], [], []]


def test_the_window_changes_nothing_when_a_tag_stage_is_backed_up() -> None:
    crowd = [*[Row("LDGSTS", access="scattered")] * 12, Row("LDGDEPBAR", write=0), depbar(0, 0)]
    late = [Row("NOP", stall=100), *[Row("LDGSTS", access="tile", stall=20)] * 6, *crowd[-2:]]
    tiny = program([(4, crowd)], ACCESSES, ctas=2, other_classes=[late], cta_class=[0, 1])
    assert window_differences(tiny, small_gpu(2)) == [[], [], []]


def test_the_window_changes_nothing_for_where_warps_go() -> None:
    lives = [[Row("FFMA", stall=4)] * length for length in (3, 30, 70, 130)]
    classes = [(7 * cta) % 5 for cta in range(60)]
    tiny = program([(1, [Row("FFMA", stall=4)] * 200)], ctas=60, other_classes=lives, cta_class=classes)
    assert window_differences(tiny, small_gpu()) == [[], [], []]


def test_ctas_of_three_warps_find_room() -> None:
    lives = [[Row("FFMA", stall=4)] * length for length in (20, 50, 150, 300, 390)]
    classes = [(7 * cta + cta // 5) % 6 for cta in range(80)]
    tiny = program([(3, [Row("FFMA", stall=4)])], ctas=80, other_classes=lives, cta_class=classes)
    assert (run(tiny, record=None).cta_end > 0).all()


def test_a_memory_access_without_sectors_asks_for_nothing() -> None:
    nothing = {"a": Memory("LDG32", lines=0)}
    result = run(program(rows("LDG access=a write=0\nFFMA wait=0"), nothing))
    assert result.counters["sectors_to_sms"] == 0
    assert result.cta_end[0] < small_gpu().l2.lookahead_cycles
