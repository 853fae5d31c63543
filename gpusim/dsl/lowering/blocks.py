"""Models the code of a role: basic blocks of statements lowered once each, and replicated over unrolled iterations.
Leaves out schedule and control fields (gpusim.dsl.backend)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from gpusim.arch import GpuSpec
from gpusim.dsl.backend import Block
from gpusim.dsl.lowering.emitter import Emitter
from gpusim.dsl.lowering.loops import LoopLowering
from gpusim.dsl.lowering.rules import registers_at_hand
from gpusim.dsl.lowering.straight import StraightCode, keeps_addresses
from gpusim.dsl.lowering.template import StaticTable, Template
from gpusim.dsl.registers import Registers
from gpusim.dsl.statements import BasicBlock, Statement

__all__ = ["LoweredRole", "lower_role"]

PROLOGUE, EPILOGUE = "prologue", "epilogue"
"""Scopes of the code a compiler puts before loops and at the end."""


@dataclass(frozen=True)
class LoweredRole:
    """``blocks`` of virtual-register code in execution order, loops as repeated blocks, ending with EXIT; the most
    registers per thread that a loop's plan asks for, which ptxas may squeeze; and how many it may give a thread."""

    blocks: list[Block]
    registers_needed: int
    squeezable: bool
    max_registers: int


@dataclass
class RoleLowering:
    """Lowers the blocks of one role."""

    registers: Registers
    statics: StaticTable
    threads: int
    spec: GpuSpec
    tensors: dict[str, int]  # shared tensors by name: their number
    loops: dict[int, LoopLowering] = field(default_factory=dict)
    templates: dict[tuple[str, int, tuple[Statement, ...]], Template] = field(default_factory=dict)

    def lower(self, blocks: Sequence[BasicBlock]) -> Iterator[Block]:
        first, addresses_known = True, False
        for key, run in groupby((block for block in blocks if block.statements), key=lambda block: block.key):
            copies = list(run)
            entered = copies[0].loop >= 0 and copies[0].loop not in self.loops
            if entered:
                self.loops[copies[0].loop] = LoopLowering(self.registers, copies[0], self.threads, self.spec)
            if key not in self.templates:
                self.templates[key] = self._template(copies[0], is_first=first)
            if entered:
                entry = self.loops[copies[0].loop].entry_instructions(addresses_known=addresses_known)
                yield Template(entry, self.statics.pcs(entry, PROLOGUE), PROLOGUE).block([])
            yield self.templates[key].block(copies)
            first = False
            addresses_known = addresses_known or keeps_addresses(copies[0])
        yield self._exit()

    def _template(self, block: BasicBlock, *, is_first: bool) -> Template:
        if block.loop >= 0:
            instructions = self.loops[block.loop].body(block, self.tensors)
        else:
            instructions = StraightCode(self.registers, self.tensors).block(block, is_first=is_first)
        return Template(instructions, self.statics.pcs(instructions, block.scope), block.scope)

    def _exit(self) -> Block:
        emit = Emitter(self.registers)
        emit.op("EXIT")
        return Template(emit.instructions, self.statics.pcs(emit.instructions, EPILOGUE), EPILOGUE).block([])


def lower_role(blocks: Sequence[BasicBlock], registers: Registers, statics: StaticTable, threads: int, spec: GpuSpec,
               tensors: dict[str, int]) -> LoweredRole:
    """The code of a role that belongs to a CTA of ``threads`` threads; ``tensors`` numbers the shared ones."""
    lowering = RoleLowering(registers, statics, threads, spec, tensors)
    code = list(lowering.lower(blocks))
    plans = [loop.plan for loop in lowering.loops.values()]
    needed = max((plan.registers_needed for plan in plans), default=0)
    recomputes = needed and all(plan.recomputes for plan in plans)
    most = registers_at_hand(needed, threads, spec) if recomputes else spec.sm.max_registers_per_thread
    return LoweredRole(code, needed, all(plan.squeezable for plan in plans), most)
