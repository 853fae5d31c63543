"""Models what spans the threads of a trace: copies in flight, arrows from a copy to the wait for it, counters.
Leaves out the slices of warps and units (gpusim.report.perfetto)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusim.engine.result import EVENT_KINDS, SimulationResult
from gpusim.program import Program
from gpusim.report.executions import role_of
from gpusim.report.perfetto_tracks import Event, Tracks, counter, micros
from gpusim.report.timeline import busy_share, events_of, span_of
from gpusim.report.timeline_copies import NO_ROW, REGISTERS, copy_tags

__all__ = ["copy_flows", "copy_slices", "counters", "label"]

_COUNTER_CYCLES = 32
_IDS_PER_PROCESS = 1_000_000


def copy_slices(program: Program, result: SimulationResult, tracks: Tracks) -> Iterator[Event]:
    """Copies overlap, so each is an async slice of its own; copies of a stage share a name and so a track."""
    copies = events_of(result, "copy")
    tags = copy_tags(program, copies)
    for number, row in enumerate(copies):
        stage = int(tags.stage[number])
        where = "to registers" if stage == REGISTERS else f"stage {stage}"
        base = {"cat": "copy", "id": _id(tracks, row, number), **tracks.place(row),
                "name": f"{label(program, row)} {where}"}
        arguments = {"cta": int(row["cta"]), "warp": int(row["warp"]), "group": int(tags.group[number])}
        yield {**base, "ph": "b", "ts": micros(row["start"]), "args": arguments}
        yield {**base, "ph": "e", "ts": micros(row["end"])}


def copy_flows(program: Program, result: SimulationResult, tracks: Tracks) -> Iterator[Event]:
    """Arrows from the issue of a copy to the issue of the instruction that waits for it, where both are recorded."""
    issues, copies = events_of(result, "issue"), events_of(result, "copy")
    where = {key: number for number, key in enumerate(issues[["cta", "warp", "op"]].tolist())}
    needed_by = copy_tags(program, copies).needed_by.tolist()
    for number, row in enumerate(copies):
        cta, warp = int(row["cta"]), int(row["warp"])
        issue, wait = where.get((cta, warp, int(row["op"]))), where.get((cta, warp, needed_by[number]))
        if needed_by[number] == NO_ROW or issue is None or wait is None:
            continue
        base = {"name": "copy to wait", "cat": "flow", "id": _id(tracks, row, number)}
        yield {**base, "ph": "s", **tracks.place(issues[issue]), "ts": micros(issues[issue]["start"])}
        yield {**base, "ph": "f", "bp": "e", **tracks.place(issues[wait]), "ts": micros(issues[wait]["start"])}


def counters(result: SimulationResult, tracks: Tracks) -> Iterator[Event]:
    """By SM: copies in flight, and how busy its units are over equal parts of the window."""
    sm_of_event = result.cta_sm[result.events["cta"]]
    for sm in np.unique(sm_of_event).tolist():
        events, process = result.events[sm_of_event == sm], tracks.process(sm)
        rows = {kind: events[events["kind"] == number] for number, kind in enumerate(EVENT_KINDS)}
        yield from _level(process, rows["copy"])
        yield from _busy(process, rows)


def _level(process: int, copies: np.ndarray) -> Iterator[Event]:
    times = np.concatenate([copies["start"], copies["end"]])
    steps = np.repeat([1, -1], len(copies))
    moments, where = np.unique(times, return_inverse=True)
    level = np.cumsum(np.bincount(where, weights=steps))
    for cycle, count in zip(moments.tolist(), level.tolist(), strict=True):
        yield counter("copies in flight", process, cycle, copies=int(count))


def _busy(process: int, rows: dict[str, np.ndarray]) -> Iterator[Event]:
    issues = rows["issue"]
    if (span := span_of(issues)) is None:
        return
    start, end = span
    bins, partitions = max(1, (end - start) // _COUNTER_CYCLES), len(np.unique(issues["sub_partition"]))
    units = (("tensor pipes", rows["mma"], partitions), ("issue slots", issues, partitions),
             ("shared memory", rows["shared"], 1))
    moments = np.linspace(start, end, bins + 1)
    for name, busy, count in units:
        shares = np.append(busy_share(busy, start, end, bins, count), 0.0)
        for cycle, share in zip(moments.tolist(), shares.tolist(), strict=True):
            yield counter(f"{name} busy, %", process, int(cycle), percent=round(100 * share, 1))


def _id(tracks: Tracks, row: np.void, number: int) -> int:
    """Async slices and arrows are told apart by number over the whole file."""
    return tracks.process_of(row) * _IDS_PER_PROCESS + number


def label(program: Program, row: np.void) -> str:
    """What the access of an event is called; empty where the instruction accesses nothing."""
    role = role_of(program, int(row["cta"]), int(row["warp"]))
    access = int(role.ops["access"][row["op"]])
    return role.accesses.label[access] if access >= 0 else ""
