"""Tests of where a run's numbers come from: the list is what the engine reads, and guesses are named and counted."""

from __future__ import annotations

import dataclasses

import pytest

from gpusim.arch import load_gpu
from gpusim.engine import simulate
from gpusim.engine.result import SimulationResult
from gpusim.experiments.config import load_plan
from gpusim.experiments.run import record_plan
from gpusim.program import Program
from gpusim.report.metric import Run
from gpusim.report.provenance import Traced, provenance_of, used_numbers

SPEC = load_gpu("h200")


@pytest.mark.parametrize("ctas", [1, 40])
def test_the_numbers_named_are_those_the_engine_reads(ctas: int):
    plan = load_plan("hgemm", [f"M={64 * ctas}", "N=64", "K=64", "tile=[64,64,32]"])
    program = record_plan(plan, SPEC)
    seen: set[str] = set()
    result = simulate(program, Traced(SPEC, seen))
    named = used_numbers(program, result, SPEC)
    entries = {key for key in named if key.startswith("instructions.")}
    assert seen <= named
    where_many_work = {"launch.gpc_spread_pct"}
    assert named - entries - seen <= where_many_work


def test_the_programs_entries_of_the_instruction_table_count(tiny_program: Program, tiny_result: SimulationResult):
    named = used_numbers(tiny_program, tiny_result, SPEC)
    numbers = {int(key.split(".")[1]) for key in named if key.startswith("instructions.")}
    used = {SPEC.instruction_table.lookup(static.mnemonic).patterns for static in tiny_program.statics}
    assert {SPEC.instructions[number].patterns for number in numbers} == used


def test_sources_add_up_and_the_sentence_says_so(tiny_program: Program, tiny_result: SimulationResult):
    found = provenance_of(Run(tiny_program, tiny_result, SPEC))
    assert found.by_source["guess"] == len(found.guesses) > 0
    assert found.total == sum(found.by_source.values())
    assert found.sentence.startswith(f"{len(found.guesses)} of the {found.total} numbers used of the GPU are guesses")
    assert "l2.ways" in found.guesses and "LDGSTS latency_cycles" in found.guesses


def test_what_a_gpu_inherits_is_a_guess(tiny_program: Program, tiny_result: SimulationResult):
    child = load_gpu("h100")
    assert provenance_of(Run(tiny_program, tiny_result, child)).guessed_pct \
        > provenance_of(Run(tiny_program, tiny_result, SPEC)).guessed_pct


def test_a_number_given_by_the_user_is_no_guess(tiny_program: Program, tiny_result: SimulationResult):
    given = load_gpu("h200", ["l2.ways=8"])
    found = provenance_of(Run(tiny_program, tiny_result, given))
    assert found.by_source["setting"] == 1 and "l2.ways" not in found.guesses


def test_launch_overhead_counts_only_where_it_is_counted(tiny_program: Program, tiny_result: SimulationResult):
    without = dataclasses.replace(tiny_result, settings={**tiny_result.settings, "launch_overhead": False})
    assert used_numbers(tiny_program, tiny_result, SPEC) - used_numbers(tiny_program, without, SPEC) == {
        "launch.start_cycles", "launch.end_cycles", "fetch.first_cycles", "fetch.first_constant_cycles",
        "fetch.sm_interval_cycles", "fetch.tpc_interval_cycles"}


def test_the_share_of_instructions_with_a_guessed_cost_is_theirs_of_all_issued(
    tiny_program: Program, tiny_result: SimulationResult
):
    guessed = {name.split(".")[0] for name in ("LDGSTS", "LDGDEPBAR", "STG", "EXIT", "BAR")}
    issued = sum(int(count) for static, count in zip(tiny_program.statics, tiny_result.issued, strict=True)
                 if static.mnemonic.split(".")[0] in guessed)
    found = provenance_of(Run(tiny_program, tiny_result, SPEC))
    assert found.guessed_issue_pct == pytest.approx(100 * issued / tiny_result.warp_instructions)
