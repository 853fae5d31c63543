"""Compares when warps have what each loads behind a barrier with an H200 (load_pairs.csv): two accesses at a time pass
the data stage, a wavefront of each every other cycle."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_replays import replayed_clocks

from gpusim.arch.paths import find_data
from gpusim.experiments.micro.compiled import CompiledKernel
from gpusim.sass.launch import Scalar, TensorPointer

MEASURED = pd.read_csv(find_data("gpusim/data/hardware/h200/load_pairs.csv"))
KINDS = ["LDSM.x4", "LDS.32", "LDS.128", "LDSM.x1"]
"""Template arguments of load_pairs.cu."""
ROUND, TOLERANCE_CYCLES = 4, 1
POINTER = TensorPointer("out", "u32", (16384,), True)


@pytest.mark.parametrize(("load", "pitch", "warps", "behind"), list(MEASURED.itertuples(index=False)))
def test_warps_have_what_they_load_as_far_apart_as_on_silicon(load: str, pitch: int, warps: int, behind: str) -> None:
    kernel = CompiledKernel("load_pairs", f"pairsILi{KINDS.index(load)}E")
    done = np.sort([clocks[ROUND] for clocks in replayed_clocks(kernel, warps, Scalar(pitch), POINTER)])
    measured = np.sort(np.array(behind.split(), int))
    off = np.abs(done - done[0] - measured)
    print(load, pitch, warps, off.max())
    assert off.max() <= TOLERANCE_CYCLES
