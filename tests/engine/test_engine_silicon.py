"""Compares loops of one instruction with what an H200 answered: every row of pipes.csv for loads, ldmatrix, math, mma
and barriers. Dependent latency, throughput and what lies between."""

from __future__ import annotations

import csv

import pytest
from _pytest.mark.structures import ParameterSet
from engine_loops import OPERATIONS, cycles_per_instruction

from gpusim.arch.paths import find_data

TOLERANCE = 0.03
HELD = ("loads of one warp every 4 cycles: the register read of a load, 7 to 9 cycles after its issue, holds the "
        "dispatch of the next load but one for a cycle; on silicon they go on every 4 cycles")
KNOWN = {
    ("ldsm2", 1, 8): HELD,
}
"""What is further off, and why."""


def _rows() -> list[ParameterSet]:
    with find_data("gpusim/data/hardware/h200/pipes.csv").open() as table:
        measured = [row for row in csv.DictReader(table) if row["op"] in OPERATIONS]
    cases = []
    for row in measured:
        key = (row["op"], int(row["warps"]), int(row["ilp"]))
        marks = [pytest.mark.xfail(strict=True, reason=KNOWN[key])] if key in KNOWN else []
        name = f"{key[0]}-{key[1]}warps-ilp{key[2]}"
        cases.append(pytest.param(*key, float(row["cyc_per_inst_per_warp"]), marks=marks, id=name))
    return cases


@pytest.mark.parametrize(("operation", "warps", "ilp", "measured"), _rows())
def test_a_loop_takes_as_long_as_on_silicon(operation: str, warps: int, ilp: int, measured: float) -> None:
    simulated = cycles_per_instruction(operation, warps, ilp)
    print(f"{operation} {warps} warps, ILP {ilp}: measured {measured:.3f}, simulated {simulated:.3f} cycles")
    assert simulated == pytest.approx(measured, rel=TOLERANCE)
