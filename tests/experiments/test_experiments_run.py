"""Tests of a run: what reaches the engine, the choice of the timeline window, and the run directory."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from gpusim.arch import load_gpu
from gpusim.engine.result import EVENT
from gpusim.errors import UserError
from gpusim.experiments.config import load_plan
from gpusim.experiments.run import record_plan, simulate_plan, write_run
from gpusim.experiments.window import guess_start, measured_start, shows_main_loop

SMALL = ["M=128", "N=128", "K=128"]


def test_the_configuration_reaches_the_engine(instant_engine):
    simulate_plan(load_plan("hgemm", [*SMALL, "l2=warm", "launch_overhead=false", "issue_policy=lrr"]), workers=2)
    (call,) = instant_engine
    assert (call["l2"], call["launch_overhead"], call["policy"], call["workers"]) == ("warm", False, "lrr", 2)


def test_registers_override_the_estimate():
    plan = load_plan("hgemm", [*SMALL, "registers=100"])
    assert record_plan(plan, load_gpu("h200")).launch.registers_per_thread == 100


def test_a_fixed_window_is_recorded_as_given(instant_engine):
    simulate_plan(load_plan("hgemm", [*SMALL, "timeline.start_cycle=500", "timeline.cycles=200", "timeline.sm=7"]))
    window = instant_engine[0]["record"]
    assert (window.sm, window.start_cycle, window.end_cycle) == (7, 500, 700)


def test_no_window_records_nothing(instant_engine):
    simulate_plan(load_plan("hgemm", [*SMALL, "timeline.cycles=0"]))
    assert instant_engine[0]["record"] is None


def test_an_sm_the_gpu_lacks_is_refused():
    with pytest.raises(UserError, match=r"timeline\.sm: the GPU has no such SM, got 999; SMs are 0 to 131"):
        simulate_plan(load_plan("hgemm", [*SMALL, "timeline.sm=999"]))


def test_the_guessed_window_starts_after_the_prologue_and_before_the_loop_can_be_over(tiny_program):
    spec = load_gpu("h200")
    start = guess_start(tiny_program, spec, launch_overhead=False)
    stalls = tiny_program.classes[0].roles[0].ops["stall"].astype(int)
    scopes = [tiny_program.statics[pc].scope for pc in tiny_program.classes[0].roles[0].ops["pc"]]
    loop = [row for row, scope in enumerate(scopes) if scope == "main_loop"]
    assert stalls[: loop[0]].sum() < start < stalls[: loop[-1]].sum()
    assert guess_start(tiny_program, spec, launch_overhead=True) == start + spec.launch.start_cycles


def test_a_window_that_missed_the_main_loop_is_noticed(tiny_program, tiny_result):
    assert shows_main_loop(tiny_program, tiny_result)
    missed = dataclasses.replace(tiny_result, events=np.empty(0, EVENT))
    assert not shows_main_loop(tiny_program, missed)
    start = measured_start(tiny_program, tiny_result, sm=1, cycles=100)
    assert tiny_result.cta_start[1] < start and start + 100 < tiny_result.cta_end[1]


def test_the_run_directory_is_named_after_its_configuration(instant_engine, tmp_path):
    outcome = simulate_plan(load_plan("hgemm", [*SMALL, f"output={tmp_path}", "timeline.cycles=0"]))
    first, second = write_run(outcome), write_run(outcome)
    other = write_run(simulate_plan(load_plan("hgemm", ["M=256", f"output={tmp_path}", "timeline.cycles=0"])))
    assert first == second != other and first.name.startswith("hgemm-")
    summary = json.loads((first / "summary.json").read_text())
    assert summary["problem"] == {"M": 128, "N": 128, "K": 128} and summary["cycles"] == outcome.result.cycles
