"""Models time: SimPy processes for the clock, the groups of SMs and the memory, in conservative windows.
Leaves out what happens inside a window (gpusim.engine.scheduler, gpusim.engine.memory)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import simpy

from gpusim.engine.blocks import BlockScheduler
from gpusim.engine.bulk import split_bulk
from gpusim.engine.clusters import Clusters
from gpusim.engine.deadlock import describe_deadlock
from gpusim.engine.flags import missing_flags
from gpusim.engine.image import ProgramImage
from gpusim.engine.machine import Machine
from gpusim.engine.mailbox import Mailbox
from gpusim.engine.memory import serve
from gpusim.engine.memory_state import MemoryState
from gpusim.engine.scheduler import advance_group
from gpusim.engine.state import BULK, COMPLETION, NEVER, REQUEST_RECORD, SmState, Window
from gpusim.errors import SimulatedFailure

__all__ = ["Group", "Host"]

SM_EVENTS = ("next_accept", "wgmma_event", "return_event")
"""What can happen in an SM beside an issue."""


@dataclass
class Group:
    """The SMs [first, last): one compiled call advances them all."""

    first: int
    last: int
    window: Window


@dataclass
class Host:
    """Windows of at most ``window_cycles``: no answer of memory, no message of another SM and no new CTA can fall into
    the one that runs.

    In every window each group advances alone and posts its requests; then the memory serves them all, sorted by
    (time, SM, sequence). Neither the window's length nor the number of workers can change a result.
    """

    machine: Machine
    machine_record: np.ndarray
    image: ProgramImage
    state: SmState
    memory: MemoryState
    blocks: BlockScheduler
    clusters: Clusters
    groups: list[Group]
    window_cycles: int
    workers: int = 1
    progress: Callable[[float], None] | None = None
    name_of: Callable[[int], str] = str
    cycle_limit: int = NEVER

    def run(self) -> int:
        """Simulate to the end; returns the cycle in which the last CTA ended. Raises SimulatedFailure on deadlock."""
        self._answers, self._requests = Mailbox(COMPLETION), Mailbox(REQUEST_RECORD)
        environment = simpy.Environment()
        with ThreadPoolExecutor(self.workers) if self.workers > 1 else nullcontext() as pool:
            self._pool = pool
            environment.run(environment.process(self._clock(environment)))
        return int(self.blocks.end.max())

    def _clock(self, environment: simpy.Environment) -> Generator[simpy.Event, None, None]:
        """The next window starts with the next thing that can happen; what is idle is skipped."""
        while not self.blocks.finished:
            start = self._next_event()
            if start >= NEVER:
                raise describe_deadlock(self.state, self.image, self.name_of)
            if start > environment.now:
                yield environment.timeout(start - environment.now)
            end = start + self.window_cycles
            self.blocks.place(end)
            done, done_first = self._completions_before(end)
            advances = [environment.process(self._advance(environment, group, done, done_first, end))
                        for group in self.groups]
            yield environment.all_of(advances)
            yield environment.process(self._serve(environment, end))
            self._retire(end)
            self._refuse_endless_polling()
        yield environment.process(self._serve(environment, NEVER))  # stores that leave after the last CTA's end

    def _next_event(self) -> int:
        sms = self.state.sms
        candidates = [int(self.state.parts["next_issue"].min()), *(int(sms[event].min()) for event in SM_EVENTS)]
        candidates += [int(waiting.records["time"].min()) for waiting in (self._answers, self._requests)
                       if len(waiting.records)]
        if self.blocks.next_event is not None:
            candidates.append(self.blocks.next_event)
        return min(candidates)

    def _refuse_endless_polling(self) -> None:
        """A CTA whose last poll failed does nothing else. When that is true of all of them, nobody writes flags."""
        if not len(self.image.flags.ops) or self.blocks.next_event is not None:
            return
        if self._requests.records["is_write"].any() or (self._answers.records["flag"] == 0).any():
            return
        warps = self.state.warps
        polling = (warps["live"] > 0) & (warps["polls"] > 0) & (warps["flag"] > 0)
        if not self.blocks.running or polling.sum() < self.blocks.running:
            return
        waits = missing_flags(self.image.flags, warps["cta"][polling], warps["flag"][polling] - 1)
        if waits is not None:
            raise describe_deadlock(self.state, self.image, self.name_of, (polling, waits))

    def _advance(
        self, environment: simpy.Environment, group: Group, done: np.ndarray, done_first: np.ndarray, end: int
    ) -> Generator[simpy.Event, None, None]:
        """One group of SMs in one window; with several workers the groups of a window run side by side."""
        if self._upcoming(group) >= end and done_first[group.first] == done_first[group.last]:
            return
        call = partial(advance_group, self.state, self.machine_record, self.image.ops, self.image.accesses,
                       self.image.cta_bases, group.window, group.first, group.last, done, done_first, end)
        if self._pool is None:
            _run(call)
            return
        running = self._pool.submit(call)
        yield environment.timeout(0)
        _run(running.result)

    def _upcoming(self, group: Group) -> int:
        here = slice(group.first, group.last)
        sms = self.state.sms[here]
        return min(int(self.state.parts[here]["next_issue"].min()), *(int(sms[event].min()) for event in SM_EVENTS))

    def _completions_before(self, end: int) -> tuple[np.ndarray, np.ndarray]:
        done = self._answers.take_before(end)
        if self.clusters.size > 1:  # messages last, in an order that does not depend on who was first to send
            message = done["asynchronous"] > BULK
            done = done[np.lexsort((done["op"] * message, done["issued"] * message, message))]
        done = done[_order(done["sm"], done["time"])]
        return done, np.searchsorted(done["sm"], np.arange(self.machine.num_sms + 1))

    def _serve(self, environment: simpy.Environment, end: int) -> Generator[simpy.Event, None, None]:
        """The memory system answers what was sent before ``end``, in the order in which it was sent.

        A request that leaves its SM later, for the tag stage has a backlog, waits until the window that sees it go.
        """
        for group in self.groups:
            self._requests.put(split_bulk(self._deliver(group.window.requests[: group.window.counts[0]]), self.machine))
        requests = self._requests.take_before(end)
        if len(requests):
            order = _order(requests["time"], requests["sm"])  # those of an SM come in sequence
            room = self._answers.room(self.clusters.size * len(requests))
            self._answers.came(_run(partial(serve, self.memory, self.machine_record, requests, order,
                                            self.image.requests, self.image.flags, self.clusters.peers,
                                            self.state.stores, room)))
        yield environment.timeout(0)

    def _deliver(self, sent: np.ndarray) -> np.ndarray:
        """Messages go to the SMs they are for; what is left are requests."""
        if self.clusters.size == 1:
            return sent
        message = sent["asynchronous"] > BULK
        self._answers.put(self.clusters.deliver(sent[message]))
        return sent[~message]

    def _retire(self, end: int) -> None:
        ended = np.concatenate([group.window.ended[: group.window.counts[1]] for group in self.groups])
        for group in self.groups:
            group.window.counts[:2] = 0
        self.blocks.retire(ended, end)
        if len(ended) and self.progress:
            self.progress(float((self.blocks.end >= 0).sum()) / max(1, len(self.blocks.ctas)))


def _run(call: Callable[[], Any]) -> Any:
    """Compiled code can only raise a constant sentence: what a program does that the records have no room for."""
    try:
        return call()
    except RuntimeError as error:
        raise SimulatedFailure(str(error)) from None


def _order(major: np.ndarray, minor: np.ndarray) -> np.ndarray:
    """Rows in the order of the first key, then the second; equal ones stay as they are.

    One number per row that is unlike all others is sorted several times as fast as two keys are by ``np.lexsort``.
    """
    rows = len(major)
    if not rows:
        return np.zeros(0, np.int64)
    keys = (major.astype(np.int64) - major.min()) * (int(minor.max()) - int(minor.min()) + 1) + (minor - minor.min())
    return np.argsort(keys * rows + np.arange(rows))


def request_capacity(sms: int, window_cycles: int) -> int:
    """A sub-partition issues at most one instruction a cycle."""
    return sms * 4 * window_cycles


__all__ += ["REQUEST_RECORD", "request_capacity"]
