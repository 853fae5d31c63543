"""Banks of DRAM open one row after another: which lines wait for each other, how long, and what whole tiles lose."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.arch.loader import load_gpu
from gpusim.arch.paths import find_data
from gpusim.engine import RecordWindow, dram, simulate
from gpusim.engine.dram import bank_of
from gpusim.engine.machine import machine_of, machine_record
from gpusim.engine.memory_state import MemoryState, new_memory
from gpusim.experiments.micro.compiled import CompiledKernel, replay
from gpusim.experiments.micro.probe import issue_cycles
from gpusim.sass import SassLaunch, Scalar, TensorPointer

SPEC = load_gpu("h200")
MACHINE = machine_of(SPEC)
RECORD = machine_record(MACHINE)[0]
LINE_BYTES = 128
ROWS_LINES = SPEC.dram.banks * SPEC.dram.row_bytes // LINE_BYTES  # what all banks hold with one row open
RUNS_SCANNED = 1 << 17
COLD_LOAD = pd.read_csv(find_data("gpusim/data/hardware/h200/cold_load.csv"))
TURNS_MEASURED, TURNS_LEFT_OUT = 31, 3


def cold_memory() -> MemoryState:
    return new_memory(MACHINE, np.zeros(MACHINE.num_sms, np.int64))


def row_wait(memory: MemoryState, line: int, at: float) -> float:
    return dram.row_wait(memory, RECORD, line, bank_of(RECORD, line), at)


def line_of_the_bank(first: int, begin: int) -> int:
    """The first line from ``begin`` on that is in the bank of ``first``."""
    return next(line for line in range(begin, begin + (1 << 20), 2) if bank_of(RECORD, line) == bank_of(RECORD, first))


@given(block=st.integers(0, 1 << 26))
@settings(max_examples=50, deadline=None)
def test_no_two_runs_of_a_block_are_in_one_bank(block: int) -> None:
    lines = SPEC.dram.block_bytes // LINE_BYTES
    banks = [bank_of(RECORD, block * lines + 2 * run) for run in range(lines // 2)]
    assert len(set(banks)) == len(banks)
    assert [bank_of(RECORD, block * lines + 2 * run + 1) for run in range(lines // 2)] == banks


def test_all_banks_are_used_alike() -> None:
    banks = pd.Series([bank_of(RECORD, 2 * run) for run in range(RUNS_SCANNED)])
    assert banks.nunique() == SPEC.dram.banks
    channels = banks.map(lambda bank: bank[2]).value_counts()
    assert len(channels) == SPEC.dram.channels
    assert channels.max() <= 1.2 * channels.mean()


def test_another_row_of_the_bank_opens_when_the_one_before_has_been_open_for_a_row_cycle() -> None:
    other = line_of_the_bank(0, ROWS_LINES)
    for later in (0, 1, SPEC.dram.row_cycles - 1, SPEC.dram.row_cycles, SPEC.dram.row_cycles + 1):
        memory = cold_memory()
        assert row_wait(memory, 0, 1000.0) == 0
        assert row_wait(memory, other, 1000.0 + later) == max(0, SPEC.dram.row_cycles - later)


def test_lines_of_one_row_do_not_wait_for_each_other_but_all_wait_for_it() -> None:
    memory, other = cold_memory(), line_of_the_bank(0, ROWS_LINES)
    same = line_of_the_bank(other, other + 2)
    assert same // ROWS_LINES == other // ROWS_LINES
    assert row_wait(memory, 0, 1000.0) == 0
    assert row_wait(memory, other, 1010.0) == SPEC.dram.row_cycles - 10
    assert row_wait(memory, same, 1020.0) == SPEC.dram.row_cycles - 20
    assert row_wait(memory, other + 1, 1000.0 + SPEC.dram.row_cycles) == 0


def test_rows_of_one_bank_open_one_after_the_other() -> None:
    memory, lines = cold_memory(), [0]
    while len(lines) < 5:
        lines.append(line_of_the_bank(0, (lines[-1] // ROWS_LINES + 1) * ROWS_LINES))
    waits = [row_wait(memory, line, 1000.0) for line in lines]
    assert waits == [SPEC.dram.row_cycles * turn for turn in range(len(lines))]


def test_banks_rows_and_row_cycles_are_those_of_silicon() -> None:
    """Pairs of lines that were found to delay one of them (bank_lines.csv): 5 to 10 cycles, or a row cycle."""
    table = pd.read_csv(find_data("gpusim/data/hardware/h200/bank_lines.csv"))
    for _, pairs in table.groupby("set"):
        alone = pairs[pairs.first_line == pairs.second_line].set_index("first_line").cycles
        pairs = pairs[pairs.first_line != pairs.second_line]
        later = pairs.cycles - np.maximum(pairs.first_line.map(alone), pairs.second_line.map(alone))
        one_row = later < SPEC.dram.row_cycles / 2
        assert RUNS_SCANNED / len(alone) == pytest.approx(SPEC.dram.banks, rel=0.05)
        assert later[~one_row].quantile([0.02, 0.98]).tolist() == pytest.approx([SPEC.dram.row_cycles] * 2, abs=8)
        assert later[one_row].max() < 16
        in_a_row = 1 + one_row.sum() / len(alone)
        assert in_a_row == pytest.approx(SPEC.dram.row_bytes / SPEC.dram.run_bytes, rel=0.1)
        assert (pairs.first_line - pairs.second_line)[one_row].abs().max() < ROWS_LINES


def cta_cycles(row: pd.Series) -> float:
    """Mean wait of the CTAs of a few SMs for a cold tile, as cold_load.cu takes it."""
    kernel = CompiledKernel("cold_load", f"turnsILi{row.rows}E")
    launch = SassLaunch((int(row.gx), int(row.gy), 1), (128, 1, 1), (
        TensorPointer("A", "u8", (96 << 20,)), TensorPointer("B", "u8", (96 << 20,)),
        TensorPointer("out", "u32", (1 << 20,), True), *map(Scalar, (TURNS_MEASURED, 4096, 100, int(row.shared)))),
        20480, 64)
    program, waits = replay(SPEC, kernel=kernel, launch=launch), []
    ctas_sm = simulate(program, SPEC, l2="cold", launch_overhead=False).cta_sm
    for sm in np.unique(ctas_sm)[:4]:
        result = simulate(program, SPEC, l2="cold", launch_overhead=False, record=RecordWindow(int(sm), 0, 10**9))
        begun, _, ended = (np.array([issue_cycles(result, (pc,), warp) for warp in range(4)])
                           for pc in sorted(kernel.clock_pcs))
        waits.append((ended - begun)[:, TURNS_LEFT_OUT:].mean())
    return float(np.mean(waits))


@pytest.mark.parametrize("row", [
    pytest.param(row, id=f"{'shared' if row.shared else 'own'} tiles of {row.rows} rows, {row.gx}x{row.gy}",
                 marks=[pytest.mark.slow] if row.gx > 4 else [])
    for _, row in COLD_LOAD[COLD_LOAD.cold == 1].iterrows()
])
def test_ctas_wait_for_cold_tiles_as_long_as_on_silicon(row: pd.Series) -> None:
    cycles = cta_cycles(row)
    print(f"measured {row.cta}, simulated {cycles:.0f}, {100 * (cycles / row.cta - 1):+.1f} %")
    assert cycles == pytest.approx(row.cta, rel=0.06)
