"""Stores to global memory beside what a CTA stores to and loads from shared memory, compiled and replayed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data
from gpusim.engine import RecordWindow, SimulationResult, simulate
from gpusim.experiments.micro.compiled import CompiledKernel, replay
from gpusim.experiments.micro.probe import issue_cycles
from gpusim.sass import SassLaunch, Scalar, TensorPointer

GPU = load_gpu("h200")
WARPS = range(4)
EPILOGUE = pd.read_csv(find_data("gpusim/data/hardware/h200/half_epilogue.csv"))
BEHIND = pd.read_csv(find_data("gpusim/data/hardware/h200/sts_behind.csv"))
STS, LDS, BARRIERS = 1, 2, 4


def clocks(kernel: CompiledKernel, *scalars: int) -> tuple[SimulationResult, list[list[int]]]:
    """A replay by one CTA of four warps, and when each of them reads its clock."""
    pointers = TensorPointer("data", "u8", (8 << 20,), True), TensorPointer("out", "u8", (1 << 13,), True)
    launch = SassLaunch((1, 1, 1), (128, 1, 1), (*pointers, *map(Scalar, scalars)), 64 << 10, 64)
    result = simulate(replay(GPU, kernel=kernel, launch=launch), GPU, l2="warm", launch_overhead=False,
                      record=RecordWindow(0, 0, 1 << 40))
    return result, [issue_cycles(result, kernel.clock_pcs, warp) for warp in WARPS]


NOT_AS_THERE = {
    (STS, 4, 8): "which halves find each other where nothing keeps warps in step", (STS, 4, 32): "the same",
}


def rounds() -> list[object]:
    cases = []
    for _, row in EPILOGUE.query("rounds > 1").iterrows():
        case = (int(row.parts), int(row.stores), int(row.rounds))
        reason = NOT_AS_THERE.get(case)
        marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
        cases.append(pytest.param(row, id="-".join(map(str, case)), marks=marks))
    return cases


@pytest.mark.parametrize("row", rounds())
def test_warps_that_store_halves_of_sectors_in_rounds_take_as_long_as_measured(row: pd.Series) -> None:
    """STS, a barrier, LDS, STG and a barrier, as epilogues have them, or some of these: half_epilogue.csv, 3 %."""
    kernel = CompiledKernel("half_epilogue", f"halfILi{row.parts}ELi{row.stores}E")
    _, read = clocks(kernel, int(row.rounds), 0)
    ours = np.mean([times[-1] - times[-2] for times in read])
    assert ours == pytest.approx(row[[f"w{warp}" for warp in WARPS]].mean(), rel=0.03)


@pytest.mark.parametrize("stores", [2, 4])
def test_behind_a_barrier_warps_take_turns_so_that_halves_of_sectors_do_not_join(stores: int) -> None:
    """Each warp's second store comes 24 lines and more behind its first one: every half goes out alone, as counted."""
    parts, many = STS | LDS | BARRIERS, 32
    result, _ = clocks(CompiledKernel("half_epilogue", f"halfILi{parts}ELi{stores}E"), many, 0)
    (counted,) = EPILOGUE.query("parts == @parts and stores == @stores and rounds == @many").l2_sectors
    assert result.counters["l2_sectors_write"] == pytest.approx(counted, rel=0.035)


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.stores}-{row.shared}")
                                 for _, row in BEHIND.query("all and shared > 2 and stores > 2").iterrows()])
def test_registers_of_shared_stores_are_not_kept_back_by_those_of_global_ones(row: pd.Series) -> None:
    """Four to twelve STS.64 of each warp and a load behind three to eight STG.128, of which one leaves every 40 cycles:
    those that have passed make room for the next ones (sts_behind.csv; if registers came free in turn twelve would
    take 150 cycles longer)."""
    kernel = CompiledKernel("sts_behind", f"behindILi{row.stores}ELi{row.shared}ELi1E")
    _, read = clocks(kernel)
    ours, measured = [times[-1] - times[-4] for times in read], [row[f"w{warp}_loaded"] for warp in WARPS]
    np.testing.assert_allclose(sorted(ours), sorted(measured), atol=40)
