"""Models what is under way between SMs and memory: records that wait for the window in which they are due.
Leaves out what they mean (gpusim.engine.host)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.views import borrow

__all__ = ["Mailbox"]


class Mailbox:
    """Records with a ``time``, in the order in which they came."""

    def __init__(self, dtype: np.dtype) -> None:
        self._rows, self._due, self._count = np.zeros(0, dtype), np.zeros(0, dtype), 0

    @property
    def records(self) -> np.ndarray:
        """What is here, as a view that lives until something comes or goes."""
        return self._rows[: self._count]

    def room(self, count: int) -> np.ndarray:
        """Rows behind the last record, at least ``count``: fill them, then tell ``came`` how many."""
        if len(self._rows) < self._count + count:
            more = np.zeros(self._count + 2 * count, self._rows.dtype)
            more[: self._count] = self.records
            self._rows, self._due = more, np.zeros_like(more)
        return self._rows[self._count :]

    def came(self, count: int) -> None:
        self._count += count

    def put(self, records: np.ndarray) -> None:
        self.room(len(records))[: len(records)] = records
        self.came(len(records))

    def take_before(self, end: int) -> np.ndarray:
        """Remove what is due before cycle ``end``; a view that lives until the next call."""
        kept = divide(self._rows, self._count, end, self._due)
        due, self._count = self._due[: self._count - kept], kept
        return due


@njit(cache=True, nogil=True)
def divide(rows, count, end, due):
    """Move rows with a time before ``end`` to ``due``, the others together; returns how many are left."""
    here, there, kept = borrow(rows), borrow(due), 0
    for i in range(count):
        if here[i].time < end:
            there[i - kept] = here[i]
        else:
            here[kept] = here[i]
            kept += 1
    return kept
