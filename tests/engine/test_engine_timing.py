"""Tight timing: not ready a cycle earlier, ready then. What is expected follows from the GPU's specification."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

import numpy as np
import pytest
from engine_programs import Memory, Row, depbar, issue_cycles, program, row, rows, run, small_gpu

from gpusim.arch import InstructionEntry
from gpusim.engine import EVENT_KINDS
from gpusim.errors import UserError

GPU = small_gpu(1, "l2.hit_latency_spread_cycles=0")
PARTS = GPU.sm.sub_partitions
MATRICES = 4


def cost(mnemonic: str) -> InstructionEntry:
    return GPU.instruction_table.lookup(mnemonic)


def gap(first: Row, second: Row, accesses: dict[str, Memory] | None = None, warps: int = 1) -> int:
    """Cycles between the issues of two instructions of warp 0."""
    cycles = issue_cycles(run(program([(warps, [first, second])], accesses), GPU))
    return cycles[1] - cycles[0]


def shared_latency(waves: int) -> int:
    first = GPU.instruction_table.lookup("LDS").latency_cycles
    return first + GPU.shared.latency_cycles_per_wavefront * (waves - 1)


# Fixed latency and issue.

@pytest.mark.parametrize("stall", range(1, 16))
def test_a_stall_count_is_kept_to_the_cycle(stall: int) -> None:
    assert gap(Row("FFMA", stall=stall), Row("FFMA")) == stall


@pytest.mark.parametrize("mnemonic", ["HMMA.16816.F32", "HMMA.1688.F32", "IMAD", "FFMA", "MUFU"])
def test_two_warps_share_a_pipe_at_its_issue_interval(mnemonic: str) -> None:
    body = [Row(mnemonic)] * 8
    result = run(program([(PARTS + 1, body)]), GPU, policy="lrr")
    taken = sorted(issue_cycles(result, 0)[:-1] + issue_cycles(result, PARTS)[:-1])
    assert {later - earlier for earlier, later in pairwise(taken)} == {cost(mnemonic).issue_interval_cycles}


def test_a_sub_partition_issues_one_instruction_a_cycle() -> None:
    result = run(program([(3 * PARTS, [Row("NOP")] * 9)]), GPU)
    taken = sorted(cycle for warp in (0, PARTS, 2 * PARTS) for cycle in issue_cycles(result, warp))
    assert taken == list(range(3 * 10))


@pytest.mark.parametrize("mnemonic", ["MUFU", "S2R"])
def test_a_variable_latency_result_releases_its_barrier(mnemonic: str) -> None:
    assert gap(Row(mnemonic, write=2), Row("NOP", wait=(2,))) == cost(mnemonic).latency_cycles


def test_what_is_predicated_off_takes_an_issue_slot_but_no_pipe_and_no_barrier() -> None:
    tiny = program(rows("LDS access=a write=0 off\nHMMA.16816.F32 off\nHMMA.16816.F32 wait=0"), {"a": Memory("LDS32")})
    assert issue_cycles(run(tiny, GPU))[:3] == [0, 1, 2]


@pytest.mark.parametrize(("stall", "yields", "cycles"), [(1, False, 1), (1, True, 2), (2, True, 2), (5, True, 5)])
def test_a_yield_that_counts_one_takes_two(stall: int, yields: bool, cycles: int) -> None:
    assert gap(Row("NOP", stall=stall, yields=yields), Row("NOP")) == cycles


@pytest.mark.parametrize(("jumps", "cycles"), [(True, GPU.issue.taken_branch_cycles), (False, 5)])
def test_a_taken_branch_waits_for_its_target(jumps: bool, cycles: int) -> None:
    assert gap(Row("BRA", stall=5, jumps=jumps), Row("NOP")) == cycles


# Shared memory.

@pytest.mark.parametrize("ways", [1, 2, 4, 8, 16, 32])
def test_a_dependent_load_waits_for_every_wavefront(ways: int) -> None:
    load = Row("LDS", access="a", write=0, stall=2)
    assert gap(load, Row("LDS", access="a", wait=(0,)), {"a": Memory("LDS32", (ways,))}) == shared_latency(ways)


@pytest.mark.parametrize("ways", [1, 2, 4, 8])
def test_a_conflict_delays_every_matrix_of_ldmatrix(ways: int) -> None:
    load, access = Row("LDSM.16.M88.4", access="a", write=0, stall=2), {"a": Memory("LDSM4", (ways,))}
    assert gap(load, Row("HMMA.16816.F32", wait=(0,)), access) == shared_latency(MATRICES * ways)


@pytest.mark.parametrize("warps", [1, 2, 3, 4])
def test_two_accesses_pass_the_data_stage_side_by_side(warps: int) -> None:
    """One wavefront of either every other cycle; the third comes when the first is through (data_paths.csv: loads of 32
    wavefronts by one warp and by two take as long, by four twice as long)."""
    waves = 32
    tiny = program([(warps, rows("LDS access=a write=0 stall=2\nNOP wait=0"))], {"a": Memory("LDS32", (waves,))})
    result = run(tiny, GPU)
    last = max(issue_cycles(result, warp)[1] for warp in range(warps))
    paths = GPU.shared.latency_cycles_per_wavefront * GPU.shared.wavefronts_per_cycle
    rounds, addresses_before = ceil(warps / paths), (warps - 1) % paths
    assert last == rounds * GPU.shared.latency_cycles_per_wavefront * waves + addresses_before + shared_latency(0)


def test_loads_of_a_warp_that_wait_for_each_other_keep_no_other_warp_waiting() -> None:
    """between_loads.csv: beside one warp that loads, another one's load waits for nearly none of its loads."""
    accesses = {"a": Memory("LDS32", (32,)), "b": Memory("LDS32")}
    other = rows("NOP stall=15\nNOP stall=15\nLDS access=b write=0 stall=2\nNOP wait=0")
    busy = [Row("LDS", access="a", write=1)] * 4
    cycles = issue_cycles(run(program([(1, busy), (1, other)], accesses), GPU), 1)
    assert cycles[3] - cycles[2] == shared_latency(1)


