"""The reference's way of loads' results from shared memory to registers: one cycle after the other, a register in each.
Leaves out where their wavefronts pass (engine_stores)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import simpy
from engine_units import Part
from engine_warp import WarpModel


@dataclass
class Load:
    """Whose registers are under way, and when those that have not come are there."""

    warp: WarpModel
    board: int
    there: list[int]


class Returns:
    """Sub-partitions take turns; a tensor instruction stops what goes to its own."""

    def __init__(self, env: simpy.Environment, parts: Sequence[Part]) -> None:
        self.env, self.parts = env, parts
        self.loads: list[list[Load]] = [[] for _ in parts]
        self.last = 0
        env.process(self._run())

    def expect(self, part: int, load: Load) -> None:
        self.loads[part].append(load)

    def _run(self) -> Iterator[simpy.Event]:
        while True:
            self._write(int(self.env.now))
            yield self.env.timeout(1)

    def _write(self, now: int) -> None:
        """One register comes: the one that was there first of the next sub-partition that can have one."""
        order = [(self.last + turn) % len(self.parts) for turn in range(1, len(self.parts) + 1)]
        for part in order:
            load = min(self.loads[part], key=lambda load: load.there[0], default=None)
            if load is None or load.there[0] > now or self.parts[part].is_stopped(now):
                continue
            load.there.pop(0)
            self.last = part
            if not load.there:
                self.loads[part].remove(load)
                load.warp.settle(load.board, now)
            return
