"""Compares what waits behind a deferred BAR with an H200's answers (deferred.csv): arithmetic goes on, all else waits.
Leaves out what stands less than six cycles behind BAR, which goes on there, and several warps of a sub-partition."""

from __future__ import annotations

import pandas as pd
import pytest
from engine_programs import Memory, Row, issue_cycles, loop, program, run, small_gpu

from gpusim.arch.paths import find_data

TABLE = pd.read_csv(find_data("gpusim/data/hardware/h200/deferred.csv")).query("cycles_behind_bar >= 6")
CASES = [pytest.param(*case, id=f"{case[0]} after {case[1]}") for case in
         TABLE[["instruction", "cycles_behind_bar"]].itertuples(index=False, name=None)]
TENSOR, TIMES = 50, 3


def iteration(instruction: str, behind: int, *, stops: bool) -> list[Row]:
    """The loop of deferred.py: fifty HMMA, BAR, the instruction, fifty HMMA; or a NOP in the place of BAR."""
    words = instruction.split()
    off = words[0] == "@!PT"
    mnemonic = words[1] if off else words[0]
    tensor = [Row("HMMA.16816.F32", stall=6, reads=(4,))] * TENSOR
    stop = Row("BAR.SYNC.DEFER_BLOCKING" if stops else "NOP", stall=behind)
    loops = mnemonic == "BRA"
    then = [] if loops else [Row(mnemonic, stall=4, off=off, access="a" if mnemonic == "LDS" else ""), *tensor]
    return [*tensor, stop, *then, Row("BRA", stall=6, jumps=True)]


def cycles(instruction: str, behind: int, warps: int, *, stops: bool) -> float:
    body = iteration(instruction, behind, stops=stops)
    issued = issue_cycles(run(program([(warps, loop(body, TIMES))], {"a": Memory("LDS32")}), small_gpu()))
    return (issued[-len(body)] - issued[0]) / (TIMES - 1)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(("instruction", "behind"), CASES)
def test_what_waits_behind_a_barrier_waits_as_long_as_on_silicon(instruction: str, behind: int, warps: int) -> None:
    line = TABLE.query("instruction == @instruction and cycles_behind_bar == @behind").iloc[0]
    measured = line[f"cycles_{warps}_warp{'s' * (warps > 1)}"] - line[f"without_{warps}_warp{'s' * (warps > 1)}"]
    simulated = cycles(instruction, behind, warps, stops=True) - cycles(instruction, behind, warps, stops=False)
    assert simulated == pytest.approx(measured, abs=0.5), f"{line.instruction}: measured {measured:.1f}"
