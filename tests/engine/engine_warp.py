"""Models one warp of the golden reference: what its control fields make it wait for.
Leaves out pipes, queues and stages (engine_reference)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy
from engine_stores import Store

from gpusim.arch.instructions import Kind
from gpusim.program import RoleProgram

__all__ = ["NO_BOARD", "WarpModel"]

NO_BOARD = 7
NEVER = 1 << 60


@dataclass
class Board:
    """A scoreboard barrier: results inside the SM release it at a known time, answers of memory when they come."""

    release: int = 0
    missing: int = 0
    is_long: bool = False


@dataclass
class Group:
    """Copies committed together."""

    missing: int = 0
    written: int = 0


@dataclass
class WarpModel:
    """One warp; times are cycles."""

    cta: int
    number: int
    role: RoleProgram
    slot: int
    age: int
    live: bool = True
    position: int = 0
    row: np.void = field(default_factory=lambda: np.zeros(1, "i1")[0])
    granted: simpy.Event = field(init=False)
    stall_end: int = 0
    branch_end: int = 0
    constant_end: int = 0
    barrier_end: int = 0
    at_barrier: int | None = None
    defers: bool = False
    """Whether the last barrier lets arithmetic go on."""
    yielded: bool = False
    brisk: bool = False
    taken: int = 0
    """What the pipe that it wants had taken when it came to want it."""
    free_since: int = 0
    data_free: int = 0
    stored: Store | None = None
    queued: int = 0
    before_fence: int = 0
    """Memory instructions that the LSU has not taken: all, to global memory, in front of the last BAR."""
    fenced: tuple[int, int] = (0, 0)
    """CTA and barrier of that BAR."""
    behind: tuple[int, int] | None = None
    """The barrier whose fence the warp stays behind."""
    drain: int = 0
    membar_end: int = 0
    fence_state: str = "membar"
    issued: int = 0
    """When the last row was."""
    slept: int = 0
    """Of the wait before the row: how long it slept."""
    followers: list[tuple[int, Any]] = field(default_factory=list)
    """(group, mbarrier that hears of it)"""
    missing: int = 0
    """What its CTA's last poll of a flag found: 0 the awaited value."""
    polls: bool = False
    boards: list[Board] = field(default_factory=lambda: [Board() for _ in range(8)])
    groups: list[Group] = field(default_factory=lambda: [Group()])
    """The last one is open."""
    group_board: int = -1

    def let_go(self, barrier: tuple[int, int]) -> None:
        self.behind = None if self.behind == barrier else self.behind

    def of_access(self, name: str) -> int:
        """A number of the access that the current row names, for this warp."""
        return self.of_row(self.row, name)

    def of_row(self, row: np.void, name: str) -> int:
        return int(getattr(self.role.accesses, name)[row["access"], self.number - self.role.first_warp])

    def held_back_by(self, now: int, kind: Kind, *, is_arithmetic: bool) -> str | None:
        """The first thing that keeps the warp from issuing its row, as Nsight names it."""
        if now < self.stall_end:
            return "wait"
        if now < self.branch_end:
            return "branch_resolving"
        if now < self.constant_end:
            return "imc_miss"
        shut = self.at_barrier is not None or now < self.barrier_end
        if shut and not (self.defers and is_arithmetic):
            return "barrier"
        if now < self.membar_end:
            return self.fence_state
        long_release, short_release = self._scoreboards(kind)
        if now < long_release:
            return "long_scoreboard"
        return "short_scoreboard" if now < short_release else None

    def _scoreboards(self, kind: Kind) -> tuple[int, int]:
        masked = [board for board in range(6) if int(self.row["wait_mask"]) >> board & 1]
        waits = {board: 0 for board in masked}
        if kind == Kind.depbar:
            waits.setdefault(int(self.row["operand"]) >> 16, int(self.row["operand"]) & 0xFFFF)
        long_release = short_release = 0
        for board, allowed in waits.items():
            state = self.boards[board]
            if board == self.group_board:
                long_release = max(long_release, self._groups_written(allowed))
            release = NEVER if state.missing else state.release
            if state.is_long:
                long_release = max(long_release, release)
            else:
                short_release = max(short_release, release)
        return long_release, short_release

    def _groups_written(self, allowed: int) -> int:
        """Groups complete in order; the ``allowed`` newest ones need not have."""
        needed = self.groups[:-1][: max(0, len(self.groups) - 1 - allowed)]
        return max((NEVER if group.missing else group.written for group in needed), default=0)

    def release(self, board: int, time: int, *, is_long: bool = False) -> None:
        """A result or a read of operands inside the SM lets go of a barrier at ``time``."""
        if board != NO_BOARD:
            state = self.boards[board]
            state.release = max(state.release, time)
            state.is_long = is_long if is_long or not state.missing else state.is_long

    def hold(self, board: int, *, is_long: bool) -> None:
        """A barrier waits for an instruction whose end is not known yet."""
        if board != NO_BOARD:
            state = self.boards[board]
            state.is_long = is_long if is_long or not state.missing else state.is_long
            state.missing += 1

    def settle(self, board: int, time: int) -> None:
        """It is known now."""
        if board != NO_BOARD:
            self.boards[board].missing -= 1
            self.boards[board].release = max(self.boards[board].release, time)

    def copy_started(self, count: int) -> int:
        self.groups[-1].missing += count
        return len(self.groups) - 1

    def copy_arrived(self, group: int, time: int) -> None:
        self.groups[group].missing -= 1
        self.groups[group].written = max(self.groups[group].written, time)

    def commit(self, board: int, time: int) -> None:
        self.group_board = board
        self.groups[-1].written = max(self.groups[-1].written, time)
        self.groups.append(Group())
