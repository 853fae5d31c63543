"""Models what the emulation of a CTA leaves behind: executed instructions and lane addresses, per warp.
Leaves out register contents, time, and how addresses become accesses (gpusim.sass.accesses)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

__all__ = ["NO_ADDRESS", "Events", "Segment", "Trace", "WarpTrace", "split_roles"]

LANES = 32
NO_ADDRESS = -1


@dataclass
class Segment:
    """A stretch that a set of warps ran together. T = 32 times the number of warps."""

    warps: np.ndarray  # (W,) warps of the CTA
    steps: list[int] = field(default_factory=list)  # index of each executed instruction
    active: dict[int, np.ndarray] = field(default_factory=dict)
    """Memory and control instructions, row of steps: (W,) bool; absent: all active."""
    idle: list[int] = field(default_factory=list)  # rows of steps whose predicate held nowhere
    events: list[tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    """Memory accesses: row of steps; (T,) shared and global addresses, NO_ADDRESS: none; (T,) lanes that take part;
    (T,) lanes of those that write zeros."""


@dataclass(frozen=True)
class Trace:
    """What some warps of a CTA executed together from start to end."""

    warps: np.ndarray
    segments: tuple[Segment, ...]  # each ran by at least these warps


@dataclass(frozen=True)
class Events:
    """Memory accesses of W warps, in program order."""

    row: np.ndarray  # (E,) row of WarpTrace.steps
    shared_address: np.ndarray  # (E, W, 32) i8, NO_ADDRESS: none
    global_address: np.ndarray  # (E, W, 32) i8, NO_ADDRESS: none
    lanes: np.ndarray  # (E, W, 32) bool: take part
    zfill: np.ndarray  # (E, W, 32) bool


@dataclass(frozen=True)
class WarpTrace:
    """Consecutive warps with one sequence of instructions that touch the same memory instructions and branches."""

    first_warp: int
    num_warps: int
    steps: np.ndarray  # (N,) i4
    active: np.ndarray  # (N,) bool: not predicated off for all warps; arithmetic always counts as active
    idle: np.ndarray  # (N,) bool: no warp of the CTA that came along did anything
    events: Events


def split_roles(traces: Iterable[Trace]) -> tuple[WarpTrace, ...]:
    """Traces cut into roles, in the order of their first warp."""
    roles = [role for trace in traces for role in _roles_of(trace)]
    return tuple(sorted(roles, key=lambda role: role.first_warp))


def _roles_of(trace: Trace) -> list[WarpTrace]:
    order = np.argsort(trace.warps)
    steps = np.concatenate([np.array(s.steps, np.int32) for s in trace.segments])
    active = np.concatenate([_active_rows(s, trace.warps) for s in trace.segments])
    found, start = [], 0
    for end in range(1, len(order) + 1):
        here = end < len(order) and trace.warps[order[end]] == trace.warps[order[end - 1]] + 1
        if not (here and (active[:, order[end]] == active[:, order[start]]).all()):
            found.append(_role(trace, steps, active[:, order[start]], trace.warps[order[start:end]]))
            start = end
    return found


def _role(trace: Trace, steps: np.ndarray, active: np.ndarray, warps: np.ndarray) -> WarpTrace:
    parts, first_row = [], 0
    for segment in trace.segments:
        parts.append(_events_of(segment, warps, active, first_row))
        first_row += len(segment.steps)
    fields = [np.concatenate([part[i] for part in parts]) for i in range(5)]
    idle = np.concatenate([np.isin(np.arange(len(s.steps)), s.idle) for s in trace.segments])
    return WarpTrace(int(warps[0]), len(warps), steps, active, idle, Events(*fields))


def _active_rows(segment: Segment, warps: np.ndarray) -> np.ndarray:
    active = np.ones((len(segment.steps), len(warps)), bool)
    columns = np.searchsorted(segment.warps, warps)
    for row, flags in segment.active.items():
        active[row] = flags[columns]
    return active


def _events_of(segment: Segment, warps: np.ndarray, active: np.ndarray, first_row: int) -> tuple[np.ndarray, ...]:
    kept = [event for event in segment.events if active[first_row + event[0]]]
    columns = np.searchsorted(segment.warps, warps)
    shape = (len(kept), len(segment.warps), LANES)
    rows = np.array([event[0] for event in kept], np.int64) + first_row
    types = (np.int64, np.int64, np.bool_, np.bool_)
    stacked = [np.array([event[i + 1] for event in kept], types[i]).reshape(shape)[:, columns] for i in range(4)]
    return rows, *stacked
