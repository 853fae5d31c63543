"""Tests of the load of units over a launch: shares of peaks, scheduler statistics, and the ratios between them."""

from __future__ import annotations

import dataclasses

import pytest

from gpusim.arch import Pipe, load_gpu
from gpusim.engine.result import SimulationResult
from gpusim.program import Program
from gpusim.report.executions import static_executions
from gpusim.report.memory_chart import memory_chart, scaled, traffic
from gpusim.report.metric import Run
from gpusim.report.metrics import run_metrics
from gpusim.report.roofline import roofline
from gpusim.report.tables import global_memory_table, shared_memory_table
from gpusim.report.units import compute_units, memory_units, pipe_busy_cycles

SPEC = load_gpu("h200")


@pytest.fixture
def run(tiny_program: Program, tiny_result: SimulationResult) -> Run:
    counters = {**tiny_result.counters, "data_stage_cycles": 500.0, "sectors_to_sms": 900.0}
    return Run(tiny_program, dataclasses.replace(tiny_result, counters=counters), SPEC)


def _values(run: Run) -> dict:
    return run_metrics(run)


def test_a_pipe_is_busy_for_the_issue_interval_of_each_of_its_instructions(run: Run):
    hmma = run.result.counters["hmma_instructions"]
    interval = SPEC.instruction_table.lookup("HMMA.16816.F32").issue_interval_cycles
    assert pipe_busy_cycles(run)[Pipe.tensor] == hmma * interval
    unit = next(unit for unit in compute_units(run) if unit.name == "tensor")
    assert unit.busy_pct == pytest.approx(100 * hmma * interval / (run.result.cycles * 132 * 4))


def test_an_instruction_that_is_predicated_off_takes_an_issue_slot_but_no_pipe(run: Run):
    role = run.program.classes[0].roles[0]
    ops = role.ops.copy()
    ops["active"][ops["pc"] == 6] = 0
    kind = dataclasses.replace(run.program.classes[0], roles=(dataclasses.replace(role, ops=ops),))
    off = Run(dataclasses.replace(run.program, classes=(kind,)), run.result, SPEC)
    assert pipe_busy_cycles(off)[Pipe.tensor] == pipe_busy_cycles(run)[Pipe.tensor] / 2
    assert static_executions(off.program).tolist() == static_executions(run.program).tolist()


def test_no_unit_stands_before_a_busier_one_and_the_first_sets_the_throughput(run: Run):
    values = _values(run)
    for units, name in ((compute_units(run), "sm_throughput"), (memory_units(run), "memory_throughput")):
        busy = [unit.busy_pct for unit in units]
        assert busy == sorted(busy, reverse=True)
        assert values[f"{name}_pct"] == busy[0] and values[f"{name}_unit"] == units[0].title


@pytest.mark.parametrize(
    ("counter", "unit", "per_cycle"),
    [
        ("data_stage_cycles", "shared", 132), ("l2_sectors_read", "l2", SPEC.l2.read_bytes_per_cycle / 32),
        ("l2_sectors_write", "l2", SPEC.l2.write_bytes_per_cycle * SPEC.l2.slices_of_a_write / 32),
        ("dram_bytes_read", "dram", SPEC.dram.read_bytes_per_cycle),
        ("sectors_to_sms", "xbar", 132 * SPEC.noc.sm_read_bytes_per_cycle / 32),
    ],
)
def test_a_memory_that_moves_its_peak_is_fully_busy(run: Run, counter: str, unit: str, per_cycle: float):
    """Peaks of L2 and DRAM are rates per second, whatever the clock of the SMs was."""
    cycles = run.result.cycles
    if unit in ("l2", "dram"):
        cycles *= SPEC.clock.sm_mhz / run.result.clock_mhz
    full = {**dict.fromkeys(run.result.counters, 0.0), counter: per_cycle * cycles}
    units = memory_units(Run(run.program, dataclasses.replace(run.result, counters=full), SPEC))
    assert {found.name: found.busy_pct for found in units}[unit] == pytest.approx(100)


