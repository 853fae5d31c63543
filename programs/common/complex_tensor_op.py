"""Models CUTLASS 2.x's GEMM of complex<float> on tensor cores: every product is four of tf32 (OpMultiplyAddComplex).
Leaves out Gauss's three products, sliced-K and other precisions.

Source: cutlass/gemm/warp/mma_complex_tensor_op.h, gemm/threadblock/default_multistage_mma_complex_core_sm80.h. Numbers
become tf32 on their way from fragments to operands: until sm_89 by LOP3 and FFMA (half an ulp more, then truncation),
on sm_90 by F2FP in place, behind which ptxas moves every number of A once and those of B for every MMA along m: within
22 % of the 90 to 224 moves of seven kernels (CUTLASS 4.2, CUDA 13.0), main loops of 186 to 668 within 8 %. A step's
operands take the registers of the last one's, MMA by MMA, as ptxas has it: registers at most 24 too high.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

import gpusim as gs
from common.complex_op import imaginary, real, require_conjugate
from common.conversion import immediate
from common.epilogue import Epilogue, EpilogueTile, Push
from common.multiplicand import DoubleMultiplicand, Multiplicand, StagedTile
from common.operand import TensorOpOperand
from common.output_op import LinearCombination, float_bits
from common.tensor_op_epilogue import ROWS_PER_STEP, push_rows, widest_thread_map
from common.tensor_op_loop import TensorOpLoop
from gpusim import LANES, Context, Fragment, GmemTensor, Group, Line

__all__ = ["ComplexTensorOpLoop", "complex_tensor_op_epilogue", "nearest_tf32"]

QUAD_K = 4  # k of a load
F2FP_SINCE = 90
SIGN, SIGN_AND_EXPONENT, HALF_ULP, XOR = 0x80000000, 0xFF800000, 2.0 ** -11, 0x3C


def nearest_tf32(values: np.ndarray) -> np.ndarray:
    """Complex numbers whose parts are rounded to tf32, ties away from zero."""
    bits = np.ascontiguousarray(values.astype(np.complex64)).view(np.uint32)
    return (bits + np.uint32(1 << 12) & np.uint32(0xFFFFE000)).view(np.complex64)


@dataclass(frozen=True)
class ComplexMultiplicand(DoubleMultiplicand):
    """The layouts of f64, for fragments of m16n8k8: an LDS.128 brings the numbers of two rows, 8 apart, of one k."""

    instruction = (16, 8, 8)

    @property
    def turned(self) -> bool:
        return False  # in the second load of a step, see ComplexTensorOpLoop

    def targets(self, groups: Sequence[int]) -> list[Group]:
        return [(start, 4) for start in groups]

    def fragment_addresses(self, step: int) -> np.ndarray:
        """Pairs of rows; of each, the lower four k, then the upper ones."""
        lane = np.arange(LANES)
        rows = np.repeat(np.arange(self.row_pairs), 2)[:, None] * 16 + lane // 4
        k = np.tile([0, QUAD_K], self.row_pairs)[:, None] + lane % 4
        pairs = self.addresses(*self.tile.warp_places(rows, k, step))
        width = 2 * self.tile.dtype.bytes
        return pairs // width * width

    @property
    def row_pairs(self) -> int:
        """Blocks of 16 rows of a warp."""
        return self.tile.mma.warp_tile[self.tile.operand == "B"] // 16


@dataclass(frozen=True)
class Loaded:
    """Registers of a k step as they come: four per load, first register each."""

    groups: tuple[int, ...]


@dataclass(eq=False)
class ComplexOperand(TensorOpOperand):
    """Operand whose fragments are loaded as complex numbers, in turn to one of two buffers, and taken apart into
    ``parts``: per MMA, the registers of real and of imaginary parts."""

    loaded: tuple[Loaded, Loaded] = field(init=False)
    parts: list[tuple[Group, Group]] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        vector, loads = self.ctx.recorder.registers.vector, len(self.shared.fragment_addresses(0))
        first, second = (tuple(vector(4)[0] for _ in range(loads)) for _ in range(2))
        self.loaded = Loaded(first), Loaded(second)
        width = self.mma.registers(self.name)
        self.parts = [(vector(width), vector(width)) for _ in range(self.mma.atoms[self.name == "B"])]

    def _multiplicand(self, tile: StagedTile) -> Multiplicand:
        return ComplexMultiplicand(tile)

    def numbers(self, buffer: int) -> Iterator[tuple[int, int, int]]:
        """(register of a number as loaded, its MMA, its place in that one's registers)."""
        for load, start in enumerate(self.loaded[buffer].groups):
            pair, half = divmod(load, 2)
            for low in range(2):
                place = low ^ (self.k_major and half)  # crosswise, every other group of four k has its rows swapped
                yield (start + 2 * low, *((pair, place + 2 * half) if self.name == "A" else (2 * pair + place, half)))


@dataclass(eq=False)
class ComplexTensorOpLoop(TensorOpLoop):
    """A threadblock tile of A (M x K) and B (N x K); sums are planar, real parts and imaginary parts.

    ``conjugate``: which operands, any of "ab".
    """

    conjugate: str = ""
    a: ComplexOperand = field(init=False)
    b: ComplexOperand = field(init=False)
    planes: tuple[Fragment, Fragment] = field(init=False)  # of accumulators
    ldmatrix = False
    operand_type = ComplexOperand
    _negated: list[Group] = field(init=False)  # imaginary parts of B, per MMA
    _constants: tuple[Group, Group] = field(init=False)
    _steps: dict[int, int] = field(default_factory=dict)  # k step that each buffer holds
    _ready: set[int] = field(default_factory=set)  # buffers whose numbers have been converted

    def __post_init__(self) -> None:
        require_conjugate(self.conjugate)
        super().__post_init__()

    def _allocate(self) -> None:
        vector = self.ctx.recorder.registers.vector
        self.planes = self.ctx.fragment(self.mma, "C"), self.ctx.fragment(self.mma, "C")
        self._negated = [vector(2) for _ in range(self.mma.atoms[1])]
        self._constants = vector(), vector()

    def clear(self) -> None:
        for part in self.planes:
            self.ctx.clear(part)
        values = SIGN, float_bits(HALF_ULP)
        self.ctx.code([Line("MOV", register, immediate=immediate(value))
                       for register, value in zip(self._constants, values, strict=True)])

    def fetch(self, step: int, stage: int, buffer: int) -> None:
        """Load a k step; the very first one is converted at once, as are those of a tile's first step behind the last
        multiplication of the tile before."""
        for operand in self.operands:
            operand.load(step, stage, operand.loaded[buffer])  # type: ignore[arg-type]
        first, self._steps[buffer] = not self._steps, step
        self._ready.discard(buffer)
        if first:
            self._convert(buffer)

    def multiply(self, buffer: int) -> None:
        self.ctx.require(self.mma.atom)
        if buffer not in self._ready:
            self._convert(buffer)
        self._multiply(buffer)
        if self._steps.get(1 - buffer) == 0 and 1 - buffer not in self._ready:
            self._convert(1 - buffer)

    def _convert(self, buffer: int) -> None:
        """tf32 in the registers of operands."""
        self._ready.add(buffer)
        in_place = self.ctx.spec.compute_capability >= F2FP_SINCE
        lines = []
        for operand in self.operands:
            for number, mma, place in operand.numbers(buffer):
                for part, (start, _) in zip((real(number), imaginary(number)), operand.parts[mma], strict=True):
                    lines += self._rounded(part, (start + place, 1), in_place=in_place)
        if "a" in self.conjugate:
            lines += [self._negative((start + n, 1), (start + n, 1))
                      for _, (start, width) in self.a.parts for n in range(width)]
        self.ctx.code(lines)

    def _rounded(self, part: Group, to: Group, *, in_place: bool) -> list[Line]:
        """A number, and for what is converted in place the first move to the registers of operands."""
        if in_place:
            return [Line("F2FP.TF32.F32.PACK_B", part, (part,)), Line("IMAD.MOV.U32", to, (part,))]
        return [Line("LOP3.LUT", to, (part,), immediate=immediate(SIGN_AND_EXPONENT)),
                Line("FFMA", to, (to, self._constants[1], part))]

    def _negative(self, to: Group, number: Group) -> Line:
        return Line("LOP3.LUT", to, (number, self._constants[0]), immediate=XOR)

    def _multiply(self, buffer: int) -> None:
        """Per MMA along m four passes over n, forth and back: re re, re im, im -im, im re."""
        columns, (sum_re, sum_im) = self.mma.atoms[1], self.planes
        for m, (a_re, a_im) in enumerate(self.a.parts):
            self.ctx.code(self._moved(buffer) if m else self._negations())
            b = self.b.parts
            plain, negated = [im for _, im in b], list(self._negated)
            if "b" in self.conjugate:
                plain, negated = negated, plain
            forth = [m * columns + n for n in range(columns)]
            passes = ((sum_re, a_re, [re for re, _ in b], False), (sum_im, a_re, plain, True),
                      (sum_re, a_im, negated, False), (sum_im, a_im, [re for re, _ in b], True))
            self.ctx.mma(self.mma.atom.mnemonic, tuple(
                (total.groups[place], left[0], right[place - m * columns][0]) for total, left, right, back in passes
                for place in (forth[::-1] if back else forth)), (4, 4, 2))

    def _moved(self, buffer: int) -> list[Line]:
        """Numbers of B that were converted in place, once more to the registers of operands."""
        if self.ctx.spec.compute_capability < F2FP_SINCE:
            return []
        return [Line("IMAD.MOV.U32", (start + place, 1), (part,)) for number, mma, place in self.b.numbers(buffer)
                for part, (start, _) in zip((real(number), imaginary(number)), self.b.parts[mma], strict=True)]

    def _negations(self) -> list[Line]:
        return [self._negative((to + n, 1), (start + n, 1))
                for (to, width), (_, (start, _)) in zip(self._negated, self.b.parts, strict=True)
                for n in range(width)]


def complex_tensor_op_epilogue(ctx: Context, destination: GmemTensor, loop: ComplexTensorOpLoop, op: LinearCombination,
                               source: GmemTensor | None) -> Epilogue:
    """DefaultEpilogueComplexTensorOp: parts come together in registers, then rows of 8 pass shared memory unpadded."""
    mma = loop.mma

    def push(step: int) -> Push:
        parts = [push_rows(mma, fragment, step) for fragment in loop.planes]
        groups, lines = [], []
        for (re, width), (im, _) in zip(parts[0].registers, parts[1].registers, strict=True):
            start, count = ctx.recorder.registers.vector(2 * width)
            lines += [Line("MOV", (start + n, 1), (((re, im)[n % 2] + n // 2, 1),)) for n in range(count)]
            groups.append((start, count))
        ctx.code(lines)
        return Push(parts[0].rows, parts[0].columns, groups)

    tile = EpilogueTile(widest_thread_map(mma, destination), mma.warp_tile[0] // ROWS_PER_STEP,
                        ROWS_PER_STEP * mma.warps[0], mma.tile[1], gs.cf32, push)
    return Epilogue(ctx, destination, mma.tile, loop.coords, tile, loop.a.array, op, source)
