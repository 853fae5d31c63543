"""Models what is still under way at a point of the program: fixed latencies, busy pipes, barriers not yet waited for.
Leaves out how the instructions got there; times are cycles relative to the point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gpusim.arch import Pipe, ResultCycles

__all__ = ["FlowState", "Pending"]

_Key = tuple[int, int, bool]


@dataclass(frozen=True)
class Pending:
    """Registers not to be touched (``is_result``) or not to be overwritten until a wait for one of ``barriers``, which
    stand in the order in which they were set."""

    units: frozenset[int]
    is_result: bool
    order_class: int | None
    barriers: tuple[int, ...]

    def concerns(self, read: frozenset[int], written: frozenset[int], order_class: int | None) -> bool:
        """Whether an instruction of ``order_class`` with these operands and results must wait for it."""
        overtakes = order_class is None or order_class != self.order_class
        return ((self.is_result and not self.units.isdisjoint(read))
                or (overtakes and not self.units.isdisjoint(written)))

    def covered_by(self, barrier: int) -> Pending:
        return self if barrier in self.barriers else replace(self, barriers=(*self.barriers, barrier))


@dataclass
class FlowState:
    """``ready[unit]``: when a fixed-latency result is there; ``pipe_free[pipe]``: cycle it takes another instruction;
    ``set_at[barrier]``: cycle it was last set; ``pending`` by (block, row, is_result)."""

    ready: dict[int, ResultCycles] = field(default_factory=dict)
    pipe_free: dict[Pipe, int] = field(default_factory=dict)
    set_at: dict[int, int] = field(default_factory=dict)
    pending: dict[_Key, Pending] = field(default_factory=dict)

    def moved(self, cycles: int) -> FlowState:
        """The same state seen ``cycles`` later; what is over by then is dropped."""
        ready = {unit: result.moved(-cycles) for unit, result in self.ready.items() if max(result[1:]) > cycles}
        return FlowState(ready, _later(self.pipe_free, cycles),
                         {barrier: at - cycles for barrier, at in self.set_at.items()}, dict(self.pending))

    def merge(self, other: FlowState) -> bool:
        """Takes in what a second way to this point leaves under way; True if that says anything new."""
        changes = [self._merge_ready(other), _raise(self.pipe_free, other.pipe_free),
                   _raise(self.set_at, other.set_at), self._merge_pending(other)]
        return any(changes)

    def _merge_ready(self, other: FlowState) -> bool:
        joined = {unit: result.joined(self.ready.get(unit, result)) for unit, result in other.ready.items()}
        changed = any(self.ready.get(unit) != result for unit, result in joined.items())
        self.ready.update(joined)
        return changed

    def _merge_pending(self, other: FlowState) -> bool:
        before = dict(self.pending)
        for key, pending in other.pending.items():
            known = self.pending.get(key, pending)
            common = tuple(barrier for barrier in known.barriers if barrier in pending.barriers)
            order_class = pending.order_class if pending.order_class == known.order_class else None
            self.pending[key] = replace(pending, barriers=common, order_class=order_class)
        return self.pending != before

    def wait_mask(self, reads: Iterable[int], writes: Iterable[int], order_class: int | None) -> int:
        """Barriers an instruction must wait for: results it reads, results and operands it overwrites, except those
        of its own in-order class, which it cannot overtake."""
        read, written = frozenset(reads), frozenset(writes)
        needed = [pending for pending in self.pending.values() if pending.concerns(read, written, order_class)]
        mask = 0
        for pending in sorted(needed, key=lambda pending: len(pending.barriers)):
            if not any(mask >> barrier & 1 for barrier in pending.barriers):
                mask |= 1 << pending.barriers[0]
        return mask

    def waited(self, mask: int) -> None:
        if mask:
            self.pending = {key: pending for key, pending in self.pending.items()
                            if not any(mask >> barrier & 1 for barrier in pending.barriers)}

    def cover(self, order_class: int | None, barrier: int, *, results: bool) -> None:
        """An instruction of an in-order class set ``barrier``: earlier ones of the class are done when it is."""
        if order_class is None:
            return
        for key, pending in self.pending.items():
            if pending.order_class == order_class and (results or not pending.is_result):
                self.pending[key] = pending.covered_by(barrier)

    def seal(self, order_class: int) -> None:
        """What an in-order class sets from now on says nothing of those before: a predicate may switch it off."""
        for key, pending in self.pending.items():
            if pending.order_class == order_class:
                self.pending[key] = replace(pending, order_class=None)


def _later(times: Mapping, cycles: int) -> dict:
    return {name: at - cycles for name, at in times.items() if at > cycles}


def _raise(times: dict, other: Mapping) -> bool:
    changed = False
    for name, at in other.items():
        if at > times.get(name, at - 1):
            times[name], changed = at, True
    return changed
