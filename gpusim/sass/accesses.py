"""Models the memory side of a role: which tensor an address lies in, and the distinct access patterns of a warp role.
Leaves out wavefronts and sectors (gpusim.program.access_builder computes them)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpusim.errors import UserError
from gpusim.program import AccessTable, TensorInfo
from gpusim.program.access_builder import Access, build_access_table
from gpusim.sass.parser import SassInstruction
from gpusim.sass.registers import memory_bytes
from gpusim.sass.trace import NO_ADDRESS, WarpTrace

__all__ = ["ALIGNMENT", "UNTOUCHED", "Patterns", "RoleAccesses", "event_tensors", "find_patterns", "memory_operation",
           "role_accesses", "tensor_origins"]

ALIGNMENT = 128
"""Offsets that change neither banks nor sectors are multiples of this."""
NO_TENSOR = -1
UNTOUCHED = np.iinfo(np.int64).max


@dataclass(frozen=True)
class RoleAccesses:
    """A role's access table and, for each of its E events, the row in it and what the op adds to its addresses."""

    table: AccessTable
    access: np.ndarray  # (E,) i4
    shared_offset: np.ndarray  # (E,) i4
    global_offset: np.ndarray  # (E,) i8


@dataclass(frozen=True)
class Patterns:
    """Distinct accesses of a role, global offsets counted from each tensor's origin, and E events that use them."""

    entries: tuple[Access, ...]
    access: np.ndarray  # (E,) i4: row of entries
    shared_offset: np.ndarray  # (E,) i8, a multiple of ALIGNMENT
    global_offset: np.ndarray  # (E,) i8, a multiple of ALIGNMENT
    num_warps: int


def memory_operation(instruction: SassInstruction) -> str:
    """The operation's name in smem_patterns.csv: LDS32, LDSM4, LDSMT2, CPA16, STG128 ..."""
    base, bits = instruction.base, 8 * memory_bytes(instruction)
    if base in ("LDSM", "STSM"):
        matrices = instruction.modifiers[-1] if instruction.modifiers[-1].isdigit() else "1"
        transposed = any(m.startswith("MT") for m in instruction.modifiers)
        return f"{base}{'T' if transposed else ''}{matrices}"
    if base == "LDGSTS":
        return f"CPA{bits // 8}" + ("CA" if bits == 128 and "BYPASS" not in instruction.modifiers else "")
    names = {"LD": "LDG", "ST": "STG", "ATOM": "ATOMG", "RED": "REDG"}
    return f"{names.get(base, base)}{bits}"


def event_tensors(
    role: WarpTrace, instructions: Sequence[SassInstruction], tensors: Sequence[TensorInfo]
) -> np.ndarray:
    """(E,) i8: the tensor each event addresses, NO_TENSOR: none. Lanes that write zeros read nothing and may point
    anywhere; where all of them do, the tensor is the last one that begins before the first lane's address.

    Raises:
        UserError: an address outside every tensor parameter (names the instruction and the address).
    """
    addresses, lanes = role.events.global_address, role.events.lanes & (role.events.global_address != NO_ADDRESS)
    bases = np.array([t.base_address for t in tensors], np.int64)
    ends = bases + np.array([t.size_bytes for t in tensors], np.int64)
    active, flat = _flat(lanes), _flat(addresses)
    reads = active & ~_flat(role.events.zfill)
    found = np.full(len(lanes), NO_TENSOR, np.int8)
    for number, (base, end) in enumerate(zip(bases, ends, strict=True)):
        inside = (flat >= base) & (flat < end)
        found[(inside & reads).any(axis=1) & (inside | ~reads).all(axis=1)] = number
    first = flat[np.arange(len(flat)), active.argmax(axis=1)]
    begins = np.where(bases <= first[:, None], bases, -1)
    nearest = begins.argmax(axis=1) if len(bases) else found
    found = np.where(active.any(axis=1) & ~reads.any(axis=1), nearest, found).astype(np.int8)
    lost = np.flatnonzero(reads.any(axis=1) & (found == NO_TENSOR))
    if len(lost):
        instruction = instructions[role.steps[role.events.row[lost[0]]]]
        raise UserError("an address lies outside every tensor parameter, or a warp's lanes address several",
                        place=instruction.place, got=f"{flat[lost[0]][reads[lost[0]]][0]:#x} in '{instruction.text}'",
                        suggestion=f"parameters point to {', '.join(t.name for t in tensors) or 'nothing'}")
    return found


