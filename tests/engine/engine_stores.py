"""The reference's data stage, its port to L2, and what stores do on their way from one to the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from engine_units import Server

from gpusim.arch import GpuSpec

LINE_BYTES, SECTOR_BYTES, WORD_BYTES = 128, 32, 4


class Port(Server):
    """What stores leave through. It reads their lines, a share of its time, beside what else does."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.share = 0, 0.0

    def send(self, ready: int, cycles: int, reads: float, alone: int) -> tuple[int, int]:
        """When a store's lines begin to leave, and have left; its reads count as if all before were like it, each
        ``alone``."""
        if ready > self.free:
            self.begun = ready
        self.share = reads / max(alone, 1)
        return self.serve(ready, cycles)

    def takes(self, begun: int, cycles: int) -> int:
        """By how much an access of so many cycles is longer."""
        first, end = max(begun, self.begun), begun + cycles
        if begun >= self.free or end <= self.begun:
            return 0
        until = self.free - first
        return int(self.share * min((end - first) / (1 - self.share), until)) if self.share < 1 else until


@dataclass
class Path:
    """``free``: for what is no store; stores are there from ``begins`` to ``ends``, one of ``turn`` cycles after the
    other."""

    free: int = 0
    begins: int = 0
    ends: int = 0
    turn: int = 1

    def free_for(self, begin: int) -> int:
        """When something that is no store can begin, if that is later, else since when it could have."""
        at = max(begin, self.free)
        if self.free < begin and self.begins <= at < self.ends:
            return at + (self.ends - at) % self.turn
        return self.free if self.free > begin or self.ends > begin else max(self.free, self.ends)

    def take(self, begin: int, end: int) -> None:
        """Stores that wait are later by what it takes of their time."""
        if begin < self.ends:
            self.ends += max(0, end - max(begin, self.begins))
            if begin < self.begins:
                self.begins = max(self.begins, end)
        self.free = end

    def store(self, begin: int, cycles: int) -> None:
        if begin > self.ends:
            self.free, self.begins = max(self.free, self.ends), begin
        self.ends, self.turn = begin + cycles, max(1, cycles)


class DataStage:
    """Paths that take an access each and move one of its wavefronts every other cycle."""

    def __init__(self, gpu: GpuSpec) -> None:
        self.interval = gpu.shared.latency_cycles_per_wavefront
        self.paths = [Path() for _ in range(gpu.shared.wavefronts_per_cycle * self.interval)]
        self.begun = self.stored = 0

    def _choose(self, begin: int, free: list[int]) -> tuple[Path, int]:
        """The free path that was busy last, or the first that gets free."""
        ready = [since for since in free if since <= begin]
        chosen = free.index(max(ready) if ready else min(free))
        return self.paths[chosen], max(begin, free[chosen])

    def take_path(self, arrival: int, waves: int, port: Port | None = None) -> tuple[int, int]:
        """When the access begins and is through; beside a ``port`` it lasts longer."""
        path, begun = self._choose(arrival, [path.free_for(arrival) for path in self.paths])
        cycles = waves * self.interval
        cycles += port.takes(begun, cycles) if port else 0
        path.take(begun, begun + cycles)
        return begun, path.free

    def store(self, arrival: int, before: int, lines: int, room: int) -> tuple[int, int]:
        """The same of a store behind the one ``before`` it of its warp, and none before another. One that is not
        through before there is ``room`` waits behind all others, and keeps its path until then."""
        cycles, begin = lines * self.interval, max(arrival, before, self.begun)
        path, begun = self._choose(begin, [max(path.free, path.ends) for path in self.paths])
        end = begun + cycles
        if room > end:
            begin = max(arrival, self.stored)
            path, begun = self._choose(begin, [max(path.free, path.ends) for path in self.paths])
            path.free = end = max(begun + cycles, room)
        else:
            path.store(begun, cycles)
        self.begun, self.stored = begun, max(self.stored, end)
        return begun, end

    @property
    def emptied(self) -> int:
        return max(max(path.free, path.ends) for path in self.paths)

    def move(self, arrival: int, waves: int) -> int:
        """When the last wavefront has passed."""
        return self.take_path(arrival, waves)[1] - self.interval + 1

    def serve_fully(self, arrival: int, waves: int) -> int:
        """A unit that needs no path moves wavefronts at full rate, which the paths then lack."""
        passed = max(arrival, min(path.free for path in self.paths)) + waves
        for path in self.paths:
            path.free = max(path.free, arrival) + waves * self.interval // len(self.paths)
        return passed


