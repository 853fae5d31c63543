"""Models factors per channel: alpha and beta are vectors with an f32 for every column of D, loaded once by each thread.
Leaves out other types of them.

Source: epilogue/thread/scale_type.h (PerChannelScaling, OnlyAlphaPerChannelScaling). The Epilogue of CUTLASS 2.x's GEMM
calls its operator without them; epilogue_smem_accumulator.h loads them before its steps, as is done here. How many
instructions that takes was not compared with compiled code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

import gpusim as gs
from gpusim import BlockCoordinate, Context, GlobalIterator, GmemTensor, Group, Line, Pieces

__all__ = ["ChannelFactors", "channel_tensors"]

WIDEST = 4  # f32 of a 16-byte load


def channel_tensors(names: tuple[str, ...], columns: int) -> dict[str, GmemTensor]:
    """Vectors of f32, one element per column of D."""
    return {name: gs.tensor(name, gs.f32, (1, columns)) for name in names}


@dataclass(eq=False)
class ChannelFactors:
    """``tensors``: "alphas" and, where C is added, "betas" (1, N). ``columns``: (vectors, threads) first columns of the
    vectors of ``elements`` that a thread stores in a step, in the CTA's tile of ``tile_columns`` at ``coord``."""

    ctx: Context
    tensors: Mapping[str, GmemTensor]
    coord: BlockCoordinate
    tile_columns: int
    columns: np.ndarray
    elements: int
    _registers: dict[tuple[str, int], list[Group]] = field(default_factory=dict)  # per vector, one per element

    def load(self) -> None:
        """Emit the loads: vectors that store the same columns share them."""
        for name, tensor in self.tensors.items():
            for number, first in enumerate(self.columns):
                known = next(n for n in range(number + 1) if np.array_equal(self.columns[n], first))
                if known == number:
                    self._registers[name, number] = self._load(tensor, first)
                else:
                    self._registers[name, number] = self._registers[name, known]

    def _load(self, tensor: GmemTensor, first: np.ndarray) -> list[Group]:
        width = min(WIDEST, self.elements)
        columns = first + np.arange(0, self.elements, width)[:, None]
        source = GlobalIterator(self.ctx, tensor, (1, self.tile_columns), (None, self.coord),
                                Pieces(np.zeros_like(columns), columns, width))
        vector, mnemonic = self.ctx.recorder.registers.vector, "LDG.E" + (f".{32 * width}" if width > 1 else "")
        address, groups = vector(2), [vector(width) for _ in columns]
        clears = [Line("CS2R" if width > 1 else "IMAD.MOV.U32", (start + n, min(2, width)))
                  for start, _ in groups for n in range(0, width, 2)]  # what lies outside is multiplied, too
        lines = [*clears, Line("LDC.64", address), Line("IMAD.WIDE", address, (address,)),
                 *(Line(mnemonic, group, (address,), row) for row, group in enumerate(groups))]
        self.ctx.code(lines, source.access(f"LDG{32 * width}", 0, range(len(groups)), label=f"ld.global {tensor.name}"))
        return [(start + n, 1) for start, _ in groups for n in range(width)]

    def of(self, name: str, vector: int) -> list[Group]:
        """Registers of the factors of a vector's elements; ``vector``: its number in the step."""
        return self._registers[name, vector]
