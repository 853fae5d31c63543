"""Lines of DRAM wait while their channel refreshes: when, which ones together, and as long as on an H200."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import gpusim as gs
from gpusim.arch import GpuSpec, load_gpu
from gpusim.engine.crossbar import read_line
from gpusim.engine.dram import bank_of, dram_wait, refresh_wait
from gpusim.engine.machine import Machine, machine_of, machine_record
from gpusim.engine.memory_state import new_memory
from gpusim.engine.places import locate, owner
from gpusim.engine.slices import fabric_way

HARDWARE = Path(gs.__file__).parent / "data" / "hardware" / "h200"
LINE_BYTES = 128
CLOCK_READS_CYCLES = 46
"""What the measuring loops count besides a load: 326 cycles for a hit in L2 (return_order.csv) that takes 280."""


@pytest.fixture(scope="module")
def spec() -> GpuSpec:
    return load_gpu("h200")


@pytest.fixture(scope="module")
def machine(spec: GpuSpec) -> Machine:
    return machine_of(spec)


@given(line=st.integers(0, 1 << 34))
@settings(max_examples=20, deadline=None)
def test_a_channel_refreshes_once_in_an_interval_and_lets_go_at_its_end(line: int) -> None:
    machine = machine_of(load_gpu("h200"))
    cycles = waits(machine, np.array([line]), np.arange(2.0 * machine.refresh_interval))[0]
    assert (cycles[: machine.refresh_interval] == cycles[machine.refresh_interval:]).all()
    period = np.roll(cycles[: machine.refresh_interval], -int(np.argmax(cycles[: machine.refresh_interval])))
    assert period.tolist() == [*range(machine.refresh_cycles, 0, -1),
                               *[0] * (machine.refresh_interval - machine.refresh_cycles)]


@njit
def waits(machine: Machine, lines: np.ndarray, times: np.ndarray) -> np.ndarray:
    """(lines, times): how long each line waits when the channel is asked for it at each time, later for a far one."""
    cycles = np.empty((len(lines), len(times)))
    for i in range(len(lines)):
        later, bank = machine.fabric_latency / 2 * owner(machine, lines[i]).partition, bank_of(machine, lines[i])
        for k in range(len(times)):
            cycles[i, k] = refresh_wait(machine, bank, times[k] + later)
    return cycles


def test_lines_128_and_512_bytes_apart_wait_together_and_others_of_a_kib_do_not(machine: Machine) -> None:
    first = waits(machine, np.arange(8), np.arange(0.0, machine.refresh_interval, 8.0))
    together = [[line for line in range(8) if (first[line] == row).all()] for row in first]
    assert together == [[0, 1, 4, 5], [0, 1, 4, 5], [2, 3, 6, 7], [2, 3, 6, 7]] * 2


@pytest.fixture(scope="module")
def silicon() -> np.ndarray:
    """When 16,384 lines side by side end their refreshes, cycles after another line does (refresh_map.csv.gz)."""
    table = pd.read_csv(HARDWARE / "refresh_map.csv.gz")[:16384]
    ends = table.end_cycles.to_numpy(float)
    return np.where(ends < 0, ends[np.arange(len(ends)) ^ 1], ends)


@pytest.mark.parametrize(("bytes_apart", "lines"), [(128, 128), (128, 256), (128, 512), (1024, 128), (4096, 128)])
def test_tiles_wait_for_refreshes_as_often_and_as_long_as_on_silicon(
    machine: Machine, silicon: np.ndarray, bytes_apart: int, lines: int
) -> None:
    """The last of all lines of a tile that come at any time, at any place: mean, and how often none of them waits."""
    which = np.arange(lines) * (bytes_apart // LINE_BYTES)
    times = np.arange(0, machine.refresh_interval, 64)
    starts = np.arange(0, len(silicon) - int(which[-1]), 256)
    left = (silicon[np.add.outer(starts, which)][..., None] - times) % machine.refresh_interval
    theirs = np.where(left < machine.refresh_cycles, left, 0).max(axis=1)
    tiles = np.add.outer(np.arange(0, 1 << 18, (1 << 18) // 64 + 256), which)
    ours = np.array([waits(machine, tile, times.astype(float)).max(axis=0) for tile in tiles])
    print(f"{lines} lines, {bytes_apart} bytes apart: {theirs.mean():.0f} cycles, none {(theirs == 0).mean():.2f}; "
          f"here {ours.mean():.0f}, {(ours == 0).mean():.2f}")
    assert ours.mean() == pytest.approx(theirs.mean(), rel=0.15)
    assert (ours == 0).mean() == pytest.approx((theirs == 0).mean(), abs=0.1)


def test_blocks_of_even_numbers_wait_as_seldom_together_as_on_silicon(machine: Machine, silicon: np.ndarray) -> None:
    """Rows of a warp stand in every other block of 64 KiB: eight blocks of which each has eight lines, a KiB apart."""
    which = np.add.outer(np.arange(8) * 1024, np.arange(8) * 8).ravel()
    times = np.arange(0, machine.refresh_interval, 64)
    left = (silicon[np.add.outer(np.arange(0, 8192, 256), which)][..., None] - times) % machine.refresh_interval
    theirs = np.where(left < machine.refresh_cycles, left, 0).max(axis=1).mean()
    tiles = np.add.outer(np.arange(0, 1 << 18, (1 << 18) // 64 + 256), which)
    ours = np.mean([waits(machine, tile, times.astype(float)).max(axis=0).mean() for tile in tiles])
    print(f"{theirs:.0f} cycles, here {ours:.0f}")
    assert ours == pytest.approx(theirs, rel=0.05)  # 18 % short when such blocks shared half of the groups


def test_a_block_of_lines_refreshes_in_waves_of_few_groups(machine: Machine, silicon: np.ndarray) -> None:
    """The share of a block's lines that end within a wave's length of one another, at best."""
    length = machine.refresh_wave + machine.fabric_latency / 2  # the map has the way of far lines in it

    def largest(ends: np.ndarray) -> float:
        return max((((ends - first) % machine.refresh_interval) < length).mean() for first in ends)

    begins = waits(machine, np.arange(0, 16384, 4), np.arange(0.0, machine.refresh_interval, 8.0))
    ours = np.argmax(begins, axis=1) * 8.0
    shares = [np.mean([largest(block) for block in ends.reshape(32, -1)]) for ends in (silicon, ours)]
    print(f"in the largest wave of a block {shares[0]:.2f}, here {shares[1]:.2f}")
    assert shares[1] == pytest.approx(shares[0], abs=0.1)


def deviation(side: str, what: str) -> float:
    table = pd.read_csv(HARDWARE / "miss_spread.csv").set_index(["side", "what"])
    return float(table.loc[(side, what), "std"])


def test_a_single_read_of_dram_scatters_as_on_silicon(machine: Machine) -> None:
    memory, record = new_memory(machine, np.zeros(machine.num_sms, np.int64)), machine_record(machine)[0]
    place = memory.places[0, 0]
    locate(record, 5, place)
    taken = [dram_wait(memory, record, place, now, now, 0.0) - refresh_wait(machine, bank_of(machine, 5), now)
             for now in range(0, 1 << 20, 1 << 9)]
    assert max(taken) - min(taken) == 2 * machine.dram_spread
    assert np.std(taken) == pytest.approx(deviation("near", "one miss less the usual of its line"), abs=1)


def test_ways_over_the_fabric_scatter_by_slice_as_on_silicon(machine: Machine) -> None:
    memory, record = new_memory(machine, np.zeros(machine.num_sms, np.int64)), machine_record(machine)[0]
    place, ways = memory.places[0, 0], {}
    for line in range(1 << 12):
        locate(record, line, place)
        ways.setdefault(int(place["slice"]), set()).add(fabric_way(record, place))
    assert all(len(of_a_slice) == 1 for of_a_slice in ways.values())
    lengths = [of_a_slice.pop() for of_a_slice in ways.values()]
    assert np.mean(lengths) == pytest.approx(machine.fabric_latency, abs=6)
    hits = deviation("near", "miss less hit")
    assert np.std(lengths) == pytest.approx(np.sqrt(deviation("far", "miss less hit") ** 2 - hits**2), abs=3)


def test_the_published_latency_is_the_mean(spec: GpuSpec, machine: Machine) -> None:
    times = np.random.default_rng(1).integers(0, 1 << 20, 20_000)
    cycles = [refresh_wait(machine, bank_of(machine, line), at) for line, at in enumerate(times)]
    assert np.mean(cycles) == pytest.approx(spec.dram.mean_refresh_cycles, rel=0.05)


def batch_cycles(machine: Machine, lines: int, distance_bytes: int) -> float:
    """Mean over 1,500 batches of the last of so many lines that an SM of partition 0 asks for, one a cycle."""
    memory, record = new_memory(machine, np.zeros(machine.num_sms, np.int64)), machine_record(machine)[0]
    port, place = memory.ports[0], memory.places[0, 0]
    random = np.random.default_rng(distance_bytes + lines)
    last = []
    for batch, start in enumerate(random.integers(0, 1 << 17, 1500) * 1024):
        which = (start + np.arange(lines) * (distance_bytes // LINE_BYTES) if distance_bytes
                 else random.integers(0, 1 << 27, lines))
        now, back = 10_000 * batch + int(random.integers(0, machine.refresh_interval)), [0.0]
        for turn, line in enumerate(which.tolist()):
            locate(record, line, place)
            back.append(read_line(memory, record, port, 0, place, 1, 0, now + turn))
        last.append(max(back) - now)
    return float(np.mean(last))


def _batches() -> list[tuple[int, int, float]]:
    table = pd.read_csv(HARDWARE / "dram_batches.csv")
    table = table[(table.warps == 1) & (table.lines >= 4)]
    return [(row.lines, row.distance_bytes, row.mean) for row in table.itertuples()]


@pytest.mark.parametrize(("lines", "distance_bytes", "measured"), _batches())
def test_the_last_of_a_batch_comes_as_late_as_on_silicon(
    spec: GpuSpec, machine: Machine, lines: int, distance_bytes: int, measured: float
) -> None:
    in_the_sm = spec.dram.latency_cycles - spec.dram.mean_refresh_cycles - machine.dram_latency
    simulated = batch_cycles(machine, lines, distance_bytes) + in_the_sm + CLOCK_READS_CYCLES
    print(f"{lines} lines, {distance_bytes} bytes apart: measured {measured:.0f}, simulated {simulated:.0f} cycles")
    assert simulated == pytest.approx(measured, rel=0.06)


def test_waits_recur_on_silicon_as_configured(spec: GpuSpec) -> None:
    """Line after line by one warp: those that wait over 60 cycles, by where in the interval they get their data."""
    run = pd.read_csv(HARDWARE / "dram_run.csv")
    page = run.address_bytes // 4096
    nearest = run.cycles.groupby(page).transform("median")  # of the page's partition
    late = run[run.cycles > nearest + 60]
    assert 0.10 < len(late) / len(run) < 0.17  # refresh_cycles / refresh_interval_cycles is 0.142
    assert (late.cycles - nearest[late.index]).quantile(0.97) < spec.dram.refresh_cycles
    arrived = np.unwrap(late.clock.to_numpy(float), period=2**32) + late.cycles.to_numpy()

    def concentration(interval: float) -> float:
        return float(abs(np.exp(2j * np.pi * arrived / interval).mean()))

    intervals = np.arange(3000, 6000, 1.0)
    strongest = intervals[int(np.argmax([concentration(interval) for interval in intervals]))]
    assert strongest == pytest.approx(spec.dram.refresh_interval_cycles, rel=0.005)
