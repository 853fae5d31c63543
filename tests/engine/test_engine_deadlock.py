"""A launch that cannot go on says so: which warp waits for what, since which cycle, at which source line."""

from __future__ import annotations

import re

import pytest
from engine_programs import Memory, Row, depbar, issue_cycles, program, row, rows, run

from gpusim.errors import SimulatedFailure
from gpusim.program import Program

NEVER_MEET = [(1, rows("NOP stall=9\nBAR.SYNC operand=1")), (1, rows("NOP\nNOP\nBAR.SYNC operand=2"))]


def failure(tiny: Program, **options: int) -> str:
    with pytest.raises(SimulatedFailure) as caught:
        run(tiny, None, **options)
    return str(caught.value)


def test_every_warp_is_named_with_its_barrier_its_cycle_and_its_line() -> None:
    text = failure(program(NEVER_MEET))
    assert "no warp can ever issue again" in text
    assert ("CTA 0 warp 0 (SM 0) waits at barrier 1, where 1 of 2 warps have arrived, since cycle 9, "
            "at tiny.py:2 BAR.SYNC (body)") in text
    assert ("CTA 0 warp 1 (SM 0) waits at barrier 2, where 1 of 2 warps have arrived, since cycle 2, "
            "at tiny.py:3 BAR.SYNC (body)") in text


def test_a_warp_that_goes_elsewhere_leaves_the_others_waiting() -> None:
    """Warps 0 to 2 wait for warp 3, which waits for them at another barrier."""
    text = failure(program([(3, rows("BAR.SYNC")), (1, rows("BAR.SYNC operand=3"))]))
    assert text.count("waits at barrier 0, where 3 of 4 warps have arrived") == 3
    assert text.count("waits at barrier 3, where 1 of 4 warps have arrived") == 1


def test_only_the_first_warps_of_a_crowd_are_listed() -> None:
    text = failure(program([(7, rows("BAR.SYNC operand=1")), (5, rows("BAR.SYNC operand=2"))]))
    assert len(re.findall(r"waits at barrier", text)) == 8
    assert text.endswith("and 4 more warps")


def test_a_deadlock_is_found_while_other_ctas_finish() -> None:
    fine = [Row("NOP", stall=15)] * 30
    tiny = program(NEVER_MEET, ctas=2, other_classes=[fine], cta_class=[0, 1])
    text = failure(tiny)
    assert "CTA 0 warp 0" in text
    assert "CTA 1" not in text


def test_the_cycle_is_the_one_after_which_nothing_happens() -> None:
    tiny = program([(1, [*[Row("NOP")] * 90, Row("BAR.SYNC", operand=1)]), (1, rows("BAR.SYNC"))])
    text = failure(tiny)
    assert text == failure(tiny, window_cycles=1)
    cycle, since = (int(re.findall(pattern, text)[0]) for pattern in (r"at cycle (\d+)", r"since cycle (\d+)"))
    assert since == 90
    assert cycle >= since


def test_copies_that_were_never_committed_are_waited_for_by_nobody() -> None:
    """As in PTX: cp.async.wait_group counts committed groups only, so this is a race and not a deadlock."""
    body = [row("LDGSTS access=c"), depbar(0, 0), Row("NOP")]
    assert issue_cycles(run(program(body, {"c": Memory("CPA16", lines=4)})))[1:3] == [1, 2]


def commits(groups: int) -> Program:
    """A copy, which takes its time to L2 and back, and as many ends of groups as issue meanwhile."""
    body = [*rows("LDGSTS access=a"), *rows("LDGDEPBAR write=5 stall=2") * groups, depbar(5, 0), *rows("NOP")]
    return program(body, {"a": Memory("CPA16", lines=4)})


def test_a_warp_may_have_62_groups_of_copies_in_flight() -> None:
    assert run(commits(62), None).issued.sum() == 62 + 4  # LDGSTS, DEPBAR, NOP, EXIT


def test_more_groups_of_copies_than_that_are_refused_in_one_sentence() -> None:
    text = failure(commits(63))
    assert text == ("more than 62 cp.async groups of a warp are in flight, as many as can be simulated; "
                    "wait for some, or commit less often")
