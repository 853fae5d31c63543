"""Models the recorded window as a Perfetto trace (Chrome JSON): a process per SM, a thread per warp slot and per unit.
Leaves out everything not recorded, and what spans threads (gpusim.report.perfetto_links); a cycle is a nanosecond."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpusim.engine.result import WARP_STATES, SimulationResult
from gpusim.files import replacing
from gpusim.program import Program
from gpusim.report.perfetto_links import copy_flows, copy_slices, counters, label
from gpusim.report.perfetto_tracks import Event, Tracks, micros
from gpusim.report.states import STATES, ncu_state_name
from gpusim.report.timeline import events_of
from gpusim.report.timeline_iterations import OUTSIDE, role_iterations

__all__ = ["TraceRun", "trace_events", "write_trace", "write_traces"]


@dataclass(frozen=True)
class TraceRun:
    """One run of a trace. ``name`` tells its processes from those of another run in the same file."""

    program: Program
    result: SimulationResult
    name: str = ""


def write_trace(path: Path, program: Program, result: SimulationResult, metadata: dict[str, object]) -> None:
    """Write ``trace.json.gz``; equal runs give equal bytes."""
    write_traces(path, [TraceRun(program, result)], metadata)


def write_traces(path: Path, runs: Sequence[TraceRun], metadata: dict[str, object]) -> None:
    """Several runs in one file, each with processes of its own."""
    lists = [trace_events(run.program, run.result, run.name, number) for number, run in enumerate(runs)]
    events = [event for one in lists for event in one]
    document = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": metadata}
    text = json.dumps(document, separators=(",", ":"))
    with replacing(path) as place:
        place.write_bytes(gzip.compress(text.encode(), compresslevel=6, mtime=0))


def trace_events(program: Program, result: SimulationResult, name: str = "", number: int = 0) -> list[Event]:
    """Chrome trace events of everything that was recorded of run ``number`` of a file."""
    if not len(result.events):
        return []
    tracks = Tracks(result, number)
    return [
        *_names(result, tracks, name),
        *_stretches(program, result, tracks),
        *_issues(program, result, tracks),
        *_states(program, result, tracks),
        *_units(program, result, tracks),
        *copy_slices(program, result, tracks),
        *copy_flows(program, result, tracks),
        *counters(result, tracks),
    ]


def _names(result: SimulationResult, tracks: Tracks, name: str) -> Iterator[Event]:
    """Names of processes (SMs) and threads (warp slots, units), in the order in which they should stand."""
    slots = np.unique(events_of(result, "issue")[["warp_slot", "sub_partition"]])
    pipes = np.unique(events_of(result, "mma")["sub_partition"]).tolist()
    for sm in np.unique(result.cta_sm[np.unique(result.events["cta"])]).tolist():
        process = tracks.process(sm)
        yield from tracks.names("process", process, 0, f"{name}: SM {sm}" if name else f"SM {sm}")
        for slot, part in slots:
            thread = tracks.warp_thread(process, slot)
            yield from tracks.names("thread", process, thread, f"warp slot {slot} (sub-partition {part})")
        for pipe in pipes:
            yield from tracks.names("thread", process, tracks.pipe_thread(process, pipe), f"tensor pipe {pipe}")
        yield from tracks.names("thread", process, tracks.shared_thread(process), "shared-memory data stage")


def _stretches(program: Program, result: SimulationResult, tracks: Tracks) -> Iterator[Event]:
    """Slices around each stretch in which a warp stays in one scope (prologue, main_loop) and in one iteration."""
    rows = np.concatenate([events_of(result, "issue"), events_of(result, "state")])
    rows = rows[np.lexsort((rows["end"], rows["start"], rows["warp"], rows["cta"]))]
    names = np.array([static.scope for static in program.statics])
    scopes, iterations = names[rows["pc"]], _iterations(program, rows)
    for first, last in _runs(rows, scopes):
        text = f"CTA {rows[first]['cta']} warp {rows[first]['warp']}" + (f": {scopes[first]}" if scopes[first] else "")
        yield tracks.stretch(text, "scope", rows[first], rows[last])
    for first, last in _runs(rows, iterations):
        if iterations[first] != OUTSIDE:
            yield tracks.stretch(f"iteration {iterations[first]}", "iteration", rows[first], rows[last])


def _runs(rows: np.ndarray, key: np.ndarray) -> Iterator[tuple[int, int]]:
    """(first, last) rows of each stretch of one warp with one key."""
    changed = (np.diff(rows["cta"]) != 0) | (np.diff(rows["warp"]) != 0) | (key[1:] != key[:-1])
    starts = np.flatnonzero(np.r_[True, changed])
    yield from zip(starts.tolist(), (np.r_[starts[1:], len(rows)] - 1).tolist(), strict=True)


def _iterations(program: Program, rows: np.ndarray) -> np.ndarray:
    """(E,) iteration of the main loop of issues and states."""
    found = np.full(len(rows), OUTSIDE, np.int64)
    for number, kind in enumerate(program.classes):
        for role in kind.roles:
            warp = rows["warp"] - role.first_warp
            own = (program.cta_class[rows["cta"]] == number) & (warp >= 0) & (warp < role.num_warps)
            found[own] = role_iterations(program, role)[rows["op"][own]]
    return found


def _place(program: Program, pc: int) -> str:
    static = program.statics[pc]
    return f"{Path(static.file).name}:{static.line}"


def _issues(program: Program, result: SimulationResult, tracks: Tracks) -> Iterator[Event]:
    for row in events_of(result, "issue"):
        yield tracks.slice(program.statics[row["pc"]].mnemonic, "issue", row, line=_place(program, row["pc"]),
                           op=int(row["op"]))


def _states(program: Program, result: SimulationResult, tracks: Tracks) -> Iterator[Event]:
    for row in events_of(result, "state"):
        name = WARP_STATES[row["state"]]
        yield tracks.slice(STATES[name].title, "stall", row, ncu=ncu_state_name(name),
                           before=program.statics[row["pc"]].mnemonic, line=_place(program, row["pc"]))


def _units(program: Program, result: SimulationResult, tracks: Tracks) -> Iterator[Event]:
    for kind in ("mma", "shared"):
        for row in events_of(result, kind):
            process = tracks.process_of(row)
            is_pipe = kind == "mma"
            thread = tracks.pipe_thread(process, row["sub_partition"]) if is_pipe else tracks.shared_thread(process)
            name = label(program, row) or program.statics[row["pc"]].mnemonic
            yield {
                "ph": "X", "name": name, "cat": kind, "pid": process, "tid": thread, "ts": micros(row["start"]),
                "dur": micros(row["end"] - row["start"]), "args": {"cta": int(row["cta"]), "warp": int(row["warp"])},
            }
