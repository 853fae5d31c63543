"""Models which registers an instruction writes and reads: groups of consecutive registers, as the op table wants them.
Leaves out values, and what banks of the register file make of it (gpusim.engine.register_banks)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpusim.program import MAX_SOURCES, PREDICATE_BASE, UNIFORM_BASE
from gpusim.sass.operands import PREDICATES, REGISTERS, UNIFORM_PREDICATES, UNIFORM_REGISTERS, Operand
from gpusim.sass.parser import SassInstruction

__all__ = ["destination_operands", "memory_bytes", "register_groups", "reuse_bits", "source_operands"]

Group = tuple[int, int]

FIRST_NUMBER = {REGISTERS: 0, UNIFORM_REGISTERS: UNIFORM_BASE, PREDICATES: PREDICATE_BASE,
                UNIFORM_PREDICATES: PREDICATE_BASE + 8}
NO_DESTINATION = frozenset((
    "ST", "STG", "STS", "STL", "STSM", "LDGSTS", "RED", "REDG", "LDGDEPBAR", "DEPBAR", "BAR", "BRA", "BRX", "EXIT",
    "NOP", "BSSY", "BSYNC", "BREAK", "WARPSYNC", "MEMBAR", "ERRBAR", "CCTL", "FENCE", "UBLKCP", "UTMALDG", "UTMASTG",
    "UTMACMDFLUSH", "UTMACCTL", "WARPGROUP", "YIELD", "RET", "CALL", "BPT", "KILL", "NANOSLEEP", "ARRIVES",
    "USETMAXREG",
))
TWO_DESTINATIONS = frozenset((
    "ISETP", "UISETP", "FSETP", "DSETP", "HSETP2", "PLOP3", "UPLOP3", "SHFL", "VOTE", "VOTEU", "ELECT",
))
MAY_CARRY = frozenset(("IADD3", "UIADD3", "IMAD", "UIMAD", "LEA", "ULEA"))
"""Instructions whose result may be followed by predicates that take the carry."""
MATRIX_REGISTERS = {  # operation and shape: registers of D, A, B, C
    "HMMA.16816.F32": (4, 4, 2, 4), "HMMA.16816.F16": (2, 4, 2, 2), "HMMA.1688.F32": (4, 2, 1, 4),
    "HMMA.1688.F16": (2, 2, 1, 2), "HMMA.1684.F32": (4, 2, 1, 4), "HMMA.1688.F32.TF32": (4, 4, 2, 4),
    "IMMA.16832": (4, 4, 2, 4), "IMMA.16816": (4, 2, 1, 4), "IMMA.8816": (2, 1, 1, 2), "QMMA.16832.F32": (4, 4, 2, 4),
    "BMMA.168256": (4, 4, 2, 4), "BMMA.168128": (4, 2, 1, 4), "DMMA.884": (4, 2, 2, 4), "DMMA.16816": (8, 16, 8, 8),
}
"""Source: fragment sizes of mma.sync in the PTX ISA, 32-bit registers per thread."""
WARPGROUP_SHAPE = re.compile(r"[HIQB]GMMA\.64x(\d+)x")
"""64 rows by N columns over 128 threads: N / 2 accumulators of 32 bits each."""


def destination_operands(instruction: SassInstruction) -> tuple[Operand, ...]:
    """Operands that are written: the first and the predicates after it, unless the instruction says otherwise."""
    operands, base = instruction.operands, instruction.base
    if base in NO_DESTINATION or not operands:
        return ()
    if base in TWO_DESTINATIONS:
        return operands[:2]
    if base in ("LOP3", "ULOP3"):
        return operands[:2] if operands[0].is_predicate else operands[:1]
    count = 1
    while base in MAY_CARRY and count < len(operands) and operands[count].is_predicate and not operands[count].negated:
        count += 1
    return operands[:count]



def source_operands(instruction: SassInstruction) -> tuple[Operand, ...]:
    return instruction.operands[len(destination_operands(instruction)):]


def memory_bytes(instruction: SassInstruction) -> int:
    """Bytes per lane that a load, store or copy moves (ldmatrix, stmatrix: of one row)."""
    if instruction.base in ("LDSM", "STSM"):
        return 16
    widths = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
    return next((widths[m] for m in instruction.modifiers if m in widths), 4)


def register_groups(instruction: SassInstruction) -> tuple[Group, tuple[Group, ...]]:
    """The destination group and up to four source groups, (0, 0) for no destination.

    An instruction has one destination group in the op table: its first real destination. Vector registers come before
    predicates and uniform registers among the sources, which is where more than four are cut.
    """
    destinations = [o for o in destination_operands(instruction) if not o.is_zero and (o.is_register or o.is_predicate)]
    target = min(destinations, key=lambda o: o.is_predicate, default=None)
    target_group = _group(target, _destination_count(instruction)) if target else (0, 0)
    groups = [*_source_groups(instruction)]
    if instruction.guard and not instruction.guard.is_zero:
        groups.append(_group(instruction.guard, 1))
    unique = sorted(dict.fromkeys(groups), key=lambda group: (group[0] >= UNIFORM_BASE, group[0] >= PREDICATE_BASE))
    return target_group, tuple(unique[:MAX_SOURCES])


def reuse_bits(instruction: SassInstruction, sources: Sequence[Group]) -> int:
    """Bit n: the n-th of the ``sources`` of register_groups is flagged ``.reuse``."""
    kept = {operand.number for operand in source_operands(instruction)
            if operand.kind == REGISTERS and "reuse" in operand.modifiers}
    return sum(1 << n for n, (start, _) in enumerate(sources) if start in kept)


def _source_groups(instruction: SassInstruction) -> list[Group]:
    found = []
    for position, operand in enumerate(source_operands(instruction)):
        if operand.kind == "address":
            found += [_group(part, 2 if "64" in part.modifiers else 1) for part in operand.parts if not part.is_zero]
            found += [(UNIFORM_BASE + operand.descriptor, 2)] if operand.descriptor >= 0 else []
        elif operand.kind == "constant":
            found += [_group(part, 1) for part in operand.parts if not part.is_zero]
        elif (operand.is_register or operand.is_predicate) and not operand.is_zero:
            found.append(_group(operand, _source_count(instruction, position, operand)))
    return found


def _group(operand: Operand, count: int) -> Group:
    return FIRST_NUMBER[operand.kind] + operand.number, 1 if operand.is_predicate else count


def _matrix_registers(instruction: SassInstruction) -> tuple[int, int, int, int] | None:
    if match := WARPGROUP_SHAPE.match(instruction.mnemonic):
        accumulators = int(match[1]) // (4 if "F16" in instruction.modifiers else 2)
        return accumulators, 4, 1, accumulators
    fitting = [key for key in MATRIX_REGISTERS if instruction.mnemonic.startswith(key)]
    return MATRIX_REGISTERS[max(fitting, key=len)] if fitting else None


def _destination_count(instruction: SassInstruction) -> int:
    base, modifiers = instruction.base, instruction.modifiers
    if matrix := _matrix_registers(instruction):
        return matrix[0]
    if base == "LDSM":
        return int(modifiers[-1]) if modifiers[-1].isdigit() else 1
    if base in ("LDG", "LD", "LDS", "LDL", "LDC", "ULDC"):
        return max(1, memory_bytes(instruction) // 4)
    if base in ("CS2R", "DADD", "DMUL", "DFMA"):
        return 1 if "32" in modifiers else 2
    return 2 if "WIDE" in modifiers or "64" in modifiers else 1


def _source_count(instruction: SassInstruction, position: int, operand: Operand) -> int:
    base, modifiers = instruction.base, instruction.modifiers
    if (matrix := _matrix_registers(instruction)) and position < 3:
        is_accumulator = "GMMA" in base and operand.number == instruction.operands[0].number
        return matrix[0] if is_accumulator else matrix[position + 1]
    if base in ("STG", "ST", "STS", "STL"):
        return max(1, memory_bytes(instruction) // 4)
    if base == "STSM":
        return int(modifiers[-1]) if modifiers[-1].isdigit() else 1
    if base in ("DADD", "DMUL", "DFMA"):
        return 2
    return 2 if "WIDE" in modifiers and position == 2 else 1
