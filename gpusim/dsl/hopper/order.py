"""Models warpgroups that take turns in a few things each, behind mbarriers: CUTLASS's OrderedSequenceBarrier.
Leaves out waits that give up (try_wait), and turns of single warps.

``depth`` things are done in turn by ``groups`` of warps: whoever has done one lets the next group do it, and goes on to
its own next thing. There is an mbarrier for every thing and group, at which the group before arrives with all of its
threads; group 0 has its first turns for nothing, as it waits for a phase before the first
(cutlass/pipeline/sm90_pipeline.hpp). Addresses are known before the loop over tiles, as things and groups are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusim.dsl.hopper.pipeline import TRYWAIT
from gpusim.dsl.statements import Code, Instance, Line
from gpusim.dsl.tiled import LANES
from gpusim.errors import UserError
from gpusim.program import MBarrierAction, pack_mbarrier

if TYPE_CHECKING:
    from gpusim.dsl.hopper.verbs import HopperVerbs

__all__ = ["OrderedGroup", "OrderedSequence"]

ARRIVE = "SYNCS.ARRIVE.TRANS64.A1T0"


@dataclass(frozen=True)
class OrderedSequence:
    """``barriers[thing][group]``: the mbarrier that the group waits at before it does the thing."""

    ctx: HopperVerbs
    name: str
    barriers: tuple[tuple[int, ...], ...]

    @classmethod
    def make(cls, ctx: HopperVerbs, name: str, depth: int, groups: int, warps: int) -> OrderedSequence:
        """Raises UserError for a sequence without things, or without somebody to take turns with."""
        if depth < 1 or groups < 2 or warps < 1:
            raise UserError("in an ordered sequence two groups of warps or more take turns in a thing or more",
                            place=name, got=f"{groups} groups of {warps} warps, {depth} things")
        return cls(ctx, name, tuple(tuple(
            ctx.mbarrier(f"{name}[{thing}][{group}]", warps * LANES) for group in range(groups))
            for thing in range(depth)))

    def group(self, number: int) -> OrderedGroup:
        """The role being recorded is this one of the groups."""
        if not 0 <= number < len(self.barriers[0]):
            raise UserError(f"{self.name} has the groups 0 to {len(self.barriers[0]) - 1}", got=number)
        return self.ctx.recorder.kept(("ordered", self.name), lambda: OrderedGroup(self, number))


class OrderedGroup:
    """One group's place in the sequence; ``count``: things it has done."""

    def __init__(self, sequence: OrderedSequence, number: int) -> None:
        self.sequence, self.number, self.count = sequence, number, 0
        registers = sequence.ctx.recorder.registers
        self.phase, self.address = registers.vector(), registers.uniform()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The next thing: wait until it is this group's turn, and let the next group follow when it is done."""
        self.wait()
        yield
        self.arrive()

    def wait(self) -> None:
        """Until the group before has done the present thing as often as this one is to."""
        barriers = self.sequence.barriers
        parity = (self.count // len(barriers) + (self.number == 0)) % 2
        self._record(self._wait_code, self.number, MBarrierAction.wait, parity)

    def arrive(self) -> None:
        """The next group may do the present thing; this one goes on to the next thing."""
        self._record(self._arrive_code, (self.number + 1) % len(self.sequence.barriers[0]), MBarrierAction.arrive)
        self.count += 1

    def _record(self, code: Code, group: int, action: MBarrierAction, parity: int = 0) -> None:
        barriers = self.sequence.barriers
        operand = pack_mbarrier(barriers[self.count % len(barriers)][group], action, parity)
        self.sequence.ctx.code(code, Instance(shared_offset=LANES, operand=operand))

    @property
    def _wait_code(self) -> Code:
        return self.sequence.ctx.recorder.kept(("ordered wait", self.sequence.name), self._make_wait)

    def _make_wait(self) -> Code:
        registers = self.sequence.ctx.recorder.registers
        parity, done = registers.vector(), registers.predicate()
        return Code((Line("SHF.L.U32", parity, (self.phase,)),
                     Line(TRYWAIT, done, (self.address, parity), 0, operand=True), Line("BRA", (0, 0), (done,))))

    @property
    def _arrive_code(self) -> Code:
        return self.sequence.ctx.recorder.kept(("ordered arrive", self.sequence.name), lambda: Code((
            Line(ARRIVE, (0, 0), (self.address,), 0, operand=True),)))
