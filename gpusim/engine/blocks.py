"""Models the block scheduler: which SM a CTA goes to, when it starts, which warp slots it gets.
Leaves out what the CTA does there (gpusim.engine.scheduler)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from gpusim.engine.image import ProgramImage
from gpusim.engine.scoreboards import ready_time
from gpusim.engine.state import GROUPS, SmState

__all__ = ["BlockScheduler"]


@dataclass
class BlockScheduler:
    """CTAs in launch order go to SMs in turn, one per SM and round, later to whoever finishes first.

    An SM starts its next CTA ``gap_cycles`` after one has ended, so no start falls into the window that saw the end.
    """

    image: ProgramImage
    state: SmState
    sms: np.ndarray  # SMs that take part, in the order in which they are filled
    ctas: np.ndarray  # CTAs to run, in launch order
    blocks_per_sm: int
    gap_cycles: int
    start: np.ndarray  # (C,) i8 result: first cycle of every CTA, -1
    end: np.ndarray
    placed_on: np.ndarray
    _waiting: deque[int] = field(default_factory=deque)
    _upcoming: list[tuple[int, int, int]] = field(default_factory=list)  # (cycle, SM, CTA)
    _arrived: int = 0
    running: int = 0

    def launch(self, cycle: int) -> None:
        """The first wave: everything that fits starts at once."""
        self._waiting.extend(int(cta) for cta in self.ctas)
        for _ in range(self.blocks_per_sm):
            for sm in self.sms:
                if self._waiting:
                    self._upcoming.append((cycle, int(sm), self._waiting.popleft()))

    @property
    def next_start(self) -> int | None:
        return min(self._upcoming)[0] if self._upcoming else None

    @property
    def finished(self) -> bool:
        return not self._waiting and not self._upcoming and self.running == 0

    def place(self, before: int) -> None:
        """Put the CTAs that start before cycle ``before`` onto their SMs."""
        due = [entry for entry in self._upcoming if entry[0] < before]
        self._upcoming = [entry for entry in self._upcoming if entry[0] >= before]
        for cycle, sm, cta in due:
            self._install(cycle, sm, cta)

    def retire(self, ended: np.ndarray) -> None:
        """CTAs that have ended, rows (SM, slot, cycle): their SMs get the next ones in the order of time."""
        for sm, slot, cycle in sorted(map(tuple, ended.tolist()), key=lambda row: (row[2], row[0], row[1])):
            self.end[self.state.slot_cta[sm, slot]] = cycle
            self.state.slot_cta[sm, slot] = -1
            self.running -= 1
            if self._waiting:
                self._upcoming.append((cycle + self.gap_cycles, sm, self._waiting.popleft()))

    def _install(self, cycle: int, sm: int, cta: int) -> None:
        st, image = self.state, self.image
        slot = int(np.flatnonzero(st.slot_cta[sm] < 0)[0])
        st.slot_cta[sm, slot], st.slot_warps[sm, slot], st.slot_end[sm, slot] = cta, image.warps_per_cta, 0
        st.slot_arrived[sm, slot] = 0
        self.start[cta], self.placed_on[cta] = cycle, sm
        self.running += 1
        first = int(np.argmin(self._load(sm)))
        for warp in range(image.warps_per_cta):
            self._install_warp(cycle, sm, slot, cta, warp, (first + warp) % 4)

    def _load(self, sm: int) -> np.ndarray:
        return self.state.live[sm].reshape(-1, 4).sum(axis=0)

    def _install_warp(self, cycle: int, sm: int, slot: int, cta: int, warp: int, part: int) -> None:
        st, image = self.state, self.image
        w = int(np.flatnonzero(st.live[sm, part::4] == 0)[0]) * 4 + part
        role = image.class_warp_role[image.cta_class[cta], warp]
        st.live[sm, w], st.op[sm, w] = 1, image.role_first_op[role]
        st.cta_slot[sm, w], st.warp[sm, w] = slot, warp
        st.warp_row[sm, w] = warp - image.role_first_warp[role]
        st.last_issue[sm, w], st.stall_end[sm, w], st.start[sm, w] = cycle - 1, cycle, cycle
        for array in (st.branch_end, st.barrier_end, st.not_selected, st.scoreboard, st.pending, st.group_done,
                      st.group_tail, st.data_free, st.drain):
            array[sm, w] = 0
        st.group_missing[sm, w, : GROUPS] = 0
        st.group_time[sm, w, : GROUPS] = 0
        st.group_board[sm, w] = -1
        st.age[sm, w] = self._arrived
        self._arrived += 1
        st.warp_cycles[sm] -= cycle
        st.ready[sm, w] = ready_time(st, sm, w, image.ops[st.op[sm, w]])
        st.next_issue[sm, part] = min(int(st.next_issue[sm, part]), int(st.ready[sm, w]))
