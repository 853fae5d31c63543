"""Clusters: who starts with whom and where, when an arrival counts at another CTA, what a multicast load moves, and
that none of it depends on windows or workers."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from engine_programs import (
    FOREVER,
    Memory,
    Row,
    arrive,
    expect,
    issue_cycles,
    loop,
    program,
    run,
    small_gpu,
    wait,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from test_engine_laws import differences

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data
from gpusim.engine import EVENT_KINDS, WARP_STATES, RecordWindow, SimulationResult, simulate
from gpusim.errors import SimulatedFailure, UserError
from gpusim.program import Program

GPU = small_gpu(2)
REMOTE, OPENS = GPU.cluster.remote_arrive_cycles, GPU.cluster.barrier_cycles
WAIT, WAKE = GPU.mbarrier.wait_cycles, GPU.mbarrier.wake_cycles
ONE_TURN = 1
"""Cycles of an mbarrier op in the data stage."""
COPY, BARRIER = EVENT_KINDS.index("copy"), WARP_STATES.index("barrier")
LINES = 40
ACCESSES = {"to 0": Memory("MBAR", ctas=0b01), "to 1": Memory("MBAR", ctas=0b10), "to both": Memory("MBAR", ctas=0b11),
            "own": Memory("TMALDG", lines=LINES), "shared": Memory("TMALDG", lines=LINES, ctas=0b11),
            "other": Memory("TMALDG", lines=LINES, ctas=0b10)}
LATE = [Row("NOP", stall=15)] * 30
MEET = [Row("UCGABAR_ARV", stall=2), Row("UCGABAR_WAIT", stall=2)]
END = [Row("FFMA")]


def pair(first: Sequence[Row], second: Sequence[Row], mbarriers: Sequence[int] = (1,)) -> Program:
    """A cluster of two CTAs of one warp."""
    return program(list(first), ACCESSES, ctas=2, other_classes=[list(second)], cta_class=[0, 1], cluster=2,
                   mbarriers=mbarriers)


def seen(tiny: Program, sm: int, **options: object) -> SimulationResult:
    """With the events of an SM; the two have the CTAs in turn."""
    return run(tiny, options.pop("gpu", GPU), record=RecordWindow(sm, 0, FOREVER), **options)


def test_an_arrival_at_another_cta_counts_after_the_way_there() -> None:
    tiny = pair([*wait(0, 0), *END], [*LATE, arrive(0, access="to 0"), *END])
    arrived = issue_cycles(seen(tiny, 1), cta=1)[len(LATE)]
    assert issue_cycles(seen(tiny, 0))[1] == arrived + ONE_TURN + REMOTE + WAKE


def test_an_arrival_at_both_counts_at_home_at_once() -> None:
    both = pair([*wait(0, 0), *END], [*LATE, arrive(0, access="to both"), *wait(0, 0), *END])
    one, two = seen(both, 0), seen(both, 1)
    arrived = issue_cycles(two, cta=1)[len(LATE)]
    assert issue_cycles(one)[1] == arrived + ONE_TURN + REMOTE + WAKE
    assert issue_cycles(two, cta=1)[len(LATE) + 2] < arrived + REMOTE


def test_a_missing_remote_arrival_is_a_deadlock() -> None:
    with pytest.raises(SimulatedFailure, match="lacks 1 of 2 arrivals"):
        run(pair([*wait(0, 0), *END], [arrive(0, access="to 0"), *END], [2]), GPU)


def test_the_barrier_of_a_cluster_opens_for_all_some_time_after_the_last_arrival() -> None:
    tiny = pair([*MEET, *END], [*LATE, *MEET, *END])
    early, late = seen(tiny, 0), seen(tiny, 1)
    last = issue_cycles(late, cta=1)[len(LATE)]
    assert issue_cycles(early)[2] == issue_cycles(late, cta=1)[len(LATE) + 2] == last + OPENS
    assert early.state_cycles[:, BARRIER].sum() > OPENS + 15 * len(LATE)


def test_who_comes_to_wait_when_it_is_open_goes_on() -> None:
    tiny = pair([MEET[0], *LATE, MEET[1], *END], [*MEET, *END])
    cycles = issue_cycles(seen(tiny, 0))
    assert cycles[-2] == cycles[-3] + 2


def test_a_warp_that_has_left_is_not_waited_for() -> None:
    """Two warps a CTA; the second leaves, before and after the first has arrived."""
    for idle in ([], LATE):
        tiny = program([(1, [*MEET, *END]), (1, list(idle) or END)], ACCESSES, ctas=2, cluster=2)
        assert (run(tiny, GPU).cta_end > OPENS).all()


def test_a_cta_that_never_arrives_is_named() -> None:
    with pytest.raises(SimulatedFailure, match="barrier of its cluster, where another CTA is missing"):
        run(pair([*MEET, *END], [*wait(0, 0), *END]), GPU)
    tiny = program([(1, [*MEET, *END]), (1, wait(0, 0))], ACCESSES, ctas=2, cluster=2, mbarriers=[1])
    with pytest.raises(SimulatedFailure, match="barrier of its cluster, where 1 warps of this CTA are missing"):
        run(tiny, GPU)


def test_a_barrier_can_be_used_again_and_again() -> None:
    tiny = pair([*loop(MEET, 5), *END], [*loop([*LATE, *MEET], 5), *END])
    assert (run(tiny, GPU).cta_end > 5 * (OPENS + 15 * len(LATE))).all()


def multicast(access: str, receivers: Sequence[int] = (0, 1)) -> Program:
    """The first CTA loads, the receivers wait."""
    size = LINES * 128
    expecting = [[expect(0, size), *wait(0, 0)] if rank in receivers else [] for rank in range(2)]
    load = Row("UTMALDG.2D.MULTICAST", access=access)
    return pair([expecting[0][0], load, *expecting[0][1:], *END] if expecting[0] else [load, *END],
                [*expecting[1], *END])


def test_a_multicast_is_read_once_and_lands_in_every_cta() -> None:
    alone, shared = seen(multicast("own", [0]), 0), seen(multicast("shared"), 0)
    assert shared.counters["l2_sectors_read"] == alone.counters["l2_sectors_read"] > 0
    assert shared.counters["bulk_bytes_asked"] == alone.counters["bulk_bytes_asked"] == LINES * 128
    assert shared.counters["bulk_bytes_loaded"] == 2 * alone.counters["bulk_bytes_loaded"] == 2 * LINES * 128
    np.testing.assert_array_equal(shared.sm_counters["bulk_bytes_loaded"], [LINES * 128] * 2)
    assert shared.counters["sectors_to_sms"] == 2 * alone.counters["sectors_to_sms"] == 2 * LINES * 4


def test_only_reads_for_one_cta_merge_with_those_of_other_sms() -> None:
    """kernels_sm90.csv: with clusters of 2 by 2, L2 reads are exactly a half of what the tiles are."""
    gpu, counts = small_gpu(4, "noc.gpc_runs=[[0, 4]]"), {}
    for access, expected in (("own", 1), ("shared", 2)):
        load = [expect(0, LINES * 128), Row("UTMALDG.2D.MULTICAST", access=access), *wait(0, 0), *END]
        others = load if access == "own" else [load[0], *load[2:]]
        tiny = program(load, ACCESSES, ctas=4, other_classes=[others], cta_class=[0, 1] * 2, cluster=2, mbarriers=[1],
                       cta_bytes=0)
        counts[access] = run(tiny, gpu).counters["l2_sectors_read"]
        assert counts[access] == expected * LINES * 4


def test_a_multicast_comes_to_others_when_it_comes_home() -> None:
    tiny = multicast("shared")
    home, other = seen(tiny, 0), seen(tiny, 1)
    event, = home.events[home.events["kind"] == COPY]
    assert issue_cycles(home)[3] == event["end"] + GPU.tma.arrive_cycles + WAKE
    assert issue_cycles(other, cta=1)[2] == issue_cycles(home)[3]
    assert not (other.events["kind"] == COPY).any()
    assert issue_cycles(home)[3] == issue_cycles(seen(multicast("own", [0]), 0))[3]


def test_a_load_for_another_cta_only_leaves_its_own_alone() -> None:
    result = seen(multicast("other", [1]), 1)
    np.testing.assert_array_equal(result.sm_counters["bulk_bytes_loaded"], [0, LINES * 128])


def test_bytes_may_come_before_they_are_expected() -> None:
    tiny = pair([Row("UTMALDG.2D.MULTICAST", access="other"), *LATE * 2, *MEET, *END],
                [*LATE * 4, expect(0, LINES * 128), *LATE, *wait(0, 0), *MEET, *END])
    cycles = issue_cycles(seen(tiny, 1), cta=1)
    waited, went_on = cycles[len(LATE) * 5 + 1], cycles[len(LATE) * 5 + 2]
    assert went_on == waited + ONE_TURN + WAIT


def ring(ctas: int = 12, size: int = 2, rounds: int = 6) -> Program:
    """Each CTA fills its share of everybody's stage, and tells everybody when it has read its own."""
    lines, everybody = 8, (1 << size) - 1
    share = {"share": Memory("TMALDG", lines=lines, ctas=everybody), "all": Memory("MBAR", ctas=everybody)}
    classes = []
    for rank in range(size):
        turn = [*wait(0, 0), expect(1, size * lines * 128), Row("UTMALDG.2D.MULTICAST", access="share", operand=1),
                *wait(1, 0), *[Row("FFMA", stall=3 + rank)] * (5 + 7 * rank), arrive(0, access="all")]
        turns = [row for number in range(rounds) for row in _turned(turn, number)]
        classes.append([arrive(0, access="all"), *MEET, *turns, *MEET])
    return program(classes[0], share, ctas=ctas, other_classes=classes[1:], cta_bytes=4096, cluster=size,
                   cta_class=[cta % size for cta in range(ctas)], mbarriers=[size, 1], shared_bytes=150_000)


