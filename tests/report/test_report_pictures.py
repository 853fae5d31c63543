"""Tests of what stands in a report's figures: banks, occupancy curves, utilisation and stages over time."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.arch import load_gpu, occupancy
from gpusim.engine import RecordWindow, simulate
from gpusim.engine.result import EVENT, SimulationResult
from gpusim.experiments.config import load_plan
from gpusim.experiments.run import record_plan
from gpusim.program import Launch, Program
from gpusim.report.bank_map import bank_map, draw_bank_map
from gpusim.report.metric import Run
from gpusim.report.occupancy_curves import draw_occupancy, occupancy_curves
from gpusim.report.over_time_figure import draw_over_time
from gpusim.report.pictures import pictures
from gpusim.report.stages import STAGE_STATES, stage_use
from gpusim.report.style import CLASS_COLORS, STAGE_COLORS, UNIT_COLORS, svg_text
from gpusim.report.tables import shared_memory_table
from gpusim.report.timeline import copy_groups, events_of, timeline
from gpusim.report.units import compute_units, memory_units
from gpusim.report.utilisation import busy_by_bin, utilisation

SPEC = load_gpu("h200")
INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25)), max_size=12)


@given(INTERVALS, st.lists(st.integers(0, 80), min_size=2, max_size=6, unique=True).map(sorted))
def test_busy_cycles_of_a_bin_are_those_counted_one_by_one(intervals: list[tuple[int, int]], edges: list[int]):
    start = np.array([begin for begin, _ in intervals], np.int64)
    end = start + np.array([length for _, length in intervals], np.int64)
    naive = [sum(begin <= cycle < finish for begin, finish in zip(start, end, strict=True)
                 for cycle in range(low, high)) for low, high in pairwise(edges)]
    assert busy_by_bin(start, end, np.array(edges)).tolist() == naive


def test_utilisation_over_time_adds_up_to_the_recorded_work(tiny_program: Program, tiny_result: SimulationResult):
    units = utilisation(tiny_program, tiny_result, SPEC, bins=7)
    assert units is not None
    mma, issues = events_of(tiny_result, "mma"), events_of(tiny_result, "issue")
    width = np.diff(units.edges)
    for name, work in (("tensor", (mma["end"] - mma["start"]).sum()), ("issue", len(issues))):
        strip = next(strip for strip in units.strips if strip.name == name)
        assert (strip.busy_pct * width).sum() / 100 * SPEC.sm.sub_partitions == pytest.approx(work)


def test_nothing_recorded_is_no_utilisation(tiny_program: Program, tiny_result: SimulationResult):
    assert utilisation(tiny_program, dataclasses.replace(tiny_result, events=np.empty(0, EVENT)), SPEC) is None


@pytest.fixture(scope="module")
def simulated() -> tuple[Program, SimulationResult]:
    """A small pipeline of three stages, every event of it."""
    plan = load_plan("hgemm", ["M=64", "N=64", "K=256", "tile=[64,64,32]"])
    program = record_plan(plan, SPEC)
    return program, simulate(program, SPEC, record=RecordWindow(0, 0, 100_000))


def test_a_stage_is_in_one_state_at_a_time(simulated: tuple[Program, SimulationResult]):
    use = stage_use(*simulated, 0)
    assert use is not None and use.num_stages == 3
    for stage in range(use.num_stages):
        spans = sorted((span.start, span.end) for span in use.spans if span.stage == stage)
        assert len(spans) > 3 and all(end <= start for (_, end), (start, _) in pairwise(spans))
    edges = np.arange(0, simulated[1].cycles)
    assert sum(use.in_state(state, edges) for state in STAGE_STATES).max() == use.num_stages


def test_a_stage_is_filled_then_full_then_read(simulated: tuple[Program, SimulationResult]):
    use = stage_use(*simulated, 0)
    assert use is not None
    first_issue = min(span.start for span in use.spans if span.state == "filling")
    for stage in range(use.num_stages):
        own = sorted((span for span in use.spans if span.stage == stage), key=lambda span: span.start)
        states = [span.state for span in own if span.start >= first_issue]
        assert states[:3] == ["filling", "full", "being read"] and states[-1] == "being read"


def test_a_stage_fills_while_its_copies_are_in_flight(simulated: tuple[Program, SimulationResult]):
    program, result = simulated
    use = stage_use(program, result, 0)
    assert use is not None
    groups = copy_groups(program, events_of(result, "copy"))
    assert sorted((span.stage, span.start, span.end) for span in use.spans if span.state == "filling") == sorted(
        (group.stage, group.start, group.end) for group in groups)


def test_a_stage_is_read_only_by_loads_of_its_own_rows(simulated: tuple[Program, SimulationResult]):
    program, result = simulated
    use = stage_use(program, result, 0)
    assert use is not None
    ops = program.classes[0].roles[0].ops
    stage_bytes = 64 * 32 * 2
    used = events_of(result, "shared")
    is_load = np.array([static.mnemonic.startswith("LDSM") for static in program.statics])[used["pc"]]
    loads, fills = used[is_load], used[~is_load]
    assert len(loads) > 100 and len(fills) > 10
    for event in loads:
        stage = int(ops["shared_offset"][event["op"]]) // stage_bytes
        assert any(span.stage == stage and span.state == "being read" and span.start <= event["start"]
                   and event["end"] <= span.end for span in use.spans)


def test_a_kernel_without_asynchronous_copies_has_no_stages(tiny_program: Program, tiny_result: SimulationResult):
    events = tiny_result.events
    silent = dataclasses.replace(tiny_result, events=events[events["kind"] != 2])
    assert stage_use(tiny_program, silent, 0) is None


@pytest.fixture(scope="module")
def kernels() -> dict[str, Program]:
    small = ["M=64", "N=64", "K=64", "tile=[64,64,32]"]
    return {text: record_plan(load_plan("hgemm", [*small, f"swizzle={text}"]), SPEC) for text in ("none", "64B")}


@pytest.mark.parametrize("swizzle", ["none", "64B"])
def test_a_phase_takes_as_many_wavefronts_as_its_fullest_bank_has_words(kernels: dict[str, Program], swizzle: str):
    loads = [use for use in bank_map(kernels[swizzle]) if use.operation.startswith("LDSM")]
    assert loads
    for use in loads:
        assert use.words.max(axis=1).sum() == use.wavefronts
        assert (use.wavefronts == use.ideal_wavefronts) == (swizzle == "64B")
        assert use.words.sum() == 32 * 16 / 4, "every word is in some bank"


def test_a_copy_writes_every_word_once(kernels: dict[str, Program]):
    copies = [use for use in bank_map(kernels["64B"]) if use.operation == "CPA16"]
    assert copies and all(use.words.sum() == 32 * 16 / 4 for use in copies)


def test_every_access_of_the_table_has_its_banks(kernels: dict[str, Program]):
    table = shared_memory_table(kernels["none"])
    assert {(use.label, use.line) for use in bank_map(kernels["none"])} == set(
        zip(table["label"], table["line"], strict=True))


@given(st.integers(1, 32), st.integers(16, 255), st.integers(0, 200))
def test_curves_pass_through_the_launch_and_fall_with_its_needs(warps: int, registers: int, shared_kib: int):
    launch = Launch((1, 1, 1), 32 * warps, registers, 1024 * shared_kib)
    now = occupancy(SPEC, 32 * warps, registers, 1024 * shared_kib)
    curves = occupancy_curves(launch, SPEC)
    assert {curve.here_pct for curve in curves} == {now.theoretical_pct}
    for curve in curves[:2]:
        assert (np.diff(curve.occupancy_pct) <= 0).all(), "more registers or shared memory never help"


def test_figures_name_their_units(tiny_program: Program, tiny_result: SimulationResult):
    run = Run(tiny_program, tiny_result, SPEC)
    drawn = {name: svg_text(picture) for name, picture in pictures(run, "tiny")}
    assert set(drawn) == {"warp_states", "occupancy", "roofline", "banks", "timeline", "over_time"}
    assert "theoretical occupancy (%)" in drawn["occupancy"] and "(KiB)" in drawn["occupancy"]
    assert "performance (TFLOP/s)" in drawn["roofline"] and "FLOP per byte" in drawn["roofline"]
    assert "(4 bytes wide)" in drawn["banks"] and "cycle since launch" in drawn["over_time"]


def test_equal_data_give_equal_figures(tiny_program: Program, tiny_result: SimulationResult):
    def text() -> list[str]:
        cta = timeline(tiny_program, tiny_result, SPEC).cta
        units = utilisation(tiny_program, tiny_result, SPEC)
        assert units is not None
        return [svg_text(draw_over_time(units, stage_use(tiny_program, tiny_result, cta))),
                svg_text(draw_bank_map(bank_map(tiny_program))),
                svg_text(draw_occupancy(occupancy_curves(tiny_program.launch, SPEC)))]

    assert text() == text()


def test_every_unit_has_a_colour_of_its_own_and_what_feeds_it_shares_it(
    tiny_program: Program, tiny_result: SimulationResult
):
    assert len(set(UNIT_COLORS.values())) == len(UNIT_COLORS)
    run = Run(tiny_program, tiny_result, SPEC)
    assert {unit.name for unit in (*compute_units(run), *memory_units(run))} <= UNIT_COLORS.keys()
    assert CLASS_COLORS[0] == UNIT_COLORS["tensor"] and CLASS_COLORS[1] == UNIT_COLORS["shared"]
    assert CLASS_COLORS[2] == UNIT_COLORS["copies"] == STAGE_COLORS["filling"]
