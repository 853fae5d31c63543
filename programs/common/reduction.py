"""Models CUTLASS's ReduceSplitK: partial sums of all slices, element by element, through the output operator to D.
Leaves out reductions other than sums of f32.

Source: cutlass/reduction/kernel/reduce_split_k.h, and what nvcc 13 makes of it for sm_90a.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

import gpusim as gs
from common.conversion import Vector
from common.epilogue import VECTOR_BITS, require_source
from common.output_op import LinearCombination, OutputOp
from common.tiles import tile_count
from gpusim import (
    LANES,
    BlockCoordinate,
    Context,
    GlobalIterator,
    GmemTensor,
    Group,
    Line,
    Pieces,
    setup_lines,
    widest_alignment,
)

__all__ = ["reduce_split_k", "workspace"]

ROWS, PARTITIONS_PER_STAGE = 4, 4  # rows of a threadblock, partitions loaded together (CUTLASS's defaults)
SETUP, OUTPUT_SETUP = 55, 10  # instructions: positions, alpha and beta; the pointer of D
WORDS = VECTOR_BITS // 32


def workspace(M: int, N: int, slices: int) -> GmemTensor:
    """Partial sums in f32, one matrix per slice."""
    return gs.tensor("workspace", gs.f32, (slices, M, N), scratch=True)


@gs.kernel
def reduce_split_k(ctx, A, B, D, workspace, C=None, *, slices=4, alpha=1.0, beta=0.0, scale="default"):
    """A thread sums one vector of D; ``slices`` partitions lie one after another in the workspace."""
    op = LinearCombination(alpha, beta, scale)
    elements = widest_alignment(D, VECTOR_BITS // D.dtype.bits)
    tile = ROWS, LANES * elements
    coords = ctx.launch((tile_count(D.shape[0], tile[0]), tile_count(D.shape[1], tile[1])), warps=ROWS)
    sums = PartialSums(ctx, workspace, coords, elements)
    with ctx.scope("prologue"):
        sums.set_up()
    for first in ctx.range(tile_count(slices, PARTITIONS_PER_STAGE), name="main_loop"):
        sums.add_stage(first * PARTITIONS_PER_STAGE, slices)
    with ctx.scope("epilogue"):
        sums.store(D, op, require_source(op, C))


@dataclass(eq=False)
class PartialSums:
    """What a thread adds up: one vector of ``elements`` of every partition."""

    ctx: Context
    workspace: GmemTensor
    coords: tuple[BlockCoordinate, BlockCoordinate]
    elements: int
    pieces: Pieces = field(init=False)
    pointer: Group = field(init=False)
    guard: Group = field(init=False)
    total: Vector = field(init=False)
    _loaded: list[Vector] = field(default_factory=list)  # per partition of a stage

    def __post_init__(self) -> None:
        registers, thread = self.ctx.recorder.registers, np.arange(ROWS * LANES)
        self.pieces = Pieces((thread // LANES)[None], (thread % LANES * self.elements)[None], self.elements)
        self.pointer, self.guard = registers.vector(2), registers.predicate()
        self.total, *self._loaded = (Vector(registers.vector(self.elements)[0], self.elements, gs.f32)
                                     for _ in range(1 + PARTITIONS_PER_STAGE))

    @property
    def tile(self) -> tuple[int, int]:
        return ROWS, LANES * self.elements

    def _iterator(self, tensor: GmemTensor, partition: int = 0) -> GlobalIterator:
        """Vectors in accesses of 16 bytes at most."""
        alignment = min(self.elements, VECTOR_BITS // tensor.dtype.bits)
        return GlobalIterator(self.ctx, tensor, self.tile, self.coords, self.pieces, alignment=alignment,
                              offset_bytes=tensor.bytes_of(partition * tensor.batch_stride))

    def set_up(self) -> None:
        low, high = (self.pointer[0], 1), (self.pointer[0] + 1, 1)
        clears = [Line("CS2R", (start, 2)) if self.elements > 1 else Line("MOV", (start, 1))
                  for start in range(self.total.start, self.total.start + self.elements, 2)]
        self.ctx.code([*setup_lines(self.ctx.recorder.registers, SETUP, [low, high]), *clears])

    def add_stage(self, first: int, partitions: int) -> None:
        """Load up to four partitions, then add them; what lies behind the last one is predicated off."""
        for number in range(PARTITIONS_PER_STAGE):
            self._load(first + number, self._loaded[number], is_there=first + number < partitions)
        for number in range(min(PARTITIONS_PER_STAGE, partitions - first)):
            self.ctx.code([Line("BRA", (0, 0), (self.guard,)), *(
                Line("FADD", total, (total, addend)) for total, addend in zip(
                    self.total.registers, self._loaded[number].registers, strict=True))])

    def _load(self, partition: int, to: Vector, *, is_there: bool) -> None:
        registers = self.ctx.recorder.registers
        stride, address = registers.vector(2), registers.vector(2)
        iterator = self._iterator(self.workspace.batch(), partition if is_there else 0)
        low, high = (self.pointer[0], 1), (self.pointer[0] + 1, 1)
        parts = range(iterator.accesses_per_vector)
        width = iterator.parts.elements
        lines = [Line("LDC.64", stride), Line("ISETP.LE.AND", self.guard), Line("UIADD3", registers.uniform()),
                 Line("MOV", (address[0], 1), (low,)), Line("MOV", (address[0] + 1, 1), (high,))]
        bits = 32 * width
        mnemonic = getattr(gs.copy, f"UniversalCopy_{bits}b").bind("global", "register")
        lines += [Line(mnemonic.mnemonic, (to.start + width * part, width), (address, self.guard), part)
                  for part in parts]
        lines += [Line("IADD3", low, (low, (stride[0], 1))), Line("IADD3.X", high, (high, (stride[0] + 1, 1), low))]
        access = iterator.access(mnemonic.operation, 0, [0], label=f"ld.global {self.workspace.name}")
        self.ctx.code(lines, access if is_there else replace(access, active=False))

    def store(self, destination: GmemTensor, op: LinearCombination, source: GmemTensor | None) -> None:
        """The output operator, then one vector store."""
        operator = OutputOp(self.ctx, op, gs.f32, destination.dtype)
        output = self._iterator(destination)
        low, high = (output.pointer.pointer[0], 1), (output.pointer.pointer[0] + 1, 1)
        self.ctx.code([*setup_lines(self.ctx.recorder.registers, OUTPUT_SETUP, [low, high, output.pointer.mask]),
                       *operator.setup()])
        result = operator.apply(self.total, None if source is None else self._load_source(source))
        atom = self._atom(destination, "register", "global")
        self.ctx.code(output.store_lines(atom.mnemonic, [0], [result.group]),
                      output.access(atom.operation, 0, [0], label=f"st.global {destination.name}"))

    def _load_source(self, source: GmemTensor) -> Vector:
        iterator, atom = self._iterator(source), self._atom(source, "global", "register")
        width = max(1, self.elements * source.dtype.bits // 32)
        vector = Vector(self.ctx.recorder.registers.vector(width)[0], self.elements, source.dtype)
        self.ctx.code(iterator.lines(atom.mnemonic, [0], registers=[vector.group]),
                      iterator.access(atom.operation, 0, [0], label=f"ld.global {source.name}"))
        return vector

    def _atom(self, tensor: GmemTensor, source: str, target: str):
        return getattr(gs.copy, f"UniversalCopy_{self.elements * tensor.dtype.bits}b").bind(source, target)
