"""Code and constants that an SM has not read yet: waits for them on a profiled launch, against the chip's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from engine_programs import Row, issue_cycles, loop, program, run, small_gpu

import gpusim as gs
from gpusim.arch import load_gpu
from gpusim.engine import WARP_STATES, SimulationResult
from gpusim.engine.fetch import constant_cycles, constant_lines, launch_constants, pieces_of
from gpusim.program import Program
from gpusim.sass.launch import ABIS

GPU = small_gpu(1)
FETCH = GPU.fetch
START = GPU.launch.start_cycles
LINE = FETCH.line_bytes // FETCH.instruction_bytes
PIECE = FETCH.piece_lines * LINE
MEASURED = pd.read_csv(Path(gs.__file__).parent / "data" / "hardware" / "h200" / "fetch_cold.csv")


def cold(body: list[Row], **options: object) -> SimulationResult:
    """As a profiler launches it: nothing of the code is in the SM."""
    return run(program(body, **options), GPU, launch_overhead=True)  # type: ignore[arg-type]


def with_parameters(tiny: Program, size: int) -> Program:
    return replace(tiny, launch=replace(tiny.launch, parameter_bytes=size))


def cycles_of(result: SimulationResult, state: str) -> int:
    return int(result.state_cycles[:, WARP_STATES.index(state)].sum())


def test_the_first_instruction_waits_for_its_code() -> None:
    result = cold([Row("NOP")])
    assert issue_cycles(result) == [START + FETCH.first_cycles, START + FETCH.first_cycles + 1]
    assert cycles_of(result, "no_instruction") == FETCH.first_cycles


def test_one_more_instruction_than_a_piece_has_waits_for_the_next() -> None:
    """At full rate: what follows a piece comes some cycles after that was entered, and the warp a little later."""
    times = np.array(issue_cycles(cold([Row("NOP")] * (LINE + 2 * PIECE)))) - START - FETCH.first_cycles
    turn = FETCH.next_cycles + FETCH.late_cycles
    pieces = [range(LINE), range(turn, turn + PIECE), range(2 * turn, 2 * turn + PIECE)]
    assert times[:-1].tolist() == [cycle for piece in pieces for cycle in piece]


@pytest.mark.parametrize("stall", [FETCH.next_cycles // PIECE, FETCH.next_cycles // PIECE + 2])
def test_code_that_takes_as_long_as_its_successor_to_come_never_waits(stall: int) -> None:
    body = [Row("NOP", stall=FETCH.next_cycles), *[Row("NOP", stall=stall)] * (8 * PIECE)]
    assert cycles_of(cold(body), "no_instruction") == FETCH.first_cycles


def test_a_loop_waits_in_its_first_turn_only() -> None:
    body = [Row("NOP")] * (2 * PIECE)
    once, often = (cycles_of(cold(loop(body, turns)), "no_instruction") for turns in (1, 5))
    assert once == often > FETCH.first_cycles


def test_ctas_that_come_later_find_the_code() -> None:
    body = [Row("NOP")] * (4 * PIECE)
    alone, more = (run(with_parameters(program(body, ctas=ctas, shared_bytes=200_000), 8), GPU, launch_overhead=True)
                   for ctas in (1, 3))
    assert cycles_of(more, "no_instruction") == cycles_of(alone, "no_instruction") > FETCH.first_cycles
    assert cycles_of(more, "imc_miss") == cycles_of(alone, "imc_miss") == FETCH.first_constant_cycles


def test_warps_that_start_together_wait_together() -> None:
    body = [Row("NOP", stall=4)]
    assert cycles_of(run(program([(8, body)], ctas=2), GPU, launch_overhead=True), "no_instruction") == (
        16 * FETCH.first_cycles)


def test_nothing_waits_where_launches_are_not_counted() -> None:
    result = run(program([Row("NOP")] * (4 * PIECE)), GPU)
    assert issue_cycles(result) == list(range(4 * PIECE + 1))


@pytest.mark.parametrize(("parameter_bytes", "lines"), [(0, 0), (8, 1), (48, 1), (49, 2), (112, 2), (368, 6)])
def test_parameters_begin_in_the_middle_of_a_line(parameter_bytes: int, lines: int) -> None:
    """At byte 528 of the constant bank, 16 behind the beginning of a line of 64."""
    assert constant_lines(parameter_bytes, gs.load_gpu("h200")) == lines


@pytest.mark.parametrize("name", ["t4", "a100", "rtx3090", "a6000", "rtx4090", "h100", "h200"])
def test_parameters_stand_where_compiled_code_looks_for_them(name: str) -> None:
    spec = gs.load_gpu(name)
    assert spec.fetch.parameter_start_bytes == ABIS[spec.compute_capability].parameters


@pytest.mark.parametrize(("named", "parameter_bytes", "lines"), [
    ((), 0, 0), ((), 368, 6), ((-1,), 368, 6), ((0x28,), 0, 1), ((0x28, 0x228, 0x2D0), 368, 1 + 4)])
def test_lines_that_code_names_are_not_read_at_the_start(named: tuple[int, ...], parameter_bytes: int,
                                                         lines: int) -> None:
    assert launch_constants(named, parameter_bytes, gs.load_gpu("h200")) == lines


@pytest.mark.parametrize("size", [8, 368])
def test_the_first_instruction_waits_for_the_parameters_too(size: int) -> None:
    result = run(with_parameters(program([Row("NOP")]), size), GPU, launch_overhead=True)
    expected = FETCH.first_constant_cycles + (constant_lines(size, GPU) - 1) * FETCH.constant_cycles
    assert cycles_of(result, "imc_miss") == expected
    assert issue_cycles(result)[0] == START + FETCH.first_cycles + expected


def test_instructions_stand_in_the_order_in_which_they_are_first_executed() -> None:
    pcs = np.array([1, 0, *range(2, 32), 0, 1, 0])
    assert pieces_of(pcs, GPU).tolist() == [0, 0, *[0] * (LINE - 2), *[1] * (30 - LINE + 2), 0, 0, 0]


def test_what_nobody_runs_takes_room() -> None:
    piece = LINE * FETCH.piece_lines
    pcs = np.array([*range(LINE), *range(LINE + 2 * piece, LINE + 3 * piece)])
    assert pieces_of(pcs, GPU).tolist() == [0] * LINE + [3] * piece


def test_code_behind_a_jump_is_not_on_its_way() -> None:
    """The next piece is asked for as a warp enters one; one further away, when a warp is there."""
    piece = LINE * FETCH.piece_lines
    first = [Row("NOP")] * (LINE + piece - 1)
    near, far = (cold([*first, Row("NOP", jumps=jumps), Row("NOP"), Row("NOP")]) for jumps in (0, 2 * piece))
    lost = sum(FETCH.next_cycles - length + FETCH.late_cycles for length in (LINE, piece))
    assert cycles_of(near, "no_instruction") == FETCH.first_cycles + lost
    assert cycles_of(far, "no_instruction") - cycles_of(near, "no_instruction") == piece


def line_of(stall: int, count: int) -> float:
    """Cycles from the first to the last of ``count`` instructions of a straight line that the SM has not run."""
    times = issue_cycles(cold([Row("NOP", stall=8)] * LINE + [Row("NOP", stall=stall)] * count))[LINE:-1]
    return times[-1] - times[0]


@pytest.mark.parametrize(("kernel", "stall"), [("line", 1), ("chains of 2 cycles", 2), ("chain of 4 cycles", 4)])
def test_straight_lines_take_as_long_as_on_the_chip(kernel: str, stall: int) -> None:
    """One warp of one CTA, 16 FFMA and a read of the clock at a time; the first read, and what is behind it, apart."""
    rows = MEASURED[(MEASURED.kernel == kernel) & (MEASURED.before == "profiler") & (MEASURED.ctas == 1)
                    & (MEASURED.warps == 1)]
    parts = [int(cycles) for row in rows.cycles for cycles in row.split()][2:]
    instructions = len(parts) * (17 if stall == 1 else 16)  # with stalls of two cycles and more the read is free
    assert line_of(stall, instructions) == pytest.approx(sum(parts), rel=0.03)


# Constants that instructions name, as those of compiled code do.

CONSTANT_LINE = FETCH.constant_line_bytes


def imc_miss(body: list[Row], warps: int = 1) -> int:
    return cycles_of(run(program([(warps, body)]), GPU), "imc_miss")


@pytest.mark.parametrize("mnemonic", ["ULDC", "ISETP"])
def test_a_line_of_constants_is_waited_for_once(mnemonic: str) -> None:
    first = Row("NOP", constant=0)
    once = [first, Row(mnemonic, constant=CONSTANT_LINE)]
    again = [Row(mnemonic, constant=CONSTANT_LINE + byte) for byte in (0, 4, CONSTANT_LINE - 4)]
    assert imc_miss(once) == imc_miss([*once, *again]) == FETCH.constant_cycles


def test_the_line_that_a_launch_reads_first_is_there() -> None:
    """Its wait is the launch's, which counts it with its other overhead."""
    body = [Row("NOP", constant=8), Row("NOP", constant=40)]
    assert imc_miss(body) == 0
    assert cycles_of(cold(body), "imc_miss") == FETCH.first_constant_cycles


