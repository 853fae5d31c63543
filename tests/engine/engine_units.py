"""Models the units of the golden reference: servers that work off a queue, and sub-partitions with their resources.
Leaves out what asks for them (engine_reference)."""

from __future__ import annotations

import simpy
from engine_warp import WarpModel

from gpusim.arch import GpuSpec
from gpusim.arch.instructions import Pipe

__all__ = ["Part", "Server"]


class Server:
    """Something that does one piece of work after the other, in the order in which they were announced."""

    def __init__(self) -> None:
        self.free = 0
        self.gap = (0, 0)

    def serve(self, arrival: int, cycles: int) -> tuple[int, int]:
        """(start, end) of a piece of work that arrives at ``arrival``."""
        start = max(self.free, arrival)
        self.free = start + cycles
        return start, self.free

    def join(self, now: int, cycles: int) -> int:
        """End of a piece of work that fills the last gap and joins the end of the queue with the rest."""
        start = max(now, self.gap[0])
        inside = min(cycles, max(0, self.gap[1] - start))
        if inside:
            self.gap = (start + inside, self.gap[1])
        if inside == cycles:
            return start + inside
        self.free = max(self.free, now) + cycles - inside
        return self.free

    def serve_at(self, now: int, arrival: int, cycles: int) -> int:
        """End of a piece of work that comes at ``arrival``: a gap in front of it is remembered."""
        if arrival > max(self.free, now):
            self.gap = (max(self.free, now), arrival)
        return self.serve(max(arrival, now), cycles)[1]


class Part:
    """A sub-partition: its warps, pipes, queue and the path of its operands."""

    def __init__(self, env: simpy.Environment, gpu: GpuSpec) -> None:
        self.warps: list[WarpModel] = []
        self.pipes = {pipe: simpy.Resource(env) for pipe in Pipe}
        self.queue = simpy.Resource(env, gpu.mio.queue_depth)
        self.operands = Server()
        self.reads: list[tuple[int, int]] = []
        """[start, end) in which the load/store unit reads registers, and the dispatcher cannot."""
        self.dispatch_free = 0
        self.tensor_free = 0
        self.last: WarpModel | None = None

    def dispatch(self, now: int) -> int:
        """Cycle in which an instruction issued now gets at its registers."""
        for start, end in self.reads:
            if start <= now < end:
                now = end
        return now
