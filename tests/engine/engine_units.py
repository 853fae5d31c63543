"""Models the units of the golden reference: servers that work off a queue, and sub-partitions with their resources.
Leaves out what asks for them (engine_reference)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import simpy
from engine_warp import WarpModel

from gpusim.arch import GpuSpec
from gpusim.arch.instructions import Kind, Pipe

__all__ = ["Part", "Queued", "Server"]


class Server:
    """Something that does one piece of work after the other, in the order in which they were announced."""

    def __init__(self) -> None:
        self.free = 0

    def serve(self, arrival: int, cycles: int) -> tuple[int, int]:
        """(start, end) of a piece of work that arrives at ``arrival``."""
        start = max(self.free, arrival)
        self.free = start + cycles
        return start, self.free


@dataclass
class Queued:
    """A memory instruction that waits for the load/store unit."""

    time: int
    warp: WarpModel
    row: np.void
    position: int
    kind: Kind
    work: str
    """``nothing``, ``commit``, ``shared`` or ``global``."""
    token: int = 0


class Part:
    """A sub-partition: its warps, pipes, queue and the path of its operands."""

    def __init__(self, env: simpy.Environment, gpu: GpuSpec) -> None:
        self.warps: list[WarpModel] = []
        self.pipes = {pipe: simpy.Resource(env) for pipe in Pipe}
        self.queue: deque[Queued] = deque()
        self.queue_depth, self.queue_open = gpu.mio.queue_depth, 0
        self.operands = Server()
        self.reads: list[tuple[int, int]] = []
        """[start, end) in which the load/store unit reads registers, and the dispatcher cannot."""
        self.dispatch_free = 0
        self.last: WarpModel | None = None

    def dispatch(self, now: int) -> int:
        """Cycle in which an instruction issued now gets at its registers."""
        for start, end in self.reads:
            if start <= now < end:
                now = end
        return now
