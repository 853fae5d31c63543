"""Models the units of the golden reference: servers that work off a queue, and sub-partitions with their resources.
Leaves out what asks for them (engine_reference)."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import simpy
from engine_warp import WarpModel

from gpusim.arch import GpuSpec
from gpusim.arch.instructions import Kind, Pipe, TensorReads

__all__ = ["Fill", "L1Model", "Part", "Queued", "Server"]

L1_SETS = 32


class Server:
    """Something that does one piece of work after the other, in the order in which they were announced."""

    def __init__(self) -> None:
        self.free = 0

    def serve(self, arrival: int, cycles: int) -> tuple[int, int]:
        """(start, end) of a piece of work that arrives at ``arrival``."""
        start = max(self.free, arrival)
        self.free = start + cycles
        return start, self.free


class Fill:
    """What one access brings into L1, and who waits for it."""

    def __init__(self) -> None:
        self.is_there = False
        self.waiting: list[Callable[[int], None]] = []


class L1Model:
    """Per set the lines in the order of their last use; per line what brought each of its sectors."""

    def __init__(self, capacity_bytes: int) -> None:
        self.ways = max(1, capacity_bytes // 128 // L1_SETS)
        self.sets: list[dict[int, dict[int, Fill]]] = [{} for _ in range(L1_SETS)]

    def use(self, line: int) -> dict[int, Fill]:
        place, rest = 0, line
        while rest:
            place, rest = place ^ rest % L1_SETS, rest // L1_SETS
        lines = self.sets[place]
        sectors = lines.pop(line, {})
        if len(lines) == self.ways:
            del lines[next(iter(lines))]
        lines[line] = sectors
        return sectors

    def look_up(self, wanted: list[tuple[int, int]]) -> tuple[Fill, list[int], list[Fill]]:
        """For (line, sector mask) each: (what the access brings, numbers of the lines it asks for, what it awaits)."""
        own, asked, awaited = Fill(), [], []
        for number, (line, mask) in enumerate(wanted):
            sectors = self.use(line)
            for sector in (bit for bit in range(4) if mask >> bit & 1):
                if sector not in sectors:
                    sectors[sector] = own
                    asked.append(number)
                elif sectors[sector] not in (own, *awaited) and not sectors[sector].is_there:
                    awaited.append(sectors[sector])
        return own, asked, awaited


@dataclass
class Queued:
    """A memory instruction that waits for the load/store unit."""

    time: int
    warp: WarpModel
    row: np.void
    position: int
    kind: Kind
    work: str
    """``nothing``, ``commit``, ``barrier``, ``signal``, ``shared`` or ``global``."""
    token: int = 0
    stored: int = 0
    places: int = 1
    """Registers that it stores; what it takes of the load/store unit's buffer."""
    held: tuple[int, int] | None = None
    """The barrier whose fence it stays behind."""

    def let_go(self, barrier: tuple[int, int], read: int) -> None:
        """``read``: when the registers of all that has been taken are."""
        if self.held == barrier:
            self.held, self.time = None, max(self.time, read)


class Banks:
    """Two banks of the register file, even and odd registers, that give a register a cycle each."""

    def __init__(self) -> None:
        self.free = [0, 0]

    def start(self, wanted: tuple[int, int], now: int) -> int:
        """An instruction takes ``wanted`` registers; it begins when it can have them within as many cycles as alone."""
        asked = [bank for bank, count in enumerate(wanted) if count]
        begin = max([now, *(self.free[bank] + wanted[bank] - max(wanted) for bank in asked)])
        for bank in asked:
            self.free[bank] = max(self.free[bank], begin) + wanted[bank]
        return begin


