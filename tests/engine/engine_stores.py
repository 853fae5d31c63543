"""The reference's data stage, and what stores do on their way from there to the port to L2."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from gpusim.arch import GpuSpec

PATHS, MATRIX_CYCLES = 2, 8
"""For the rules of two paths; that an ldmatrix of four wavefronts has its own."""
LINE_BYTES, SECTOR_BYTES, WORD_BYTES = 128, 32, 4


@dataclass(eq=False)
class Store:
    """A store to global memory at the data stage: when it could begin, how long it takes, its warp's last one before,
    for how long the port reads its lines; when it has passed, and when the port takes it."""

    ready: int
    cycles: int
    before: Store | None
    reads: float
    end: int = 0
    leaves: int = 0


class DataStage:
    """Paths that take an access each and move one of its wavefronts every other cycle. Stores to global memory wait for
    them in order, in turn with others."""

    def __init__(self, gpu: GpuSpec) -> None:
        self.interval, self.lag = gpu.shared.latency_cycles_per_wavefront, gpu.l1.read_lag_cycles
        self.free = [0] * (gpu.shared.wavefronts_per_cycle * self.interval)
        self.has_store = [False] * len(self.free)
        """What took each path last was a store to global memory."""
        self.stores: list[Store] = []
        self.gone = self.begun = self.passed = 0
        self.stores_turn = False

    def _choose(self, begin: int, free: list[int]) -> tuple[int, int]:
        """The free path that was busy last, or the first that gets free."""
        ready = [since for since in free if since <= begin]
        chosen = free.index(max(ready) if ready else min(free))
        return chosen, max(begin, free[chosen])

    def _path_of(self, store: Store, begun: int, free: list[int]) -> tuple[int, int]:
        return self._choose(max(store.ready, begun, store.before.end if store.before else 0), free)

    def _between(self, path: int, begun: int, apart: int) -> int:
        """In cycles in which no wavefront of the other path passes, and so long behind its start."""
        other = self.free[1 - path]
        if len(self.free) != PATHS or self.interval != PATHS or other <= begun or self.has_store[1 - path]:
            return begun
        start = max(range(other % MATRIX_CYCLES - MATRIX_CYCLES, begun + 1, MATRIX_CYCLES))
        begun = max(begun, start + apart)
        return begun if (other - begun) % PATHS else begun + 1

    def _next_store(self) -> float:
        """When the next one could begin."""
        waits = self.gone < len(self.stores)
        return self._path_of(self.stores[self.gone], self.begun, self.free)[1] if waits else float("inf")

    def _begin(self, store: Store, begun: int, free: list[int]) -> int:
        path, begin = self._path_of(store, begun, free)
        free[path] = store.end = begin + store.cycles
        return begin

    def _begin_next(self) -> None:
        before = list(self.free)
        self.begun = self._begin(self.stores[self.gone], self.begun, self.free)
        self.has_store = [has or now != then for has, now, then in zip(self.has_store, self.free, before, strict=True)]
        self.gone, self.stores_turn = self.gone + 1, False

    def _plan(self) -> int:
        """All that wait, if nothing else comes; when the last one begins."""
        begun, free = self.begun, list(self.free)
        for store in self.stores[self.gone:]:
            begun = self._begin(store, begun, free)
        return begun

    def take_path(
        self, arrival: int, waves: int, beside_stores: bool = False, came: int = 0, apart: int = 0
    ) -> tuple[int, int]:
        """When the access begins and is through; it stands still while the port reads lines ``beside`` it. An
        ldmatrix that ``came`` before, if need be to wait for others of its warp, begins ``apart`` from another."""
        while self._next_store() < arrival:
            self._begin_next()
        path, begun = self._choose(arrival, self.free)
        while self.stores_turn and self._next_store() <= begun:
            self._begin_next()
            path, begun = self._choose(arrival, self.free)
        self.stores_turn = True
        begun = self._between(path, begun, apart if begun > came else 0) if apart else begun
        self.free[path] = end = begun + waves * self.interval
        self.has_store[path] = False
        if beside_stores:
            self._plan()
            self.free[path] += self._lost(begun, end)
        return begun, self.free[path]

    def _lost(self, begun: int, end: int) -> int:
        lost, read = 0.0, 0.0
        for store in self.stores:
            starts = max(read, store.end + self.lag, store.leaves)
            if starts >= end + lost:
                break
            read = starts + store.reads
            lost += max(0.0, read - max(starts, begun))
        return ceil(lost)

    def store(self, store: Store) -> int:
        """It comes, and begins then unless others have a path before it."""
        self.stores.append(store)
        begun = self._plan()
        self.passed = max(self.passed, store.end)
        return begun

    @property
    def emptied(self) -> int:
        return max(*self.free, self.passed)

    def move(self, arrival: int, waves: int) -> int:
        """When the last wavefront has passed."""
        return self.take_path(arrival, waves)[1] - self.interval + 1

    def serve_fully(self, arrival: int, waves: int) -> int:
        """A unit that needs no path moves wavefronts at full rate, which the paths then lack."""
        passed = max(arrival, min(self.free)) + waves
        self.free = [max(free, arrival) + waves * self.interval // len(self.free) for free in self.free]
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
