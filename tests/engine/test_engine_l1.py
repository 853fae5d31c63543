"""Stories and laws of the L1 data cache: what hits, what waits for others, what asks L2, and how much fits."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from engine_programs import Memory, issue_cycles, program, rows, run, small_gpu
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.engine import SimulationResult
from gpusim.engine.l1 import SETS, look_up, new_l1
from gpusim.memory.sectors import LINE
from gpusim.program.sequence import join_programs

GPU = small_gpu(1, "l2.hit_latency_spread_cycles=0")
LINES = 4
LOAD = Memory("LDG128", lines=LINES)


def load_twice(second: str, memory: Memory = LOAD) -> SimulationResult:
    body = rows(f"LDG access=a write=0\nNOP wait=0\n{second} access=a write=1 stall=2\nNOP wait=1")
    return run(program(body, {"a": memory}), GPU)


def test_a_second_load_hits_and_takes_the_hit_latency() -> None:
    """Four wavefronts of one warp: one every other cycle, the hit latency counts the first."""
    result = load_twice("LDG")
    cycles = issue_cycles(result)
    more = (LINES - 1) * GPU.shared.latency_cycles_per_wavefront
    assert cycles[3] - cycles[2] == GPU.l1.hit_latency_cycles + more
    assert result.counters["l2_sectors_read"] == result.counters["l1_sector_hits"] == 4 * LINES
    assert result.counters["l1_hit_pct"] == 50


@pytest.mark.parametrize("second", ["LDG.E.128.STRONG.GPU", "LDG.E.128.STRONG.SYS"])
def test_what_others_may_have_written_is_never_taken_from_l1(second: str) -> None:
    result = load_twice(second)
    assert result.counters["l2_sectors_read"] == 8 * LINES and result.counters["l1_sector_hits"] == 0
    cycles = issue_cycles(result)
    assert cycles[3] - cycles[2] > GPU.l2.hit_latency_cycles


@pytest.mark.parametrize(("mnemonic", "operation", "asked"), [
    ("LDGSTS.E.128", "CPA16CA", 4 * LINES), ("LDGSTS.E.BYPASS.128", "CPA16", 8 * LINES)])
def test_copies_that_allocate_hit_and_those_that_bypass_do_not(mnemonic: str, operation: str, asked: int) -> None:
    body = rows(f"{mnemonic} access=a\nLDGDEPBAR write=0\nDEPBAR.LE\nNOP wait=0") * 2
    assert run(program(body, {"a": Memory(operation, lines=LINES)}), GPU).counters["l2_sectors_read"] == asked


def test_warps_of_two_ctas_that_ask_for_the_same_lines_ask_l2_once() -> None:
    tiny = program(rows("LDG access=a write=0 stall=2\nNOP wait=0"), {"a": LOAD}, ctas=2)
    result = run(tiny, GPU)
    assert result.counters["l2_sectors_read"] == 4 * LINES
    first, second = (issue_cycles(result, 0, cta)[1] for cta in range(2))
    assert abs(second - first) <= GPU.shared.latency_cycles_per_wavefront * LINES


def test_loads_behind_a_load_that_is_under_way_wait_for_it() -> None:
    body = rows("LDG access=a write=0\nLDG access=a write=1\nLDG access=a write=2 stall=2\nNOP wait=0,1,2")
    result, single = run(program(body, {"a": LOAD}), GPU), load_twice("LDG")
    assert result.counters["l2_sectors_read"] == 4 * LINES and result.counters["l1_sector_hits"] == 0
    assert issue_cycles(result)[3] < issue_cycles(single)[1] + 4 * LINES, "only the data stage is used three times"


def test_each_launch_starts_with_an_empty_l1() -> None:
    """Two launches of a sequence: the second one's first loads miss as the first one's did."""
    once = program(rows("LDG access=a write=0\nNOP wait=0"), {"a": LOAD})
    counters = run(join_programs([once, once]), GPU).counters
    assert counters["l1_sectors"] == 2 * 4 * LINES and counters["l1_sector_hits"] == 0


@pytest.mark.parametrize(("shared_kib", "hits"), [(120, True), (227, False)])
def test_shared_memory_takes_its_part_of_the_capacity(shared_kib: int, hits: bool) -> None:
    """64 KiB, read twice in the same order: all of it stays in 124 KiB, nothing in 28 KiB."""
    accesses = {f"a{i}": Memory("LDG128", lines=32, first_line=32 * i) for i in range(16)}
    body = [row for _ in range(2) for i in range(16) for row in rows(f"LDG access=a{i} write=0 stall=2\nNOP wait=0")]
    counters = run(program(body, accesses, shared_bytes=shared_kib << 10), GPU).counters
    assert (counters["l1_sector_hits"] > 0) == hits
    assert counters["l1_sector_hits"] in (0, counters["l1_sectors"] / 2)


def _one_access(lines: list[tuple[int, int]]) -> np.ndarray:
    access = np.zeros(1, [("first", "<i4"), ("count", "<i4"), ("data_cycles", "<i4"), ("early_cycles", "<i4")])
    access["count"], access["data_cycles"] = len(lines), 1
    return access


def _fold(line: int) -> int:
    place = 0
    while line:
        place, line = place ^ line % SETS, line // SETS
    return place


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 15)), min_size=1, max_size=80), st.integers(1, 3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_against_an_ordered_dictionary(wanted: list[tuple[int, int]], ways: int) -> None:
    """Every access answered before the next one: then a sector hits when its line has stayed since it was asked for."""
    lines = np.zeros(len(wanted), LINE)
    lines["line_offset"], lines["sector_mask"] = [128 * line for line, _ in wanted], [mask for _, mask in wanted]
    l1 = new_l1(1, lines, ways * SETS * 128)
    sets: list[OrderedDict[int, int]] = [OrderedDict() for _ in range(SETS)]
    for number, (line, mask) in enumerate(wanted):
        access = _one_access([(line, mask)])
        access["first"] = number
        request, skip, answers, sectors, hits = look_up(l1, 0, access[0], 0, 0, 0, 0, 0)
        place = sets[_fold(line)]
        present = place.pop(line, 0)
        if len(place) == ways:
            place.popitem(last=False)
        place[line] = present | mask
        assert (sectors, hits) == (mask.bit_count(), (present & mask).bit_count())
        assert (request > 0, answers, skip & 1) == ((present & mask) != mask, (present & mask) != mask,
                                                    (present & mask) == mask)
        l1.answered[0, :] = 1


@given(st.integers(0, 1 << 20), st.sampled_from([0, 1, 3, 6, 8]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_streams_and_power_of_two_pitches_fill_all_sets(block: int, pitch_bits: int) -> None:
    lines = [block * SETS + i << pitch_bits for i in range(SETS)]
    assert len({_fold(line) for line in lines}) == SETS
