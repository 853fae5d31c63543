"""Lines of DRAM wait while their channel refreshes: when, which ones together, and as long as on an H200."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.arch import GpuSpec, load_gpu
from gpusim.engine.machine import Machine, machine_of
from gpusim.engine.places import owner
from gpusim.engine.slices import refresh_wait

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
    waits = [refresh_wait(machine, line, at) for at in range(2 * machine.refresh_interval)]
    assert waits[: machine.refresh_interval] == waits[machine.refresh_interval:]
    period = np.roll(waits[: machine.refresh_interval], -int(np.argmax(waits[: machine.refresh_interval])))
    assert period.tolist() == [*range(machine.refresh_cycles, 0, -1),
                               *[0] * (machine.refresh_interval - machine.refresh_cycles)]


def test_lines_side_by_side_wait_together_and_a_block_lies_on_a_few_channels(machine: Machine) -> None:
    def waits(line: int) -> tuple[float, ...]:
        return tuple(refresh_wait(machine, line, at) for at in range(0, machine.refresh_interval, 64))

    blocks = [{waits(block * machine.refresh_block_lines + line) for line in range(machine.refresh_block_lines)}
              for block in range(20)]
    assert all(2 <= len(channels) <= machine.refresh_channels for channels in blocks)
    runs = np.arange(0, 4096, machine.refresh_run_lines)
    assert all(len({waits(run + line) for line in range(machine.refresh_run_lines)}) == 1 for run in runs)


def test_the_published_latency_is_the_mean(spec: GpuSpec, machine: Machine) -> None:
    times = np.random.default_rng(1).integers(0, 1 << 20, 20_000)
    waits = [refresh_wait(machine, line, at) for line, at in enumerate(times)]
    assert np.mean(waits) == pytest.approx(spec.dram.mean_refresh_cycles, rel=0.05)


def batch_cycles(spec: GpuSpec, machine: Machine, lines: int, distance_bytes: int) -> float:
    """Mean over 1,500 batches of the last of so many lines that an SM of partition 0 asks for, one a cycle."""
    random = np.random.default_rng(distance_bytes + lines)
    last = []
    for at, start in zip(random.integers(0, 1 << 20, 1500), random.integers(0, 1 << 17, 1500) * 1024, strict=True):
        which = (start + np.arange(lines) * (distance_bytes // LINE_BYTES) if distance_bytes
                 else random.integers(0, 1 << 27, lines))
        last.append(max(turn + refresh_wait(machine, line, at)
                        + spec.l2.fabric_latency_cycles * owner(machine, line).partition
                        for turn, line in enumerate(which.tolist())))
    return spec.dram.latency_cycles - spec.dram.mean_refresh_cycles + float(np.mean(last))


def _batches() -> list[tuple[int, int, float]]:
    table = pd.read_csv(HARDWARE / "dram_batches.csv")
    table = table[(table.warps == 1) & (table.lines >= 4)]
    return [(row.lines, row.distance_bytes, row.mean) for row in table.itertuples()]


@pytest.mark.parametrize(("lines", "distance_bytes", "measured"), _batches())
def test_the_last_of_a_batch_comes_as_late_as_on_silicon(
    spec: GpuSpec, machine: Machine, lines: int, distance_bytes: int, measured: float
) -> None:
    simulated = batch_cycles(spec, machine, lines, distance_bytes) + CLOCK_READS_CYCLES
    print(f"{lines} lines, {distance_bytes} bytes apart: measured {measured:.0f}, simulated {simulated:.0f} cycles")
    assert simulated == pytest.approx(measured, rel=0.08)


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
