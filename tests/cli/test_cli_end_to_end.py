"""Tests of a whole run with the real engine: the report repeats the simulation, and the timeline shows the pipeline."""

from __future__ import annotations

import gzip
import itertools
import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from gpusim.cli.main import main
from gpusim.engine.result import WARP_STATES

SIZES = ["--set", "M=256", "--set", "N=256", "--set", "K=512"]


def _gpusim(*arguments: str) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr(sys, "argv", ["gpusim", *arguments])
        main()
    assert not stop.value.code


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a small GEMM."""
    place = tmp_path_factory.mktemp("runs")
    _gpusim("run", "hgemm", *SIZES, "--output", str(place))
    (found,) = place.iterdir()
    return found


@pytest.fixture(scope="module")
def trace(directory: Path) -> list[dict[str, object]]:
    return json.loads(gzip.decompress((directory / "trace.json.gz").read_bytes()))["traceEvents"]


def test_the_summary_and_the_tables_agree(directory: Path):
    summary = json.loads((directory / "summary.json").read_text())
    shared = pd.read_parquet(directory / "shared_memory.parquet")
    loads = shared[shared["operation"].str.startswith("LDSM")]
    assert summary["shared_wavefronts_load"] == loads["wavefronts"].sum()
    assert summary["shared_requests_load"] == loads["requests"].sum() == summary["ldsm_instructions"]
    assert summary["bank_conflicts_load"] == loads["bank_conflicts"].sum() == 0
    assert pd.read_parquet(directory / "source_lines.parquet")["issued"].sum() == summary["warp_instructions"]


def test_warp_states_sum_to_warp_cycles_per_issued_instruction(directory: Path):
    summary = json.loads((directory / "summary.json").read_text())
    assert sum(summary[f"stall_{name}"] for name in WARP_STATES) == pytest.approx(summary["warp_cycles_per_issued"])


def test_the_window_shows_copies_in_flight_during_ldmatrix_and_mma_of_the_main_loop(trace):
    scopes = {event["name"].split(": ")[1] for event in trace if event.get("cat") == "scope"}
    assert "main_loop" in scopes
    begins = {event["id"]: event["ts"] for event in trace if event["ph"] == "b"}
    ends = {event["id"]: event["ts"] for event in trace if event["ph"] == "e"}
    assert begins
    for unit in ("mma", "shared"):
        busy = [event for event in trace if event.get("cat") == unit]
        assert any(begins[copy] < event["ts"] < ends[copy] for copy in begins for event in busy), unit


def test_every_warp_is_in_one_state_at_a_time(trace):
    threads: dict[tuple[object, object], list[tuple[int, int]]] = {}
    for event in trace:
        if event.get("cat") in ("issue", "stall"):
            start = round(event["ts"] * 1000)
            threads.setdefault((event["pid"], event["tid"]), []).append((start, start + round(event["dur"] * 1000)))
    assert len(threads) >= 4
    for slices in threads.values():
        slices.sort()
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(slices))


def test_timeline_draws_the_window_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    stem = tmp_path / "figures" / "pipeline"
    _gpusim("timeline", "hgemm", *SIZES, "--sm", "0", "--cycles", "9000:9500", "--out", str(stem), "--json")
    answer = json.loads(capsys.readouterr().out)
    assert answer["sm"] == 0 and answer["start_cycle"] < 9500 and answer["end_cycle"] > 9000
    assert all(Path(name).exists() for name in answer["files"]) and len(answer["files"]) == 3
