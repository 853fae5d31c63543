"""Tests of the source view: lines carry their text, and their numbers add up to those of the run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from gpusim.engine.result import SimulationResult
from gpusim.program import Program
from gpusim.report.source_view import source_files
from gpusim.report.tables import shared_memory_table

SOURCE = "\n".join(("    " if number % 2 else "        ") + f"statement_{number}()" for number in range(1, 40))


@pytest.fixture
def program(tiny_program: Program, tmp_path: Path) -> Program:
    """The tiny kernel with a file on disk."""
    path = tmp_path / "kernels" / "tiny.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    statics = tuple(dataclasses.replace(static, file=str(path)) for static in tiny_program.statics)
    return dataclasses.replace(tiny_program, statics=statics)


def test_lines_add_up_to_the_run(program: Program, tiny_result: SimulationResult):
    lines = [line for file in source_files(program, tiny_result) for line in file.lines]
    assert sum(line.issued for line in lines) == tiny_result.warp_instructions
    assert sum(line.warp_cycles for line in lines) == tiny_result.state_cycles.sum()
    for line in lines:
        assert sum(line.states.values()) == line.warp_cycles
        assert list(line.states.values()) == sorted(line.states.values(), reverse=True)


def test_conflicts_and_wavefronts_stand_at_the_line_of_the_access(program: Program, tiny_result: SimulationResult):
    table = shared_memory_table(program).groupby("line")[["wavefronts", "bank_conflicts"]].sum()
    lines = {line.number: line for line in source_files(program, tiny_result)[0].lines}
    for number, row in table.iterrows():
        assert lines[number].wavefronts == row["wavefronts"] and lines[number].bank_conflicts == row["bank_conflicts"]
    assert sum(line.wavefronts for line in lines.values()) == table["wavefronts"].sum()


def test_text_is_that_of_the_file_less_common_indentation(program: Program, tiny_result: SimulationResult):
    (file,) = source_files(program, tiny_result)
    assert file.name == "kernels/tiny.py"
    written = SOURCE.splitlines()
    for line in file.lines:
        assert line.is_gap or line.text == written[line.number - 1][4:]


def test_lines_come_in_order_and_long_stretches_without_instructions_are_one_gap(
    program: Program, tiny_result: SimulationResult
):
    (file,) = source_files(program, tiny_result)
    shown = [line.number for line in file.lines]
    assert shown == [10, 11, 12, 13, 0, 20, 21, 22, 23, 24, 25, 0, 30, 31]
    assert [line.number for line in file.lines if line.issued] == [10, 12, 13, 20, 21, 22, 23, 24, 25, 30, 31]


def test_a_line_waits_for_what_its_instruction_waits_for(program: Program, tiny_result: SimulationResult):
    lines = {line.number: line for line in source_files(program, tiny_result)[0].lines}
    assert next(iter(lines[24].states)) == "long_scoreboard" and next(iter(lines[25].states)) == "barrier"
    assert lines[11].states == {}


def test_without_the_file_a_line_shows_its_instructions(tiny_program: Program, tiny_result: SimulationResult):
    lines = {line.number: line for line in source_files(tiny_program, tiny_result)[0].lines}
    assert lines[23].text == "HMMA.16816.F32" and lines[25].text == "BAR.SYNC.DEFER_BLOCKING"


def test_files_come_with_the_busiest_first_and_keep_their_own_conflicts(
    program: Program, tiny_result: SimulationResult
):
    moved = tuple(dataclasses.replace(static, file="helpers.py") if static.line == 20 else static
                  for static in program.statics)
    files = source_files(dataclasses.replace(program, statics=moved), tiny_result)
    assert [file.name for file in files] == ["kernels/tiny.py", "helpers.py"]
    assert files[0].warp_cycles > files[1].warp_cycles
    assert sum(line.bank_conflicts for line in files[1].lines) == 192
    assert sum(line.bank_conflicts for line in files[0].lines) == 0


def test_code_that_no_line_made_comes_last(program: Program, tiny_result: SimulationResult):
    statics = (*program.statics[:-1], dataclasses.replace(program.statics[-1], line=0))
    (file,) = source_files(dataclasses.replace(program, statics=statics), tiny_result)
    assert file.lines[-1].number == 0 and file.lines[-1].issued and not file.lines[-1].is_gap
