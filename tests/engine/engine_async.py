"""Models the asynchronous units of the golden reference: mbarriers, TMA, wgmma, and BAR with thread counts.
Leaves out the same as the engine's modules of these names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import simpy
from engine_units import Queued, Server
from engine_warp import WarpModel

from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.bulk import split_bulk
from gpusim.engine.machine import machine_of
from gpusim.engine.operands import FENCES, FLUSH, STORE, WAVES_SHIFT
from gpusim.engine.state import BULK, COMPLETION, REQUEST_RECORD
from gpusim.program import MBarrierAction, unpack_mbarrier

if TYPE_CHECKING:
    from engine_reference import Sm

__all__ = ["ASYNCHRONOUS", "Asynchronous"]

Process = Generator[simpy.Event, None, None]
ASYNCHRONOUS = (Kind.mbarrier, Kind.bulk_copy, Kind.wgmma, Kind.wgmma_control)
BEFORE_ISSUES = 0.9
"""The tensor pipe starts an instruction in a cycle before anything else happens in it."""
NEVER = 1 << 60


@dataclass
class Phase:
    """An mbarrier."""

    arrivals: int
    pending: int
    bytes: int = 0
    completed: int = 0  # phases
    last: int = 0  # what counted last in this phase
    ended: int = 0  # when the phase before was complete
    waiting: list[tuple[WarpModel, int, int, int | None]] = field(default_factory=list)  # board, parity, first look


@dataclass
class Instruction:
    """A wgmma that warps of a warpgroup have issued."""

    warps: list[WarpModel] = field(default_factory=list)
    ready: int = NEVER
    image: np.void | None = None


@dataclass
class Warpgroup:
    instructions: list[Instruction] = field(default_factory=list)
    started: int = 0
    end: int = 0
    group_ends: list[int] = field(default_factory=list)
    issued: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    closed: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    waiting: list[tuple[WarpModel, int]] = field(default_factory=list)
    fences: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Passed by each warp."""

    @property
    def ready(self) -> int:
        return self.instructions[self.started].ready if self.started < len(self.instructions) else NEVER