class Write(NamedTuple):
    """What a store brings for a line: sectors it touches, words it fills."""

    line: int
    sectors: frozenset[int]
    words: frozenset[int]

    @property
    def is_partial(self) -> bool:
        per_sector = SECTOR_BYTES // WORD_BYTES
        return any(not self.words.issuperset(range(sector * per_sector, (sector + 1) * per_sector))
                   for sector in self.sectors)


class Merged(NamedTuple):
    """What a store costs: cycles of the port, turns of its request, lines not in it, a bit each; places it takes."""

    cycles: int
    turns: int
    skip: int
    places: int


def writes_of(starts: Iterable[int], width: int) -> list[Write]:
    """Lines of a store whose lanes write so many bytes each, in the order in which lanes touch them."""
    lines: dict[int, set[int]] = {}
    for start in starts:
        for byte in range(start, start + width):
            lines.setdefault(byte // LINE_BYTES, set()).add(byte % LINE_BYTES)
    return [Write(line, frozenset(byte // SECTOR_BYTES for byte in written),
                  frozenset(word for word in range(LINE_BYTES // WORD_BYTES)
                            if written.issuperset(range(word * WORD_BYTES, (word + 1) * WORD_BYTES))))
            for line, written in lines.items()]


@dataclass
class StoreQueue:
    """Lines in front of the port: when each has left, and what it brings."""

    gpu: GpuSpec
    left: deque[int] = field(init=False)
    waiting: deque[Write | None] = field(init=False)

    def __post_init__(self) -> None:
        places = self.gpu.noc.store_lines
        self.left, self.waiting = deque([0] * places, places), deque([None] * places, places)

    def _port_cycles(self, write: Write) -> float:
        sectors = len(write.sectors) * SECTOR_BYTES / self.gpu.noc.sm_write_bytes_per_cycle
        return sectors + write.is_partial * self.gpu.noc.unfilled_line_cycles

    def room(self, lines: int) -> int:
        return self.left[lines - 1] if lines else 0

    def merge(self, writes: list[Write], alone: int) -> Merged:
        """Lines that wait in part take more words; all others stand at the end of the queue, which has room for all.
        ``alone``: what a store costs of which no line does."""
        newest = range(len(writes), len(self.waiting))
        cycles, turns, skip, new = 0.0, 0.0, 0, []
        for i, write in enumerate(writes):
            place = next((place for place in reversed(newest)
                          if (there := self.waiting[place]) and there.line == write.line), None)
            there = self.waiting[place] if place is not None else None
            if place is None or there is None or not there.is_partial:
                new.append(write)
                more, brought = self._port_cycles(write), True
            else:
                both = Write(write.line, write.sectors | there.sectors, write.words | there.words)
                more, brought = self._port_cycles(both) - self._port_cycles(there), not write.sectors <= there.sectors
                self.waiting[place] = both
            cycles += more
            turns += max(0.0, more) if brought else 0.0
            skip |= (not brought) << i
        self.waiting.extend(new)
        if len(new) == len(writes):
            return Merged(alone, alone, 0, len(new))
        return Merged(-int(-cycles // 1), -int(-turns // 1), skip, len(new))

    def keep(self, leaves: int, cycles: int, places: int) -> None:
        self.left.extend(leaves + (i + 1) * cycles // places for i in range(places))
