"""The way from a sub-partition to the load/store unit: who waits there, and for whom."""

from __future__ import annotations

import pytest
from engine_programs import Memory, Row, issue_cycles, program, rows, run, small_gpu

GPU = small_gpu(1)
LINES = 16
ACCESSES = {"c": Memory("CPA16", lines=LINES), "l": Memory("LDSM4")}
COPY = Row("LDGSTS.E.BYPASS.128", access="c", stall=1)
LOAD = rows("LDSM access=l write=0 stall=2\nNOP wait=0")
TURN = LINES + GPU.l1.copy_write_lead_cycles
"""Cycles of a copy at the tag stage: its lines are written one by one, which takes longer than looking them up."""
PLACES = GPU.l1.tag_entries // GPU.l1.access_tag_entries
"""Copies that wait for the tag stage and let others pass; one is looked up, and the next two have left them already."""
LEFT = 2
BUFFERED = GPU.mio.buffer_entries // GPU.mio.copy_buffer_entries
"""Copies in the buffer, with those that wait for the tag stage."""
MANY = 20
OF_ONE_WARP = 1 | 32 << 8
"""Operand of a BAR at barrier 1 that waits for 32 threads."""


def arrival_of_the_load(copies: int) -> int:
    """Issue of what needs an ldmatrix that comes when another sub-partition's copies fill the buffer."""
    loading = [*[Row("NOP", stall=15)] * 8, *LOAD]
    return issue_cycles(run(program([(1, [COPY] * copies), (1, loading)], ACCESSES), GPU), 1)[-1]


def end(body: list[Row]) -> int:
    """Issue of a warp's last instruction but EXIT."""
    return issue_cycles(run(program([(1, body)], ACCESSES), GPU))[-1]


def test_copies_that_wait_at_the_front_of_the_buffer_hold_back_loads_of_others() -> None:
    """lsu_queue.csv, delayed: a load of another sub-partition waits for the copies in the buffer until all wait for the
    tag stage, and for no others."""
    waits = [arrival_of_the_load(copies) - arrival_of_the_load(0) for copies in (MANY // 2, MANY, 2 * MANY)]
    assert waits[0] == 0 < waits[1] == waits[2]
    assert abs(waits[1] - (BUFFERED - PLACES) * TURN) < TURN


def test_a_load_behind_copies_of_its_own_warp_waits_until_the_last_one_has_a_place() -> None:
    """barrier_copies.csv: it passes five copies that wait for the tag stage."""
    passed = (MANY - PLACES - LEFT) * TURN
    assert abs(end([COPY] * MANY + LOAD) - end(LOAD) - passed) < TURN


@pytest.mark.parametrize("last", [[], [Row("LDGDEPBAR", write=5)]])
def test_a_barrier_opens_while_copies_in_front_of_it_are_queued(last: list[Row]) -> None:
    """barrier_copies.csv: 16 cycles behind the last BAR, with a commit in front of it, too."""
    meet = rows("BAR.SYNC\nNOP")
    result = run(program([(1, [COPY] * MANY + last + meet), (1, meet)], ACCESSES), GPU)
    met, opened = issue_cycles(result, 0)[MANY + len(last)], issue_cycles(result, 1)[1]
    at_once = met + GPU.barrier.base_cycles + GPU.barrier.cycles_per_warp
    assert at_once <= opened <= at_once + 2  # registers that copies read may hold BAR's dispatcher


def test_loads_behind_a_barrier_wait_for_all_copies_before_it() -> None:
    """barrier_copies.csv: until the last copy is next at the tag stage; with a commit, until it has passed."""
    meet = [*rows("BAR.SYNC"), *LOAD]
    without, behind_one, behind_two = (end([COPY] * MANY + [Row("LDGDEPBAR", write=5)] * commits + meet)
                                       for commits in range(3))
    assert behind_one == behind_two == without + 2 * TURN
    later = (PLACES + LEFT - 1) * TURN - GPU.l1.tag_lead_cycles
    assert abs(without - end([COPY] * MANY + LOAD) - later) < TURN


def test_a_barrier_does_not_wait_behind_loads_of_another_warp() -> None:
    """barrier_beside.csv: whatever fills the queue of its sub-partition, BAR takes as long."""
    meets = [*[Row("NOP", stall=15)] * 8, Row("BAR.SYNC", operand=OF_ONE_WARP), Row("NOP")]
    loads = [Row("LDSM", access="a", write=0, stall=2)] * 40
    free, beside = (issue_cycles(run(program([(4, others), (1, meets)], {"a": Memory("LDSM4", ways=(8,))}), GPU), 4)
                    for others in (rows("NOP"), loads))
    assert beside[-2] - beside[-3] == free[-2] - free[-3]
