"""Models a CTA running compiled code, as far as addresses, predicates and trip counts go: all threads at once.
Leaves out time, floating point, loaded data (unknown values) and divergence inside a warp (refused)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.errors import UserError
from gpusim.sass.decode import Step
from gpusim.sass.launch import SassLaunch
from gpusim.sass.registers import memory_bytes
from gpusim.sass.state import NOBODY, Group, Mask, special_register
from gpusim.sass.trace import NO_ADDRESS, Trace
from gpusim.sass.values import LOCAL_SLOTS, Value, slot_of

__all__ = ["Machine", "emulate"]

LANES = 32
MAX_INSTRUCTIONS = 20_000_000


@dataclass(frozen=True)
class Machine:
    """What stays the same while a CTA runs."""

    steps: Sequence[Step]
    launch: SassLaunch
    cta: tuple[int, int, int]
    shared_start: int
    finished: list[Trace] = field(default_factory=list)


def emulate(machine: Machine) -> tuple[Trace, ...]:
    """Run the CTA until every warp has left. Warps that take the same branches run together.

    Raises:
        UserError: a predicate or address depends on unknown values, lanes of a warp disagree about a branch, a warp
            runs past the end of the code or never ends; the message names the instruction.
    """
    waiting = [Group.start(machine.launch.threads)]
    while waiting:
        waiting += _run(machine, waiting.pop())
    return tuple(machine.finished)


def _run(machine: Machine, group: Group) -> list[Group]:
    """Run until the group splits or ends; the groups it leaves."""
    handlers, steps, segment = HANDLERS, machine.steps, group.segment
    budget = MAX_INSTRUCTIONS - len(segment.steps)
    while budget > 0:
        if not 0 <= group.pc < len(steps):
            raise UserError("a warp runs past the end of the code", got=f"instruction {group.pc}")
        step = steps[group.pc]
        row, budget = len(segment.steps), budget - 1
        segment.steps.append(group.pc)
        group.pc += 1
        mask = group.guard_mask(step)
        is_arithmetic = step.kind == "compute"
        if mask is NOBODY:
            segment.idle.append(row)
            if not is_arithmetic:
                segment.active[row] = np.zeros(len(segment.warps), bool)
            continue
        if mask is not None and mask is not group.alive and not is_arithmetic:
            segment.active[row] = _any_lane(mask)
        rest = handlers[step.kind](machine, group, step, mask)
        if rest is not None:
            return rest
    raise UserError("a warp does not end", place=machine.steps[group.pc].instruction.place,
                    got=f"more than {MAX_INSTRUCTIONS} instructions")


def _compute(machine: Machine, group: Group, step: Step, mask: Mask) -> None:
    values: tuple[Value, ...] = (None,) * len(step.destinations)
    if step.compute is not None:
        slots = group.slots
        arguments = [read(slots) for read in step.reads]
        if not any(a is None for a in arguments):
            values = step.compute(*arguments)
    group.write(step.destinations, values, mask, group.validity(step.sources))


def _special(machine: Machine, group: Group, step: Step, mask: Mask) -> None:
    value = special_register(step.special, group.segment.warps, machine.launch.block, machine.cta)
    values = (value, *[value if step.special == "SRZ" else None] * (len(step.destinations) - 1))
    group.write(step.destinations, values, mask, None)


def _broadcast(machine: Machine, group: Group, step: Step, mask: Mask) -> None:
    """R2UR: the value of each warp's first active lane."""
    value = step.reads[0](group.slots)
    if value is not None and value.size > 1:
        warps = value.reshape(-1, LANES)
        first = 0 if mask is None else mask.reshape(-1, LANES).argmax(axis=1)
        value = np.repeat(warps[np.arange(len(warps)), first], LANES)
    group.write(step.destinations, (value,) * len(step.destinations), None, group.validity(step.sources))


def _shuffle(machine: Machine, group: Group, step: Step, mask: Mask) -> None:
    """SHFL.IDX: the value of another lane, inside segments of the warp; the predicate says whether that lane exists."""
    value, lane, limits = [read(group.slots) for read in step.reads]
    if value is None or lane is None or limits is None:
        return group.write(step.destinations, (None, None), mask, None)
    own = np.arange(group.threads) % LANES
    segment = limits >> 8 & 31
    source = own & segment | lane & ~segment & 31
    exists = source <= (own & segment | limits & 31 & ~segment)
    at = np.arange(group.threads) - own + np.where(exists, source, own)
    result = np.broadcast_to(value, group.threads)[at]
    return group.write(step.destinations, (exists, result), mask, None)