def test_warps_wait_for_a_line_together() -> None:
    body = [Row("NOP", constant=0), Row("ULDC", constant=CONSTANT_LINE)]
    assert imc_miss(body, warps=4) == 4 * FETCH.constant_cycles


def test_a_predicated_off_instruction_reads_no_constant() -> None:
    assert imc_miss([Row("NOP", constant=0), Row("NOP", constant=CONSTANT_LINE, off=True)]) == 0


def test_ldc_has_lines_of_its_own_and_waits_for_its_result_only() -> None:
    """A line that ULDC has read is new to it; its warp goes on (pipes.csv: clocks around both count both waits)."""
    body = [Row("NOP", constant=0), Row("ULDC", constant=CONSTANT_LINE),
            Row("LDC", write=0, constant=CONSTANT_LINE, stall=2), Row("NOP"), Row("NOP", wait=(0,)),
            Row("LDC", write=0, constant=CONSTANT_LINE, stall=2), Row("NOP", wait=(0,))]
    times = np.array(issue_cycles(run(program(body), GPU)))
    latency = GPU.instruction_table.lookup("LDC").latency_cycles
    assert times[3] - times[2] == 2
    assert times[4] - times[2] == FETCH.indexed_constant_cycles + latency
    assert times[6] - times[5] == latency