def _turned(turn: list[Row], number: int) -> list[Row]:
    """The waits of every second round are for the other parity."""
    flip = (number % 2) << 12
    return [replace(row, operand=row.operand | flip) if "PHASECHK" in row.mnemonic else row for row in turn]


@pytest.mark.parametrize("size", [2, 4])
def test_windows_and_workers_change_nothing(size: int) -> None:
    wide = small_gpu(40, f"noc.gpc_runs={[[n, 10] for n in range(4)]}")
    tiny = ring(ctas=60, size=size)
    whole = seen(tiny, 1, gpu=wide)
    assert whole.counters["bulk_bytes_loaded"] == size * whole.counters["bulk_bytes_asked"] == 60 * 6 * size * 1024
    for options in ({"window_cycles": 1}, {"window_cycles": 41}, {"workers": 2}):
        assert differences(whole, seen(tiny, 1, gpu=wide, **options)) == []


def test_a_window_is_no_longer_than_the_way_between_sms() -> None:
    shortest = min(REMOTE, OPENS)
    with pytest.raises(UserError, match=f"from 1 to {shortest}: no SM can notice another"):
        run(pair(END, END), GPU, window_cycles=shortest + 1)
    run(program(END), GPU, window_cycles=shortest + 1)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(gpcs=st.lists(st.integers(1, 7), min_size=1, max_size=4), size=st.sampled_from([2, 3, 4]),
       clusters=st.integers(1, 12), lengths=st.lists(st.integers(1, 60), min_size=4, max_size=4))
