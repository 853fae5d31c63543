"""Tests of the run directory: it is whole, readable offline, and replaces only older runs."""

from __future__ import annotations

import dataclasses
import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

from gpusim.arch import load_gpu
from gpusim.engine.result import EVENT
from gpusim.errors import UserError
from gpusim.report.metric import Run
from gpusim.report.numbers import format_number
from gpusim.report.rules import advise
from gpusim.report.run_directory import RunRecord, whole_directory, write_run_directory
from gpusim.report.summary import summarise
from gpusim.report.tables import shared_memory_table


@pytest.fixture
def record(tiny_program, tiny_result) -> RunRecord:
    spec = load_gpu("h200")
    summary = summarise("tiny", tiny_program, tiny_result, spec)
    return RunRecord("program: tiny\n", summary, tiny_program, tiny_result, spec)


def test_a_run_directory_holds_everything(record, tmp_path):
    place = write_run_directory(tmp_path / "runs" / "tiny", record)
    assert {path.name for path in place.iterdir()} >= {
        "config.resolved.yaml", "summary.json", "trace.json.gz", "report.html", "meta.json", "timeline.svg",
        "timeline.png", "shared_memory.csv", "shared_memory.parquet", "source_lines.parquet",
        "instructions.csv", "warp_states.csv",
    }
    assert json.loads((place / "summary.json").read_text())["cycles"] == record.result.cycles
    meta = json.loads((place / "meta.json").read_text())
    assert meta["warp_instructions_per_second"] == record.result.warp_instructions_per_second
    assert {"python", "numpy", "gpusim"} <= meta["versions"].keys()
    assert [path.name for path in place.parent.iterdir()] == ["tiny"]


def test_parquet_and_csv_hold_the_same_table(record, tmp_path):
    place = write_run_directory(tmp_path / "tiny", record)
    expected = shared_memory_table(record.program)
    pd.testing.assert_frame_equal(pd.read_parquet(place / "shared_memory.parquet"), expected, check_dtype=False)
    pd.testing.assert_frame_equal(pd.read_csv(place / "shared_memory.csv"), expected, check_dtype=False)


def test_the_html_report_needs_nothing_from_elsewhere(record, tmp_path):
    page = (write_run_directory(tmp_path / "tiny", record) / "report.html").read_text()
    assert not re.search(r"<(?:link|script|img)[^>]+(?:src|href)=", page)
    assert not re.search(r"(?:url\(|@import|href=)\s*[\"']?(?!#)[a-z]+:", page)


def test_figures_in_the_report_are_well_formed(record, tmp_path):
    page = (write_run_directory(tmp_path / "tiny", record) / "report.html").read_text()
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == 6  # roofline, occupancy, memory chart, banks, utilisation, timeline
    for picture in pictures:
        assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_a_run_without_recorded_events_has_no_timeline(record, tmp_path):
    silent = dataclasses.replace(record, result=dataclasses.replace(record.result, events=np.empty(0, EVENT)))
    place = write_run_directory(tmp_path / "tiny", silent)
    assert not (place / "timeline.svg").exists() and (place / "report.html").exists()


def test_a_second_run_replaces_the_first(record, tmp_path):
    place = write_run_directory(tmp_path / "tiny", record)
    (place / "stale.txt").write_text("old")
    write_run_directory(place, record)
    assert not (place / "stale.txt").exists()


def test_a_directory_that_is_no_run_is_never_replaced(record, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("...")
    with pytest.raises(UserError, match="output: the output directory exists and holds something else than a run"):
        write_run_directory(tmp_path / "precious", record)
    assert (tmp_path / "precious" / "thesis.tex").exists()


def test_a_failure_leaves_nothing_behind(tmp_path):
    with pytest.raises(RuntimeError, match="disk full"), whole_directory(tmp_path / "run") as place:
        (place / "half.txt").write_text("half")
        raise RuntimeError("disk full")
    assert list(tmp_path.iterdir()) == []


def _run(program, result) -> Run:
    return Run(program, result, load_gpu("h200"))


def test_advice_repeats_nsights_sentence_about_bank_conflicts(tiny_program, tiny_result):
    conflicts = next(advice for advice in advise(_run(tiny_program, tiny_result)) if advice.level == "OPT")
    assert conflicts.place == "kernel.py:20 ldmatrix sA:"
    assert re.search(
        r"causes on average a 8\.0 - way bank conflict across all 48 shared load requests\. This results in 192 bank "
        r"conflicts, which represent 50\.00% of the overall 384 wavefronts for shared loads", conflicts.sentence
    )


def test_advice_names_the_main_stall_and_its_line(tiny_program, tiny_result):
    stall = next(advice for advice in advise(_run(tiny_program, tiny_result)) if advice.place == "kernel.py:24")
    assert stall.level == "INF" and "Long Scoreboard" in stall.sentence


def test_assumptions_are_repeated_as_warnings(tiny_program, tiny_result):
    sampled = dataclasses.replace(tiny_result, assumptions=("4 of 132 SMs were simulated",))
    assert "WRN 4 of 132 SMs were simulated" in map(str, advise(_run(tiny_program, sampled)))


def test_summary_names_the_rate_of_the_engine_and_the_limiter(record):
    assert record.summary["engine"]["warp_instructions_per_second"] == record.result.warp_instructions / 0.5
    assert record.summary["occupancy"]["limiter"] in {"registers", "shared_mem", "warps", "blocks"}
    assert json.dumps(record.summary)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.0, "1,234,567"), (0.12345, "0.123"), (12.345, "12.35"), (12345.67, "12,345.7"), (0, "0"), (True, "True")],
)
def test_numbers_are_written_for_reading(value: object, text: str):
    assert format_number(value) == text