def test_the_data_stage_never_idles_while_work_waits() -> None:
    accesses = {"s": Memory("STS128"), "a": Memory("LDS32")}
    load = rows("NOP stall=12\nLDS access=a write=0 stall=2\nNOP wait=0")
    cycles = issue_cycles(run(program([(1, [Row("STS", access="s")] * 9), (1, load)], accesses), GPU), warp=1)
    one_store = 4
    assert cycles[2] - cycles[1] <= shared_latency(1) + one_store


def test_a_full_queue_lets_one_more_in_when_the_unit_takes_one_out() -> None:
    """In flight at most: what the load/store unit works on, and what waits for it there and in the sub-partition's
    queue. One warp gets a wavefront every other cycle."""
    waves, mio = 8 * MATRICES, GPU.mio
    in_flight = 1 + mio.waiting_accesses + mio.buffer_entries + mio.queue_depth
    cycles = issue_cycles(run(program([Row("LDSM", access="a")] * 60, {"a": Memory("LDSM4", (8,))}), GPU))
    known = mio.waiting_return_cycles + mio.buffer_return_cycles + 1
    passed = GPU.shared.latency_cycles_per_wavefront * waves * np.arange(1, 61) + known
    settled = slice(2, 60 - in_flight)
    np.testing.assert_array_equal(cycles[in_flight:60][settled], passed[: 60 - in_flight][settled])


@pytest.mark.parametrize("cycles", [0, 3, 10])
def test_a_place_in_the_queue_is_free_so_long_after_its_instruction_was_taken(cycles: int) -> None:
    """Behind the cycle after: the sixth of five places issues then, not a cycle earlier."""
    places, count = 5, 12
    gpu = small_gpu(1, f"mio.queue_depth={places}", f"mio.queue_return_cycles={cycles}")
    issued = issue_cycles(run(program([(1, [Row("LDS", access="a")] * count)], {"a": Memory("LDS32")}), gpu))[:count]
    taken = gpu.mio.address_interval_cycles * np.arange(count) + issued[0]
    expected = list(issued[:places])
    for n in range(places, count):
        expected.append(max(expected[-1] + 1, taken[n - places] + 1 + cycles))
        taken[n:] = np.maximum(taken[n:], expected[-1] + gpu.mio.address_interval_cycles * np.arange(count - n))
    assert issued == expected


REGISTERS = {"LDS32": ("LDS", 1), "LDSM4": ("LDSM", 1), "STS32": ("STS", 2), "STS64": ("STS", 3), "STS128": ("STS", 5),
             "STSM1": ("STSM", 2), "STSM2": ("STSM", 3), "STSM4": ("STSM", 5),
             "LDG32": ("LDG", 2), "LDG128": ("LDG", 2), "STG32": ("STG", 3), "STG128": ("STG", 6),
             "CPA16": ("LDGSTS", 3)}