def _memory(machine: Machine, group: Group, step: Step, mask: Mask) -> None:
    lanes = np.ones(group.threads, bool) if mask is None else mask
    shared = group.address(step, step.shared_address, lanes)
    in_global = group.address(step, step.global_address, lanes)
    if step.shared_address is not None:
        shared = _from_shared_start(machine, step, shared, lanes)
    zfill = np.zeros(group.threads, bool)
    if step.fill is not None:
        zfill = lanes & ~group.known(step, step.fill(group.slots), "zero-fill predicate")
    group.segment.events.append((len(group.segment.steps) - 1, shared, in_global, lanes, zfill))
    group.write(step.destinations, (None,) * len(step.destinations), mask, None)


def _from_shared_start(machine: Machine, step: Step, address: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    offset = np.where(lanes, address - machine.shared_start, NO_ADDRESS)
    outside = lanes & ((offset < 0) | (offset >= max(1, machine.launch.shared_bytes)))
    if outside.any():
        raise UserError("a shared-memory address lies outside the CTA's shared memory", place=step.instruction.place,
                        got=f"byte {offset[outside][0]} of {machine.launch.shared_bytes} in '{step.instruction.text}'",
                        suggestion="check shared_bytes of the launch, static plus dynamic")
    return offset


def _local(machine: Machine, group: Group, step: Step, mask: Mask) -> None:
    """LDL, STL: spilled registers come back as they were."""
    lanes = np.ones(group.threads, bool) if mask is None else mask
    address = group.address(step, step.shared_address, lanes)[lanes]
    if (address != address[0]).any():
        raise UserError("local memory is only emulated where all threads use the same address",
                        place=step.instruction.place, got=f"'{step.instruction.text}'")
    count = max(1, memory_bytes(step.instruction) // 4)
    memory = tuple(LOCAL_SLOTS + int(address[0]) // 4 + i for i in range(count))
    loads = step.instruction.base == "LDL"
    register = slot_of(step.instruction.operands[0 if loads else -1])
    registers = tuple(register + i for i in range(count)) if register != 255 else (255,) * count
    target, source = (registers, memory) if loads else (memory, registers)
    for to, origin in zip(target, source, strict=True):
        group.write((to,), (group.slots[origin],), mask, group.validity((origin,)))


def _branch(machine: Machine, group: Group, step: Step, mask: Mask) -> list[Group] | None:
    lanes: np.ndarray = group.lanes if mask is None else mask
    taken, stays = _any_lane(lanes), _any_lane(group.lanes & ~lanes)
    if (taken & stays).any():
        warp = int(group.segment.warps[np.flatnonzero(taken & stays)[0]])
        raise UserError("lanes of a warp disagree about a branch, which is not emulated", place=step.instruction.place,
                        got=f"'{step.instruction.text}' in warp {warp} of block {machine.cta}")
    if taken.all():
        group.pc = step.target
        return None
    jumping, falling = group.subset(taken), group.subset(~taken)
    jumping.pc = step.target
    return [jumping, falling]


def _exit(machine: Machine, group: Group, step: Step, mask: Mask) -> list[Group] | None:
    left = group.lanes & ~(group.lanes if mask is None else mask)
    goes_on = _any_lane(left)
    if not goes_on.all():
        machine.finished.append(group.trace(~goes_on))
    if not goes_on.any():
        return []
    rest = group.subset(goes_on)
    rest.alive = left[np.repeat(goes_on, LANES)]
    return [rest]


def _any_lane(mask: np.ndarray) -> np.ndarray:
    """(W,) warps with a lane in (T,) ``mask``."""
    return np.asarray(mask.reshape(-1, LANES).any(axis=1))


def _nothing(machine: Machine, group: Group, step: Step, mask: Mask) -> None:
    return None


HANDLERS = {
    "compute": _compute, "special": _special, "broadcast": _broadcast, "shuffle": _shuffle, "memory": _memory,
    "local": _local, "branch": _branch, "exit": _exit, "nothing": _nothing,
}
