"""Tests of gpusim timeline with the real engine: iterations, CTAs and warps are found, two runs stand in one trace."""

from __future__ import annotations

import gzip
import json
import re

import pytest

from gpusim.arch import load_gpu
from gpusim.cli.timeline_view import print_timeline
from gpusim.report.timeline import timeline as timeline_of

SIZES = ["--set", "M=256", "--set", "N=256", "--set", "K=512"]


@pytest.fixture
def timeline(gpusim, tmp_path):
    """Runs the command; (what it printed, the trace events it wrote)."""

    def run(*arguments: str):
        status, out, err = gpusim("timeline", "hgemm", *SIZES, "--out", str(tmp_path / "t"), *arguments)
        assert status == 0, err
        return out, json.loads(gzip.decompress((tmp_path / "t.trace.json.gz").read_bytes()))["traceEvents"]

    return run


def test_iterations_of_a_cta_are_found_and_cut_out(timeline):
    out, events = timeline("--iteration", "5:7", "--cta", "2", "--warps", "0,2-3", "--json")
    window = json.loads(out)
    assert (window["cta"], window["sm"], window["warps"]) == (2, 2, [0, 2, 3])
    names = {event["name"] for event in events if event.get("cat") == "iteration"}
    assert {"iteration 5", "iteration 6", "iteration 7"} <= names
    starts = [round(event["ts"] * 1000) for event in events if event.get("cat") == "issue"]
    assert window["start_cycle"] == min(starts) and max(starts) < window["end_cycle"]


def test_every_copy_of_the_window_leads_to_a_wait_of_its_warp(timeline):
    _, events = timeline("--iteration", "6:9")
    issues = {(event["tid"], event["ts"]): event["name"] for event in events if event.get("cat") == "issue"}
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert starts and starts.keys() == ends.keys()
    for number, start in starts.items():
        assert issues[start["tid"], start["ts"]].startswith("LDGSTS")
        assert issues[ends[number]["tid"], ends[number]["ts"]].startswith("DEPBAR")
        assert start["tid"] == ends[number]["tid"] and start["ts"] < ends[number]["ts"]


def test_the_terminal_shows_both_runs_without_colours_in_a_pipe(timeline, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    out, events = timeline("--iteration", "4", "--against", "swizzle=none")
    assert "\x1b" not in out
    titles = re.findall(r"hgemm M=256.* on h200, CTA 0 on SM 0, iteration 4, cycles [\d,]+ to [\d,]+", out)
    assert len(titles) == 2 and "swizzle=none" in titles[1]
    rows = [line for line in out.splitlines() if line.startswith("warp 0 (sub-partition 0)")]
    assert len(rows) == 2 and all("M" in row[25:] for row in rows)
    processes = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert len(processes) == 2 and all(name.endswith(": SM 0") for name in processes)


def test_iterations_of_a_producer_and_a_consumer_are_told_apart(gpusim, tmp_path):
    """The producer begins iteration 8 while the consumer is in an earlier one, and ends iteration 9 before it."""
    pair, single = "iterations 8 (producer) to 9 (consumer)", "iteration 8 from producer to consumer"
    for which, words in (("8:9", pair), ("8", single)):
        status, out, err = gpusim("timeline", "hgemm_warp_specialized", "--set=M=256", "--set=N=256", "--set=K=1024",
                                  "--iteration", which, "--out", str(tmp_path / "t"))
        assert status == 0, err
        assert f"on SM 0, {words}, cycles " in out


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_has_colours_unless_it_is_told_not_to(tiny_program, tiny_result, monkeypatch, capsys, no_color):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    print_timeline(timeline_of(tiny_program, tiny_result, load_gpu("h200")), "tiny")
    assert ("\x1b[38;2;" in capsys.readouterr().out) == (not no_color)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--iteration", "16"], "timeline: the main loop has no such iteration, got 16; iterations are 0 to 15"),
        (["--cta", "4"], "timeline: that CTA was not simulated, got 4; CTAs are 0 to 3"),
        (["--cta", "1", "--sm", "0"], "timeline: CTA 1 runs on SM 1, got SM 0; leave out the SM"),
        (["--iteration", "1", "--cycles", "1:2"], "a timeline shows cycles or iterations, not both"),
        (["--iteration", "9:3"], "'9:3' is not FIRST:LAST, such as 10:12"),
        (["--warps", "a"], "'a' is not a list of warps, such as 0,2-3"),
        (["--iteration", "4", "--sm", "9"], "timeline: no CTA ran on that SM, got 9"),
    ],
)
def test_what_is_not_there_is_one_sentence(gpusim, tmp_path, arguments, sentence):
    status, out, err = gpusim("timeline", "hgemm", *SIZES, "--out", str(tmp_path / "t"), *arguments)
    assert status == 2 and out == "" and sentence in err
    assert not list(tmp_path.iterdir())
