"""Laws of a GPC's ports and of the clock: CPCs take turns, no cycle is lost, tensor instructions slow SMs, not L2."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_programs import program, rows, run, small_gpu
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data
from gpusim.engine.gpc import MOST_CPCS, PORT_QUEUE, cpcs_of, turn_wait
from gpusim.engine.machine import at_clock, machine_of

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


def test_lower_clocks_of_sms_leave_l2_its_rates_per_second_and_round_trips_their_cycles() -> None:
    machine = machine_of(load_gpu("h200"))
    slow = at_clock(machine, 0.9)
    assert slow.slice_cycles_per_sector == pytest.approx(0.9 * machine.slice_cycles_per_sector)
    assert slow.gpc_read_bytes_per_cycle == pytest.approx(machine.gpc_read_bytes_per_cycle / 0.9)
    assert (slow.l2_latency, slow.sm_read_bytes_per_cycle) == (machine.l2_latency, machine.sm_read_bytes_per_cycle)
    assert at_clock(machine, 1.0) == machine


@pytest.mark.parametrize(("instruction", "ctas", "mhz"), [
    ("HMMA.16816.F32 stall=4", 8, 1790), ("HMMA.16816.F32 stall=4", 16, 1790), ("FFMA stall=4", 16, 1980)])
def test_sms_slow_down_when_they_multiply_on_tensor_cores(instruction: str, ctas: int, mhz: float) -> None:
    """governor.csv: 1,790 MHz on 8, 16 and all SMs; with FFMA they keep the maximum."""
    result = run(program(rows(instruction), ctas=ctas), small_gpu(16), record=None)
    assert result.clock_mhz == pytest.approx(mhz, rel=0.001)
