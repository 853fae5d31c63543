"""Tests of the recorded window: copies by stage, issue classes, figure and Perfetto trace say what the events say."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections import defaultdict

import numpy as np
import pytest

from gpusim.arch import load_gpu
from gpusim.engine.result import EVENT
from gpusim.errors import UserError
from gpusim.report.perfetto import trace_events, write_trace
from gpusim.report.style import save_figure, svg_text
from gpusim.report.timeline import ISSUE_CLASSES, copy_tags, events_of, timeline
from gpusim.report.timeline_figure import draw_timeline


@pytest.fixture
def window(tiny_program, tiny_result):
    return timeline(tiny_program, tiny_result, load_gpu("h200"))


def test_copies_go_round_the_stages_in_commit_order(window):
    assert [copy.group for copy in window.copies] == list(range(8))
    assert [copy.stage for copy in window.copies] == [number % 3 for number in range(8)]
    assert window.num_stages == 3


def test_a_copy_group_lasts_from_its_first_issue_to_its_last_arrival(window, tiny_program, tiny_result):
    copies = events_of(tiny_result, "copy")
    own = copies[copies["cta"] == window.cta]
    group, _ = copy_tags(tiny_program, own)
    for copy in window.copies:
        assert copy.start == own["start"][group == copy.group].min()
        assert copy.end == own["end"][group == copy.group].max()


def test_copies_overlap_the_mma_of_earlier_tiles(window):
    """The picture the timeline is for: group k + 1 is in flight while the tensor pipe works on tile k."""
    busy = window.tensor[window.tensor["cta"] == window.cta]
    overlapping = [copy for copy in window.copies if ((busy["start"] < copy.end) & (busy["end"] > copy.start)).any()]
    assert len(overlapping) == len(window.copies)


def test_issue_classes_name_what_is_issued(window):
    classes = {ISSUE_CLASSES[number] for number in window.issue_classes}
    assert classes == {"MMA", "shared load", "asynchronous copy", "wait and barrier", "global memory", "other"}


def test_a_window_without_events_or_an_absent_cta_is_refused(tiny_program, tiny_result):
    spec = load_gpu("h200")
    empty = dataclasses.replace(tiny_result, events=np.empty(0, EVENT))
    with pytest.raises(UserError, match="timeline: no events were recorded; choose a window"):
        timeline(tiny_program, empty, spec)
    with pytest.raises(UserError, match="that CTA is not in the recorded window, got 7; known: 0, 1"):
        timeline(tiny_program, tiny_result, spec, cta=7)


def test_the_figure_is_the_same_text_for_the_same_events(window, tmp_path):
    first, second = (svg_text(draw_timeline(window, "tiny")) for _ in range(2))
    assert first == second
    assert "Long Scoreboard" in first
    svg, png = save_figure(draw_timeline(window, "tiny"), tmp_path / "timeline")
    assert svg.read_text().startswith("<?xml") and png.read_bytes().startswith(b"\x89PNG")


def test_slices_of_a_thread_nest(tiny_program, tiny_result):
    """Perfetto refuses overlapping slices on one track: each must lie inside or beside any other."""
    threads = defaultdict(list)
    for event in trace_events(tiny_program, tiny_result):
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            threads[event["pid"], event["tid"]].append((start, -(start + round(event["dur"] * 1000))))
    for slices in threads.values():
        open_ends: list[int] = []
        for start, negative_end in sorted(slices):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or -negative_end <= open_ends[-1]
            open_ends.append(-negative_end)


def test_every_copy_is_an_async_slice_that_ends(tiny_program, tiny_result):
    events = trace_events(tiny_program, tiny_result)
    begins = {event["id"]: event for event in events if event["ph"] == "b"}
    ends = {event["id"]: event for event in events if event["ph"] == "e"}
    assert len(begins) == len(events_of(tiny_result, "copy"))
    assert begins.keys() == ends.keys()
    assert all(begins[number]["ts"] < ends[number]["ts"] for number in begins)
    assert begins[0]["name"] == "cp.async gA -> sA stage 0"


def test_copies_in_flight_return_to_none(tiny_program, tiny_result):
    counters = [event["args"]["copies"] for event in trace_events(tiny_program, tiny_result) if event["ph"] == "C"]
    assert counters[-1] == 0 and min(counters) == 0 and max(counters) > 4


def test_the_trace_file_is_json_with_a_nanosecond_per_cycle(tiny_program, tiny_result, tmp_path):
    path = tmp_path / "trace.json.gz"
    write_trace(path, tiny_program, tiny_result, {"gpu": "h200"})
    first = path.read_bytes()
    write_trace(path, tiny_program, tiny_result, {"gpu": "h200"})
    assert path.read_bytes() == first
    document = json.loads(gzip.decompress(first))
    assert document["displayTimeUnit"] == "ns" and document["otherData"] == {"gpu": "h200"}
    issue = next(event for event in document["traceEvents"] if event.get("cat") == "issue")
    assert issue["dur"] == 0.001
    names = {event["args"]["name"] for event in document["traceEvents"] if event["ph"] == "M"}
    assert {"SM 0", "tensor pipe 3", "shared-memory data stage"} <= names
