"""Models the way of a warpgroup's accumulators to shared memory and back: pairs packed to 16 bits, stmatrix, ldmatrix.
Leaves out what happens to their values in between (the kernel's output operator) and TMA's store."""

from __future__ import annotations

import numpy as np

from gpusim.dsl.hopper.mma import Accumulators, WarpgroupMma
from gpusim.dsl.hopper.operands import OperandTile
from gpusim.dsl.registers import Group, Registers
from gpusim.dsl.statements import Code, Line
from gpusim.dsl.tiled import LANES
from gpusim.errors import UserError
from gpusim.program.access_builder import Access

__all__ = ["PAIR", "STSM_COLUMNS", "load_code", "pack_lines", "store_accesses", "store_code", "subtile_registers"]

STSM_COLUMNS, STSM_REGISTERS = 16, 4
PAIR = "F2FP.F16.F32.PACK_AB"
ALL_LANES = 0xFFFFFFFF


def subtile_registers(accumulators: Accumulators, block: int, column: int, columns: int) -> Group:
    """A thread's accumulators of ``columns`` columns from ``column`` on in a block of rows: neighbours."""
    start, count = accumulators.groups[block]
    if count * 2 != accumulators.mma.tile[1] or column % STSM_COLUMNS or columns % STSM_COLUMNS:
        raise UserError("accumulators of f32 are stored in columns of 16", got=f"{columns} from {column} on")
    return start + column // 2, columns // 2


def pack_lines(registers: Registers, values: list[Group]) -> tuple[list[Line], Group]:
    """Neighbouring f32 values to pairs of halves: ``F2FP d, high, low``."""
    packed = registers.vector(len(values) // 2)
    lines = [Line(PAIR, (packed[0] + n, 1), (values[2 * n + 1], values[2 * n])) for n in range(packed[1])]
    return lines, packed


def store_code(packed: Group, address: Group) -> Code:
    """stmatrix.x4 of four packed registers each; ``address``: the stage's, other ones by an addition."""
    return Code(tuple(Line("STSM.16.M88.4", (0, 0), (address, (packed[0] + STSM_REGISTERS * n, STSM_REGISTERS)), n)
                      for n in range(packed[1] // STSM_REGISTERS)))


def load_code(registers: Group, address: Group) -> Code:
    """ldmatrix.x4 to four registers each."""
    return Code(tuple(Line("LDSM.16.M88.4", (registers[0] + STSM_REGISTERS * n, STSM_REGISTERS), (address,), n)
                      for n in range(registers[1] // STSM_REGISTERS)))


def store_accesses(mma: WarpgroupMma, shared: OperandTile, *, load: bool = False) -> list[Access]:
    """Lane l names row l % 8 of matrix l // 8: the 16 rows of a warp, two matrices of 8 columns. ``load``: the same
    places, to be read."""
    layout, lane = shared.of.layout, np.arange(LANES)
    if layout.extent[0] != mma.pass_rows or layout.extent[1] % STSM_COLUMNS or layout.major != "K":
        raise UserError(f"a staging tile holds {mma.pass_rows} rows by row, a multiple of {STSM_COLUMNS} columns",
                        place=shared.of.name, got=f"{layout.extent} {layout.major}-major")
    warps = np.arange(mma.num_warps)
    row = (warps * STSM_COLUMNS)[:, None] + lane // 8 % 2 * 8 + lane % 8
    descriptor = layout.descriptor(0, 0, shared.of.base_address)
    full = np.full(mma.num_warps, ALL_LANES, np.uint32)
    operation, verb = ("LDSM4", "ldmatrix") if load else ("STSM4", "stmatrix")
    return [Access(operation, f"{verb} {shared.of.name}", 16,
                   descriptor.addresses(row, column + lane // 16 * 8 + np.zeros_like(row), layout.element_bytes),
                   None, -1, full, np.zeros(mma.num_warps, np.uint32))
            for column in range(0, layout.extent[1], STSM_COLUMNS)]