class Asynchronous:
    """What works on while warps go on."""

    def __init__(self, sm: Sm) -> None:
        self.sm, self.env, self.gpu, self.program = sm, sm.env, sm.gpu, sm.program
        self.machine = machine_of(sm.gpu)
        counts = [barrier.arrivals for barrier in self.program.mbarriers]
        self.phases = {(cta, index): Phase(count, count) for cta in range(self.program.num_ctas)
                       for index, count in enumerate(counts)}
        self.groups: dict[tuple[int, int], Warpgroup] = defaultdict(Warpgroup)
        self.queued = 0
        self.approaching: dict[int, WarpModel] = {}
        """Warps that wait to issue a wgmma, by slot."""
        self.tma, self.bulk_write = Server(), Server()
        self.tensor_free = 0
        self.arrived: dict[tuple[int, int], int] = defaultdict(int)
        self.env.process(self._tensor_pipe())

    def execute(self, warp: WarpModel, kind: Kind, image: np.void, now: int) -> None:
        if kind == Kind.bulk_copy:
            self._bulk(warp, image, now)
        elif kind == Kind.wgmma:
            self._issue(warp, image, now)
        elif image["operand"] == FENCES:
            self._fence(warp, now)
        else:
            self._await_groups(warp, int(image["operand"]))

    # mbarriers.

    def follows(self, warp: WarpModel, row: np.void, now: int) -> int:
        """Which copies an arrival follows: those so far, a group of their own; its number."""
        if unpack_mbarrier(int(row["operand"])).action != MBarrierAction.arrive_async:
            return 0
        warp.commit(warp.group_board, now)
        return len(warp.groups) - 2

    def signal(self, queued: Queued, passed: int) -> None:
        """An operation reaches its mbarrier."""
        warp, row = queued.warp, queued.row
        use, board = unpack_mbarrier(int(row["operand"])), int(row["write_barrier"])
        lanes = int(row["shared_offset"])
        if row["access"] >= 0:
            lanes = warp.of_row(row, "lane_mask").bit_count()
        if not lanes and row["access"] >= 0:
            warp.settle(board, 0)
            return
        phase = self.phases[warp.cta, use.index]
        if use.action == MBarrierAction.wait:
            self._wait(phase, warp, board, use.parity, passed, alone=lanes == 1)
            return
        warp.settle(board, 0)
        if use.action == MBarrierAction.arrive_async:
            group = warp.groups[queued.token]
            group.written = max(group.written, passed)
            warp.followers.append((queued.token, phase))
            self.deliver(warp)
        else:
            expects = use.action == MBarrierAction.expect_tx
            phase.bytes += int(row["global_offset"]) if expects else 0
            self._count(phase, 1 if expects else lanes, passed + self.machine.mbarrier_arrive)

    def _count(self, phase: Phase, arrivals: int, time: int) -> None:
        phase.pending -= arrivals
        phase.last = max(phase.last, time)
        if phase.pending > 0 or phase.bytes:
            return
        parity = phase.completed % 2
        phase.completed, phase.pending = phase.completed + 1, phase.pending + phase.arrivals
        phase.ended, phase.last = phase.last, 0
        for wait in [wait for wait in phase.waiting if wait[2] == parity]:
            warp, board, _, first_look = wait
            warp.settle(board, self._next_look(warp, first_look, phase.ended) if first_look is not None
                        else phase.ended + self.machine.mbarrier_wake)
            phase.waiting.remove(wait)

    def _next_look(self, warp: WarpModel, first: int, ended: int) -> int:
        """A lane that waits alone looks from time to time."""
        looks = 1
        while first + looks * self.machine.mbarrier_poll < ended:
            looks += 1
        warp.slept = looks * self.machine.mbarrier_sleep
        return first + looks * self.machine.mbarrier_poll + self.machine.mbarrier_poll_release

    def _wait(self, phase: Phase, warp: WarpModel, board: int, parity: int, passed: int, *, alone: bool) -> None:
        if phase.completed % 2 == parity:
            phase.waiting.append((warp, board, parity, passed if alone else None))
        else:
            warp.settle(board, max(passed + self.machine.mbarrier_wait, phase.ended + self.machine.mbarrier_wake))

    def deliver(self, warp: WarpModel) -> None:
        """Arrivals of copies that are complete, with all that were committed before."""
        for group, phase in list(warp.followers):
            before = warp.groups[: group + 1]
            if not any(part.missing for part in before):
                warp.followers.remove((group, phase))
                self._count(phase, 32, max(part.written for part in before) + self.machine.mbarrier_arrive)

    # TMA.

    def _bulk(self, warp: WarpModel, image: np.void, now: int) -> None:
        if image["operand"] == FLUSH:
            warp.commit(int(warp.row["read_barrier"]), now + int(image["latency"]))
            return
        moved = warp.of_access("bulk_bytes")
        if not moved:
            return
        warp.release(int(warp.row["read_barrier"]), now + int(image["latency"]))
        lines = warp.of_access("request_count")
        turns = max(lines, -(-moved // self.gpu.shared.bytes_per_wavefront))
        unit = max(int(np.ceil(lines * self.machine.tma_line_interval)), self.machine.tma_box_interval)
        start, _ = self.tma.serve(now + self.machine.tma_start, unit)
        request = self.sm.request(warp, start)
        request["asynchronous"], request["bytes"] = BULK, moved
        if image["operand"] == STORE:
            self._store(warp, request, start, turns, now)
        else:
            request["data_cycles"] = turns
            self._send(warp, request, int(image["operand"]))

    def _store(self, warp: WarpModel, request: np.ndarray, start: int, turns: int, now: int) -> None:
        passed = self.sm.data_stage.serve_fully(start, turns)
        cycles = self.sm.write_cycles(warp, warp.row)
        leaves, done = self.sm.write_port.serve(start, cycles)
        self.tma.free = max(self.tma.free, passed, done)
        warp.drain = max(warp.drain, done)
        warp.groups[-1].written = max(warp.groups[-1].written, passed, done)
        request["time"], request["is_write"], request["data_cycles"] = leaves, 1, cycles
        self._send(warp, request, 0)

    def _send(self, warp: WarpModel, request: np.ndarray, index: int) -> None:
        table, phase = warp.role.accesses, self.phases.get((warp.cta, index))
        for part in split_bulk(request, self.machine):
            self.env.process(self._part(part, table.requests, phase))

    def _part(self, part: np.void, lines: np.ndarray, phase: Phase | None) -> Process:
        yield self.env.timeout(max(0, part["time"] - self.env.now))
        record, done = np.zeros(1, REQUEST_RECORD), np.zeros(1, COMPLETION)
        record[0] = part
        if self.sm.serve(record, lines, done) and phase is not None:
            yield self.env.timeout(done["time"][0] - self.env.now)
            _, passed = self.bulk_write.serve(int(done["time"][0]), int(part["data_cycles"]))
            phase.bytes -= int(part["bytes"])
            self._count(phase, 0, passed + self.machine.tma_arrive)

    # wgmma.

    def _issue(self, warp: WarpModel, image: np.void, now: int) -> None:
        group = self.groups[warp.cta, warp.number // 4]
        number = group.issued[warp.number]
        group.issued[warp.number] += 1
        group.closed[warp.number] += int(image["operand"]) & 1
        if number == len(group.instructions):
            group.instructions.append(Instruction(image=image))
        instruction = group.instructions[number]
        instruction.warps.append(warp)
        self.queued += warp.number % 4 == 0
        if len(instruction.warps) == 4:
            instruction.ready = now + self.machine.wgmma_start

    def _tensor_pipe(self) -> Process:
        yield self.env.timeout(BEFORE_ISSUES)
        while True:
            now = int(self.env.now) + 1
            free = max(self.tensor_free, *(part.tensor_free for part in self.sm.parts))
            ready = [group for _, group in sorted(self.groups.items()) if group.ready <= now]
            if ready and free <= now:
                self._start(min(ready, key=lambda group: group.ready), now)
            yield self.env.timeout(1)

    def _start(self, group: Warpgroup, now: int) -> None:
        image = group.instructions[group.started].image
        group.started += 1
        self.tensor_free = now + int(image["interval"])
        for part in self.sm.parts:
            self.sm.hold(part.pipes[Pipe.tensor], self.tensor_free)
        self.sm.data_stage.serve_fully(now, int(image["operand"]) >> WAVES_SHIFT)
        group.end = max(group.end, self.tensor_free + int(image["latency"]))
        if image["operand"] & 1:
            group.group_ends.append(group.end)
            for warp, awaited in [wait for wait in group.waiting if wait[1] == len(group.group_ends) - 1]:
                group.waiting.remove((warp, awaited))
                warp.membar_end = group.end
        self.queued -= 1
        wanting = [warp for warp in self.approaching.values() if warp.fence_state == "mio_throttle"]
        if wanting:
            warp = min(wanting, key=lambda warp: warp.issued)
            del self.approaching[warp.slot]
            warp.membar_end = now

    def _fence(self, warp: WarpModel, now: int) -> None:
        """WARPGROUP.ARRIVE: the fourth warp lets all of them multiply."""
        group = self.groups[warp.cta, warp.number // 4]
        group.fences[warp.number] += 1
        for other in list(self.approaching.values()):
            same = (other.cta, other.number // 4) == (warp.cta, warp.number // 4)
            if same and other.fence_state == "gmma" and self._fenced(group, other):
                del self.approaching[other.slot]
                other.membar_end = 0
                self.approach(other)
                other.membar_end = max(other.membar_end, now + 1)

    def _fenced(self, group: Warpgroup, warp: WarpModel) -> bool:
        return sum(group.fences.values()) // 4 >= group.fences[warp.number]

    def approach(self, warp: WarpModel) -> None:
        """The warp's next row is a wgmma: its warpgroup's other warps may be behind, or the queue full."""
        group = self.groups[warp.cta, warp.number // 4]
        full = warp.number % 4 == 0 and self.queued >= self.machine.wgmma_places
        if warp.membar_end <= warp.issued and not (self._fenced(group, warp) and not full):
            warp.membar_end = NEVER
            warp.fence_state = "mio_throttle" if self._fenced(group, warp) else "gmma"
            self.approaching[warp.slot] = warp


    def _await_groups(self, warp: WarpModel, allowed: int) -> None:
        group = self.groups[warp.cta, warp.number // 4]
        newest = group.closed[warp.number] - 1 - allowed
        if newest < 0:
            return
        warp.fence_state = "barrier"
        if newest < len(group.group_ends):
            warp.membar_end = group.group_ends[newest]
        else:
            warp.membar_end = NEVER
            group.waiting.append((warp, newest))

    # BAR.

    def barrier(self, warp: WarpModel, operand: int, peers: list[WarpModel], end: int) -> bool:
        """All live warps of the CTA have to come, or as many as the instruction says: whether they have."""
        barrier, needed = operand & 15, operand >> 8 & 0xFF
        key = (warp.cta, barrier)
        self.arrived[key] += 1
        if self.arrived[key] < (needed or len(peers)):
            return False
        self.arrived[key] = 0
        found = next((peer.missing for peer in peers if peer.polls), 0)
        for peer in peers:
            if peer.at_barrier == barrier:
                peer.at_barrier, peer.barrier_end, peer.missing = None, end, found
        return True
