"""What waits for its window leaves in the order in which it came, and nothing is lost or doubled."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.engine.mailbox import Mailbox
from gpusim.engine.state import COMPLETION

WINDOWS = st.lists(st.tuples(st.lists(st.integers(0, 99), max_size=30), st.integers(0, 110)), max_size=8)


def records(times: list[int], first: int) -> np.ndarray:
    rows = np.zeros(len(times), COMPLETION)
    rows["time"], rows["op"] = times, np.arange(first, first + len(times))
    return rows


@given(WINDOWS)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_mailbox_is_a_list_from_which_what_is_due_is_taken(windows: list[tuple[list[int], int]]) -> None:
    mailbox, model, number = Mailbox(COMPLETION), [], 0
    for times, end in windows:
        mailbox.put(records(times, number))
        model += list(zip(times, range(number, number + len(times)), strict=True))
        number += len(times)
        due = mailbox.take_before(end)
        assert due[["time", "op"]].tolist() == [row for row in model if row[0] < end]
        model = [row for row in model if row[0] >= end]
        assert mailbox.records["op"].tolist() == [op for _, op in model]


def test_what_is_written_into_its_room_came() -> None:
    mailbox = Mailbox(COMPLETION)
    mailbox.put(records([7], 0))
    mailbox.room(2)[:2] = records([5, 9], 1)
    assert len(mailbox.records) == 1
    mailbox.came(2)
    assert mailbox.take_before(8)["time"].tolist() == [7, 5]
