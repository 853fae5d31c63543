"""Models mbarriers functionally: phases, what they wait for, and what becomes visible to those who wait for a phase.
Leaves out time: bytes of a bulk copy are counted at once, but seen only by who waits for their phase."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusim.program import MBarrier
from gpusim.verify.shared import SharedMemory
from gpusim.verify.tracker import Arrival, Copy

__all__ = ["Phases"]


@dataclass
class _Ordered:
    """What happened before a phase completed."""

    arrivals: list[tuple[SharedMemory, Arrival]] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)


class Phases:
    """One mbarrier: the phase in progress, and what completed phases have ordered that nobody has waited for yet."""

    def __init__(self, barrier: MBarrier) -> None:
        self.barrier = barrier
        self.missing_arrivals, self.missing_bytes = barrier.arrivals, 0
        self.completed = 0
        self._present, self._behind = _Ordered(), _Ordered()

    def has_completed(self, parity: int) -> bool:
        """Whether a wait with this parity passes: the phase in progress has the other one."""
        return self.completed % 2 != parity

    def arrive(self, count: int, shared: SharedMemory, arrival: Arrival, *, expected_bytes: int = 0) -> None:
        """``count`` arrivals behind what ``arrival`` tells of the shared memory of those who arrive, in this CTA or
        another; the phase waits for ``expected_bytes`` more."""
        self.missing_arrivals -= count
        self.missing_bytes += expected_bytes
        self._present.arrivals.append((shared, arrival))
        self._complete()

    def add_copies(self, copies: list[Copy], num_bytes: int = 0) -> None:
        """Copies whose bytes this phase counts, or that an arrival stands for."""
        self._present.copies += copies
        self.missing_bytes -= num_bytes
        self._complete()

    def take_ordered(self) -> tuple[list[tuple[SharedMemory, Arrival]], list[Copy]]:
        """What whoever waits now sees for the first time."""
        seen, self._behind = self._behind, _Ordered()
        return seen.arrivals, seen.copies

    @property
    def state(self) -> str:
        """For messages."""
        parts = [f"phase {self.completed} waits for {self.missing_arrivals} of {self.barrier.arrivals} arrivals"]
        if self.missing_bytes:
            parts.append(f"{self.missing_bytes} bytes")
        return " and ".join(parts)

    def _complete(self) -> None:
        if self.missing_arrivals <= 0 and self.missing_bytes == 0:
            self._behind.arrivals += self._present.arrivals
            self._behind.copies += self._present.copies
            self._present = _Ordered()
            self.completed += 1
            self.missing_arrivals += self.barrier.arrivals