@pytest.mark.parametrize(("kernel", "miss"), [
    ("constants", FETCH.constant_cycles), ("indexed constants", FETCH.indexed_constant_cycles)])
def test_new_lines_cost_what_they_do_on_the_chip(kernel: str, miss: int) -> None:
    """A word of each of eight lines, then again: what the first time takes longer than the second."""
    rows = MEASURED[(MEASURED.kernel == kernel) & (MEASURED.before == "profiler") & (MEASURED.ctas == 1)
                    & (MEASURED.warps == 1)]
    parts = np.array([[int(cycles) for cycles in row.split()] for row in rows.cycles])
    assert (parts[:, 1:8] - parts[:, 9:16]).mean() == pytest.approx(miss, abs=1)


@pytest.mark.parametrize(("ctas", "warps"), [(1, 1), (1, 4), (132, 1), (132, 4), (132, 8)])
def test_all_sub_partitions_of_a_gpc_ask_one_cache_for_constants(ctas: int, warps: int) -> None:
    """fetch_cold.csv: a full chip of four warps or more waits twice as long for each further line."""
    rows = MEASURED[(MEASURED.kernel == "constants") & (MEASURED.before != "profiler") & (MEASURED.ctas == ctas)
                    & (MEASURED.warps == warps)]
    parts = np.array([[int(cycles) for cycles in row.split()] for row in rows.cycles])
    measured = (parts[:, 1:8] - parts[:, 9:16]).mean()
    assert constant_cycles(ctas, warps, load_gpu("h200")) == pytest.approx(measured, abs=6)


def test_few_ctas_wait_as_one_does() -> None:
    gpu = load_gpu("h200")
    assert [constant_cycles(ctas, 4, gpu) for ctas in (1, 16, 64)] == [gpu.fetch.constant_cycles] * 3
    assert constant_cycles(132, 4, gpu) == constant_cycles(4096, 4, gpu) > gpu.fetch.constant_cycles
