"""Laws of a GPC's ports and of the clock: CPCs take turns, no cycle is lost, tensor instructions slow SMs, not L2."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_programs import Memory, issue_cycles, program, rows, run, small_gpu
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data
from gpusim.engine.gpc import MOST_CPCS, PORT_QUEUE, cpcs_of, turn_wait
from gpusim.engine.machine import Machine, at_clock, machine_of

arrivals = st.lists(st.tuples(st.integers(0, 9), st.integers(0, MOST_CPCS - 1), st.integers(1, 7)), max_size=40)


def waits(requests: list[tuple[int, int, int]]) -> list[float]:
    """(time, CPC, cycles of work) of requests in order; when each one is done."""
    queues, now, done = np.zeros(1, PORT_QUEUE), 0, []
    for gap, cpc, work in requests:
        now += gap
        done.append(now + turn_wait(queues, 0, cpc, float(now), float(work)))
    return done


@given(arrivals)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_port_that_has_work_is_never_idle(requests: list[tuple[int, int, int]]) -> None:
    """Whatever the turns, as much work is left as first come, first served would leave, and nobody is done before."""
    queues, now, free = np.zeros(1, PORT_QUEUE), 0, 0
    for gap, cpc, work in requests:
        now += gap
        free = max(free, now) + work
        waited = turn_wait(queues, 0, cpc, float(now), float(work))
        assert queues[0]["work"].sum() == pytest.approx(free - now)
        assert work <= waited <= free - now + 1e-9


@given(arrivals)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_one_cpc_alone_is_served_as_it_comes(requests: list[tuple[int, int, int]]) -> None:
    free, now, expected = 0, 0, []
    for gap, _, work in requests:
        now += gap
        free = max(free, now) + work
        expected.append(free)
    assert waits([(gap, 1, work) for gap, _, work in requests]) == pytest.approx(expected)


def test_a_cpc_with_little_work_does_not_wait_for_all_that_others_have() -> None:
    """Ten requests of one CPC, then one of another: its turn comes second."""
    assert waits([(0, 0, 1)] * 10 + [(0, 1, 1)])[-1] == 2


def test_cpcs_of_a_gpc_have_two_or_three_tpcs() -> None:
    """cpc.csv: 24 of 132 SMs get more than the others when all read, those of six CPCs of two TPCs."""
    spec = load_gpu("h200")
    gpc = np.repeat(*np.array(spec.noc.gpc_runs).T)
    sizes = np.bincount(gpc * MOST_CPCS + cpcs_of(gpc, spec.noc.cpcs_per_gpc))
    assert sorted(sizes[sizes > 0]) == [4] * 6 + [6] * 18
    table = pd.read_csv(find_data("gpusim/data/hardware/h200/cpc.csv")).query("sms == 132 and row_bytes == 64")
    assert (table.bytes_per_cycle > 1.2 * table.bytes_per_cycle.median()).sum() == 24


def test_lower_clocks_of_sms_leave_l2_and_dram_their_rates_and_times() -> None:
    machine = machine_of(load_gpu("h200"))
    slow = at_clock(machine, 0.9)
    assert slow.slice_cycles_per_sector == pytest.approx(0.9 * machine.slice_cycles_per_sector)
    assert slow.gpc_read_bytes_per_cycle == pytest.approx(machine.gpc_read_bytes_per_cycle / 0.9)
    assert slow.sm_read_bytes_per_cycle == machine.sm_read_bytes_per_cycle
    assert slow.dram_latency - slow.l2_latency == pytest.approx(0.9 * (machine.dram_latency - machine.l2_latency))
    assert slow.refresh_interval == pytest.approx(0.9 * machine.refresh_interval, abs=1)
    assert at_clock(machine, 1.0) == machine


CLOCKS = pd.read_csv(find_data("gpusim/data/hardware/h200/clock_beside.csv")).groupby(["where", "sm_mhz"]).cycles.mean()


@pytest.mark.parametrize("mhz", [1560, 1798])
def test_of_a_round_trip_the_sm_has_cycles_and_what_lies_behind_it_has_time(mhz: int) -> None:
    """clock_beside.csv: loads from L2 and DRAM are back as many cycles sooner at lower clocks, from L1 they are not."""
    machine, fastest = machine_of(load_gpu("h200")), 1884
    ours = at_clock(machine, mhz / 1980), at_clock(machine, fastest / 1980)
    l2, dram = (ours[1].l2_latency - ours[0].l2_latency, ours[1].dram_latency - ours[0].dram_latency)
    assert l2 == pytest.approx(CLOCKS["L2", fastest] - CLOCKS["L2", mhz], abs=1.5)
    assert dram + far_and_refresh(ours[1]) - far_and_refresh(ours[0]) == pytest.approx(
        CLOCKS["DRAM"].loc[fastest - 1:].mean() - CLOCKS["DRAM"].loc[mhz - 1:mhz + 1].mean(), abs=6)
    assert CLOCKS["L1"].max() - CLOCKS["L1"].min() < 0.1


def far_and_refresh(machine: Machine) -> float:
    """What a load from DRAM takes longer on average: half of all lines lie on the other side, one in seven waits."""
    return machine.fabric_latency / 2 + machine.refresh_cycles**2 / (2 * machine.refresh_interval)


def test_a_load_is_back_sooner_in_a_program_with_tensor_instructions() -> None:
    """1,790 instead of 1,980 MHz: 14 cycles of 280, and up to three by the places of the SM and the slice."""
    gpu = load_gpu("h200")

    def load_cycles(first: str) -> int:
        body = rows(f"{first}\nNOP stall=15\nLDG access=a write=0\nFADD wait=0")
        issued = issue_cycles(run(program([(1, body)], {"a": Memory("LDG32", lines=1)}), gpu))
        return issued[3] - issued[2]

    sooner = load_cycles("FFMA stall=15") - load_cycles("HMMA.16816.F32 stall=15")
    lost = 1 - gpu.clock.tensor_pct / 100
    assert sooner == pytest.approx(gpu.l2.own_clock_cycles * lost, abs=1 + gpu.l2.hit_latency_spread_cycles * lost)


@pytest.mark.parametrize(("instruction", "ctas", "mhz"), [
    ("HMMA.16816.F32 stall=4", 8, 1790), ("HMMA.16816.F32 stall=4", 16, 1790), ("FFMA stall=4", 16, 1980)])
def test_sms_slow_down_when_they_multiply_on_tensor_cores(instruction: str, ctas: int, mhz: float) -> None:
    """governor.csv: 1,790 MHz on 8, 16 and all SMs; with FFMA they keep the maximum."""
    result = run(program(rows(instruction), ctas=ctas), small_gpu(16), record=None)
    assert result.clock_mhz == pytest.approx(mhz, rel=0.001)
