"""Models the counters of a loop: turns and stages, in vector registers or on the uniform datapath, and their tests.
Leaves out which loops count where (gpusim.dsl.lowering.rules)."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.dsl.lowering.emitter import Emitter
from gpusim.dsl.registers import Group, Registers

__all__ = ["Counter", "TripTest", "trip_test"]


@dataclass(frozen=True)
class TripTest:
    """A comparison: ``predicate`` guards vector instructions, ``uniform`` those of the uniform datapath, if made there.
    """

    predicate: Group
    uniform: Group | None = None


@dataclass(frozen=True)
class Counter:
    """One counter of a loop."""

    register: Group
    uniform: bool

    @classmethod
    def new(cls, registers: Registers, *, uniform: bool) -> Counter:
        return cls(registers.uniform() if uniform else registers.vector(), uniform)

    def start(self, emit: Emitter) -> None:
        emit.op("UMOV" if self.uniform else "IMAD.MOV.U32", dst=self.register)

    def wrap_round(self, emit: Emitter) -> None:
        """counter = counter + 1 == stages ? 0 : counter + 1"""
        step = self._step(emit)
        if self.uniform:
            last = emit.uniform("UISETP.NE.AND", step)
            emit.op("USEL", step, last, dst=self.register)
        else:
            last = emit.op("ISETP.NE.AND", step, dst=emit.registers.predicate())
            emit.op("SEL", step, last, dst=self.register)

    def in_vector(self, emit: Emitter) -> Group:
        """Its value in a vector register; IMAD cannot take it from the uniform ones beside an immediate."""
        return emit.new("IMAD.U32", self.register) if self.uniform else self.register

    def _step(self, emit: Emitter) -> Group:
        return emit.uniform("UIADD3", self.register) if self.uniform else emit.new("VIADD", self.register)


def trip_test(emit: Emitter, trip: Group, *, on_uniform: bool) -> TripTest:
    """A count of turns against their number. ``on_uniform``: compared there, and handed over to a predicate."""
    predicate = emit.registers.predicate()
    if not on_uniform:
        return TripTest(emit.op("ISETP.LE.AND", trip, dst=predicate))
    uniform = emit.uniform("UISETP.GE.AND", trip)
    return TripTest(emit.op("PLOP3.LUT", uniform, dst=predicate), uniform)