def test_scheduler_statistics_are_shares_of_the_same_cycles(run: Run):
    values = _values(run)
    assert values["no_eligible_pct"] + values["one_or_more_eligible_pct"] == pytest.approx(100)
    assert values["one_or_more_eligible_pct"] == pytest.approx(values["issue_active_pct"])
    assert values["issued_warp_per_scheduler"] <= values["eligible_warps_per_scheduler"] \
        <= values["active_warps_per_scheduler"]
    occupancy = values["active_warps_per_scheduler"] / (SPEC.sm.max_warps / SPEC.sm.sub_partitions)
    assert values["achieved_occupancy_pct"] == pytest.approx(100 * occupancy)


def test_waves_are_ctas_over_the_room_of_the_gpu(run: Run):
    assert _values(run)["waves_per_sm"] == 2 / (4 * 132)


def test_the_roofline_has_the_runs_performance_and_the_peaks_of_the_metrics(run: Run):
    roof, values = roofline(run), _values(run)
    assert roof is not None and roof.tflops == pytest.approx(values["tflops"])
    assert roof.ceilings[0].tflops == pytest.approx(100 * values["tflops"] / values["mma_peak_pct"])
    assert roof.ceilings[1].tflops == pytest.approx(100 * values["tflops"] / values["tensor_peak_pct"])


def test_operations_per_byte_and_bytes_give_the_operations(run: Run):
    roof = roofline(run)
    assert roof is not None
    moved = {"dram": 8192.0, "l2": 32 * 1024.0, "shared": 128 * 500.0}
    for level in roof.levels:
        assert level.flops_per_byte * moved[level.name] == pytest.approx(run.program.flops)


def test_a_program_on_other_pipes_has_their_peak(run: Run):
    statics = tuple(dataclasses.replace(static, mnemonic=static.mnemonic.replace("HMMA.16816.F32", "FFMA"))
                    for static in run.program.statics)
    roof = roofline(Run(dataclasses.replace(run.program, statics=statics), run.result, SPEC))
    assert roof is not None
    assert [(ceiling.title, ceiling.tflops) for ceiling in roof.ceilings] == [
        ("FFMA peak", pytest.approx(64 * 4 * 132 * run.result.clock_mhz * 1e-6))]


def test_a_copy_has_no_roofline(run: Run):
    assert roofline(Run(dataclasses.replace(run.program, flops=0.0), run.result, SPEC)) is None


def test_traffic_by_kind_adds_up_to_the_tables_by_access(run: Run):
    kinds = {flow.kind: flow for flow in traffic(run)}
    shared, outer = shared_memory_table(run.program), global_memory_table(run.program)
    assert set(kinds) == {"global store", "cp.async", "shared load"}
    assert sum(flow.wavefronts for flow in kinds.values()) == shared["wavefronts"].sum()
    assert sum(flow.sectors for flow in kinds.values()) == outer["sectors"].sum()
    assert kinds["shared load"].requests == shared.set_index("label").loc["ldmatrix sA", "requests"]


def test_boxes_of_the_memory_chart_do_not_overlap_and_arrows_end_at_boxes(run: Run):
    chart = memory_chart(run)
    boxes = [(box.x, box.y, box.x + box.width, box.y + box.height) for box in chart.boxes]
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= chart.width and 0 <= top < bottom <= chart.height
        for other in boxes[number + 1:]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
    edges = {(x, box[1], box[3]) for box in boxes for x in (box[0], box[2])}
    for arrow in chart.arrows:
        for x in (arrow.x1, arrow.x2):
            assert any(edge == x and top <= arrow.y <= bottom for edge, top, bottom in edges)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0, "B", "0 B"), (999, "", "999"), (65536, "", "65.5 K"), (8388608, "B", "8.39 MB"), (2.5e9, "B", "2.5 GB")],
)
def test_large_numbers_are_scaled(value: float, unit: str, text: str):
    assert scaled(value, unit) == text
