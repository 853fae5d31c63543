"""Models decoding: each instruction becomes a Step, what it reads, computes and writes, ready to run on many threads.
Leaves out running it (gpusim.sass.emulator) and floating point, whose results are unknown."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusim.errors import UserError
from gpusim.sass.division import CONVERSIONS
from gpusim.sass.integer import INTEGER, Compute
from gpusim.sass.operands import PREDICATES, Operand
from gpusim.sass.parser import INSTRUCTION_BYTES, SassInstruction
from gpusim.sass.registers import destination_operands, register_groups, source_operands
from gpusim.sass.values import MASK32, Fetch, fetch, fetch_address, fetch_pair, slot_of

__all__ = ["Step", "decode"]

ADDERS = ("IADD3", "UIADD3")
CONSTANT_LOADS = ("LDC", "ULDC")
SPECIAL = ("S2R", "S2UR", "CS2R")
LOCAL = ("LDL", "STL")
SHARED = ("LDS", "STS", "LDSM", "STSM", "ATOMS", "LDGSTS")
GLOBAL = ("LDG", "STG", "LD", "ST", "ATOMG", "ATOM", "RED", "REDG", "LDGSTS")
REFUSED = ("BRX", "BRXU", "JMP", "JMX", "CALL", "RET", "BREAK", "KILL")


@dataclass(frozen=True)
class Step:
    """One decoded instruction."""

    instruction: SassInstruction
    kind: str = "nothing"  # compute, special, local, memory, branch, exit, broadcast, shuffle
    guard: Fetch | None = None
    guard_slot: int = -1
    destinations: tuple[int, ...] = ()  # slots
    sources: tuple[int, ...] = ()  # slots
    reads: tuple[Fetch, ...] = ()
    compute: Compute | None = None  # None: the results are unknown
    shared_address: Fetch | None = None  # also local memory
    global_address: Fetch | None = None
    fill: Fetch | None = None  # predicate of cp.async with zero fill: copy where it holds
    target: int = -1  # branch: index of the next instruction
    special: str = ""


def decode(instruction: SassInstruction, bank: np.ndarray) -> Step:
    """The step of one instruction; constants come out of ``bank``.

    Raises:
        UserError: jumps and calls whose target is not in the text.
    """
    blank, base = _blank(instruction, bank), instruction.base
    if base in REFUSED:
        raise UserError("indirect jumps and calls are not emulated", place=instruction.place,
                        got=f"'{instruction.text}'", suggestion="inline the called function")
    if base == "EXIT":
        return replace(blank, kind="exit")
    if base == "BRA":
        return replace(blank, kind="branch", target=_target(instruction))
    if base in SPECIAL:
        return replace(blank, kind="special", special=instruction.operands[-1].text)
    if base in LOCAL:
        return _local(blank, bank)
    if base in SHARED or base in GLOBAL:
        return _memory(blank, bank)
    if base in CONSTANT_LOADS:
        return _constant_load(blank, bank)
    if base == "R2UR":
        return replace(blank, kind="broadcast", reads=(fetch(source_operands(instruction)[0], bank),))
    if base == "P2R" and not instruction.modifiers:
        return _packed_predicates(blank, bank)
    if base == "SHFL" and instruction.modifiers == ("IDX",):
        return replace(blank, kind="shuffle", reads=tuple(fetch(o, bank) for o in instruction.operands[2:]))
    return _compute(blank, bank)


def _blank(instruction: SassInstruction, bank: np.ndarray) -> Step:
    guard = instruction.guard
    is_conditional = guard is not None and (guard.negated or not guard.is_zero)
    return Step(
        instruction,
        guard=fetch(guard, bank) if guard and is_conditional else None,
        guard_slot=slot_of(guard) if guard else -1,
        destinations=_destination_slots(instruction),
        sources=_source_slots(instruction),
    )


def _target(instruction: SassInstruction) -> int:
    operands = instruction.operands
    if len(operands) != 1 or operands[0].kind != "immediate" or "ANY" in instruction.modifiers:
        raise UserError("only branches to one fixed address are emulated", place=instruction.place,
                        got=f"'{instruction.text}'")
    return operands[0].value // INSTRUCTION_BYTES


def _local(blank: Step, bank: np.ndarray) -> Step:
    address = next(o for o in blank.instruction.operands if o.kind == "address")
    return replace(blank, kind="local", shared_address=fetch_address(address, bank, is_wide=False))


def _memory(blank: Step, bank: np.ndarray) -> Step:
    instruction = blank.instruction
    addresses = [o for o in instruction.operands if o.kind == "address"]
    in_shared = addresses[0] if instruction.base in SHARED else None
    in_global = addresses[-1] if instruction.base in GLOBAL else None
    last = instruction.operands[-1]
    return replace(
        blank, kind="memory",
        shared_address=fetch_address(in_shared, bank, is_wide=False) if in_shared else None,
        global_address=fetch_address(in_global, bank, is_wide=True) if in_global else None,
        fill=fetch(last, bank) if instruction.base == "LDGSTS" and last.is_predicate else None,
    )


def _constant_load(blank: Step, bank: np.ndarray) -> Step:
    """LDC: words of the bank, at one fixed offset or at one per thread."""
    operand, count = blank.instruction.operands[-1], len(blank.destinations)
    table = np.concatenate([bank.view("<u4").astype(np.int64), np.zeros(count, np.int64)])

    def compute(offset: np.ndarray) -> tuple[np.ndarray, ...]:
        first = np.clip(offset // 4, 0, len(table) - count)
        return tuple(table[first + i] for i in range(count))

    is_known = operand.number == 0 and not {"U8", "S8", "U16", "S16"} & set(blank.instruction.modifiers)
    reads = (fetch_address(operand, bank, is_wide=False),)
    return replace(blank, kind="compute", reads=reads, compute=compute if is_known else None)


def _packed_predicates(blank: Step, bank: np.ndarray) -> Step:
    """P2R d, PR, a, mask: a with the bits of ``mask`` replaced by the predicates of those numbers."""
    old, mask = blank.instruction.operands[-2:]
    chosen = [number for number in range(7) if mask.value >> number & 1]
    predicates = [Operand(PREDICATES, f"P{number}", number) for number in chosen]

    def compute(value: np.ndarray, *bits: np.ndarray) -> tuple[np.ndarray, ...]:
        packed = value & ~mask.value & MASK32
        for bit, number in zip(bits, chosen, strict=True):
            packed = packed | bit.astype(np.int64) << number
        return (packed,)

    reads = (fetch(old, bank), *(fetch(predicate, bank) for predicate in predicates))
    sources = (*blank.sources, *(slot_of(predicate) for predicate in predicates))
    return replace(blank, kind="compute", reads=reads, compute=compute, sources=sources)


def _compute(blank: Step, bank: np.ndarray) -> Step:
    instruction = blank.instruction
    if constant := _half_constant(instruction):
        return replace(blank, kind="compute", compute=constant)
    if compute := _compute_function(instruction):
        reads = tuple(_read(instruction, position, bank) for position in range(len(source_operands(instruction))))
        return replace(blank, kind="compute", reads=reads, compute=_picking(compute, _result_positions(blank)))
    return replace(blank, kind="compute" if blank.destinations else "nothing")


def _compute_function(instruction: SassInstruction) -> Compute | None:
    """The integer semantics; the uniform datapath's UIADD3, USEL ... are those of IADD3, SEL ..."""
    base, modifiers = instruction.base, instruction.modifiers
    if base in CONVERSIONS:
        return CONVERSIONS[base](modifiers)
    make = INTEGER.get(base) or INTEGER.get(base.removeprefix("U"))
    return make(modifiers) if make else None


