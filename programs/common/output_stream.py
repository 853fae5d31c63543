"""Models what an epilogue does with vectors of accumulators in registers: load C, output operator, store D.
Leaves out how accumulators come to their vectors (common.epilogue, common.direct)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import gpusim as gs
from common.channels import ChannelFactors
from common.complex_op import ComplexOutputOp
from common.conversion import Vector
from common.output_op import LinearCombination, OutputOp
from common.parameters import factor_lines, output_lines, source_branch
from gpusim import (
    BlockCoordinate,
    Context,
    CopyAtom,
    GlobalIterator,
    GmemTensor,
    Group,
    Line,
    Pieces,
    global_iterator,
    setup_lines,
)

__all__ = ["OutputStream", "require_source"]

SOURCE_SETUP = 12
"""Instructions for the pointer and mask of C beside those of D (CUTLASS 4, sm_90a: they share rows and columns)."""


def require_source(op: LinearCombination, source: GmemTensor | None) -> GmemTensor | None:
    """The source where the operator reads one. Raises UserError where it is missing."""
    if op.source_needed and source is None:
        raise gs.UserError("an output operator that adds beta * C needs tensor C", got="none",
                           suggestion="beta=0 or scale=only_alpha_scaling")
    return source if op.source_needed else None


@dataclass(eq=False)
class OutputStream:
    """Vectors at ``pieces`` of the CTA's ``tile`` at ``coords``, ``per_step`` of them at once.

    ``output`` and ``input`` walk D and, where the operator needs it, C; ``channels``: its factors per channel.
    """

    ctx: Context
    destination: GmemTensor
    tile: tuple[int, int]
    coords: tuple[BlockCoordinate, BlockCoordinate]
    pieces: Pieces
    per_step: int
    accumulator: gs.DType
    op: LinearCombination
    source: GmemTensor | None
    channels: Mapping[str, GmemTensor] = field(default_factory=dict)
    output: GlobalIterator = field(init=False)
    input: GlobalIterator | None = field(init=False)
    operator: OutputOp | ComplexOutputOp = field(init=False)
    factors: ChannelFactors | None = field(init=False)
    _addends: list[Vector] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.output = self._iterator(self.destination)
        source = require_source(self.op, self.source)
        self.input = None if source is None else self._iterator(source)
        self.factors = ChannelFactors(
            self.ctx, {name: self.channels[name] for name in self.op.channels}, self.coords[1], self.tile[1],
            self.pieces.columns[: self.per_step], self.pieces.elements) if self.channels else None
        self.operator = (ComplexOutputOp(self.ctx, self.op) if self.accumulator.name == "cf32" else
                         OutputOp(self.ctx, self.op, self.accumulator, self.destination.dtype, self.factors))

    def _iterator(self, tensor: GmemTensor) -> GlobalIterator:
        return global_iterator(self.ctx, tensor, self.tile, self.coords, self.pieces)

    def setup(self, others: Sequence[Group] = ()) -> list[Line]:
        """Emit the loads of factors per channel; the operator's constructor, pointers, constants, a cleared C and the
        branch on it. ``others``: more registers with values that stay."""
        if self.factors is not None:
            self.factors.load()
        may_read = self.op.scale == "default" and not self.op.source_needed
        return [*factor_lines(self.ctx, self.op.parameters), *output_lines(self.ctx),
                *self.output.pointer.store_setup(others), *self._source_setup(), *self.operator.setup(),
                *(source_branch(self.ctx) if may_read else ())]

    def _source_setup(self) -> list[Line]:
        if self.input is None:
            return []
        pointer, dtype = self.input.pointer, self.input.tensor.dtype
        low, high = (pointer.pointer[0], 1), (pointer.pointer[0] + 1, 1)
        groups = [self._allocate(dtype) for _ in range(self.per_step)]
        self._addends = [Vector(start, self.pieces.elements, dtype) for start, _ in groups]
        clears = [Line("CS2R" if width > 1 else "IMAD.MOV.U32", (start + n, min(2, width)))
                  for start, width in groups for n in range(0, width, 2)]
        return setup_lines(self.ctx.recorder.registers, SOURCE_SETUP, [low, high, pointer.mask]) + clears

    def _allocate(self, dtype: gs.DType) -> Group:
        return self.ctx.recorder.registers.vector(max(1, self.pieces.elements * dtype.bits // 32))

    def _chosen(self, step: int) -> range:
        return range(step * self.per_step, (step + 1) * self.per_step)

    def _atom(self, tensor: GmemTensor, source: str, target: str) -> CopyAtom:
        bits = self.pieces.elements * tensor.dtype.bits
        atom: CopyAtom = getattr(gs.copy, f"UniversalCopy_{bits}b").bind(source, target)
        return atom

    def load_source(self, step: int) -> None:
        """C of a step, one vector per store; what lies outside keeps its value."""
        if self.input is None:
            return
        chosen, lines = self._chosen(step), []
        atom = self._atom(self.input.tensor, "global", "register")
        for row, (piece, vector) in enumerate(zip(chosen, self._addends, strict=True)):
            before, pointer, predicate = self.input.store_pointer_lines(piece)
            lines += [*before, Line(atom.mnemonic, vector.group, (pointer, predicate), row)]
        self.input.prepare(0, chosen)
        self.ctx.code(lines, self.input.access(atom.operation, 0, chosen, label=f"ld.global {self.input.tensor.name}"))

    def store(self, step: int, accumulators: Sequence[Vector]) -> None:
        """The output operator on the vectors of a step, and their stores."""
        sources: Sequence[Vector | None] = self._addends or [None] * len(accumulators)
        results = [self.operator.apply(vector, source, number).group
                   for number, (vector, source) in enumerate(zip(accumulators, sources, strict=True))]
        chosen, atom = self._chosen(step), self._atom(self.destination, "register", "global")
        self.output.prepare(0, chosen)
        self.ctx.code(self.output.store_lines(atom.mnemonic, chosen, results),
                      self.output.access(atom.operation, 0, chosen, label=f"st.global {self.destination.name}"))
