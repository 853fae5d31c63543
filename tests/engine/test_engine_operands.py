"""Compares short sequences of tensor instructions and 64-bit multiply-adds, with given stall counts, with an H200's:
every row of operand_reads.csv but those that need register banks (IMAD, and X right behind another read)."""

from __future__ import annotations

import csv

import pytest
from engine_programs import issue_cycles, program, row, run, small_gpu

from gpusim.arch.paths import find_data

MNEMONICS = {"N": "NOP", "W": "IMAD.WIDE", "H": "HMMA.16816.F32"}
def sequences() -> list[tuple[str, float]]:
    with find_data("gpusim/data/hardware/h200/operand_reads.csv").open() as table:
        rows = [(line["sequence"], float(line["cycles"])) for line in csv.DictReader(table)]
    return [(text, cycles) for text, cycles in rows if {token[0] for token in text.split()} <= set(MNEMONICS)]


@pytest.mark.parametrize(("text", "measured"), sequences())
def test_a_sequence_ends_when_it_does_on_silicon(text: str, measured: float) -> None:
    """The cycle after the last instruction, which is a NOP, has issued; cycles count from the first issue."""
    tokens = [(token[0], int(token[1:].rstrip("ar"))) for token in text.split()]
    body = [row(f"{MNEMONICS[letter]} stall={stall}") for letter, stall in tokens]
    issued = issue_cycles(run(program([(1, body)], {}), small_gpu()))
    simulated = issued[len(tokens) - 1] - issued[0] + 1
    assert abs(simulated - measured) < 0.5, f"{text}: measured {measured}, simulated {simulated}"
