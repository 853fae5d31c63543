"""Compares who waits behind what stays at the front of the load/store unit's buffer with an H200 (copy_front.csv):
a warp's fifth access stays there until its first one has passed, and so does a copy behind four, others pass."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_replays import replayed_clocks

from gpusim.arch.paths import find_data
from gpusim.experiments.micro.compiled import CompiledKernel
from gpusim.sass.launch import Scalar, TensorPointer

MEASURED = pd.read_csv(find_data("gpusim/data/hardware/h200/copy_front.csv"))
BEHIND = list(MEASURED["behind"].unique())
"""Template arguments of copy_front.cu."""
FIRST = 3
POINTERS = (TensorPointer("g", "u8", (1 << 22,)), TensorPointer("out", "i64", (8,), True),
            TensorPointer("sink", "u32", (16384,), True))
UNHINDERED_CYCLES, TOLERANCE_CYCLES = 25, 3


def replayed(loads: int, behind: str, ways: int, late: int) -> tuple[int, int, int]:
    """From the start of the warp with the loads: when the other's LDS is issued, has its data; when the loads have."""
    kernel = CompiledKernel("copy_front", f"frontILi{loads}ELi{BEHIND.index(behind)}E")
    loading, other = replayed_clocks(kernel, 2, Scalar(ways), Scalar(FIRST), Scalar(late), *POINTERS)
    return int(other[0] - loading[0]), int(other[1] - loading[0]), int(loading[1] - loading[0])


GROUPS = [pytest.param(*group, id="-".join(map(str, group)))
          for group in MEASURED.groupby(["loads", "behind", "ways"], sort=False).groups]


@pytest.mark.parametrize(("loads", "behind", "ways"), GROUPS)
def test_another_warp_waits_for_the_front_as_long_as_on_silicon(loads: int, behind: str, ways: int) -> None:
    rows = MEASURED.query(f"loads == {loads} and behind == '{behind}' and ways == {ways} and 20 < begins < 140")
    assert len(rows) >= 3
    held = rows[rows.latency > UNHINDERED_CYCLES + TOLERANCE_CYCLES]
    let_go = (held.begins + held.latency).max() if len(held) else -np.inf
    for row in rows.itertuples():
        issued, done, loaded = replayed(loads, behind, ways, int(row.late))
        print(row.late, issued, done, let_go, loaded, row.first_takes)
        assert abs(done - max(issued + UNHINDERED_CYCLES, let_go)) <= TOLERANCE_CYCLES
        assert abs(loaded - row.first_takes) <= TOLERANCE_CYCLES
