"""Models a group of warps that run together: registers, living lanes, where they are, what they did.
Leaves out what instructions do (gpusim.sass.emulator)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusim.errors import UserError
from gpusim.sass.decode import Step
from gpusim.sass.trace import NO_ADDRESS, Segment, Trace
from gpusim.sass.values import Fetch, Slots, Value, word

__all__ = ["NOBODY", "Group", "Mask", "special_register"]

LANES = 32
NOBODY = np.zeros(0, bool)
Mask = np.ndarray | None
"""Threads an instruction acts on: None for all, NOBODY for none, else (threads,) bool."""
ZERO_SLOTS = frozenset((255, 256 + 63, 320 + 7, 328 + 7))


@dataclass
class Group:
    """State of a group of warps; T threads, 32 for each warp of ``segment.warps``."""

    segment: Segment
    slots: Slots
    pc: int = 0  # index of the next instruction
    alive: np.ndarray | None = None  # (T,) lanes that have not left; None: all
    valid: dict[int, np.ndarray] = field(default_factory=dict)
    """Slots that are known in some lanes only: (T,) bool."""
    history: tuple[Segment, ...] = ()

    @classmethod
    def start(cls, threads: int) -> Group:
        """All warps of a CTA at the first instruction; lanes beyond ``threads`` are not there."""
        warps = -(-threads // LANES)
        alive = np.arange(warps * LANES) < threads
        return cls(Segment(np.arange(warps)), Slots(), alive=None if alive.all() else alive)

    @property
    def threads(self) -> int:
        return len(self.segment.warps) * LANES

    @property
    def lanes(self) -> np.ndarray:
        """(T,) living lanes."""
        return np.ones(self.threads, bool) if self.alive is None else self.alive

    def guard_mask(self, step: Step) -> Mask:
        """Threads that execute ``step``."""
        if step.guard is None:
            return self.alive
        holds = self.known(step, step.guard(self.slots), "predicate")
        if holds.size == 1:
            return self.alive if holds[0] else NOBODY
        if self.valid:
            self.require_valid(step, (step.guard_slot,), self.lanes, "predicate")
        mask = holds if self.alive is None else holds & self.alive
        if not mask.any():
            return NOBODY
        return None if bool(mask.all()) else mask

    def validity(self, sources: tuple[int, ...]) -> np.ndarray | None:
        """(T,) lanes in which all of ``sources`` are known, as far as they are known at all; None: all lanes."""
        if not self.valid:
            return None
        parts = [self.valid[slot] for slot in sources if slot in self.valid]
        return np.logical_and.reduce(parts) if parts else None

    def write(self, destinations: tuple[int, ...], values: tuple[Value, ...], mask: Mask,
              valid: np.ndarray | None) -> None:
        """Put ``values``, known in the lanes ``valid``, into the threads of ``mask``; others keep what they have."""
        for slot, value in zip(destinations, values, strict=True):
            if slot in ZERO_SLOTS:
                continue
            if mask is None or mask is self.alive:
                self._set(slot, value, valid)
            else:
                self._merge(slot, value, mask, valid)

    def _set(self, slot: int, value: Value, valid: np.ndarray | None) -> None:
        self.slots[slot] = value
        if valid is not None and value is not None:
            self.valid[slot] = valid
        elif self.valid:
            self.valid.pop(slot, None)

    def _merge(self, slot: int, value: Value, mask: np.ndarray, valid: np.ndarray | None) -> None:
        """Write some threads; the register may then be known in some threads only."""
        old, everywhere = self.slots[slot], np.ones(self.threads, bool)
        was = ~everywhere if old is None else self.valid.get(slot, everywhere)
        now = ~everywhere if value is None else everywhere if valid is None else valid
        known = np.where(mask, now, was)
        merged = (value if old is None else old) if value is None or old is None else np.where(mask, value, old)
        self._set(slot, merged if known.any() else None, None if known.all() else known)

    def address(self, step: Step, read: Fetch | None, lanes: np.ndarray) -> np.ndarray:
        """(T,) addresses of ``lanes``, NO_ADDRESS elsewhere and where ``read`` is None."""
        if read is None:
            return np.full(self.threads, NO_ADDRESS, np.int64)
        value = self.known(step, read(self.slots), "address")
        self.require_valid(step, step.sources, lanes, "address")
        return np.where(lanes, value, NO_ADDRESS)

    def known(self, step: Step, value: Value, what: str) -> np.ndarray:
        """``value``, or a UserError that names the instruction whose ``what`` it is."""
        if value is None:
            instruction = step.instruction
            raise UserError(f"the {what} depends on loaded data, floating point or an unset register",
                            place=instruction.place, got=f"'{instruction.text}' at {instruction.address:#06x}")
        return value

    def require_valid(self, step: Step, slots: tuple[int, ...], lanes: np.ndarray, what: str) -> None:
        """Raise as `known` unless ``slots`` are known in all of ``lanes``."""
        valid = self.validity(slots)
        if valid is not None and not valid[lanes].all():
            self.known(step, None, what)

    def subset(self, keep: np.ndarray) -> Group:
        """The warps ``keep`` (W,), with their history."""
        lanes = np.repeat(keep, LANES)
        slots = Slots({slot: value if value is None or value.size == 1 else value[lanes]
                       for slot, value in self.slots.items()})
        return Group(Segment(self.segment.warps[keep]), slots, self.pc,
                     None if self.alive is None else self.alive[lanes],
                     {slot: mask[lanes] for slot, mask in self.valid.items()}, (*self.history, self.segment))

    def trace(self, done: np.ndarray) -> Trace:
        """What the warps ``done`` (W,) have executed."""
        return Trace(self.segment.warps[done], (*self.history, self.segment))


def special_register(name: str, warps: np.ndarray, block: tuple[int, int, int], cta: tuple[int, int, int]) -> Value:
    """S2R, S2UR, CS2R: thread and block coordinates, the lane, zero; anything else (clocks, SM ids) is unknown."""
    thread = (warps[:, None] * LANES + np.arange(LANES)).reshape(-1)
    coordinates: dict[str, np.ndarray] = {"SR_TID.X": thread % block[0], "SR_TID.Y": thread // block[0] % block[1],
                   "SR_TID.Z": thread // (block[0] * block[1]), "SR_LANEID": thread % LANES}
    uniform = {"SR_CTAID.X": cta[0], "SR_CTAID.Y": cta[1], "SR_CTAID.Z": cta[2], "SR_CgaCtaId": 0, "SRZ": 0}
    if name in coordinates:
        return coordinates[name]
    return word(uniform[name]) if name in uniform else None
