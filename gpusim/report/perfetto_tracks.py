"""Models where a trace event stands: the process of its SM, the thread of its warp slot or unit, its time.
Leaves out what the events are (gpusim.report.perfetto, gpusim.report.perfetto_links)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpusim.engine.result import SimulationResult

__all__ = ["Event", "Tracks", "counter", "micros"]

Event = dict[str, Any]
_MICROSECONDS_PER_CYCLE = 0.001
_PROCESSES_PER_RUN, _THREADS_PER_PROCESS = 1000, 1000
_TENSOR_THREAD, _SHARED_THREAD = 800, 900


def micros(cycles: int) -> float:
    """Time stamps are microseconds; a cycle is drawn as a nanosecond."""
    return round(int(cycles) * _MICROSECONDS_PER_CYCLE, 3)


def counter(name: str, process: int, cycle: int, **values: float) -> Event:
    """The value of a counter of a process from ``cycle`` on."""
    return {"ph": "C", "name": name, "pid": process, "ts": micros(cycle), "args": values}


class Tracks:
    """Numbers of processes and threads of run ``number`` of a file; none is 0, and no thread number occurs twice."""

    def __init__(self, result: SimulationResult, number: int = 0) -> None:
        self.cta_sm, self.first_process = result.cta_sm, 1 + number * _PROCESSES_PER_RUN

    def process(self, sm: int) -> int:
        return self.first_process + int(sm)

    def process_of(self, row: np.void) -> int:
        return self.process(self.cta_sm[row["cta"]])

    def warp_thread(self, process: int, slot: int) -> int:
        return process * _THREADS_PER_PROCESS + 1 + int(slot)

    def pipe_thread(self, process: int, pipe: int) -> int:
        return process * _THREADS_PER_PROCESS + _TENSOR_THREAD + int(pipe)

    def shared_thread(self, process: int) -> int:
        return process * _THREADS_PER_PROCESS + _SHARED_THREAD

    def place(self, row: np.void) -> Event:
        """The thread of the warp that an event belongs to."""
        process = self.process_of(row)
        return {"pid": process, "tid": self.warp_thread(process, row["warp_slot"])}

    def slice(self, name: str, category: str, row: np.void, **arguments: object) -> Event:
        """A slice of a warp."""
        return {
            "ph": "X", "name": name, "cat": category, **self.place(row), "args": arguments,
            "ts": micros(row["start"]), "dur": micros(row["end"] - row["start"]),
        }

    def stretch(self, name: str, category: str, first: np.void, last: np.void) -> Event:
        """A slice around the events of a warp from ``first`` to ``last``."""
        return {**self.slice(name, category, first), "dur": micros(last["end"] - first["start"])}

    def names(self, what: str, process: int, thread: int, name: str) -> Iterator[Event]:
        """The name of a ``process`` or ``thread``, and its place among the others: by number."""
        base = {"ph": "M", "pid": process, "tid": thread}
        place = process if what == "process" else thread
        yield {**base, "name": f"{what}_name", "args": {"name": name}}
        yield {**base, "name": f"{what}_sort_index", "args": {"sort_index": place}}
