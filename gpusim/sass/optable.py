"""Models the op table of a role: a row per executed instruction with the compiler's own control fields.
Leaves out addresses (gpusim.sass.accesses) and what an instruction costs."""

from __future__ import annotations

import numpy as np

from gpusim.program import OP, Static, empty_ops
from gpusim.sass.accesses import RoleAccesses
from gpusim.sass.operands import Operand
from gpusim.sass.parser import SassFunction, SassInstruction
from gpusim.sass.registers import register_groups, reuse_bits
from gpusim.sass.scopes import scopes
from gpusim.sass.trace import WarpTrace

__all__ = ["instruction_rows", "role_ops", "statics_of"]


def statics_of(function: SassFunction) -> tuple[Static, ...]:
    """One static per instruction of the text; its row is the instruction's address / 16."""
    pairs = zip(function.instructions, scopes(function), strict=True)
    return tuple(Static(i.mnemonic, int(i.place.rpartition(":")[2]), scope, i.place.rpartition(":")[0], _constant(i))
                 for i, scope in pairs)


def instruction_rows(function: SassFunction) -> np.ndarray:
    """(P,) OP: control fields, registers and operand of each instruction of the text, with no access."""
    rows = empty_ops(len(function.instructions))
    for number, (row, instruction) in enumerate(zip(rows, function.instructions, strict=True)):
        control = instruction.control
        (row["dst_start"], row["dst_count"]), sources = register_groups(instruction)
        row["pc"], row["operand"] = number, _barrier_operand(instruction)
        row["stall"], row["yield_"], row["wait_mask"] = control.stall, control.yield_, control.wait_mask
        row["write_barrier"], row["read_barrier"] = control.write_barrier, control.read_barrier
        row["reuse"] = reuse_bits(instruction, sources)
        for position, (start, count) in enumerate(sources):
            row["src_start"][position], row["src_count"][position] = start, count
    return rows


def role_ops(role: WarpTrace, rows: np.ndarray, accesses: RoleAccesses, function: SassFunction) -> np.ndarray:
    """(N,) OP of one role. An EXIT that only some lanes take does not end the warp: it counts as predicated off."""
    ops = rows[role.steps]
    ops["active"] = role.active & ~role.idle
    exits = np.array([i.base == "EXIT" for i in function.instructions])[role.steps]
    ops["active"][:-1][exits[:-1]] = 0
    events = role.events.row
    ops["access"][events] = accesses.access
    ops["shared_offset"][events] = accesses.shared_offset
    ops["global_offset"][events] = accesses.global_offset
    return ops.astype(OP, copy=False)


def _constant(instruction: SassInstruction) -> int:
    """Byte of constant bank 0 that it reads: LDC, ULDC, or any with an operand of that kind."""
    return next((o.value for o in instruction.operands
                 if o.kind == "constant" and o.number == 0 and all(part.is_zero for part in o.parts)), -1)


def _barrier_operand(instruction: SassInstruction) -> int:
    """DEPBAR.LE SB0, 0x1: scoreboard in the upper half, count in the lower; BAR: the barrier's number, then threads;
    wgmma: whether it closes a group, whether A comes from registers; WARPGROUP.DEPBAR: groups."""
    values = [o.value for o in instruction.operands if o.kind == "immediate"]
    if instruction.base.endswith("GMMA"):
        texts = [operand.text for operand in instruction.operands]
        return ("gsb0" in texts) + 2 * (not texts[1].startswith("gdesc"))
    if instruction.base == "WARPGROUP":
        return values[-1] if values else 0
    if instruction.base == "DEPBAR" and "LE" in instruction.modifiers:
        return _scoreboard(instruction.operands[0]) << 16 | (values[0] if values else 0)
    return values[0] + (sum(values[1:2]) << 8) if instruction.base == "BAR" and values else 0


def _scoreboard(operand: Operand) -> int:
    return int(operand.text.removeprefix("SB")) if operand.text.startswith("SB") else 0