def test_a_cluster_starts_as_a_whole_on_one_gpc(gpcs: list[int], size: int, clusters: int, lengths: list[int]) -> None:
    """Whatever GPCs there are: no SM has more CTAs than fit, none waits while its GPC has room."""
    gpu = small_gpu(sum(gpcs), f"noc.gpc_runs={[[n, count] for n, count in enumerate(gpcs)]}")
    tiny = program([Row("NOP", stall=15)] * lengths[0], ctas=clusters * size, cluster=size, shared_bytes=120_000,
                   other_classes=[[Row("NOP", stall=15)] * length for length in lengths[1:]],
                   cta_class=[cta * 7 % 4 for cta in range(clusters * size)])
    gpc, room = np.repeat(np.arange(len(gpcs)), gpcs), 1
    if size > room * max(gpcs):
        with pytest.raises(UserError, match="run on one GPC at the same time"):
            run(tiny, gpu)
        return
    result = run(tiny, gpu)
    starts, places = result.cta_start.reshape(-1, size), gpc[result.cta_sm].reshape(-1, size)
    assert (starts == starts[:, :1]).all() and (places == places[:, :1]).all()
    for cycle in np.unique(result.cta_start):
        living = (result.cta_start <= cycle) & (result.cta_end > cycle)
        assert np.bincount(result.cta_sm[living]).max() <= result.blocks_per_sm == room


@pytest.mark.parametrize(("shape", "ctas", "sentence"), [
    ((3, 3, 1), 9, "a cluster has at most 8 CTAs, got 3x3x1"),
    ((2, 1, 1), 3, "a launch is made of whole clusters, got 3 CTAs in clusters of 2"),
    ((4, 1, 1), 4, "got 4 CTAs where 2 fit"),
])
def test_clusters_that_cannot_be_placed(shape: tuple[int, int, int], ctas: int, sentence: str) -> None:
    tiny = program(END, ctas=ctas, shared_bytes=120_000)
    with pytest.raises(UserError, match=sentence):
        run(replace(tiny, launch=replace(tiny.launch, cluster=shape)), GPU)


def test_ranks_that_are_not_there_and_gpus_without_clusters() -> None:
    with pytest.raises(UserError, match="that its cluster does not have, got mask 0x3 in a cluster of 1"):
        run(program([arrive(0, access="to both")], ACCESSES, mbarriers=[1]), GPU)
    with pytest.raises(UserError, match="nothing but an arrival reaches mbarriers of other CTAs"):
        run(pair([expect(0, 128, access="to 1")], END), GPU)
    with pytest.raises(UserError, match="a100 has no clusters, got 2x1x1"):
        simulate(program(END, ctas=2, cluster=2), load_gpu("a100"))


def test_the_barrier_of_a_cluster_takes_as_long_as_measured() -> None:
    """clusters.csv, clusters of two CTAs of one warp: 77 cycles per barrier, arrival and wait."""
    with find_data("gpusim/data/hardware/h200/clusters.csv").open() as table:
        measured, = (float(row["cycles"]) for row in csv.DictReader(table)
                     if (row["what"], row["cluster"], row["warps"]) == ("cluster_barrier_relaxed", "2", "1"))
    turns = 32
    cycles = issue_cycles(seen(pair([*loop(MEET, turns), *END], [*loop(MEET, turns), *END]), 0))
    assert (cycles[2 * turns] - cycles[0]) / turns == pytest.approx(measured, rel=0.05)
