"""What the data of loads from global memory take of the data stage, beside what an H200 did (loads_beside.csv)."""

from __future__ import annotations

import pandas as pd
import pytest
from engine_programs import Memory, program, rows, run, small_gpu

from gpusim.arch.paths import find_data

BESIDE = pd.read_csv(find_data("gpusim/data/hardware/h200/loads_beside.csv")).query("loaders == 8 and ways == 2")
ALONE = BESIDE.query("global_loaders == 0").cycles_per_load.mean()
LANES, LINE_BYTES = 32, 128
LOAD = rows("LDG access=d write=0\nNOP wait=0")


@pytest.mark.parametrize("through", ["L2", "L1 miss", "L1 second half", "L1 hit"])
@pytest.mark.parametrize("row_bytes", [16, 32, 64, 128, 256, 512])
def test_a_load_takes_a_cycle_for_each_line_and_each_128_bytes(through: str, row_bytes: int) -> None:
    """What 16 bytes a lane in rows of so many bytes take from eight warps that load shared memory without end: half
    lines cost as much as whole ones, found in L1 or not."""
    together = BESIDE[(BESIDE.through == through) & (BESIDE.bytes == 16) & (BESIDE.row_bytes == row_bytes)
                      & (BESIDE.global_loaders > 0)]
    taken = together.cycles_per_global_load * (1 - ALONE / together.cycles_per_load)
    rows = LANES * 16 // row_bytes
    lines = max(rows, LANES * 16 // LINE_BYTES)
    assert taken.mean() == pytest.approx(lines, rel=0.08)
    result = run(program(LOAD, {"d": Memory("LDG128", lines=lines)}), small_gpu(1))
    assert result.sm_counters["data_stage_cycles"][0] == lines


@pytest.mark.parametrize(("width", "row_bytes"), [(4, 16), (4, 32), (4, 64), (4, 128)])
def test_narrow_loads_take_a_cycle_for_each_line(width: int, row_bytes: int) -> None:
    together = BESIDE[(BESIDE.through == "L2") & (BESIDE.bytes == width) & (BESIDE.row_bytes == row_bytes)
                      & (BESIDE.global_loaders > 0)]
    taken = together.cycles_per_global_load * (1 - ALONE / together.cycles_per_load)
    lines = LANES * width // row_bytes
    assert taken.mean() == pytest.approx(lines, rel=0.12)
    result = run(program(LOAD, {"d": Memory("LDG32", lines=lines)}), small_gpu(1))
    assert result.sm_counters["data_stage_cycles"][0] == lines