def tensor_origins(role: WarpTrace, of_event: np.ndarray, num_tensors: int) -> np.ndarray:
    """(T,) i8: lowest global address that the role touches in each tensor, UNTOUCHED where it touches none."""
    events = role.events
    lowest = np.where(events.lanes & (events.global_address != NO_ADDRESS), events.global_address, UNTOUCHED)
    lowest = _flat(lowest).min(axis=1, initial=UNTOUCHED)
    return np.array([lowest[of_event == t].min(initial=UNTOUCHED) for t in range(num_tensors)], np.int64)


def find_patterns(role: WarpTrace, instructions: Sequence[SassInstruction], of_event: np.ndarray,
                  origins: np.ndarray) -> Patterns:
    """Distinct accesses of a role; ``origins`` (T,): what global addresses count from."""
    events = role.events
    origin = np.where(of_event == NO_TENSOR, 0, np.append(origins, 0)[of_event])
    shared, shared_offset = _relative(events.shared_address, events.lanes, np.zeros_like(origin))
    in_global, global_offset = _relative(events.global_address, events.lanes, origin)
    masks, zfills = _bit_masks(events.lanes), _bit_masks(events.zfill)
    rows: dict[tuple[object, ...], int] = {}
    entries: list[Access] = []
    access = np.empty(len(of_event), np.int32)
    for event, row in enumerate(events.row):
        instruction, tensor = instructions[role.steps[row]], int(of_event[event])
        operation = memory_operation(instruction)
        parts = (shared[event], in_global[event], masks[event], zfills[event])
        key = (operation, tensor, *(part.tobytes() for part in parts))
        if key not in rows:
            rows[key] = len(entries)
            has_shared = bool((parts[0] != NO_ADDRESS).any())
            entries.append(Access(operation, instruction.mnemonic, memory_bytes(instruction),
                                  parts[0] if has_shared else None, parts[1] if tensor != NO_TENSOR else None,
                                  tensor, parts[2], parts[3]))
        access[event] = rows[key]
    return Patterns(tuple(entries), access, shared_offset, global_offset, role.num_warps)


def role_accesses(patterns: Patterns, residues: np.ndarray, tensor_names: Sequence[str]) -> RoleAccesses:
    """The tables of a role whose tensors' origins lie ``residues`` (T,) bytes behind the CTA's base pointers.

    Patterns that differ by a multiple of ALIGNMENT stay so under any residue, so rows are the same in all classes.
    """
    by_tensor = np.append(residues, 0)
    moved = [_move(entry, int(by_tensor[entry.tensor]), tensor_names) for entry in patterns.entries]
    carried = np.array([carry for _, carry in moved], np.int64)
    table = build_access_table([entry for entry, _ in moved], num_warps=patterns.num_warps)
    global_offset = patterns.global_offset + carried[patterns.access]
    return RoleAccesses(table, patterns.access, patterns.shared_offset.astype(np.int32), global_offset)


def _move(entry: Access, residue: int, tensor_names: Sequence[str]) -> tuple[Access, int]:
    """The access ``residue`` bytes further on, and the multiple of ALIGNMENT that its op carries for it."""
    if entry.global_offset is None:
        return entry, 0
    used = entry.global_offset != NO_ADDRESS
    carry = int(entry.global_offset[used].min() + residue) // ALIGNMENT * ALIGNMENT if used.any() else 0
    offset = np.where(used, entry.global_offset + residue - carry, NO_ADDRESS)
    return replace(entry, label=f"{entry.label} {tensor_names[entry.tensor]}", global_offset=offset), carry


def _relative(addresses: np.ndarray, lanes: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(E, W, 32) addresses less a multiple of ALIGNMENT per event, which comes second, counted from ``origin`` (E,)."""
    used = lanes & (addresses != NO_ADDRESS)
    lowest = _flat(np.where(used, addresses, UNTOUCHED)).min(axis=1, initial=UNTOUCHED)
    lowest = np.where(lowest == UNTOUCHED, origin, lowest)
    offset = (lowest - origin) // ALIGNMENT * ALIGNMENT
    return np.where(used, addresses - (origin + offset)[:, None, None], NO_ADDRESS), offset


def _flat(per_lane: np.ndarray) -> np.ndarray:
    """(E, W, 32) as (E, 32 W)."""
    return per_lane.reshape(len(per_lane), per_lane.shape[1] * per_lane.shape[2])


def _bit_masks(lanes: np.ndarray) -> np.ndarray:
    """(E, W, 32) bool as (E, W) u4."""
    return (lanes * (np.uint32(1) << np.arange(32, dtype=np.uint32))).sum(axis=-1, dtype=np.uint32)
