"""Models the recorded window as a Perfetto trace (Chrome JSON): warps and units as threads, copies as async slices.
Leaves out everything not recorded; one cycle is drawn as one nanosecond."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.engine.result import WARP_STATES, SimulationResult
from gpusim.program import Program
from gpusim.report.executions import role_of
from gpusim.report.states import STATES, ncu_state_name
from gpusim.report.timeline import copy_tags, events_of

__all__ = ["trace_events", "write_trace"]

Event = dict[str, Any]
_MICROSECONDS_PER_CYCLE = 0.001
_TENSOR_THREAD, _SHARED_THREAD = 1000, 1100


def write_trace(path: Path, program: Program, result: SimulationResult, metadata: dict[str, object]) -> None:
    """Write ``trace.json.gz``; equal runs give equal bytes."""
    document = {"traceEvents": trace_events(program, result), "displayTimeUnit": "ns", "otherData": metadata}
    text = json.dumps(document, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), compresslevel=6, mtime=0))


def trace_events(program: Program, result: SimulationResult) -> list[Event]:
    """Chrome trace events of everything that was recorded."""
    if not len(result.events):
        return []
    return [
        *_names(result),
        *_scopes(program, result),
        *_issues(program, result),
        *_states(program, result),
        *_units(program, result),
        *_copies(program, result),
        *_in_flight(result),
    ]


def _slice(name: str, category: str, process: int, thread: int, start: int, end: int, **arguments: object) -> Event:
    return {
        "ph": "X", "name": name, "cat": category, "pid": process, "tid": thread, "args": arguments,
        "ts": round(start * _MICROSECONDS_PER_CYCLE, 3), "dur": round((end - start) * _MICROSECONDS_PER_CYCLE, 3),
    }


def _process(result: SimulationResult, row: np.void) -> int:
    return int(result.cta_sm[row["cta"]])


def _thread(row: np.void) -> int:
    return int(row["warp_slot"]) + 1


def _names(result: SimulationResult) -> Iterator[Event]:
    """Names of processes (SMs) and threads (warp slots, units), sorted as they should stand."""
    sms = np.unique(result.cta_sm[np.unique(result.events["cta"])]).tolist()
    slots = np.unique(result.events[["warp_slot", "sub_partition"]])
    for sm in sms:
        yield _name("process", sm, 0, f"SM {sm}")
        for slot in slots:
            name = f"warp slot {slot['warp_slot']} (sub-partition {slot['sub_partition']})"
            yield _name("thread", sm, _thread(slot), name)
        for pipe in np.unique(events_of(result, "mma")["sub_partition"]).tolist():
            yield _name("thread", sm, _TENSOR_THREAD + pipe, f"tensor pipe {pipe}")
        yield _name("thread", sm, _SHARED_THREAD, "shared-memory data stage")


def _name(what: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": f"{what}_name", "pid": process, "tid": thread, "args": {"name": name}}


def _scopes(program: Program, result: SimulationResult) -> Iterator[Event]:
    """A slice around each stretch in which a warp stays in one scope (prologue, main_loop, epilogue)."""
    rows = np.concatenate([events_of(result, "issue"), events_of(result, "state")])
    scopes = np.array([static.scope for static in program.statics])[rows["pc"]]
    order = np.lexsort((rows["end"], rows["start"], rows["warp"], rows["cta"]))
    rows, scopes = rows[order], scopes[order]
    changed = (np.diff(rows["cta"]) != 0) | (np.diff(rows["warp"]) != 0) | (scopes[1:] != scopes[:-1])
    starts = np.flatnonzero(np.r_[True, changed])
    for first, last in zip(starts, np.r_[starts[1:], len(rows)] - 1, strict=True):
        row = rows[first]
        name = f"CTA {row['cta']} warp {row['warp']}" + (f": {scopes[first]}" if scopes[first] else "")
        yield _slice(name, "scope", _process(result, row), _thread(row), int(row["start"]), int(rows[last]["end"]))


def _issues(program: Program, result: SimulationResult) -> Iterator[Event]:
    for row in events_of(result, "issue"):
        static = program.statics[row["pc"]]
        yield _slice(static.mnemonic, "issue", _process(result, row), _thread(row), int(row["start"]), int(row["end"]),
                     line=f"{Path(static.file).name}:{static.line}", op=int(row["op"]))


def _states(program: Program, result: SimulationResult) -> Iterator[Event]:
    for row in events_of(result, "state"):
        name, static = WARP_STATES[row["state"]], program.statics[row["pc"]]
        yield _slice(STATES[name].title, "stall", _process(result, row), _thread(row), int(row["start"]),
                     int(row["end"]), ncu=ncu_state_name(name), before=static.mnemonic,
                     line=f"{Path(static.file).name}:{static.line}")


def _units(program: Program, result: SimulationResult) -> Iterator[Event]:
    for kind in ("mma", "shared"):
        for row in events_of(result, kind):
            thread = _SHARED_THREAD if kind == "shared" else _TENSOR_THREAD + int(row["sub_partition"])
            name = _access_label(program, row) or program.statics[row["pc"]].mnemonic
            yield _slice(name, kind, _process(result, row), thread, int(row["start"]), int(row["end"]),
                         cta=int(row["cta"]), warp=int(row["warp"]))


def _copies(program: Program, result: SimulationResult) -> Iterator[Event]:
    """Copies overlap, so each is an async slice of its own; copies of a stage share a name and so a track."""
    copies = events_of(result, "copy")
    tags = zip(*(tag.tolist() for tag in copy_tags(program, copies)), strict=True)
    for number, (row, (group, stage)) in enumerate(zip(copies, tags, strict=True)):
        base = {"cat": "copy", "id": number, "pid": _process(result, row), "tid": _thread(row),
                "name": f"{_access_label(program, row)} stage {stage}"}
        arguments = {"cta": int(row["cta"]), "warp": int(row["warp"]), "group": group}
        yield {**base, "ph": "b", "ts": round(int(row["start"]) * _MICROSECONDS_PER_CYCLE, 3), "args": arguments}
        yield {**base, "ph": "e", "ts": round(int(row["end"]) * _MICROSECONDS_PER_CYCLE, 3)}


def _in_flight(result: SimulationResult) -> Iterator[Event]:
    """A counter of copies in flight."""
    copies = events_of(result, "copy")
    if not len(copies):
        return
    times = np.concatenate([copies["start"], copies["end"]])
    steps = np.repeat([1, -1], len(copies))
    moments, where = np.unique(times, return_inverse=True)
    level = np.cumsum(np.bincount(where, weights=steps))
    process = _process(result, copies[0])
    for cycle, count in zip(moments.tolist(), level.tolist(), strict=True):
        yield {"ph": "C", "name": "copies in flight", "pid": process, "ts": round(cycle * _MICROSECONDS_PER_CYCLE, 3),
               "args": {"copies": int(count)}}


def _access_label(program: Program, row: np.void) -> str:
    role = role_of(program, int(row["cta"]), int(row["warp"]))
    access = int(role.ops["access"][row["op"]])
    return role.accesses.label[access] if access >= 0 else ""
