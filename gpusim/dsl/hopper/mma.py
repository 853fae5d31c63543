"""Models the tiled MMA of warpgroups: wgmma with A in shared memory or registers, its accumulators and its code.
Leaves out instructions narrower than the tile, and A in registers for more than one block of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from gpusim.arch.atoms import MmaAtom
from gpusim.arch.atoms.warpgroup import WARPS_PER_GROUP, GmmaAtom
from gpusim.dsl.hopper.operands import OperandTile
from gpusim.dsl.recorder import Recorder
from gpusim.dsl.registers import Group, Registers
from gpusim.dsl.statements import Code, Line
from gpusim.dsl.tiled import TiledMma
from gpusim.dsl.tiled import tiled_mma as warp_mma
from gpusim.errors import UserError
from gpusim.program import MatrixOperand
from gpusim.program.access_builder import Access

__all__ = ["CLOSES_GROUP", "Accumulators", "OperandFragment", "WarpgroupMma", "closing", "gemm_code", "tiled_mma"]

CLOSES_GROUP, FROM_REGISTERS = 1, 2
"""Bits of HGMMA's operand: ``gsb0`` in SASS, and A that is in registers."""
FRAGMENT_REGISTERS = 4
"""Of A, 16 of k."""
ALL_LANES = 0xFFFFFFFF
MOST_ACCUMULATORS = 224
DESCRIPTORS = 4
"""Uniform registers of both descriptors."""


@dataclass(frozen=True)
class WarpgroupMma:
    """``atom`` over ``tile`` (m, n): ``warpgroups`` take 64 rows each in turn, as CuTe's atom layout (w, 1, 1) does."""

    atom: GmmaAtom
    tile: tuple[int, int]
    warpgroups: int

    @property
    def num_warps(self) -> int:
        return WARPS_PER_GROUP * self.warpgroups

    @property
    def num_threads(self) -> int:
        return 32 * self.num_warps

    @property
    def pass_rows(self) -> int:
        """Rows that all warpgroups multiply at once."""
        return self.atom.shape_mnk[0] * self.warpgroups

    @property
    def blocks(self) -> int:
        """Atoms of a warpgroup along m."""
        return self.tile[0] // self.pass_rows

    def first_row(self, block: int, warpgroup: int) -> int:
        return block * self.pass_rows + warpgroup * self.atom.shape_mnk[0]


@dataclass(frozen=True)
class Accumulators:
    """A thread's registers: one group per block of 64 rows, all neighbours."""

    mma: WarpgroupMma
    groups: tuple[Group, ...]

    @property
    def whole(self) -> Group:
        return self.groups[0][0], sum(count for _, count in self.groups)


@dataclass(frozen=True)
class OperandFragment:
    """A thread's registers of A: ``steps`` of 16 along k, four registers each."""

    mma: WarpgroupMma
    registers: Group

    @property
    def steps(self) -> int:
        return self.registers[1] // FRAGMENT_REGISTERS

    def step(self, k: int) -> Group:
        return self.registers[0] + FRAGMENT_REGISTERS * k, FRAGMENT_REGISTERS


