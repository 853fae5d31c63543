"""A warp is at a barrier when its shared-memory accesses have left the data stage (barrier_arrival.csv)."""

from __future__ import annotations

import pytest
from engine_programs import Memory, Row, issue_cycles, program, rows, run, small_gpu

GPU = small_gpu(1)
LATE = 300
"""The warp with the accesses comes so much later than the one that waits for it."""
CONFLICTS = {"a": Memory("LDSM4", ways=(8,)), "s": Memory("STS32", ways=(32,)), "g": Memory("LDG128", lines=4)}
WAVEFRONTS, PER_WAVEFRONT = 32, GPU.shared.latency_cycles_per_wavefront
OPENING = GPU.barrier.base_cycles + GPU.barrier.cycles_per_warp


def opens(before: list[Row]) -> tuple[int, int]:
    """First cycle behind the barrier of the warp that waits, and when the other one's BAR issues, from what stands
    before that one on."""
    late = [*[Row("NOP")] * LATE, *before, *rows("BAR.SYNC\nNOP")]
    result = run(program([(1, rows("BAR.SYNC\nNOP")), (1, late)], CONFLICTS), GPU)
    issued = issue_cycles(result, 1)
    return int(issue_cycles(result, 0)[1] - issued[LATE]), int(issued[-3] - issued[LATE])  # NOP and EXIT behind it


def ends(count: int) -> int:
    """When the data of the last one of ``count`` loads have passed: so much before what waits for them goes on."""
    load, waits = Row("LDSM.16.M88.4", access="a", write=0), Row("NOP", wait=(0,))
    many, one = (issue_cycles(run(program([*[load] * n, waits], CONFLICTS), GPU), 0) for n in (count, 1))
    return int(many[-1] - one[-1]) + WAVEFRONTS * PER_WAVEFRONT


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_loads_keep_a_barrier_shut_until_they_have_passed(count: int) -> None:
    opened, _ = opens([Row("LDSM.16.M88.4", access="a", write=0)] * count)
    first, _ = opens([Row("LDSM.16.M88.4", access="a", write=0)])
    assert opened - first == ends(count) - ends(1) == (count - 1) * WAVEFRONTS * PER_WAVEFRONT
    assert opened > OPENING + 2 * count


def test_so_do_stores() -> None:
    one, _ = opens([Row("STS", access="s")])
    assert opens([Row("STS", access="s")] * 6)[0] - one == 5 * WAVEFRONTS * PER_WAVEFRONT


@pytest.mark.parametrize("before", [
    [], [Row("LDG", access="g", write=0, stall=15)], [Row("LDSM.16.M88.4", access="a", write=0), *[Row("NOP")] * 200]])
def test_loads_from_global_memory_and_those_that_have_passed_do_not(before: list[Row]) -> None:
    opened, issued = opens(before)
    assert opened - issued == OPENING


def test_what_the_warps_that_wait_have_loaded_counts_as_well() -> None:
    """The one that came first has still loads to pass when the last one comes."""
    load = Row("LDSM.16.M88.4", access="a", write=0)
    early = [*[load] * 8, *rows("BAR.SYNC\nNOP")]
    result = run(program([(1, early), (1, rows("BAR.SYNC\nNOP"))], CONFLICTS), GPU)
    assert issue_cycles(result, 1)[1] > 8 * WAVEFRONTS * PER_WAVEFRONT
