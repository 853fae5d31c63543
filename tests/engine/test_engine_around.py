"""Compares what a profiler counts around the busiest SM with an H200 (around.csv), and which cycles while GPCs rest
(tail_clock.csv): theirs, as their clock is the fastest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_programs import Row, program

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data
from gpusim.engine import EVENT_KINDS, RecordWindow, SimulationResult, simulate
from gpusim.engine.clusters import cluster_order
from gpusim.engine.gpc import gpcs_of

GPU = load_gpu("h200")
MEASURED = pd.read_csv(find_data("gpusim/data/hardware/h200/around.csv")).query("flushed == 1 and spin_cycles == 5000")
NEXT_CTAS = pd.read_csv(find_data("gpusim/data/hardware/h200/next_ctas.csv"))
TAILS = pd.read_csv(find_data("gpusim/data/hardware/h200/tail_clock.csv"))
"""All 132 SMs multiply, then so many go on. Where 64 do, other GPCs rest on that chip than on the one of the spec."""
ORDER = pd.read_csv(find_data("gpusim/data/hardware/h200/cluster_order.csv"))
TOLERANCE_CYCLES, WITH_TWO_CLOCKS = 120, 250
TAIL_TOLERANCE_PCT = 4
HMMA_CYCLES = 15
SHARED_BYTES = 120_000  # one CTA on an SM
WORK = {"wait": "NOP", "multiply": "HMMA.16816.F32"}
END = Row("EXIT", stall=5)


def launch(does: str, sms: int, **shape: int) -> SimulationResult:
    return simulate(program(work(does, 100), ctas=sms, shared_bytes=SHARED_BYTES, **shape), GPU, l2="cold",
                    launch_overhead=True)


def work(does: str, times: int) -> list[Row]:
    return [*[Row(WORK[does], stall=HMMA_CYCLES)] * times, END]


@pytest.mark.parametrize(("does", "sms"), [(row.does, row.sms) for row in MEASURED.itertuples() if row.does in WORK])
def test_a_launch_costs_as_much_around_its_busiest_sm_as_on_silicon(does: str, sms: int) -> None:
    row = MEASURED.query(f"does == '{does}' and sms == {sms}").iloc[0]
    clocks = row.cycles_elapsed / row.cycles_elapsed_min
    result = launch(does, sms)
    active = int((result.cta_end - result.cta_start).max())
    around, measured = result.cycles - active * clocks, row.cycles_elapsed - row.active_max * clocks
    print(does, sms, around, measured)
    assert abs(around - measured) <= (TOLERANCE_CYCLES if clocks < 1.05 else WITH_TWO_CLOCKS)


@pytest.mark.parametrize("sms", [4, 14, 15, 132])
def test_tensor_work_is_counted_by_the_clock_of_a_gpc_that_rests(sms: int) -> None:
    """Up to 14 CTAs some GPC of the H200 has none: its cycles are a tenth shorter than those of SMs that multiply."""
    result = launch("multiply", sms)
    rests = len(np.unique(gpcs_of(GPU)[result.cta_sm])) < len(np.unique(gpcs_of(GPU)))
    assert rests == (sms <= 14)
    assert result.clock_mhz == pytest.approx(1980 if rests else 1790, rel=0.01)
    assert launch("wait", sms).clock_mhz == 1980


@pytest.mark.parametrize(("sms", "second"), [(sms, second) for sms in (132, 124, 16, 8, 4, 1)
                                             for second in (1024, 2048, 4096)])
def test_a_gpc_whose_ctas_have_ended_counts_faster_than_those_that_multiply(sms: int, second: int) -> None:
    """132 CTAs begin; where 16 or fewer go on GPCs rest, where 124 do every GPC has some of them."""
    rows = TAILS.query(f"sms == {sms} and first == 2048").set_index("second")
    measured = rows.gpc__cycles_elapsed_max - rows.sm__cycles_active_max
    ended, went_on = rows.sm__cycles_active_max[16], rows.sm__cycles_active_max[second]
    more = around(sms, ended, went_on) - around(sms, ended, ended)
    assert more == pytest.approx(measured[second] - measured[16],
                                 abs=TOLERANCE_CYCLES + TAIL_TOLERANCE_PCT / 100 * (went_on - ended))


def around(sms: int, ended: int, went_on: int) -> int:
    """What is counted besides the longest CTA's cycles when ``sms`` of 132 go on."""
    result = simulate(
        program(work("multiply", round(went_on / HMMA_CYCLES)), ctas=132, shared_bytes=SHARED_BYTES,
                other_classes=[work("multiply", round(ended / HMMA_CYCLES))],
                cta_class=[cta >= sms for cta in range(132)]), GPU, l2="cold", launch_overhead=True)
    return result.cycles - int((result.cta_end - result.cta_start).max())


def test_cycles_without_tensor_work_are_those_of_the_sms() -> None:
    """Their clock is the one of GPCs that rest."""
    result = launch("wait", 132)
    assert result.cycles == int(result.cta_end.max()) + GPU.launch.end_cycles


@pytest.mark.parametrize(("size", "ctas", "rests"), [(2, 16, True), (4, 16, True), (2, 32, False), (4, 32, False)])
def test_clusters_leave_gpcs_to_rest(size: int, ctas: int, rests: bool) -> None:
    """kernels_sm90.csv: of 16 CTAs that multiply elapsed cycles are a tenth more in clusters, of 32 they are not."""
    assert (launch("multiply", ctas, cluster=size).clock_mhz == 1980) == rests


@pytest.mark.parametrize(("size", "ctas"), [(2, 16), (2, 32), (2, 64), (4, 16), (4, 32), (4, 64)])
def test_clusters_go_round_the_gpcs_as_on_silicon(size: int, ctas: int) -> None:
    """That chip's GPCs: SMs of four come by twos, then eight by sixteens in this order. Clusters of eight begin
    elsewhere."""
    names = dict(zip((10, 11, 8, 9, 4, 5, 6, 7, 0, 1, 2, 3), (0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3), strict=True))
    measured = ORDER.query(f"cluster == {size} and ctas == {ctas} and cta % {size} == 0").gpc.map(names)
    assert cluster_order(GPU.noc.gpc_runs, size, ctas // size) == measured.tolist()


def test_a_cta_begins_as_long_after_the_one_in_its_place_as_on_silicon() -> None:
    """From the clock at the end of one to the clock at the begin of the next, two CTAs of an SM and 24 left over."""
    clock, left_over = Row("CS2R", stall=2), 24
    body = [clock, *[Row("NOP", stall=15)] * 100, clock, END]
    result = simulate(program(body, ctas=2 * GPU.sm.count + left_over, shared_bytes=98 << 10), GPU, l2="warm",
                      record=RecordWindow(0, 0, 100_000))
    issued = result.events[(result.events["kind"] == EVENT_KINDS.index("issue")) & (result.events["warp"] == 0)]
    clocks = {cta: np.sort(issued["start"][issued["cta"] == cta])[[0, -2]] for cta in np.unique(issued["cta"])}
    *first, next_one = sorted(clocks.values(), key=lambda times: int(times[0]))
    after = next_one[0] - min(times[1] for times in first)
    measured = NEXT_CTAS.query(f"left_over == {left_over} and stores == 0")
    assert measured.after_end_least.min() <= after <= measured.after_end_most.min()
