"""A barrier opens at once; a load behind it waits until accesses before it have left the data stage
(barrier_arrival.csv, store_meet.csv)."""

from __future__ import annotations

import pytest
from engine_programs import Memory, Row, issue_cycles, program, rows, run, small_gpu

GPU = small_gpu(1)
LATE = 300
"""The warp with the accesses comes so much later than the one that waits for it."""
CONFLICTS = {"a": Memory("LDSM4", ways=(8,)), "s": Memory("STS32", ways=(32,)), "g": Memory("LDG128", lines=4),
             "l": Memory("LDS32"), "w": Memory("STG32", lines=32)}
WAVEFRONTS, PER_WAVEFRONT = 32, GPU.shared.latency_cycles_per_wavefront
OPENING = GPU.barrier.base_cycles + GPU.barrier.cycles_per_warp
LOAD, STORE = Row("LDSM.16.M88.4", access="a", write=0), Row("STS", access="s")
READS = rows("LDS access=l write=1\nNOP wait=1")
MEET = rows("BAR.SYNC\nNOP")


def opens(before: list[Row]) -> int:
    """Cycles from BAR of the warp that comes last, with some instructions before it, until the other one goes on."""
    late = [*[Row("NOP")] * LATE, *before, *MEET]
    result = run(program([(1, MEET), (1, late)], CONFLICTS), GPU)
    return int(issue_cycles(result, 0)[1] - issue_cycles(result, 1)[-3])  # NOP and EXIT behind it


def reads(before: list[Row]) -> int:
    """Cycles from what stands before BAR of the warp that comes last until the other one has loaded behind it."""
    late = [*[Row("NOP")] * LATE, *before, *MEET]
    result = run(program([(1, [*MEET, *READS]), (1, late)], CONFLICTS), GPU)
    return int(issue_cycles(result, 0)[-2] - issue_cycles(result, 1)[LATE])


@pytest.mark.parametrize("before", [[], [LOAD], [LOAD] * 8, [STORE] * 4, [STORE] * 16,
                                    [Row("LDG", access="g", write=0, stall=15)], [Row("STG", access="w")] * 8])
def test_a_barrier_opens_whatever_is_queued_in_front_of_it(before: list[Row]) -> None:
    """store_meet.csv: 21 cycles behind BAR, be there one store or twelve with conflicts."""
    assert OPENING <= opens(before) <= OPENING + 2  # registers that stores read may hold BAR's dispatcher


@pytest.mark.parametrize("access", [LOAD, STORE])
@pytest.mark.parametrize("count", [2, 5, 8])
def test_what_is_loaded_behind_it_waits_until_they_have_passed(access: Row, count: int) -> None:
    assert reads([access] * count) - reads([access]) == (count - 1) * WAVEFRONTS * PER_WAVEFRONT


def test_loads_from_global_memory_and_those_that_have_passed_do_not_count() -> None:
    alone = reads([])
    assert reads([Row("LDG", access="g", write=0, stall=15)]) - alone == 15
    assert reads([LOAD, *[Row("NOP")] * 200]) - alone == 201


def test_what_the_warp_that_waits_has_loaded_counts_as_well() -> None:
    """The one that came first has still loads to pass when the last one comes."""
    result = run(program([(1, [LOAD] * 8 + [*MEET, *READS]), (1, MEET)], CONFLICTS), GPU)
    assert issue_cycles(result, 0)[-2] > 8 * WAVEFRONTS * PER_WAVEFRONT


def test_a_load_of_a_warp_that_was_not_at_the_barrier_waits_behind_it_too() -> None:
    """BAR stands at the front of the buffer meanwhile (barrier_copies.csv, barrier_beside.csv)."""
    pair = [LOAD] * 8 + [Row("BAR.SYNC", operand=1 | 64 << 8), Row("NOP")]
    bystander = [*[Row("NOP")] * 60, *READS]
    beside, alone = (run(program([(2, others), (1, bystander)], CONFLICTS), GPU) for others in (pair, pair[:4]))
    held, free = (issue_cycles(result, 2)[-2] for result in (beside, alone))
    assert held > 16 * WAVEFRONTS  # both paths are busy with the loads of the two
    assert free < 60 + 5 * WAVEFRONTS * PER_WAVEFRONT