def operand_fragment(registers: Registers, mma: WarpgroupMma, k: int) -> OperandFragment:
    """Raises UserError for an MMA whose A is not in registers, or not in those of one block of rows."""
    if not mma.atom.a_in_registers or mma.blocks != 1 or k % mma.atom.shape_mnk[2]:
        raise UserError("A in registers is that of an _RS atom, 64 rows a warpgroup, a multiple of 16 along k",
                        got=f"{mma.atom.name}, {mma.tile[0]} rows for {mma.warpgroups} warpgroups, {k} along k")
    return OperandFragment(mma, registers.vector(FRAGMENT_REGISTERS * (k // mma.atom.shape_mnk[2])))


@overload
def tiled_mma(atom: MmaAtom, *, tile: tuple[int, int], warps: tuple[int, int], partitions: int = 1,
              interleaved: bool = False) -> TiledMma: ...
@overload
def tiled_mma(atom: GmmaAtom, *, tile: tuple[int, int], warps: tuple[int, int]) -> WarpgroupMma: ...


def tiled_mma(atom: MmaAtom | GmmaAtom, *, tile: tuple[int, int], warps: tuple[int, int], partitions: int = 1,
              interleaved: bool = False) -> TiledMma | WarpgroupMma:
    """An MMA of ``tile`` = (m, n) by ``warps`` = (m, n) warps, (4 x warpgroups, 1) with wgmma. Raises UserError where
    they do not divide it."""
    if isinstance(atom, MmaAtom):
        return warp_mma(atom, tile=tile, warps=warps, partitions=partitions, interleaved=interleaved)
    return _warpgroup_mma(atom, tile, warps)


def _warpgroup_mma(atom: GmmaAtom, tile: tuple[int, int], warps: tuple[int, int]) -> WarpgroupMma:
    if warps[0] % WARPS_PER_GROUP or warps[0] < WARPS_PER_GROUP or warps[1] != 1:
        raise UserError("wgmma belongs to warpgroups of four warps along m", got=f"{warps[0]} x {warps[1]} warps",
                        suggestion="warps=(4, 1) or (8, 1)")
    mma = WarpgroupMma(atom, (tile[0], tile[1]), warps[0] // WARPS_PER_GROUP)
    if tile[0] < 1 or tile[0] % mma.pass_rows:
        raise UserError("every warpgroup multiplies 64 rows of the tile or a multiple",
                        got=f"{tile[0]} rows for {mma.warpgroups} warpgroups",
                        suggestion=f"a tile of {mma.pass_rows} rows")
    if tile[1] != atom.shape_mnk[1]:
        raise UserError("one wgmma covers the tile along n, in steps of 8 up to 256",
                        got=f"tile n {tile[1]} with {atom.name}")
    if mma.blocks * atom.registers > MOST_ACCUMULATORS:
        raise UserError("accumulators fit into the 255 registers of a thread with some to spare",
                        got=f"{mma.blocks * atom.registers} accumulators", suggestion="more warpgroups, a smaller tile")
    return mma


def accumulators(registers: Registers, mma: WarpgroupMma) -> Accumulators:
    each = mma.atom.registers
    start, _ = registers.vector(each * mma.blocks)
    return Accumulators(mma, tuple((start + each * block, each) for block in range(mma.blocks)))


def gemm_accesses(mma: WarpgroupMma, a: OperandTile | OperandFragment, b: OperandTile, warps: int) -> list[Access]:
    """Per k step and block of rows: where each warpgroup finds its operands in shared memory."""
    step, (length, name) = mma.atom.shape_mnk[2], _along_k(mma, a)
    _require_operand(b, mma.tile[1], mma, "B")
    if length != b.of.layout.extent[1]:
        raise UserError("A and B must be equally long along k", place=f"{name}, {b.of.name}",
                        got=f"{length} and {b.of.layout.extent[1]}")
    return [_gemm_access(mma, a, b, k, block, warps) for k in range(0, length, step) for block in range(mma.blocks)]


def _along_k(mma: WarpgroupMma, a: OperandTile | OperandFragment) -> tuple[int, str]:
    """Elements of A along k, and its name. Raises UserError where A is not where the atom wants it."""
    if isinstance(a, OperandFragment) != mma.atom.a_in_registers:
        raise UserError("_RS atoms take A from registers, _SS atoms from shared memory", got=mma.atom.name,
                        suggestion="ctx.operand_fragment")
    if isinstance(a, OperandFragment):
        return a.steps * mma.atom.shape_mnk[2], "A"
    _require_operand(a, mma.tile[0], mma, "A")
    return a.of.layout.extent[1], a.of.name


def _gemm_access(mma: WarpgroupMma, a: OperandTile | OperandFragment, b: OperandTile, k: int, block: int,
                 warps: int) -> Access:
    matrices = []
    for group in range(mma.warpgroups):
        if isinstance(a, OperandTile):
            left = a.of.layout.descriptor(mma.first_row(block, group), k, a.base_address)
            matrices.append(MatrixOperand(-1, group, "A", left))
        matrices.append(MatrixOperand(-1, group, "B", b.of.layout.descriptor(0, k, b.base_address)))
    name = a.of.name if isinstance(a, OperandTile) else "registers"
    return Access("GMMA", f"wgmma {name} {b.of.name}", 0, None, None, -1, np.full(warps, ALL_LANES, np.uint32),
                  np.zeros(warps, np.uint32), matrices=tuple(matrices))


def _require_operand(tile: OperandTile, rows: int, mma: WarpgroupMma, name: str) -> None:
    layout, wanted = tile.of.layout, {"A": mma.atom.dtype_a, "B": mma.atom.dtype_b}[name]
    if layout.extent[0] != rows or layout.extent[1] % mma.atom.shape_mnk[2] or tile.of.dtype.name != wanted:
        raise UserError(f"operand {name} of {mma.atom.name} has {rows} rows of {wanted}, a multiple of "
                        f"{mma.atom.shape_mnk[2]} along k", place=tile.of.name,
                        got=f"{layout.extent[0]} x {layout.extent[1]} of {tile.of.dtype}")


def register_code(recorder: Recorder, mma: WarpgroupMma, into: Accumulators, a: OperandFragment, stage: Group, *,
                  accumulate: bool) -> Code:
    """The same with A in registers: there is one block of rows, and descriptors are those of B."""
    registers = recorder.registers
    address, descriptor = registers.uniform(), registers.uniform(2)
    lines = [Line("ULEA", address, (stage,))]
    for k in range(a.steps):
        lines += [Line("UIADD3" if k else "UMOV", (descriptor[0], 1), (address,)), Line("UMOV", (descriptor[0] + 1, 1))]
        adds = (into.groups[0],) if accumulate or k else ()
        lines.append(Line(mma.atom.mnemonic, into.groups[0], (a.step(k), descriptor, *adds), k,
                          immediate=FROM_REGISTERS))
    return Code(tuple(lines))


def gemm_code(recorder: Recorder, mma: WarpgroupMma, into: Accumulators, steps: int, stage: Group, *,
              accumulate: bool) -> Code:
    """HGMMAs of a stage and their descriptors; ``stage``: the uniform register that addresses follow from."""
    registers = recorder.registers
    left, right, descriptors = registers.uniform(), registers.uniform(), registers.uniform(DESCRIPTORS)
    words = [(descriptors[0] + n, 1) for n in range(DESCRIPTORS)]
    lines = [Line("ULEA", left, (stage,)), Line("ULEA", right, (stage,))]
    for k in range(steps):
        for block, group in enumerate(into.groups):
            lines += _descriptor_lines(words, left, right, first=k == block == 0, new_b=block == 0)
            adds = (group,) if accumulate or k else ()
            lines.append(Line(mma.atom.mnemonic, group, (descriptors, *adds), k * len(into.groups) + block))
    return Code(tuple(lines))


def _descriptor_lines(words: list[Group], left: Group, right: Group, *, first: bool, new_b: bool) -> list[Line]:
    """Low words hold addresses, high ones the layout; ptxas writes the latter anew each time."""
    move = "UMOV" if first else "UIADD3"
    lines = [Line(move, words[0], (left,)), Line("UMOV", words[1])]
    return [*lines, Line(move, words[2], (right,)), Line("UMOV", words[3])] if new_b else lines


def closing(code: Code) -> Code | None:
    """The same code, its last wgmma closing the group; None where it does not end with one."""
    last = code.lines[-1]
    if not last.mnemonic.startswith("HGMMA"):
        return None
    closed = Line(last.mnemonic, last.dst, last.sources, last.piece, immediate=last.immediate | CLOSES_GROUP)
    return Code((*code.lines[:-1], closed))
