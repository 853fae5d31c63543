"""Models what a recorded window shows about one CTA: issues and stalls of its warps, copies in flight, busy units.
Leaves out drawing (timeline_figure, timeline_text) and the trace of all warps (gpusim.report.perfetto)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.arch import GpuSpec, Kind
from gpusim.engine.result import EVENT_KINDS, SimulationResult
from gpusim.errors import UserError
from gpusim.program import Program
from gpusim.report.executions import role_of
from gpusim.report.timeline_copies import REGISTERS, copy_tags
from gpusim.report.timeline_iterations import iteration_starts

__all__ = [
    "ISSUE_CLASSES", "CopyGroup", "IterationStart", "Timeline", "busy_share", "copy_groups", "copy_tags",
    "events_between", "events_of", "issue_class", "span_of", "timeline",
]

ISSUE_CLASSES = ("MMA or FMA", "shared memory", "asynchronous copy", "wait and barrier", "global memory", "other")
_CLASS_OF_KIND = {
    Kind.mma: 0, Kind.wgmma: 0, Kind.shared_load: 1, Kind.ldmatrix: 1, Kind.async_copy: 2, Kind.bulk_copy: 2,
    Kind.commit: 3, Kind.depbar: 3, Kind.barrier: 3, Kind.mbarrier: 3, Kind.wgmma_control: 3,
    Kind.global_load: 4, Kind.global_store: 4, Kind.atomic: 4, Kind.shared_store: 1, Kind.stmatrix: 1,
}
_MULTIPLY_ADDS = frozenset({"FFMA", "DFMA", "HFMA2", "IDP"})
"""What a kernel without tensor cores computes with."""


@dataclass(frozen=True)
class CopyGroup:
    """Copies of one CTA that belong together: in flight from the first issue to the last arrival, cycles.

    ``stage``: of shared memory, counted by address, or REGISTERS.
    """

    stage: int
    group: int
    start: int
    end: int


@dataclass(frozen=True)
class IterationStart:
    """The cycle in which a warp begins an iteration of the main loop."""

    warp: int
    iteration: int
    cycle: int


@dataclass(frozen=True)
class Timeline:
    """A window [start_cycle, end_cycle) of one CTA; units have the events of the whole SM."""

    cta: int
    sm: int
    start_cycle: int
    end_cycle: int
    warp_names: dict[int, str]  # by warp of the CTA, in order
    roles: dict[int, str]  # by warp
    issues: np.ndarray  # EVENT rows of those warps
    issue_classes: np.ndarray  # index into ISSUE_CLASSES per row of `issues`
    states: np.ndarray  # EVENT rows of those warps
    copies: tuple[CopyGroup, ...]
    iterations: tuple[IterationStart, ...]
    tensor: np.ndarray  # EVENT rows of the SM
    shared: np.ndarray  # EVENT rows of the SM
    sub_partitions: int

    @property
    def warps(self) -> list[int]:
        return list(self.warp_names)

    @property
    def stages(self) -> list[int]:
        """Where copies of the window go: stages of shared memory by address, then REGISTERS."""
        return sorted({copy.stage for copy in self.copies}, key=lambda stage: (stage == REGISTERS, stage))


def events_of(result: SimulationResult, kind: str) -> np.ndarray:
    """Events of one kind of EVENT_KINDS."""
    return result.events[result.events["kind"] == EVENT_KINDS.index(kind)]


def span_of(rows: np.ndarray) -> tuple[int, int] | None:
    """The first cycle of events and the cycle after their last; None where they take no time."""
    start, end = (int(rows["start"].min()), int(rows["end"].max())) if len(rows) else (0, 0)
    return (start, end) if start < end else None


def events_between(result: SimulationResult, start_cycle: int, end_cycle: int) -> SimulationResult:
    """The result with those events only that touch [start_cycle, end_cycle)."""
    events = result.events
    return dataclasses.replace(result, events=events[(events["start"] < end_cycle) & (events["end"] > start_cycle)])


def timeline(
    program: Program, result: SimulationResult, spec: GpuSpec, *, cta: int | None = None,
    warps: Sequence[int] | None = None, cycles: tuple[int, int] | None = None,
) -> Timeline:
    """The recorded window as ``cta`` sees it; by default the CTA that issued most in it, all its warps, all cycles.

    Raises UserError when nothing was recorded, or not that CTA, or not that warp, or for cycles that end before they
    begin.
    """
    if cycles and cycles[0] >= cycles[1]:
        raise UserError("a window ends after it begins", place="timeline", got=f"cycles {cycles[0]} to {cycles[1]}")
    if cycles:
        result = events_between(result, *cycles)
    cta, names, issues, states = _own_events(program, result, cta, warps)
    classes = np.array([issue_class(static.mnemonic, spec) for static in program.statics], np.int8)
    copies, all_issues = events_of(result, "copy"), events_of(result, "issue")
    start = int(all_issues["start"].min())
    start, end = cycles or (start, max(int(all_issues["end"].max()), start + 1))
    return Timeline(
        cta=cta, sm=int(result.cta_sm[cta]), start_cycle=start, end_cycle=end, warp_names=names,
        roles={warp: role_of(program, cta, warp).name for warp in names}, issues=issues,
        issue_classes=classes[issues["pc"]], states=states, copies=copy_groups(program, copies[copies["cta"] == cta]),
        iterations=tuple(IterationStart(*begin) for begin in iteration_starts(program, cta, issues)),
        tensor=events_of(result, "mma"), shared=events_of(result, "shared"), sub_partitions=spec.sm.sub_partitions,
    )


def _own_events(
    program: Program, result: SimulationResult, cta: int | None, warps: Sequence[int] | None
) -> tuple[int, dict[int, str], np.ndarray, np.ndarray]:
    """The CTA, the names of its warps, their issues and their states."""
    issues = events_of(result, "issue")
    if not len(issues):
        raise UserError("no events were recorded", place="timeline", suggestion="choose a window in which the SM works")
    chosen = int(np.bincount(issues["cta"]).argmax()) if cta is None else cta
    if chosen not in issues["cta"]:
        raise _unknown("that CTA is not in the recorded window", chosen, issues["cta"])
    issues, states = (rows[rows["cta"] == chosen] for rows in (issues, events_of(result, "state")))
    names = _warp_names(program, chosen, np.concatenate([issues, states]))
    for warp in warps or ():
        if warp not in names:
            raise _unknown(f"that warp of CTA {chosen} is not in the recorded window", warp, np.array(list(names)))
    names = {warp: name for warp, name in names.items() if warps is None or warp in warps}
    issues, states = (rows[np.isin(rows["warp"], list(names))] for rows in (issues, states))
    return chosen, names, issues, states


def _unknown(rule: str, got: int, known: np.ndarray) -> UserError:
    return UserError(rule, place="timeline", got=got, suggestion=f"known: {', '.join(map(str, np.unique(known)))}")


def _warp_names(program: Program, cta: int, events: np.ndarray) -> dict[int, str]:
    """``warp 5 (mma, sub-partition 1)``; the role only where the CTA has several."""
    several = len(program.classes[int(program.cta_class[cta])].roles) > 1
    names = {}
    for warp in np.unique(events["warp"]).tolist():
        role = f"{role_of(program, cta, warp).name}, " if several else ""
        names[warp] = f"warp {warp} ({role}sub-partition {events['sub_partition'][events['warp'] == warp][0]})"
    return names


def issue_class(mnemonic: str, spec: GpuSpec) -> int:
    """Index into ISSUE_CLASSES."""
    if mnemonic.partition(".")[0] in _MULTIPLY_ADDS:
        return 0
    return _CLASS_OF_KIND.get(spec.instruction_table.lookup(mnemonic).kind, len(ISSUE_CLASSES) - 1)


def copy_groups(program: Program, copies: np.ndarray) -> tuple[CopyGroup, ...]:
    """Copy events of one CTA, joined by commit group, or by batch of loads to registers."""
    tags = copy_tags(program, copies)
    keys, number = np.unique(np.stack([tags.stage == REGISTERS, tags.group]), axis=1, return_inverse=True)
    found = []
    for index in range(keys.shape[1]):
        rows = number.reshape(-1) == index
        start, end = int(copies["start"][rows].min()), int(copies["end"][rows].max())
        found.append(CopyGroup(int(tags.stage[rows][0]), int(tags.group[rows][0]), start, end))
    return tuple(found)


def busy_share(rows: np.ndarray, start_cycle: int, end_cycle: int, bins: int, units: int = 1) -> np.ndarray:
    """(bins,) share of ``units`` that the events keep busy, over equal parts of [start_cycle, end_cycle).

    The window has a length: whoever calls this has asked span_of, or made sure otherwise.
    """
    length = end_cycle - start_cycle
    edges = np.linspace(0, length, bins + 1)
    steps = np.zeros(length + 1)
    np.add.at(steps, np.clip(rows["start"] - start_cycle, 0, length), 1)
    np.add.at(steps, np.clip(rows["end"] - start_cycle, 0, length), -1)
    busy = np.concatenate([[0.0], np.cumsum(np.cumsum(steps)[:-1])])
    return np.diff(np.interp(edges, np.arange(length + 1), busy)) / np.diff(edges) / units
