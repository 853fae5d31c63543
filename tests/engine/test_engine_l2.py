"""Laws of L2's places and writes: lines lie as in slice_ids.csv, second copies go first, writes cost two slices."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from engine_programs import Memory, program, rows, run, small_gpu
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.arch import load_gpu
from gpusim.engine.machine import machine_of, machine_record
from gpusim.engine.memory import warm_lines
from gpusim.engine.memory_state import MemoryState, new_memory
from gpusim.engine.places import owner
from gpusim.engine.slices import slice_wait

MACHINE = machine_of(load_gpu("h200"))
RECORD = machine_record(MACHINE)[0]


SLICE_IDS = pd.read_csv(Path(gs.__file__).parent / "data/hardware/h200/slice_ids.csv")
NEAR_SLICES = MACHINE.partition_slices


def near_slices(lines: np.ndarray) -> np.ndarray:
    """Slices through which the SMs of one partition read these lines, owned or copied."""
    return np.array([owner(RECORD, line).slice % NEAR_SLICES for line in lines.tolist()])


def shared_places(slices: np.ndarray) -> list[list[int]]:
    """Which lines of a KiB are in one slice, for each KiB, by the first line of that slice."""
    return [[row.tolist().index(k) for k in row] for row in slices.reshape(-1, 8)]


def test_a_kib_is_in_two_slices_and_a_page_in_eight_as_on_the_chip() -> None:
    chip, ours = SLICE_IDS.slice.to_numpy()[:512], near_slices(np.arange(512))
    assert shared_places(ours) == shared_places(chip)
    for slices in (chip, ours):
        assert {len(set(page)) for page in slices.reshape(16, 32).tolist()} == {8}


@pytest.mark.parametrize("rows", [16, 32, 64, 128, 256, 512])
def test_rows_4_kib_apart_crowd_slices_as_on_the_chip(rows: int) -> None:
    """The most of so many rows that a slice has, on average over 2 MiB; evenly it would be half to three quarters."""
    def most(slices: np.ndarray) -> float:
        return float(np.mean([np.bincount(some).max() for some in slices.reshape(-1, rows)]))
    chip = SLICE_IDS.slice.to_numpy()[512:1024]
    assert most(near_slices(np.arange(1 << 14) * 32)) == pytest.approx(most(chip), rel=0.25)


@given(st.integers(0, 1 << 18))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_round_of_pages_fills_every_slice_evenly(number: int) -> None:
    """128 KiB, of which each partition owns a half: eight or twelve lines of it in each slice, as of its 16 pages."""
    places = [owner(RECORD, line) for line in range(number << 10, (number + 1) << 10)]
    assert sum(place.partition for place in places) == len(places) // 2
    assert set(np.bincount([place.slice for place in places], minlength=MACHINE.slices)) == {8, 12}


def test_48_mb_of_what_is_contiguous_fit() -> None:
    """memory.csv l2_read_cg_48MB: read at full rate, so no set has more lines than ways."""
    found = [owner(RECORD, line)[1:] for line in range(48_000_000 // 128)]
    places, counts = np.unique(found, axis=0, return_counts=True)
    assert len(places) == MACHINE.slices * MACHINE.l2_sets
    assert counts.max() <= MACHINE.l2_ways


def least_recent_first(memory: MemoryState) -> np.ndarray:
    """Lines of every slice and set, in the order in which they give way."""
    return np.take_along_axis(memory.tags, np.argsort(memory.ways["used"], axis=2), axis=2)


@pytest.mark.parametrize("laps", [15, 17.3, 40])
def test_a_tensor_larger_than_l2_leaves_what_reading_it_piece_by_piece_does(laps: float) -> None:
    """One call skips what cannot stay; pieces smaller than L2 are all read."""
    spec = small_gpu(4, "l2.capacity_bytes=524288", "l2.slices=8")
    machine = machine_of(spec)
    lap = machine.slices * machine.l2_sets
    left = []
    for pieces in (1, 4):
        memory = new_memory(machine, np.arange(4) % 2)
        warm_lines(memory, machine_record(machine), 5, 3 * lap)
        cuts = np.linspace(1 << 20, (1 << 20) + round(laps * lap), pieces + 1).astype(int).tolist()
        for first, end in pairwise(cuts):
            warm_lines(memory, machine_record(machine), first, end - first)
        left.append(least_recent_first(memory))
    assert (left[0] == left[1]).all()


@pytest.mark.parametrize("pitch_bits", range(3, 14))
def test_no_pitch_crowds_slices_or_partitions(pitch_bits: int) -> None:
    count = 64 * MACHINE.slices
    places = np.array([owner(RECORD, i << pitch_bits)[:2] for i in range(count)])
    assert np.bincount(places[:, 1], minlength=MACHINE.slices).max() < 3 * 64
    assert abs(places[:, 0].mean() - 0.5) < 0.05


def test_a_stream_of_writes_reaches_the_rate_that_all_sms_write_together() -> None:
    """Also with partitions, where half of the sectors pass two slices: the rate is that of the SMs."""
    gpu = small_gpu(8, "l2.write_bytes_per_cycle=64", "l2.slices=2")
    stores = [row for _ in range(16) for row in rows("STG access=d stall=4")]
    tiny = program([(8, stores)], {"d": Memory("STG128", lines=4)}, ctas=8, cta_bytes=32768)
    result = run(tiny, gpu, record=None)
    written = 8 * 8 * 16 * 512
    assert written / result.cycles == pytest.approx(64, rel=0.15)


def test_a_write_of_few_sectors_takes_a_slice_its_least_time() -> None:
    stores = rows("STG access=d stall=4") * 8
    piece = {"d": Memory("STG32", lines=32)}
    slow, slower = (run(program(stores, piece), small_gpu(1, f"l2.write_request_cycles={cycles}")).cycles
                    for cycles in (900.0, 1800.0))
    assert slower > 1.5 * slow


@pytest.mark.parametrize(("lines", "measured"), [(32, 77.1), (4, 34.4)])
def test_a_slice_looks_lines_up_beside_sending_their_data(lines: int, measured: float) -> None:
    """sectors.csv, requests per cycle of 94 slices, here two: of one sector of each line, and of whole lines."""
    share = 2 / MACHINE.slices
    gpu = small_gpu(8, "l2.slices=2", f"l2.read_bytes_per_cycle={4860 * share}", "noc.sms_per_request=1")
    copies = [row for _ in range(16) for row in rows("LDGSTS access=a stall=4")] + rows("LDGDEPBAR write=0\nNOP wait=0")
    tiny = program([(8, copies)], {"a": Memory("CPA16", lines=lines)}, ctas=8, cta_bytes=32768)
    requests = 8 * 8 * 16 * lines
    assert requests / run(tiny, gpu, record=None).cycles == pytest.approx(measured * share, rel=0.15)


def test_what_leaves_over_the_fabric_does_not_take_the_way_to_the_sms() -> None:
    """Two kernels of kernels.csv move 5,200 and 5,450 bytes a cycle in all slices, loads alone at most 4,790."""
    memory = new_memory(MACHINE, np.zeros(MACHINE.num_sms, np.int64), [])
    asked = [slice_wait(memory, RECORD, 0, 0.0, 4, False) for _ in range(100)]
    assert asked == pytest.approx([MACHINE.slice_lookup_cycles * (i + 1) for i in range(100)])
    sent = [slice_wait(memory, RECORD, 0, asked[-1], 4, True) for _ in range(2)]
    assert sent == pytest.approx([4 * MACHINE.slice_cycles_per_sector, 8 * MACHINE.slice_cycles_per_sector])


@pytest.mark.parametrize(("together", "reads"), [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_reads_of_so_many_sms_of_a_gpc_reach_l2_as_one(together: int, reads: int) -> None:
    """Eight SMs that read the same lines at once, which on silicon (four together) reach L2 twice (crossbar.csv)."""
    gpu = small_gpu(8, f"noc.sms_per_request={together}", "noc.gpc_runs=[[0, 8]]", "l2.hit_latency_spread_cycles=0")
    tiny = program([(1, rows("LDG access=a stall=4 write=0\nNOP wait=0"))], {"a": Memory("LDG128", lines=4)}, ctas=8)
    assert run(tiny, gpu, record=None).counters["l2_sectors_read"] == reads * 4 * 4