def _half_constant(instruction: SassInstruction) -> Compute | None:
    """HFMA2 R, -RZ, RZ, x, y: how ptxas moves a constant through the FP16 pipe."""
    operands = instruction.operands
    if instruction.base != "HFMA2" or len(operands) != 5 or not (operands[1].is_zero and operands[2].is_zero):
        return None
    try:
        halves = np.array([float(o.text) for o in operands[3:]], np.float16).view(np.uint16).astype(np.int64)
    except ValueError:
        return None
    value = np.array([halves[0] << 16 | halves[1]], np.int64)
    return lambda: (value,)


def _read(instruction: SassInstruction, position: int, bank: np.ndarray) -> Fetch:
    operand = source_operands(instruction)[position]
    if _is_pair(instruction, position):
        return fetch_pair(operand, bank)
    return fetch(operand, bank, wide_negation=instruction.base in ADDERS and "X" not in instruction.modifiers)


def _is_pair(instruction: SassInstruction, position: int) -> bool:
    """The addend of a wide multiplication has 64 bits."""
    return instruction.base in ("IMAD", "UIMAD") and position == 2 and bool({"WIDE", "HI"} & set(instruction.modifiers))


def _result_positions(blank: Step) -> tuple[int, ...]:
    """Which result goes to each destination slot: LOP3 names its predicate first and computes it second."""
    if blank.instruction.base in ("LOP3", "ULOP3") and len(blank.destinations) == 2:
        return (1, 0)
    return tuple(range(len(blank.destinations)))


def _picking(compute: Compute, positions: tuple[int, ...]) -> Compute:
    def picked(*values: np.ndarray) -> tuple[np.ndarray, ...]:
        results = compute(*values)
        return tuple(results[i] for i in positions)

    return picked


def _destination_slots(instruction: SassInstruction) -> tuple[int, ...]:
    """Every register and predicate written, wide results word by word."""
    words = max(1, register_groups(instruction)[0][1])
    slots: list[int] = []
    for operand in destination_operands(instruction):
        if operand.is_zero:
            slots += [slot_of(operand)] * (1 if operand.is_predicate else words)
        elif operand.is_register or operand.is_predicate:
            slots += [slot_of(operand) + i for i in range(1 if operand.is_predicate else words)]
    return tuple(slots)


def _source_slots(instruction: SassInstruction) -> tuple[int, ...]:
    """Slots whose validity the results inherit; of a memory instruction those of its address, not what it stores."""
    found: list[int] = []
    for position, operand in enumerate(source_operands(instruction)):
        if instruction.base in (*SHARED, *GLOBAL) and operand.kind != "address" and not operand.is_predicate:
            continue
        is_wide = _is_pair(instruction, position) or (operand.kind == "address" and instruction.base in GLOBAL)
        for part in (operand, *operand.parts):
            if (part.is_register or part.is_predicate) and not part.is_zero:
                found += [slot_of(part) + i for i in range(2 if is_wide and part.is_register else 1)]
    return tuple(found)
