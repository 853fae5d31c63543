"""How many requests an SM can have under way to L2 (reads_under_way.csv), and who waits when it has as many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_programs import Memory, Row, issue_cycles, program, rows, run, small_gpu
from engine_strategies import ACCESSES as MIXED
from engine_strategies import programs
from hypothesis import given, settings
from hypothesis import strategies as st
from test_engine_golden import STORIES, assert_agrees

LINES = 8
ACCESSES = {"c": Memory("CPA16", lines=LINES), "l": Memory("LDSM4"), "g": Memory("LDG32", lines=LINES, first_line=100),
            "h": Memory("LDG32", lines=LINES, first_line=200), "s": Memory("STG32", lines=LINES)}
COPY = Row("LDGSTS.E.BYPASS.128", access="c", stall=2)
FREE = Row("NOP", wait=(1,))
"""Behind an access with read=1: its address is free."""
AT_A_TIME = 2
GPU = small_gpu(1, f"l1.reads_under_way={AT_A_TIME * LINES}")


def when_free(first: list[Row]) -> int:
    """When the address of a copy behind ``first`` is free."""
    return issue_cycles(run(program([*first, replace(COPY, read=1), FREE], ACCESSES), GPU))[-1]


def data_there(first: list[Row]) -> int:
    """When the data of the first copy are in shared memory."""
    body = [first[0], Row("LDGDEPBAR", write=0), Row("DEPBAR.LE"), Row("NOP")]
    return issue_cycles(run(program(body, ACCESSES), GPU))[-1]


def test_a_copy_waits_until_the_first_of_so_many_has_its_data() -> None:
    alone = when_free([COPY])
    assert 0 < when_free([COPY] * AT_A_TIME) - data_there([COPY]) < alone
    assert when_free([COPY] * (AT_A_TIME - 1)) == alone < data_there([COPY]) // 2


def test_whoever_is_behind_such_a_copy_waits_and_other_sub_partitions_do_not() -> None:
    filled = [COPY] * (AT_A_TIME + 1)
    load = rows("LDSM access=l write=0 stall=2\nNOP wait=0")
    behind = issue_cycles(run(program([*filled, *load], ACCESSES), GPU))[-1]
    beside = issue_cycles(run(program([(1, filled), (1, load)], ACCESSES), GPU), 1)[-1]
    assert behind > data_there([COPY])
    assert beside < data_there([COPY]) // 2


@pytest.mark.parametrize(("name", "accesses", "waits"), [
    ("LDG", "gh", True), ("LDG", "gg", False), ("STG", "ss", False),
])
def test_loads_count_but_for_what_l1_expects_and_stores_do_not(name: str, accesses: str, waits: bool) -> None:
    first = [Row(name, access=access, write=2 if name == "LDG" else 7) for access in accesses]
    assert (when_free(first) > data_there([COPY]) // 2) == waits


def test_bulk_copies_take_a_way_of_their_own() -> None:
    bulk = {"b": Memory("TMALDG", lines=64), **ACCESSES}
    first = [Row("UTMALDG.2D", access="b", operand=0), Row("LDGSTS.E.BYPASS.128", access="c", stall=2, read=1), FREE]
    free = issue_cycles(run(program(first, bulk, mbarriers=[1]), GPU))[-1]
    assert free < data_there([COPY]) // 2


@pytest.mark.parametrize("story", STORIES)
def test_stories_agree_in_every_cycle(story: str) -> None:
    assert_agrees(program(STORIES[story], MIXED), "grr", f"l1.reads_under_way={2 * LINES}", each_unit=False)


@given(programs(), st.sampled_from([1, 3, 8, 20]))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_random_programs_agree_in_every_cycle(tiny: object, most: int) -> None:
    assert_agrees(tiny, "gto", f"l1.reads_under_way={most}", each_unit=False)  # type: ignore[arg-type]


def test_nothing_is_under_way_at_the_end() -> None:
    """Requests sent are requests answered: a second launch's worth of copies takes as long behind a pause."""
    body = [COPY] * (3 * AT_A_TIME) + [Row("LDGDEPBAR", write=0), Row("DEPBAR.LE")]
    starts = np.array(issue_cycles(run(program(body * 2 + [Row("NOP")], ACCESSES), GPU)))
    once = len(body)
    assert starts[2 * once] - starts[once] == pytest.approx(starts[once] - starts[0], abs=4)
