"""Models GroupedProblemVisitor, kDeviceOnly: how every warp finds the problem and the tile that come next.
Leaves out the arithmetic's values; which tile it is stands in the schedule (common.grouped).

Instructions per warp, read from CUTLASS 4.2's GemmGrouped (sm_90a, CUDA 13.0). Every lane holds the last tile of one of
32 problems; while the next tile is in the same problem a shuffle finds that out, and another 32 sizes are read only
where the present ones are used up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from common.grouped import Problem
from common.tables import load_lanes, load_uniform
from gpusim import LANES, Context, GlobalIterator, GmemTensor, Group, Line, chain_lines

__all__ = ["ProblemVisitor"]

STILL_THERE = ("SHF.R.S32.HI", "LEA.HI", "LOP3.LUT", "IMAD.IADD", "SHFL.IDX", "ISETP.LE.AND", "BRA")
IN_GROUP = ("SHFL.IDX", "MOV", "ISETP.GT.AND", "BRA")
ENTER_GROUPS = ("IMAD.MOV.U32", "LOP3.LUT", *("ISETP.GE.U32.AND",) * 5)
GROUP_BEGIN = ("VIADD", "PLOP3.LUT", "ISETP.GT.AND", "BRA", "IMAD.IADD", "ISETP.GE.AND")
TILES_OF = ("VIADD", "SHF.R.S32.HI", "LEA.HI", "SHF.R.S32.HI")  # of one size, rounded up to tiles
PREFIX_STEP = ("SHFL.UP", "SEL", "IMAD.IADD")
PREFIX_STEPS = 5
GROUP_END = ("IMAD.IADD", "SHFL.IDX", "IADD3", "ISETP.GT.AND", "BRA")
FIND_PROBLEM = ("ISETP.GT.AND", "PLOP3.LUT", "VOTE.ANY", "POPC", "ISETP.NE.AND", "IMAD.IADD", "BRA", "IADD3",
                "PLOP3.LUT", "SHFL.IDX")
DIVIDE = ("VIADD", "SHF.R.S32.HI", "LEA.HI", "SHF.R.S32.HI", "IABS", "I2F.RP", "MUFU.RCP", "VIADD",
          "F2I.FTZ.U32.TRUNC.NTZ", "IMAD.MOV.U32", "IMAD", "IMAD.HI.U32", "IMAD.HI.U32", "IMAD", "ISETP.GT.U32.AND",
          "IMAD.IADD", "VIADD", "ISETP.GE.U32.AND", "VIADD", "IMAD.MOV.U32", "LOP3.LUT", "IMAD")
"""Tile number to row and column of tiles."""


@dataclass(eq=False)
class ProblemVisitor:
    """``sizes``, ``pointers``, ``leading``: the tables of a group of ``count`` problems."""

    ctx: Context
    sizes: GmemTensor
    pointers: GmemTensor
    leading: GmemTensor
    count: int
    _last_tile: Group = field(init=False)  # of this lane's problem
    _fetched: int = -1  # groups of 32 problems that have been read, less one
    _present: int = -1

    def __post_init__(self) -> None:
        self._last_tile = self.ctx.recorder.registers.vector()

    def begin(self) -> None:
        """No problem is known yet."""
        self.ctx.code([Line("IMAD.MOV.U32", self._last_tile)])

    def next_tile(self, problem: int | None) -> None:
        """Find the next tile, of ``problem``; None: there is no more."""
        self._emit(STILL_THERE)
        if problem == self._present:
            return
        self._emit(IN_GROUP)
        needed = self.count // LANES if problem is None else problem // LANES
        if needed > self._fetched:
            self._emit(ENTER_GROUPS)
        for group in range(self._fetched + 1, needed + 1):
            self._read_group(group)
        self._fetched, self._present = needed, -1 if problem is None else problem
        if problem is not None:
            self._emit(FIND_PROBLEM)

    def _emit(self, mnemonics: tuple[str, ...]) -> None:
        lines: list[Line] = []
        source = self._last_tile
        for mnemonic in mnemonics:
            if mnemonic == "BRA":
                lines.append(Line(mnemonic, (0, 0), (source,)))
            else:
                lines += chain_lines(self.ctx.recorder.registers, (mnemonic,), source)
                source = lines[-1].dst
        self.ctx.code(lines)

    def _read_group(self, group: int) -> None:
        """Tiles of 32 problems, one a lane, and their running sum."""
        registers, lane = self.ctx.recorder.registers, np.arange(self.ctx.recorder.num_warps * LANES) % LANES
        self._emit(GROUP_BEGIN)
        address = registers.vector(2)
        self.ctx.code([Line("LDC.64", address), Line("IMAD.WIDE", address, (address,))])
        rows = np.tile(group * LANES + lane, (2, 1))
        columns = np.repeat([[0], [1]], len(lane), axis=1)
        loaded = load_lanes(self.ctx, self.sizes, rows, columns, address)
        tiles = [chain_lines(registers, TILES_OF, size) for size in loaded]
        product = registers.vector()
        lines = [*tiles[0], *tiles[1], Line("IMAD", product, (tiles[0][-1].dst, tiles[1][-1].dst))]
        self.ctx.code([*lines, *chain_lines(registers, PREFIX_STEP * PREFIX_STEPS, product)])
        self.ctx.code([Line("IMAD.IADD", self._last_tile, (product,))])
        self._emit(GROUP_END)

    def load_problem(self, problem: int) -> None:
        """Its sizes, and from the number of the tile its row and column."""
        address, registers = self.ctx.recorder.registers.vector(2), self.ctx.recorder.registers
        self.ctx.code([Line("LDC.64", address), Line("IMAD.WIDE", address, (address,))])
        loaded = load_uniform(self.ctx, self.sizes, [(problem, 1), (problem, 2), (problem, 0)], address)
        self.ctx.code(chain_lines(registers, DIVIDE, loaded[0]))

    def load_matrix(self, problem: Problem, number: int, name: str, iterator: GlobalIterator | None) -> None:
        """Pointer and leading dimension of a matrix of problem ``number``, where its iterator begins."""
        if iterator is None:
            return
        row = list(problem.matrices).index(name)
        address = self.ctx.recorder.registers.vector(2)
        self.ctx.code([Line("LDC.64", address), Line("IMAD.WIDE", address, (address,))])
        iterator.pointer.base, = load_uniform(self.ctx, self.pointers, [(row, number)], address)
        pitch, = load_uniform(self.ctx, self.leading, [(row, number)], address)
        self.ctx.code([Line("IMAD.WIDE", iterator.pointer.base, (iterator.pointer.base, pitch))])
