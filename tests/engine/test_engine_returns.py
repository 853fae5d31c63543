"""Compares when ldmatrix beside tensor instructions have their data with an H200 (load_returns.csv), by one to four
warps in sub-partitions of their own: what reads their addresses, and what their data wait for, is not built yet."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_programs import Memory, Row, issue_cycles, program, row, run, small_gpu

from gpusim.arch.paths import find_data

MEASURED = pd.read_csv(find_data("gpusim/data/hardware/h200/load_returns.csv"))
LEAD_CYCLES, TOLERANCE_CYCLES = 20, 3
LATE = pytest.mark.xfail(reason="a load's address is read a cycle late behind an HMMA, its data are four cycles late "
                                "alone (deviation 2a)", strict=True)


def steps(text: str, wanted: int) -> list[Row]:
    """NOPs of a cycle between the instructions; a move waits for the load that is asked for."""
    timed = {int(step[:-1]): step[-1] for step in text.split()}
    out, loads = [], 0
    for cycle in range(-LEAD_CYCLES, max(timed) + 1):
        kind = timed.get(cycle)
        board = 0 if loads == wanted else 1
        out.append(row("HMMA.16816.F32 stall=1") if kind == "H" else
                   row(f"LDSM.16.M88.4 stall=1 write={board} access=a") if kind == "L" else row("NOP stall=1"))
        loads += kind == "L"
    return [*out, row("MOV stall=1 wait=0"), row("NOP stall=1")]


@pytest.mark.parametrize("text", [pytest.param(text, marks=LATE if "H" in text else ())
                                  for text in MEASURED.program.unique()])
def test_ldmatrix_have_their_data_when_they_have_on_silicon(text: str) -> None:
    """To three cycles, which is by how much those that wait begin further apart there."""
    for (warps, wanted), group in MEASURED.query("program == @text").groupby(["warps", "load"]):
        result = run(program([(int(warps), steps(text, int(wanted)))], {"a": Memory("LDSM4")}), small_gpu())
        issued = [issue_cycles(result, warp) for warp in range(int(warps))]
        first = min(cycles[0] for cycles in issued)
        simulated = sorted(cycles[-1] - first - LEAD_CYCLES for cycles in issued)
        for cycles in group.cycles:
            measured = sorted(int(cycle) for cycle in str(cycles).split())
            print(text, warps, wanted, measured, simulated)
            assert np.abs(np.subtract(simulated, measured)).max() <= TOLERANCE_CYCLES
