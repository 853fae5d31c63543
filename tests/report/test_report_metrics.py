"""Tests of metrics and tables: state laws that tie them to the simulation they are read from."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from gpusim.arch import load_gpu
from gpusim.engine.result import WARP_STATES, SimulationResult
from gpusim.program import Program
from gpusim.report.executions import static_executions
from gpusim.report.metrics import METRICS, Run, run_metrics
from gpusim.report.peaks import main_mma, mma_flops, mma_peak_flops_per_cycle, tensor_peak_flops_per_cycle
from gpusim.report.states import STATES
from gpusim.report.tables import (
    column_title,
    cta_table,
    global_memory_table,
    instruction_table,
    shared_memory_table,
    source_table,
    warp_state_table,
)


def test_warp_states_sum_to_warp_cycles_per_issued_instruction(tiny_program: Program, tiny_result: SimulationResult):
    values = run_metrics(Run(tiny_program, tiny_result, load_gpu("h200")))
    stalls = [values[f"stall_{name}"] for name in WARP_STATES]
    assert sum(stalls) == pytest.approx(values["warp_cycles_per_issued"])
    assert values["warp_cycles_per_issued"] == pytest.approx(
        tiny_result.sm_warp_cycles.sum() / tiny_result.warp_instructions
    )
    assert values["stall_selected"] == 1.0


def test_every_metric_has_a_sentence_a_unique_name_and_a_plain_value(tiny_program, tiny_result):
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert all(metric.sentence and metric.title for metric in METRICS)
    values = run_metrics(Run(tiny_program, tiny_result, load_gpu("h200")))
    assert {type(value) for value in values.values()} <= {int, float, str, type(None)}


def test_rates_follow_from_cycles_clock_and_work(tiny_program, tiny_result):
    values = run_metrics(Run(tiny_program, tiny_result, load_gpu("h200")))
    assert values["time_us"] == pytest.approx(tiny_result.cycles / tiny_result.clock_mhz)
    assert values["tflops"] == pytest.approx(tiny_program.flops / (values["time_us"] * 1e6))
    assert values["issue_active_pct"] == pytest.approx(100 * values["ipc_active"] / 4)


def test_a_program_that_always_issues_mma_reaches_its_peak(tiny_program, tiny_result):
    spec = load_gpu("h200")
    peak = mma_peak_flops_per_cycle(tiny_program, spec)
    assert peak == 132 * 4 * 4096 / 6
    full = dataclasses.replace(tiny_program, flops=peak * tiny_result.cycles)
    assert run_metrics(Run(full, tiny_result, spec))["mma_peak_pct"] == pytest.approx(100)
    assert run_metrics(Run(full, tiny_result, spec))["tensor_peak_pct"] <= 100 + 1e-9


@pytest.mark.parametrize(
    ("mnemonic", "flops"),
    [
        ("HMMA.16816.F32", 4096), ("HMMA.1688.F32.TF32", 2048), ("HMMA.SP.16832.F32", 8192),
        ("DMMA.884", 512), ("IMMA.16832.S8.S8", 8192),
        ("HGMMA.64x256x16.F32", 131072), ("BMMA.168256.XOR.POPC", 65536), ("IMAD.WIDE", 0), ("HMMA", 0),
    ],
)
def test_flops_of_an_mma_follow_from_its_mnemonic(mnemonic: str, flops: int):
    assert mma_flops(mnemonic) == flops


def test_the_tensor_peak_is_that_of_the_widest_warpgroup_mma(tiny_program):
    gpu = load_gpu("h200")
    assert tensor_peak_flops_per_cycle(tiny_program, gpu) == 132 * 4096
    assert mma_peak_flops_per_cycle(tiny_program, gpu) == pytest.approx(132 * 4096 * 2 / 3)


def test_programs_without_mma_have_no_tensor_peak(tiny_program, tiny_result):
    plain = tuple(dataclasses.replace(static, mnemonic="FFMA") for static in tiny_program.statics)
    program = dataclasses.replace(tiny_program, statics=plain)
    assert main_mma(program) is None
    assert run_metrics(Run(program, tiny_result, load_gpu("h200")))["mma_peak_pct"] is None


def test_executions_times_ctas_equal_what_the_simulation_issued(tiny_program, tiny_result):
    assert static_executions(tiny_program).tolist() == tiny_result.issued.tolist()


def test_shared_memory_table_agrees_with_the_counters(tiny_program, tiny_result):
    table = shared_memory_table(tiny_program).set_index(["label", "line"])
    load = table.loc[("ldmatrix sA", 20)]
    assert load["wavefronts"] == tiny_result.counters["shared_wavefronts_load"]
    assert load["bank_conflicts"] == tiny_result.counters["bank_conflicts_load"]
    assert load["requests"] == tiny_result.counters["shared_requests_load"]
    assert load["ways"] == 2.0
    assert (table.loc["cp.async gA -> sA", "ways"] == 1.0).all()


def test_predicated_off_accesses_cost_nothing(tiny_program):
    role = tiny_program.classes[0].roles[0]
    ops = role.ops.copy()
    ops["active"][ops["pc"] == 3] = 0
    silent = dataclasses.replace(tiny_program.classes[0], roles=(dataclasses.replace(role, ops=ops),))
    program = dataclasses.replace(tiny_program, classes=(silent,))
    assert "ldmatrix sA" not in set(shared_memory_table(program)["label"])


def test_global_memory_table_counts_sectors_and_used_bytes(tiny_program):
    table = global_memory_table(tiny_program).set_index("line")
    assert table.loc[30, "sectors_per_request"] == 4.0
    assert (table["bytes_used_pct"] == 100.0).all()


def test_tables_conserve_instructions_and_warp_cycles(tiny_program, tiny_result):
    for table in (instruction_table(tiny_program, tiny_result), source_table(tiny_program, tiny_result)):
        assert table["issued"].sum() == tiny_result.warp_instructions
        assert table["warp_cycles"].sum() == tiny_result.state_cycles.sum()
        states = [name for name in WARP_STATES if name in table.columns]
        assert table[states].sum(axis=1).tolist() == table["warp_cycles"].tolist()


def test_warp_state_table_starts_with_the_dominant_state(tiny_program, tiny_result):
    table = warp_state_table(tiny_result)
    assert table["cycles_per_issued"].is_monotonic_decreasing
    values = run_metrics(Run(tiny_program, tiny_result, load_gpu("h200")))
    stalls = table[table["state"] != "selected"]
    assert values["dominant_stall"] == stalls.iloc[0]["title"]
    assert table["share_pct"].sum() == pytest.approx(100)


def test_cta_table_leaves_out_ctas_that_were_not_simulated(tiny_program, tiny_result):
    partly = dataclasses.replace(tiny_result, cta_start=np.array([100, -1], np.int64))
    assert cta_table(tiny_program, partly)["cta"].tolist() == [0]


def test_states_have_one_colour_each():
    assert len({state.color for state in STATES.values()}) == len(WARP_STATES)


def test_column_titles_are_nsights():
    assert [column_title(name) for name in ("bank_conflicts", "wavefronts_ideal", "bytes_used_pct", "lg_throttle")] == [
        "Bank Conflicts", "Wavefronts Ideal", "Bytes Used %", "LG Throttle",
    ]
