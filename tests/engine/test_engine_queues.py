"""The way from a sub-partition to the load/store unit: who waits there, and for whom."""

from __future__ import annotations

import numpy as np
from engine_programs import Memory, Row, issue_cycles, program, rows, run, small_gpu

GPU = small_gpu(1)
LINES = 16
ACCESSES = {"c": Memory("CPA16", lines=LINES), "l": Memory("LDSM4")}


def arrival_of_the_load(copies: int) -> int:
    """Issue of what needs an ldmatrix that comes when another sub-partition's copies fill the tag stage."""
    copying = [Row("LDGSTS.E.BYPASS.128", access="c", stall=1)] * copies
    loading = [*[Row("NOP", stall=15)] * 8, Row("LDSM", access="l", write=0, stall=2), Row("NOP", wait=(0,))]
    return issue_cycles(run(program([(1, copying), (1, loading)], ACCESSES), GPU), 1)[-1]


def test_copies_that_find_no_room_in_front_of_the_tag_stage_hold_back_nobody_else() -> None:
    """copy_source.csv, warps without a barrier: ldmatrix go on while other warps' copies are looked up."""
    copies = 3 * GPU.l1.tag_entries
    assert copies * LINES > 8 * 15 + 100, "they are at it when the load comes"
    assert arrival_of_the_load(copies) - arrival_of_the_load(0) <= 2


def test_a_load_behind_copies_of_its_own_warp_waits_until_the_last_one_has_room() -> None:
    copies = 2 * GPU.l1.tag_entries
    rest = "LDSM access=l write=0 stall=2\nNOP wait=0"
    alone, behind = (issue_cycles(run(program([(1, [Row("LDGSTS.E.BYPASS.128", access="c", stall=1)] * count
                                                + rows(rest))], ACCESSES), GPU))[-1] for count in (0, copies))
    last_has_room = (copies - GPU.l1.tag_entries) * LINES
    assert last_has_room < behind - alone < last_has_room + 2 * LINES


def test_a_barrier_is_reached_behind_the_copies_that_went_before() -> None:
    """copy_source.csv, warps at a barrier: it opens when everybody's copies have room, not when BAR is issued."""
    copies = 2 * GPU.l1.tag_entries
    body = [Row("LDGSTS.E.BYPASS.128", access="c", stall=1)] * copies + rows("BAR.SYNC\nNOP")
    cycles = issue_cycles(run(program([(1, body), (1, rows("BAR.SYNC\nNOP"))], ACCESSES), GPU), 1)
    opened = cycles[-1] - GPU.barrier.base_cycles
    last_has_room = (copies - GPU.l1.tag_entries) * LINES
    assert last_has_room < opened < last_has_room + 2 * LINES


def test_the_end_of_a_group_has_a_place_among_the_copies() -> None:
    """Where copies fill the queue, each of them makes a barrier behind it open a copy later; here a copy's lines are
    written one by one, which takes longer than looking them up."""
    copies = [Row("LDGSTS.E.BYPASS.128", access="c", stall=1)] * (2 * GPU.l1.tag_entries)
    opened = []
    for commits in (0, 1, 2):
        body = copies + [Row("LDGDEPBAR", write=5)] * commits + rows("BAR.SYNC\nNOP")
        opened.append(issue_cycles(run(program([(1, body)], ACCESSES), GPU))[-1])
    assert np.diff(opened).tolist() == [LINES + GPU.l1.copy_write_lead_cycles] * 2
