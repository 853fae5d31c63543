"""Tests of which copies belong together and which instruction waits for them, against a queue walked op by op."""

from __future__ import annotations

import dataclasses

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.program import NO_BARRIER, empty_ops
from gpusim.report.timeline_copies import NO_ROW, REGISTERS, role_copies

LDG, LDGSTS, COMMIT, DEPBAR, USE = 0, 1, 2, 8, 6  # pc in the tiny program, whose S2R becomes a load
BOARD, STAGE_BYTES = 0, 2048
UNCHANGED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # no test changes the program

STEPS = st.one_of(
    st.tuples(st.just(LDGSTS), st.integers(0, 3)),  # into a stage
    st.tuples(st.just(COMMIT), st.just(0)),
    st.tuples(st.just(DEPBAR), st.integers(0, 3)),  # groups that may stay pending
    st.tuples(st.just(LDG), st.integers(1, 3)),  # scoreboard barrier
    st.tuples(st.just(USE), st.integers(0, 3)),
)


def make_role(program, steps):
    """The tiny role with other ops; access 0 is a cp.async, access 2 touches global memory alone."""
    ops = empty_ops(len(steps))
    for op, (pc, number) in zip(ops, steps, strict=True):
        op["pc"], op["write_barrier"] = pc, {COMMIT: BOARD, LDG: number}.get(pc, NO_BARRIER)
        op["access"] = {LDGSTS: 0, LDG: 2}.get(pc, -1)
        op["shared_offset"] = STAGE_BYTES * number if pc == LDGSTS else 0
        op["operand"] = (BOARD << 16) + number if pc == DEPBAR else 0
        op["wait_mask"] = 1 << number if pc == USE else 0
    return dataclasses.replace(program.classes[0].roles[0], ops=ops)


def walk(steps):
    """{row: (group, row that waits)} of copies, and {row: row that waits} of loads."""
    copies, loads, open_copies, groups, pending = {}, {}, [], [], {}
    for row, (pc, number) in enumerate(steps):
        if pc == LDGSTS:
            copies[row] = [len(groups), NO_ROW]
            open_copies.append(row)
        elif pc == COMMIT:
            groups.append(open_copies)
            open_copies = []
        elif pc == LDG:
            loads[row] = NO_ROW
            pending.setdefault(number, []).append(row)
        elif pc in (DEPBAR, USE):
            left = number if pc == DEPBAR else 0 if number == BOARD else None
            for group in groups[: max(0, len(groups) - left)] if left is not None else []:
                for copy in group:
                    copies[copy][1] = row if copies[copy][1] == NO_ROW else copies[copy][1]
            for load in pending.pop(number, []) if pc == USE else []:
                loads[load] = row
    return copies, loads


@UNCHANGED
@given(steps=st.lists(STEPS, min_size=1, max_size=40))
def test_waits_are_those_of_a_queue_of_groups(tiny_program, steps):
    tags = role_copies(tiny_program, make_role(tiny_program, steps))
    has_commit = any(pc == COMMIT for pc, _ in steps)
    copies, loads = walk(steps)
    for row, (group, needed_by) in copies.items():
        assert tags.group[row] == group
        assert tags.needed_by[row] == (needed_by if has_commit else NO_ROW)
    for row, needed_by in loads.items():
        assert (tags.stage[row], tags.needed_by[row]) == (REGISTERS, needed_by)


@UNCHANGED
@given(steps=st.lists(STEPS, min_size=1, max_size=40))
def test_stages_count_up_with_the_address_that_groups_begin_at(tiny_program, steps):
    tags = role_copies(tiny_program, make_role(tiny_program, steps))
    lowest: dict[int, int] = {}
    for row, (pc, number) in enumerate(steps):
        if pc == LDGSTS:
            group = int(tags.group[row])
            lowest[group] = min(lowest.get(group, number), number)
    order = sorted(set(lowest.values()))
    for row, (pc, _) in enumerate(steps):
        if pc == LDGSTS:
            assert tags.stage[row] == order.index(lowest[int(tags.group[row])])


def test_loads_between_two_waits_are_one_batch(tiny_program):
    steps = [(LDG, 1), (LDG, 2), (USE, 1), (USE, 2), (LDG, 1), (LDG, 1), (USE, 1)]
    tags = role_copies(tiny_program, make_role(tiny_program, steps))
    loads = [row for row, (pc, _) in enumerate(steps) if pc == LDG]
    assert tags.group[loads].tolist() == [0, 0, 1, 1]
    assert tags.needed_by[loads].tolist() == [2, 3, 6, 6]