class Part:
    """A sub-partition: its warps, pipes, queue and the path of its operands."""

    def __init__(self, env: simpy.Environment, gpu: GpuSpec) -> None:
        self.warps: list[WarpModel] = []
        self.pipes = {pipe: simpy.Resource(env) for pipe in Pipe}
        self.queue: deque[Queued] = deque()
        self.mio = gpu.mio
        self.returning: list[int] = []
        """From when on places of the queue are free that instructions have left."""
        self.operands, self.crossing = Server(), 0
        self.banks = Banks()
        self.holds: list[tuple[int, int]] = []
        """[start, end) in which the load/store unit reads registers, and the dispatcher cannot."""
        self.dispatch_free = 0
        self.tensor_free, self.tensor_start, self.tensor_interval, self.fetched = 0, -1000, 0, 0
        self.reads, self.turn, self.owed = gpu.issue.tensor_reads, False, 0.0
        """Of the last tensor instruction: what reads beside it cost, and whether another warp's came before; part of a
        cycle that it lasts longer."""
        self.tensor_end = self.tensor_due = -1000
        """Until when the last tensor instruction keeps its pipe, and would but for what the load/store unit reads."""
        self.stops: list[range] = []
        """Cycles in which a tensor instruction lets no load write its result."""
        self.triple_start = self.vector_start = -1000
        self.taken: Counter[int] = Counter()
        """Instructions that each pipe and the queue have taken."""
        self.last: WarpModel | None = None
        self.last_tensor = -1  # slot

    def has_room(self, now: int) -> bool:
        """What the load/store unit takes makes room in the next cycle or later."""
        self.returning = [time for time in self.returning if time > now]
        return len(self.queue) + len(self.returning) < self.mio.queue_depth

    def take(self, now: int) -> Queued:
        self.returning.append(now + 1 + self.mio.queue_return_cycles)
        return self.queue.popleft()

    def uses_tensor(self, now: int) -> bool:
        return now < self.tensor_end

    def begins_to_read(self, gpu: GpuSpec, registers: int, lead: int, now: int) -> int:
        """When the load/store unit reads an instruction's first register, if it could go on from there at its own rate:
        beside tensor instructions it gets one in each of their intervals, which last longer for it."""
        if not self.uses_tensor(now):
            return now
        first = max(now, self.tensor_start + self.reads.first_read_cycles)
        return first + max(0, self.cycles_beside(registers - 1) - lead)

    def stop_returns(self, reads: TensorReads, now: int) -> None:
        """A tensor instruction begins."""
        first = now + reads.stop_after_cycles
        self.stops.append(range(first, first + reads.stop_cycles))

    def is_stopped(self, now: int) -> bool:
        self.stops = [stop for stop in self.stops if stop.stop > now]
        return any(now in stop for stop in self.stops)

    def read_cycles(self, gpu: GpuSpec, registers: int, alone: int, now: int) -> int:
        """For how long the registers of an instruction keep the path to the load/store unit."""
        beside = self.cycles_beside(registers) if self.uses_tensor(now) else 0
        return max(alone, beside, gpu.mio.address_interval_cycles)

    def cycles_between(self, gpu: GpuSpec, now: int) -> int:
        """From a copy's first address to its last one, for which no other sub-partition sends one."""
        alone = gpu.mio.copy_address_cycles
        return max(alone, self.cycles_beside(alone - 1)) if self.uses_tensor(now) else alone

    def cycles_beside(self, registers: int) -> int:
        """How long so many registers take beside tensor instructions."""
        return int(registers * (self.tensor_interval / self.reads.registers + self.reads.register_cost_cycles))

    def share_registers(self, registers: int, now: int) -> None:
        """The tensor instruction that is under way keeps its pipe longer for every register."""
        if self.uses_tensor(now):
            self.lengthen(registers * self.reads.register_cost_cycles)

    def share_with_arithmetic(self, image: np.void, now: int) -> None:
        """The same for arithmetic that reads one or two registers and is issued now."""
        writes = image["vector"] == 1
        place = now - self.tensor_start
        costs = (0.0, *(self.reads.vector_cost_cycles if writes else self.reads.predicate_cost_cycles))
        if image["vector"] and 0 < place < self.tensor_interval:
            cost = costs[place] if place < len(costs) else 0.0
            another = place == 1 and self.turn and writes
            self.tensor_due += self.lengthen(self.reads.vector_turn_cost_cycles if another else cost)

    def lengthen(self, cycles: float) -> int:
        """By how many whole cycles."""
        whole = int(self.owed + cycles)
        self.owed += cycles - whole
        self.tensor_end += whole
        self.tensor_free = max(self.tensor_free, self.tensor_end)
        return whole

    def wide_start(self, gpu: GpuSpec, now: int) -> int:
        """When an IMAD.WIDE can read its registers for the first time, after the last tensor instruction."""
        between = now <= self.tensor_start + gpu.issue.tensor_last_read_cycles
        gap = gpu.issue.wide_between_tensor_cycles if between else gpu.issue.wide_after_tensor_cycles
        return max(now, self.tensor_start + gap)

    def operands_start(self, gpu: GpuSpec, image: np.void, now: int) -> int:
        """When registers of arithmetic can be read: three of them not while a tensor instruction reads its own."""
        if image["wide"]:
            return self.wide_start(gpu, now)
        if image["triple"]:
            return max(now, self.tensor_start + self.reads.triple_after_cycles + self.fetched)
        if image["vector"] == 1:  # what sets predicates has no result to write (operand_slots.csv)
            return max(now, self.tensor_start + self.reads.vector_after_cycles)
        return now

    def tensor_operands_start(self, reads: TensorReads, fetch: int, now: int) -> int:
        """When a tensor instruction can read its own: not right behind others, which a pause of the pipe may hide."""
        start = max(now, self.triple_start + reads.after_triple_cycles + fetch, self.vector_start + 1)
        return start + fetch if start <= self.tensor_end and self.vector_start + 1 == start else start

    def dispatch(self, now: int) -> int:
        """Cycle in which an instruction issued now gets at its registers."""
        for start, end in self.holds:
            if start <= now < end:
                now = end
        return now
