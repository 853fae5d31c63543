"""Tests of the Perfetto trace: slices nest, tracks have names, async slices end, arrows lead from copies to waits."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections import Counter, defaultdict

import numpy as np
import pytest

from gpusim.program import NO_BARRIER
from gpusim.report.perfetto import TraceRun, trace_events, write_trace, write_traces
from gpusim.report.timeline import events_of

LDGDEPBAR, DEPBAR, BOARD = 5, 8, 0


@pytest.fixture
def program(tiny_program):
    """The tiny program with the control fields of a compiler: groups count on a barrier, DEPBAR leaves one pending."""
    role = tiny_program.classes[0].roles[0]
    ops = role.ops.copy()
    commits = np.isin(ops["pc"], (2, LDGDEPBAR))
    ops["write_barrier"] = np.where(commits, BOARD, NO_BARRIER)
    ops["operand"][ops["pc"] == DEPBAR] = (BOARD << 16) + 1
    changed = dataclasses.replace(tiny_program.classes[0], roles=(dataclasses.replace(role, ops=ops),))
    return dataclasses.replace(tiny_program, classes=(changed,))


@pytest.fixture
def document(program, tiny_result, tmp_path):
    """What a viewer reads: the file, loaded back."""
    write_trace(tmp_path / "trace.json.gz", program, tiny_result, {"gpu": "h200"})
    return json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))


@pytest.fixture
def events(document):
    return document["traceEvents"]


def cycle(event):
    return round(event["ts"] * 1000)


def slices(events):
    return [event for event in events if event["ph"] == "X"]


def holds(event, thread, moment):
    return (event["pid"], event["tid"]) == thread and cycle(event) <= moment < cycle(event) + round(event["dur"] * 1000)


def test_slices_of_a_thread_nest(events):
    """Perfetto refuses overlapping slices on one track: each must lie inside or beside any other."""
    threads = defaultdict(list)
    for event in slices(events):
        threads[event["pid"], event["tid"]].append((cycle(event), -(cycle(event) + round(event["dur"] * 1000))))
    for spans in threads.values():
        open_ends: list[int] = []
        for start, negative_end in sorted(spans):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or -negative_end <= open_ends[-1]
            open_ends.append(-negative_end)


def test_every_track_has_a_name_and_no_thread_is_in_two_processes(events):
    processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    threads = {event["tid"]: event for event in events if event["name"] == "thread_name"}
    assert processes == {1: "SM 0", 2: "SM 1"}
    for event in events:
        assert event["pid"] in processes
        if event["ph"] in "Xsf":
            assert threads[event["tid"]]["pid"] == event["pid"]
    assert len(threads) == sum(event["name"] == "thread_name" for event in events)


def test_a_warp_is_in_one_scope_and_one_iteration_around_each_instruction(events):
    by_category = defaultdict(list)
    for event in slices(events):
        by_category[event["cat"]].append(event)
    names = {event["name"] for event in by_category["scope"]}
    assert {f"CTA 1 warp 2: {scope}" for scope in ("prologue", "main_loop", "epilogue")} <= names
    assert Counter(event["name"] for event in by_category["iteration"]) == {f"iteration {k}": 8 for k in range(6)}
    for issue in by_category["issue"]:
        thread = issue["pid"], issue["tid"]
        around = [event for kind in ("scope", "iteration") for event in by_category[kind]
                  if holds(event, thread, cycle(issue))]
        in_loop = around[0]["name"].endswith("main_loop")
        assert [event["cat"] for event in around] == (["scope", "iteration"] if in_loop else ["scope"])


def test_every_copy_is_an_async_slice_that_ends(events, tiny_result):
    begins = {event["id"]: event for event in events if event["ph"] == "b"}
    ends = {event["id"]: event for event in events if event["ph"] == "e"}
    assert len(begins) == len(events_of(tiny_result, "copy"))
    assert begins.keys() == ends.keys()
    assert all(begins[number]["ts"] < ends[number]["ts"] for number in begins)
    assert {event["name"] for event in begins.values()} == {f"cp.async gA -> sA stage {stage}" for stage in range(3)}


def test_an_arrow_leads_from_each_copy_to_the_wait_that_needs_it(events):
    """DEPBAR leaves one group pending: iteration k waits for group k + 1, issued an iteration before."""
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    copies = {event["id"]: event for event in events if event["ph"] == "b"}
    assert starts.keys() == ends.keys() <= copies.keys()
    issues = [event for event in slices(events) if event["cat"] == "issue"]
    iterations = [event for event in slices(events) if event["cat"] == "iteration"]
    groups = Counter()
    for number, start in starts.items():
        end, group = ends[number], copies[number]["args"]["group"]
        (source,) = (event for event in issues if holds(event, (start["pid"], start["tid"]), cycle(start)))
        (target,) = (event for event in issues if holds(event, (end["pid"], end["tid"]), cycle(end)))
        assert source["name"].startswith("LDGSTS") and target["name"] == "DEPBAR.LE"
        assert (start["pid"], start["tid"]) == (end["pid"], end["tid"]) and cycle(start) < cycle(end)
        (loop,) = (event for event in iterations if holds(event, (end["pid"], end["tid"]), cycle(end)))
        assert loop["name"] == f"iteration {max(group - 1, 0)}"
        groups[group] += 1
    assert groups == {group: 8 for group in range(7)}  # nothing waits for the last group


def test_counters_tell_copies_in_flight_and_busy_units(events):
    counters = defaultdict(list)
    for event in events:
        if event["ph"] == "C" and event["pid"] == 1:
            counters[event["name"]].append(next(iter(event["args"].values())))
    flying = counters.pop("copies in flight")
    assert flying[-1] == 0 and min(flying) == 0 and max(flying) > 4
    assert counters.keys() == {"tensor pipes busy, %", "shared memory busy, %", "issue slots busy, %"}
    assert all(0 <= value <= 100 for values in counters.values() for value in values)
    assert max(counters["tensor pipes busy, %"]) > 0 and counters["tensor pipes busy, %"][-1] == 0


def test_equal_runs_give_equal_bytes_and_a_cycle_is_a_nanosecond(document, program, tiny_result, tmp_path):
    again = tmp_path / "again.json.gz"
    write_trace(again, program, tiny_result, {"gpu": "h200"})
    assert again.read_bytes() == (tmp_path / "trace.json.gz").read_bytes()
    assert document["displayTimeUnit"] == "ns" and document["otherData"] == {"gpu": "h200"}
    issue = next(event for event in document["traceEvents"] if event.get("cat") == "issue")
    assert issue["dur"] == 0.001
    names = {event["args"].get("name") for event in document["traceEvents"] if event["ph"] == "M"}
    assert {"SM 0", "tensor pipe 3", "shared-memory data stage"} <= names


def test_two_runs_of_a_file_share_no_process_thread_or_arrow(program, tiny_result, tmp_path):
    runs = [TraceRun(program, tiny_result, "64B"), TraceRun(program, tiny_result, "none")]
    write_traces(tmp_path / "two.json.gz", runs, {})
    events = json.loads(gzip.decompress((tmp_path / "two.json.gz").read_bytes()))["traceEvents"]
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"64B: SM 0", "64B: SM 1", "none: SM 0", "none: SM 1"}
    starts = [event["id"] for event in events if event["ph"] == "s"]
    assert len(starts) == len(set(starts)) == 2 * sum(e["ph"] == "s" for e in trace_events(program, tiny_result))
