"""Traces of real kernels keep the rules of a viewer: nothing is dropped, unnamed, or bound to the wrong slice."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from trace_rules import broken_rules

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data
from gpusim.dsl.registry import load_program
from gpusim.engine import RecordWindow, simulate
from gpusim.report.perfetto import TraceRun, write_traces

GPU = load_gpu("h200")
KERNELS = {
    "hgemm_multistage": {"M": 256, "N": 256, "K": 256},
    "hgemm_single_stage": {"M": 128, "N": 128, "K": 128},
    "hgemm_warp_specialized": {"M": 128, "N": 128, "K": 512},
    "gemm_sm90": {"M": 256, "N": 256, "K": 256},
}


def traced(name: str, place: Path, window: RecordWindow) -> dict[str, Any]:
    """The trace of a kernel, as a viewer reads it."""
    program = load_program(find_data(f"programs/{name}.py")).record(GPU, KERNELS[name])
    result = simulate(program, GPU, record=window)
    write_traces(place / "trace.json.gz", [TraceRun(program, result, "one"), TraceRun(program, result, "two")], {})
    return json.loads(gzip.decompress((place / "trace.json.gz").read_bytes()))


@pytest.mark.parametrize("name", KERNELS)
def test_a_whole_kernel_is_drawn_without_loss(name: str, tmp_path: Path):
    document = traced(name, tmp_path, RecordWindow(0, 0, 1 << 40))
    assert broken_rules(document) == []
    phases = {event["ph"] for event in document["traceEvents"]}
    assert phases >= set("XCMbe") and ("s" in phases or name in ("gemm_sm90", "hgemm_warp_specialized"))
    size = (tmp_path / "trace.json.gz").stat().st_size
    assert size < 20 * len(document["traceEvents"]), "a trace is as small as it can be sent by mail"


def test_a_window_that_cuts_slices_and_copies_is_drawn_without_loss(tmp_path: Path):
    document = traced("hgemm_multistage", tmp_path, RecordWindow(0, 4000, 6511))
    assert broken_rules(document) == []
    assert {event["ph"] for event in document["traceEvents"]} == set("XCMbesf")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return traced("hgemm_multistage", tmp_path_factory.mktemp("trace"), RecordWindow(0, 4000, 6511))


def first(document: dict[str, Any], **having: object) -> dict[str, Any]:
    """The first event with these values."""
    return next(event for event in document["traceEvents"] if having.items() <= event.items())


@pytest.mark.parametrize(
    ("having", "change", "sentence"),
    [
        ({"ph": "X", "cat": "issue"}, {"dur": 0}, "takes no time"),
        ({"ph": "X", "cat": "stall"}, {"dur": 90.0}, "in which it begins"),
        ({"ph": "X", "cat": "scope"}, {"ts": -1.0}, "no whole number of nanoseconds from 0 on"),
        ({"ph": "X", "cat": "mma"}, {"tid": 77}, "thread 77 has 0 entries of thread_name"),
        ({"ph": "X", "cat": "mma"}, {"pid": 2}, "is in two processes"),
        ({"ph": "e"}, {"id": 5}, "has phases b"),
        ({"ph": "e"}, {"name": "other"}, "changes its name"),
        ({"ph": "s"}, {"ts": 0.001}, "which is no instruction that begins there"),
        ({"ph": "f"}, {"id": 5}, "ends before it begins"),
        ({"ph": "C"}, {"args": {"copies": "3"}}, "counter 'copies in flight' is {'copies': '3'}"),
        ({"ph": "C"}, {"ts": 1e6}, "are not one after the other"),
        ({"ph": "M", "name": "process_name"}, {"name": "label"}, "process 1 has 0 entries of process_name"),
    ],
)
def test_what_a_viewer_would_drop_is_found(trace: dict[str, Any], having: dict, change: dict, sentence: str):
    """The rules themselves: one event is spoilt, and the sentence says so."""
    spoilt = copy.deepcopy(trace)
    first(spoilt, **having).update(change)
    assert any(sentence in found for found in broken_rules(spoilt))
