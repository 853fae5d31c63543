"""Models CUTLASS's Conv2dFprop iterators over activations and filters, analytic and optimized, on cp.async.
Leaves out the geometry (common.convolution) and the pipeline (common.multistage).

Instructions per warp, read from CUTLASS 4's DefaultConv2dFprop of 128x128x32, 3 stages, compiled for sm_90a by nvcc 13
(loops of 394 instructions with the analytic iterators, 203 with the optimized ones):

| what | analytic | optimized |
| --- | --- | --- |
| an access to the activations | 52: which way the filter runs, pixel under it, address, bounds | 5: two masks, sum |
| next filter position | 38: of those 20 for shared-memory addresses, registers are short | 32: clears masks, too |
| an access to the filters | 6 | 4 |
| next filter position | 9 | 12 |
| before the loop, an access to the activations: which pixel, by divisions | not read | 32 |
| which rows and columns of the filter lie on the image: for each row, for each column | | 5, and 6 an access |

The analytic one branches around the second half of the bounds of each access to the activations, so that tensor
instructions stay in front of it or behind. Its loop comes out 4 % too short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from common.convolution import FilterRange
from common.operand import TensorOpOperand
from common.tensor_op_loop import TensorOpLoop
from gpusim import LINE_BYTES, GlobalIterator, Group, Line, Pieces, TilePointer, chain_lines, split_offset

__all__ = ["ITERATORS", "AnalyticLoop", "OptimizedLoop"]

UNIFORM = ("UIADD3", "UISETP.NE.AND", "USEL", "UMOV")
PIXEL = ("IMAD.HI.U32", "SHF.R.U32.HI", "SEL", "IMAD", "IMAD", "LEA", "IADD3", "IMAD.WIDE") * 4
ON_IMAGE = ("IMAD", "ISETP.GT.AND", "ISETP.LT.AND", "SEL", "SHF.L.U32", "LOP3.LUT")
FILTER_TURN = ("IMAD.IADD", "SEL", "VIADD", "ISETP.GE.AND", "MOV")
PREDICATES = ("ISETP", "PLOP3")
BRANCHES = ("BSSY", "BRA", "BSYNC")


@dataclass(frozen=True)
class PointerCode:
    """Instructions of an access beside the sum that is its pointer, and of the step to the next filter position."""

    uniform: tuple[str, ...] = ()
    address: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ("LOP3.LUT", "ISETP.NE.AND")
    step_uniform: int = 0
    step: tuple[str, ...] = ()


CODES = {
    ("analytic", "A"): PointerCode(
        uniform=("ULOP3.LUT", "UMOV", "UIADD3", "ULDC") * 5,  # cross-correlation or convolution, a value of the launch
        address=(*("IMAD",) * 5, *("SHF.R.S32.HI",) * 2, "IADD3", "IADD3.X", "IADD3", "IMAD.X"),
        bounds=("BSSY", "IMAD", "PRMT", "ISETP.GE.AND", "ISETP.LT.OR", "BRA", "ISETP.GE.AND", "IMAD", "ISETP.LT.OR",
                "ISETP.GE.OR", "SEL", "PRMT", "BSYNC", "ISETP.GE.AND"),
        step_uniform=15, step=("LEA", *("LOP3.LUT", "SHF.R.U32.HI", "LOP3.LUT", "IMAD.SHL.U32") * 5)),
    ("analytic", "B"): PointerCode(address=("LEA", "LEA.HI.X"), bounds=("ISETP.GE.OR",), step_uniform=6, step=("LEA",)),
    ("optimized", "A"): PointerCode(bounds=("LOP3.LUT", "LOP3.LUT", "PLOP3.LUT"), step_uniform=22,
                                    step=("VIADD", *("SEL",) * 7)),
    ("optimized", "B"): PointerCode(step_uniform=8, step=("VIADD", "SEL")),
}
"""By iterator and operand."""


@dataclass
class FilterPointer(TilePointer):
    """Pointers and predicates of one operand."""

    code: PointerCode = PointerCode()

    def piece(self, piece: int, *, same_row: bool, is_last_row: bool = False) -> tuple[list[Line], Group, Group]:
        """Lines before an access; its pointer, its predicate."""
        lines = [Line(mnemonic, self.registers.uniform()) for mnemonic in self.code.uniform]
        lines += chain_lines(self.registers, self.code.address, self.mask)
        source = lines[-1].dst if self.code.address else self.mask
        bounds = self.chain(self.code.bounds, source)
        added, pointer = self._added(self.pointer)
        return [*lines, *bounds, *added], pointer, bounds[-1].dst

    def chain(self, mnemonics: Sequence[str], source: Group) -> list[Line]:
        """Each reads what the one before has written, a register or a predicate."""
        lines = []
        for mnemonic in mnemonics:
            if mnemonic in BRANCHES:
                lines.append(Line(mnemonic))
                continue
            dst = self.registers.predicate() if mnemonic.startswith(PREDICATES) else self.registers.vector()
            lines.append(Line(mnemonic, dst, (source,)))
            source = dst
        return lines

    def next_tile(self, *, k_major: bool = True) -> list[Line]:
        """To the next filter position."""
        if not self.steps:
            uniform = (UNIFORM * self.code.step_uniform)[: self.code.step_uniform]
            self.steps = [Line(mnemonic, self.registers.uniform()) for mnemonic in uniform] + self._on(self.pointer)
            self.steps += [Line(mnemonic, self.mask, (self.mask,)) for mnemonic in self.code.step]
        return self.steps


@dataclass(eq=False)
class FilterIterator(GlobalIterator):
    """Filters (K x R * S * C) along the filter loop, a range of k."""

    code: PointerCode = PointerCode()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pointer = FilterPointer(self.ctx.recorder.registers, code=self.code)


class ActivationIterator(FilterIterator):
    """Pixels x channels of the input under one filter position after another; zeros where that is in the padding."""

    through_l1 = True

    def setup(self, others: Sequence[Group] = ()) -> list[Line]:
        """Also the pixels of all accesses and, for optimized iterators, which of the filter's rows and columns reach
        the image there."""
        lines, pointer = super().setup(others), self.pointer
        assert isinstance(pointer, FilterPointer)
        if pointer.code.address:
            return lines
        pixels = [pointer.chain(PIXEL, pointer.mask) for _ in range(len(self.parts))]
        lines += [line for pixel in pixels for line in pixel]
        for _ in range(self.filter.geometry.R + self.filter.geometry.S):
            lines += pointer.chain(FILTER_TURN, pointer.mask)
            for pixel in pixels:
                reached = pointer.chain(ON_IMAGE, pixel[-1].dst)
                lines += [*reached[:-1], Line(ON_IMAGE[-1], pointer.mask, (pointer.mask, reached[-2].dst))]
        return lines

    @property
    def filter(self) -> FilterRange:
        assert isinstance(self.k, FilterRange)
        return self.k

    @property
    def _pixels(self) -> np.ndarray:
        """(accesses, threads), of the tile that stands for this class."""
        return self.ctx.visit.tile[0] * self.tile[0] + self.parts.rows

    def place(self, number: int) -> tuple[int, int]:
        position, channel = self.filter.place(number)
        moved = self.tensor.bytes_of(self.filter.geometry.shift(position) + channel)
        return split_offset(moved + self.residue, LINE_BYTES)

    def lanes(self, number: int) -> np.ndarray:
        channels = self.filter.valid(number)
        self._require_whole_vectors(channels)
        position, _ = self.filter.place(number)
        return self.filter.geometry.reaches(self._pixels, position) & (self.parts.columns < channels)

    def elements(self, chosen: Sequence[int]) -> np.ndarray:
        base = self.ctx.visit.tile[0] * self.tile[0] * self.tensor.strides[0]
        found: np.ndarray = self.filter.geometry.elements(self._pixels[chosen]) - base + self.parts.columns[chosen]
        return found


class OptimizedOperand(TensorOpOperand):
    """Activations (A) or filters (B) of a convolution."""

    iterator = "optimized"

    def _source(self, pieces: Pieces, alignment: int) -> GlobalIterator:
        kind = ActivationIterator if self.name == "A" else FilterIterator
        return kind(self.ctx, self.tensor, self.tile, (self.coord, None), pieces, self.k, alignment,
                    code=CODES[self.iterator, self.name])


class AnalyticOperand(OptimizedOperand):
    iterator = "analytic"


class OptimizedLoop(TensorOpLoop):
    operand_type = OptimizedOperand


class AnalyticLoop(TensorOpLoop):
    operand_type = AnalyticOperand


ITERATORS = {"analytic": AnalyticLoop, "optimized": OptimizedLoop}
