"""Models the block scheduler: which SM a CTA goes to, when it starts, which warp slots it gets.
Leaves out what the CTA does there (gpusim.engine.scheduler)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.engine.fetch import ColdStart, constant_cycles, first_code_cycles
from gpusim.engine.image import ProgramImage
from gpusim.engine.state import WARP, SmState

__all__ = ["BlockScheduler", "fill_order", "runs_alone"]


def runs_alone(runs: Sequence[tuple[int, int]]) -> int:
    """How many runs of one SM come first."""
    return next((number for number, (_, sms) in enumerate(runs) if sms > 1), len(runs))


def fill_order(runs: Sequence[tuple[int, int]], num_ctas: int) -> np.ndarray:
    """SMs in the order in which the first CTAs fill them; ``runs``: (GPC, SMs) as SMs are numbered.

    SMs that come one by one are filled first. Fewer CTAs than there are SMs spread over the other runs in proportion
    to their size, consecutive ones together (measured: launch_ctas.csv, 64 CTAs).
    """
    sizes = np.array([size for _, size in runs])
    first = np.append(0, np.cumsum(sizes))
    alone = runs_alone(runs)
    wanted, room = num_ctas - int(first[alone]), int(sizes[alone:].sum())
    if not 0 < wanted < room:
        return np.arange(first[-1])
    ends = np.maximum(np.round(np.cumsum(sizes[alone:]) * wanted / room), 1).astype(np.int64)
    shares = np.diff(ends, prepend=0)
    spread = [np.arange(begin, begin + share) for begin, share in zip(first[alone:], shares, strict=False)]
    return np.concatenate([np.arange(first[alone]), *spread])


@dataclass
class BlockScheduler:
    """CTAs in launch order go to SMs in turn, one per SM and round, later to whoever finishes first.

    An SM starts its next CTA ``cta_gap_cycles`` after one has ended: no start falls into the window that saw the end.
    """

    image: ProgramImage
    state: SmState
    sms: np.ndarray  # SMs that take part, in the order in which they are filled
    ctas: np.ndarray  # CTAs to run, in launch order
    blocks_per_sm: int
    spec: GpuSpec
    start: np.ndarray  # (C,) i8 result: first cycle of every CTA, -1
    end: np.ndarray
    placed_on: np.ndarray
    _waiting: deque[int] = field(default_factory=deque)
    _upcoming: list[tuple[int, int, int]] = field(default_factory=list)  # (cycle, SM, CTA)
    _leaving: list[tuple[int, int, int]] = field(default_factory=list)  # (cycle when its slots are free, SM, CTA)
    _ended: list[tuple[int, int, int]] = field(default_factory=list)  # (cycle, SM, slot): later than the window
    _arrived: int = 0
    running: int = 0

    def __post_init__(self) -> None:
        self._slot_cta: np.ndarray = np.full(self.state.slots.shape, -1)
        self._warp_cta: np.ndarray = np.full(self.state.warps.shape, -1)
        self._cold = ColdStart(
            self.spec.fetch, self.image.constant_lines,
            constant_cycles(len(self.ctas), self.image.warps_per_cta, self.spec), first_code_cycles(self.spec))

    def launch(self, cycle: int) -> None:
        """The first wave: everything that fits starts at once."""
        self._waiting.extend(int(cta) for cta in self.ctas)
        for _ in range(self.blocks_per_sm):
            for sm in self.sms:
                if self._waiting:
                    self._upcoming.append((cycle, int(sm), self._waiting.popleft()))

    @property
    def gap_cycles(self) -> int:
        """From the end of a CTA to the next start in its place."""
        return self.spec.launch.cta_gap_cycles

    @property
    def next_event(self) -> int | None:
        """The next start of a CTA, or the next end that is known already."""
        return min((entry[0] for entry in (*self._upcoming, *self._ended)), default=None)

    @property
    def finished(self) -> bool:
        return not self._waiting and not self._upcoming and self.running == 0

    def place(self, before: int) -> None:
        """Put the CTAs that start before cycle ``before`` onto their SMs."""
        due = sorted(entry for entry in self._upcoming if entry[0] < before)
        self._upcoming = [entry for entry in self._upcoming if entry[0] >= before]
        for cycle, sm, cta in due:
            self._install(cycle, sm, cta)

    def retire(self, ended: np.ndarray, before: int) -> None:
        """CTAs that have ended, rows (SM, slot, cycle): their SMs get the next ones in the order of time.

        A CTA drains beyond the window in which its last warp left; those that end in ``before`` or later wait for the
        window that sees it, so that the order never depends on windows.
        """
        self._ended += [(cycle, sm, slot) for sm, slot, cycle in ended.tolist()]
        for cycle, sm, slot in sorted(entry for entry in self._ended if entry[0] < before):
            cta = int(self.state.slots[sm, slot]["cta"])
            self.end[cta] = cycle
            free = cycle + self.gap_cycles
            self._leaving.append((free, sm, cta))
            self.running -= 1
            self._succeed(free, sm)
        self._ended = [entry for entry in self._ended if entry[0] >= before]

    def _succeed(self, cycle: int, sm: int) -> None:
        """From ``cycle`` on an SM has room for another CTA."""
        if self._waiting:
            self._upcoming.append((cycle, sm, self._waiting.popleft()))

    def _install(self, cycle: int, sm: int, cta: int) -> None:
        self._free(cycle)
        slot = int(np.flatnonzero(self._slot_cta[sm] < 0)[0])
        self._slot_cta[sm, slot] = cta
        self.state.slots[sm, slot] = 0
        self.state.slots[sm, slot]["cta"], self.state.slots[sm, slot]["warps"] = cta, self.image.warps_per_cta
        self.state.mbarriers[sm, slot] = 0
        self.state.mbarriers[sm, slot]["pending"] = self.image.mbarrier_arrivals
        self.state.warpgroups[sm, slot] = 0
        self.start[cta], self.placed_on[cta] = cycle, sm
        self.running += 1
        first = int(np.argmin(self._load(sm)))
        for warp in range(self.image.warps_per_cta):
            self._install_warp(cycle, sm, slot, cta, warp, (first + warp) % 4)

    def _free(self, cycle: int) -> None:
        """Slots come free as a whole and with the delay of a launch, so what is free never depends on a window."""
        for _, sm, cta in [entry for entry in self._leaving if entry[0] <= cycle]:
            self._slot_cta[sm][self._slot_cta[sm] == cta] = -1
            self._warp_cta[sm][self._warp_cta[sm] == cta] = -1
        self._leaving = [entry for entry in self._leaving if entry[0] > cycle]

    def _load(self, sm: int) -> np.ndarray:
        """Warps of the SM's sub-partitions."""
        return (self._warp_cta[sm] >= 0).reshape(-1, 4).sum(axis=0)

    def _install_warp(self, cycle: int, sm: int, slot: int, cta: int, warp: int, part: int) -> None:
        state, image = self.state, self.image
        if self._load(sm)[part] * 4 == self._warp_cta.shape[-1]:
            part = int(np.argmin(self._load(sm)))
        w = int(np.flatnonzero(self._warp_cta[sm, part::4] < 0)[0]) * 4 + part
        self._warp_cta[sm, w] = cta
        role = image.class_warp_role[image.cta_class[cta], warp]
        fresh = np.zeros((), WARP)
        op = image.role_first_op[role]
        code_end, constant_end = self._cold.ends(state.code[sm], state.sms[sm], sm, int(image.ops["piece"][op]), cycle)
        fresh["live"], fresh["op"], fresh["group_board"], fresh["age"] = 1, op, -1, self._arrived
        fresh["unit"] = image.ops["unit"][op]
        fresh["taken"] = state.parts["taken"][sm, part, fresh["unit"]]
        fresh["cta"], fresh["cta_slot"], fresh["warp"] = cta, slot, warp
        fresh["warp_row"] = warp - image.role_first_warp[role]
        fresh["last_issue"], fresh["stall_end"], fresh["start"] = cycle - 1, cycle, cycle
        fresh["code_end"], fresh["constant_end"], fresh["ready"] = code_end, constant_end, constant_end
        state.warps[sm, w] = fresh
        self._arrived += 1
        state.sms[sm]["warp_cycles"] -= cycle
        state.parts[sm, part]["slots"][state.parts[sm, part]["live"]] = w
        state.parts[sm, part]["live"] += 1
        state.parts[sm, part]["next_issue"] = min(int(state.parts[sm, part]["next_issue"]), constant_end)