"""What an instruction sends to the load/store unit: 32-bit registers of address and data."""


@pytest.mark.parametrize("operation", REGISTERS)
def test_registers_may_be_overwritten_once_they_were_read(operation: str) -> None:
    mnemonic, registers = REGISTERS[operation]
    lines = 4 if operation.startswith(("LDG", "STG", "CPA")) else 0
    cycles = ceil(registers * 32 * 4 / GPU.mio.operand_bytes_per_cycle)
    write_after_read = gap(Row(mnemonic, access="a", read=1, stall=2), Row("NOP", wait=(1,)),
                           {"a": Memory(operation, lines=lines)})
    assert write_after_read == GPU.mio.read_release_base_cycles + cycles


# Constants.

@pytest.mark.parametrize("warps", [1, 2, 4])
def test_sub_partitions_share_the_way_of_constants(warps: int) -> None:
    result = run(program([(warps, rows("LDC write=0 stall=2\nNOP wait=0"))]), GPU)
    waits = [np.diff(issue_cycles(result, warp))[0] for warp in range(warps)]
    behind = GPU.issue.constant_load_cycles * np.arange(warps)
    assert sorted(waits) == (cost("LDC").latency_cycles + behind).tolist()


# Barriers.

@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16, 32])
def test_a_cta_barrier_costs_a_base_and_every_warp(warps: int) -> None:
    result = run(program([(warps, rows("BAR.SYNC\nNOP"))]), GPU, policy="lrr")
    per_part = -(-warps // PARTS)
    ready = GPU.barrier.base_cycles + GPU.barrier.cycles_per_warp * warps
    after = sorted(issue_cycles(result, warp)[1] for warp in range(warps))
    assert after == sorted(ready + turn for turn in range(per_part) for _ in range(min(PARTS, warps - PARTS * turn)))


def test_a_barrier_opens_for_the_last_warp_to_arrive() -> None:
    early, late = rows("BAR.SYNC\nNOP"), rows("NOP stall=15\nNOP stall=15\nNOP stall=15\nBAR.SYNC\nNOP")
    result = run(program([(1, early), (1, late)]), GPU)
    arrival = issue_cycles(result, 1)[3]
    assert arrival == 45
    open_at = arrival + GPU.barrier.cycles_per_warp + GPU.barrier.base_cycles
    assert issue_cycles(result, 0)[1] == issue_cycles(result, 1)[4] == open_at


def test_barriers_of_different_numbers_are_different() -> None:
    waits, passes = rows("BAR.SYNC operand=1\nBAR.SYNC operand=2"), rows("BAR.SYNC operand=1\nBAR.SYNC operand=2")
    result = run(program([(1, waits), (1, passes)]), GPU)
    assert issue_cycles(result, 0)[1] == GPU.barrier.base_cycles + 2 * GPU.barrier.cycles_per_warp


def test_a_warp_that_has_left_is_not_waited_for() -> None:
    leaves = [Row("NOP", stall=15)] * 4
    result = run(program([(1, leaves), (1, rows("BAR.SYNC\nNOP"))]), GPU)
    assert issue_cycles(result, 1)[1] > issue_cycles(result, 0)[-1]


# Global memory and asynchronous copies.

@pytest.mark.parametrize("latency", [250, 280, 400])
def test_a_load_that_hits_l2_takes_the_round_trip(latency: int) -> None:
    """As a pointer chase measures it, addresses and data in the SM included; on top what four sectors take."""
    gpu = small_gpu(1, "l2.hit_latency_spread_cycles=0", f"l2.hit_latency_cycles={latency}")
    tiny = program(rows("LDG access=a write=0 stall=2\nNOP wait=0"), {"a": Memory("LDG32", lines=1)})
    cycles = issue_cycles(run(tiny, gpu))
    slice_cycles = gpu.l2.line_bytes * gpu.l2.slices / gpu.l2.read_bytes_per_cycle
    port_cycles = gpu.l2.line_bytes / gpu.noc.sm_read_bytes_per_cycle
    assert cycles[1] == ceil(latency + slice_cycles + port_cycles)


@pytest.mark.parametrize("allowed", [0, 1, 2, 3])
def test_depbar_waits_for_all_but_the_newest_groups(allowed: int) -> None:
    groups = 3
    accesses = {f"g{i}": Memory("CPA16", lines=4, first_line=40 * i) for i in range(groups)}
    body: list[Row] = []
    for group in accesses:
        body += [Row("LDGSTS", access=group, stall=15), Row("LDGDEPBAR", write=0)]
    result = run(program([*body, Row("NOP", stall=15), depbar(0, allowed), depbar(0, 0)], accesses), GPU)
    copies = result.events[result.events["kind"] == EVENT_KINDS.index("copy")]
    needed = sorted(copies["end"])[: groups - allowed]
    assert len(copies) == groups
    before, at_depbar = issue_cycles(result)[-4:-2]
    assert at_depbar == (max(needed) if needed else before + 15)


def test_groups_complete_in_order() -> None:
    """A group whose copies come at once waits for an older one that takes long."""
    accesses = {"many": Memory("CPA16", lines=32), "few": Memory("CPA16", lines=4, first_line=64)}
    body = rows("LDGSTS access=many\nLDGDEPBAR write=0\nLDGDEPBAR write=0")
    result = run(program([*body, depbar(0, 0)], accesses), GPU)
    copies = result.events[result.events["kind"] == EVENT_KINDS.index("copy")]
    assert issue_cycles(result)[3] == copies["end"].max()


def test_an_empty_group_is_there_at_once() -> None:
    tiny = program([Row("LDGDEPBAR", write=0), depbar(0, 0)])
    assert issue_cycles(run(tiny, GPU))[1] == cost("LDGDEPBAR").latency_cycles


def test_a_barrier_that_counted_groups_may_guard_a_load_later() -> None:
    accesses = {"c": Memory("CPA16", lines=4), "a": Memory("LDS32")}
    body = [row("LDGSTS access=c"), row("LDGDEPBAR write=0"), depbar(0, 0)]
    cycles = issue_cycles(run(program([*body, *rows("LDS access=a write=0 stall=2\nNOP wait=0")], accesses), GPU))
    assert cycles[4] - cycles[3] == shared_latency(1)


@pytest.mark.parametrize("mnemonic", ["RED.E.ADD", "LDG"])
def test_a_load_that_nobody_waits_for_disturbs_no_barrier(mnemonic: str) -> None:
    accesses = {"g": Memory("LDG32", lines=1), "a": Memory("LDS32")}
    body = [row(f"{mnemonic} access=g"), *[row("NOP stall=15")] * 30, *rows("LDS access=a write=1 stall=2\nNOP wait=1")]
    cycles = issue_cycles(run(program(body, accesses), GPU))
    assert cycles[-2] - cycles[-3] == shared_latency(1)


def test_answers_to_a_warp_that_has_left_are_dropped() -> None:
    accesses = {"many": Memory("LDG32", lines=32), "one": Memory("LDG32", lines=1)}
    leaves, waits = [row("LDG access=many write=0")] * 14, rows("LDG access=one write=0 stall=2\nNOP wait=0")
    tiny = program([(PARTS, leaves)], accesses, ctas=17, other_classes=[waits], cta_class=[0] * 16 + [1])
    cycles = issue_cycles(run(tiny, GPU), cta=16)
    assert cycles[1] - cycles[0] > GPU.l2.lookahead_cycles


@pytest.mark.parametrize("window", [1, GPU.l2.lookahead_cycles])
def test_windows_up_to_the_lookahead_are_fine(window: int) -> None:
    assert run(program([Row("NOP")]), GPU, window_cycles=window).cta_end.tolist() == [2]


@pytest.mark.parametrize("window", [0, GPU.l2.lookahead_cycles + 1])
def test_longer_windows_are_refused(window: int) -> None:
    rule = f"window_cycles must be from 1 to {GPU.l2.lookahead_cycles}: no SM can notice another"
    with pytest.raises(UserError, match=rule):
        run(program([Row("NOP")]), GPU, window_cycles=window)


def test_a_dmma_has_read_its_registers_before_its_result_is_there() -> None:
    dmma = small_gpu().instruction_table.lookup("DMMA.16x8x4")
    start, after, *_ = issue_cycles(run(program(rows("DMMA.16x8x4 read=0 stall=2\nFFMA wait=0"))))
    assert after == start + dmma.release_cycles < start + dmma.latency_cycles
