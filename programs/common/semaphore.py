"""Models CUTLASS's Semaphore and Barrier: one thread polls a word in global memory for its threadblock, or writes it.
Leaves out GPUs before Volta, whose loads and stores know no memory order.

Source: cutlass/semaphore.h, cutlass/barrier.h, and what nvcc 13 makes of them for sm_90a.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusim import JUMP_ALL_THERE, JUMP_MISSING, LANES, Access, Context, FlagUse, GmemTensor, Group, Instance, Line

__all__ = ["Flag"]

DEAD_LOADS = 4  # ptxas puts them in front of a MEMBAR
POLL, SWAP, SET, ADD = "LDG.E.STRONG.GPU", "ATOMG.E.CAS.STRONG.GPU", "STG.E.STRONG.GPU", "RED.E.ADD.S32.STRONG.GPU"
VOTE = "BAR.RED.AND.DEFER_BLOCKING"


@dataclass(eq=False)
class Flag:
    """One of the words by which threadblocks wait for each other: ``slot`` among those of ``ctx.flag_words``.

    Semaphore: fetch, wait, release. Barrier: wait_equal, wait_equal_reset, arrive. Thread 0 polls and writes; ``span``
    neighbouring words are written by as many lanes.
    """

    ctx: Context
    tensor: GmemTensor
    slot: int = 0
    pointer: Group = field(init=False)
    state: Group = field(init=False)
    guard: Group = field(init=False)

    def __post_init__(self) -> None:
        registers = self.ctx.recorder.registers
        self.pointer, self.state, self.guard = registers.vector(2), registers.vector(), registers.predicate()

    # Semaphore

    def fetch(self, value: int) -> None:
        """Read the word early, without waiting for the answer; the next wait is for ``value``."""
        self.ctx.code([*self._setup(), Line("MOV", self.state, immediate=-1)])
        self._poll(POLL, value)

    def wait(self, value: int) -> None:
        """Until the word is ``value``, all threads vote and thread 0 reads it again."""
        self._vote(JUMP_ALL_THERE)
        self._poll(POLL, value)
        self._vote(JUMP_MISSING)
        self.ctx.sync_threads()

    def release(self, value: int) -> None:
        """What the threadblock has written is there for all before the word is ``value``."""
        self.ctx.sync_threads()
        result = self.ctx.recorder.registers.vector()
        self.ctx.code([Line("VIADD", result), Line("ISETP.NE.AND", self.guard, (result,)),
                       Line("SEL", self.state, (result, self.guard))])
        self._publish(SET, FlagUse(self.slot, value))

    # Barrier

    def wait_equal(self, value: int) -> None:
        """Thread 0 reads the word until it is ``value``, the others wait for it."""
        self._spin(POLL, value)

    def wait_equal_reset(self, value: int) -> None:
        """The same, and the word is 0 afterwards."""
        self._spin(SWAP, value)

    def arrive(self, span: int = 1) -> None:
        """What the threadblock has written is there for all before ``span`` words have grown by one."""
        self.ctx.sync_threads()
        self.ctx.code(self._setup())
        self._publish(ADD, FlagUse(self.slot, 1, span))

    # instructions

    def _setup(self) -> list[Line]:
        index, thread = self.ctx.recorder.registers.vector(), self.ctx.recorder.registers.vector()
        return [Line("S2R", thread), Line("IMAD", index), Line("IMAD.WIDE", self.pointer, (index,)),
                Line("ISETP.GT.AND", self.guard, (thread,))]

    def _poll(self, mnemonic: str, value: int) -> None:
        operand = FlagUse(self.slot, value).operand
        sources = (self.pointer, self.guard) if mnemonic == POLL else (self.pointer, self.state, self.guard)
        self._code([Line(mnemonic, self.state, sources, 0, immediate=operand), Line("CCTL.IVALL")], 1, "ld.acquire")

    def _vote(self, jump: int) -> None:
        self.ctx.code([Line("ISETP.NE.AND", self.guard, (self.state,)), Line(VOTE, self.guard, (self.guard,)),
                       Line("BRA", (0, 0), (self.guard,), immediate=jump)])

    def _spin(self, mnemonic: str, value: int) -> None:
        self.ctx.code(self._setup())
        self._poll(mnemonic, value)
        self.ctx.code([Line("ISETP.NE.AND", self.guard, (self.state,)),
                       Line("BRA", (0, 0), (self.guard,), immediate=JUMP_MISSING)])
        self.ctx.sync_threads()

    def _publish(self, mnemonic: str, use: FlagUse) -> None:
        dead = [Line("LDS", active=False)] * DEAD_LOADS
        self._code([*dead, Line("MEMBAR.ALL.GPU", (0, 0), (self.guard,), 0), Line("ERRBAR"),
                    Line(mnemonic, (0, 0), (self.pointer, self.guard, self.state), 0, immediate=use.operand)],
                   use.span, "st.release")

    def _code(self, lines: list[Line], lanes: int, label: str) -> None:
        """Instructions whose memory accesses are those of the first lanes of warp 0."""
        operation = "LDG32" if label.startswith("ld") else "STG32"
        name = f"{label} {self.tensor.name}"
        row = self.ctx.recorder.access_row((name, lanes), lambda: [self._access(operation, lanes, name)])
        self.ctx.code(lines, Instance(row))

    def _access(self, operation: str, lanes: int, label: str) -> Access:
        warps = self.ctx.recorder.num_warps
        offsets = np.broadcast_to(np.arange(LANES) * self.tensor.dtype.bytes, (warps, LANES))
        mask = np.where(np.arange(warps) == 0, (1 << lanes) - 1, 0).astype(np.uint32)
        return Access(operation, label, self.tensor.dtype.bytes, None, offsets, self.ctx.mover.row(self.tensor.name),
                      mask, np.zeros(warps, np.uint32))
