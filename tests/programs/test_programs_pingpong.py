"""gemm_sm90 with consumers that take turns: the product by NumPy, who reads which stages, what turns are there for,
and the instructions and shared memory of silicon's rows."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_programs_hopper import mnemonics, record, right_and_clean

import gpusim as gs
from gpusim.arch import GpuSpec
from gpusim.dsl.hopper.order import OrderedGroup
from gpusim.engine import simulate
from gpusim.errors import SimulatedFailure
from gpusim.experiments.families import job_for_row
from gpusim.program import MBarrierAction, Program, RoleProgram, unpack_mbarrier
from gpusim.verify import check_program, execute

sys.path.insert(0, str(Path(gs.load_program("gemm_sm90").kernel.file).parent))
from common.sm90_epilogue import Sm90Epilogue

KERNELS = pd.read_csv(Path(gs.__file__).parent / "data/hardware/h200/kernels_sm90.csv")
ROWS = [row for _, row in KERNELS[(KERNELS.family == "sm90_pingpong") & (KERNELS.M <= 1024)].iterrows()]
PINGPONG = {"kernel_schedule": "pingpong", "tile": (64, 64, 64), "num_stages": 4}
THREE_TILES = (1024, 64 * 17, 192)
"""16 x 17 tiles of 64 x 64 on 132 SMs: eight CTAs take three of them, the others two."""


def few_sms() -> GpuSpec:
    return gs.load_gpu("h200", ["sm.count=2", "noc.gpc_runs=[[0, 2]]", "noc.gpc_latency_cycles=[]"])


def anew(sizes: dict[str, int], **parameters: object) -> Program:
    return gs.load_program("gemm_sm90").record(gs.load_gpu("h200"), sizes, **{**PINGPONG, **parameters})


def ones(program: Program) -> dict[str, np.ndarray]:
    return {info.name: np.ones(info.shape, np.float16) for info in program.tensors if not info.is_output}


def consumers(program: Program, number: int = 0) -> list[RoleProgram]:
    return [role for role in program.classes[number].roles if role.name.startswith("consumer")]


def awaited(program: Program, role: RoleProgram, name: str) -> list[tuple[int, int]]:
    """(number of the barrier among those of this name, parity) of the role's waits."""
    names = [barrier.name for barrier in program.mbarriers]
    first = next(number for number, found in enumerate(names) if found.startswith(name))
    uses = [unpack_mbarrier(int(operand)) for operand, found in zip(
        role.ops["operand"], mnemonics(program, role), strict=True) if found.startswith("SYNCS")]
    return [(use.index - first, use.parity) for use in uses
            if use.action == MBarrierAction.wait and names[use.index].startswith(name)]


@pytest.mark.parametrize(("sizes", "parameters"), [
    ((64, 64, 64), {}),  # one CTA, one tile, one stage
    ((200, 136, 104), {"alpha": 2.0}),
    (THREE_TILES, {}),
    ((1000, 1080, 72), {"layouts": "nt"}),
    ((1000, 1080, 328), {"num_stages": 2, "beta": -1.0}),
    ((2048, 2304, 64), {"tile": (128, 128, 64), "num_stages": 6}),
    ((1600, 1000, 104), {"tile": (64, 160, 64), "beta": 0.5}),  # five parts, four stages of C and D
    ((1600, 1000, 104), {"tile": (64, 160, 64)}),
    ((1024, 1152, 192), {"cluster": (2, 1)}),
    ((1000, 1160, 72), {"cluster": (1, 2), "beta": 0.5}),
    ((136, 72, 72), {"cluster": (2, 2)}),
])
def test_consumers_that_take_turns_multiply(sizes: tuple[int, int, int], parameters: dict) -> None:
    right_and_clean("gemm_sm90", sizes, **{**PINGPONG, **parameters})


def test_stages_of_d_go_on_from_tile_to_tile() -> None:
    """Five parts and four stages: a tile's first part must not go where the last tile's last one is still read."""
    right_and_clean("gemm_sm90", (2048, 1600, 64), kernel_schedule="cooperative", tile=(128, 160, 64), num_stages=3)


def test_consumers_read_the_stages_of_every_other_tile() -> None:
    """Tile t of a CTA is in the loads 3 t to 3 t + 2, which go round four stages."""
    program = record("gemm_sm90", THREE_TILES, **PINGPONG)
    for number, role in enumerate(consumers(program)):
        loads = [3 * tile + k for tile in range(number, 3, 2) for k in range(3)]
        assert awaited(program, role, "ab.full") == [(load % 4, load // 4 % 2) for load in loads]
        turns = len(loads) // 3
        assert awaited(program, role, "order") == [
            (2 * thing + number, (turn + (number == 0)) % 2) for turn in range(turns) for thing in range(2)]
    assert [Counter(mnemonics(program, role))["UTMASTG.2D"] for role in consumers(program)] == [2 * 2, 1 * 2]


def test_an_only_tile_leaves_the_second_consumer_idle() -> None:
    program = record("gemm_sm90", (256, 256, 192), **PINGPONG)
    busy, idle = (mnemonics(program, role) for role in consumers(program))
    work = {"WARPGROUP.ARRIVE", "STSM.16.M88.4", "SYNCS.PHASECHK.TRANS64.TRYWAIT"}
    assert work <= set(busy) and not work & set(idle)
    assert idle.count("USETMAXREG.TRY_ALLOC.CTAPOOL") == busy.count("USETMAXREG.TRY_ALLOC.CTAPOOL") == 1


def test_who_does_not_wait_for_its_turn_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five tiles of k and two stages: of a stage that is two fillings behind, the parity is as if it were full."""
    monkeypatch.setattr(OrderedGroup, "wait", lambda self: None)
    program = anew({"M": 1024, "N": 64 * 17, "K": 320}, num_stages=2)
    with pytest.raises(SimulatedFailure, match=r"deadlock.*'consumer 1'\) wait for mbarrier ab.full"):
        execute(program, ones(program))


def test_who_leaves_before_its_tile_is_stored_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sm90Epilogue, "drain", lambda self: None)
    program = anew(dict(zip("MNK", THREE_TILES, strict=True)))
    report = check_program(program, ones(program), {"D": np.full((1024, 64 * 17), 192, np.float16)})
    assert any("war_async" in str(problem) for problem in report.problems)


def test_a_stage_is_released_by_the_one_warpgroup_that_has_read_it() -> None:
    arrivals = {barrier.name: barrier.arrivals for barrier in record("gemm_sm90", (256, 256, 64), **PINGPONG).mbarriers}
    assert {arrivals[f"ab.empty[{stage}]"] for stage in range(4)} == {128}
    assert {arrivals[f"order[{thing}][{group}]"] for thing in range(2) for group in range(2)} == {128}
    in_cluster = record("gemm_sm90", (256, 256, 64), **PINGPONG, cluster=(2, 1))
    assert {b.arrivals for b in in_cluster.mbarriers if b.name.startswith("ab.empty")} == {2}


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_what_is_loaded_and_stored_is_what_the_tiles_are(beta: float) -> None:
    M, N, K = THREE_TILES
    counters = simulate(record("gemm_sm90", THREE_TILES, **PINGPONG, beta=beta), gs.load_gpu("h200")).counters
    tiles = M * N // 64**2
    assert counters["bulk_bytes_stored"] == M * N * 2
    assert counters["bulk_bytes_loaded"] == tiles * (64 + 64) * K * 2 + (M * N * 2 if beta else 0)


def test_a_tile_is_stored_while_the_next_one_is_multiplied() -> None:
    """Further tiles cost the tensor pipe's time and little else; where consumers share tiles, the epilogue besides.

    A quarter more: barriers of the warps that store hold up what stands behind them in the load/store unit."""
    costs = {}
    for schedule in ("pingpong", "cooperative"):
        results = [simulate(gs.load_program("gemm_sm90").record(few_sms(), {"M": 128 * tiles, "N": 128, "K": 1024},
                                                                kernel_schedule=schedule), few_sms(), l2="warm")
                   for tiles in (4, 12)]
        pipe = results[1].counters["wgmma_pipe_cycles"] - results[0].counters["wgmma_pipe_cycles"]
        costs[schedule] = (results[1].cycles - results[0].cycles) / (pipe / 2)
    assert costs["pingpong"] < 1.1 < 1.25 < costs["cooperative"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.kernel}-{row.M}")
def test_rows_of_silicon_have_these_instructions_and_shared_memory(row: pd.Series) -> None:
    job = job_for_row(row, gpu="h200", fidelity="full")
    parameters = {"kernel_schedule": "pingpong", "tile": (row.tile_m, row.tile_n, row.tile_k),
                  "cluster": (row.cluster_m, row.cluster_n), "num_stages": row.stages}
    assert job.target == "gemm_sm90" and "parameters.kernel_schedule=pingpong" in job.settings
    program = record("gemm_sm90", (row.M, row.N, row.K), **parameters)
    launch = program.launch
    assert (launch.shared_bytes, launch.threads_per_cta, launch.registers_per_thread) == (
        row.smem_bytes, row.threads, row.registers)
    executed = sum(len(role.ops) * role.num_warps for number in program.cta_class
                   for role in program.classes[number].roles)
    assert executed == pytest.approx(row.warp_instructions, rel=0.07)


@pytest.mark.parametrize(("tile", "sentence"), [
    ((96, 128, 64), "64 rows of the tile or a multiple, got 96 rows for 1 warpgroups"),
    ((192, 192, 64), "fit into the 255 registers of a thread with some to spare, got 288"),
])
def test_tiles_that_a_warpgroup_cannot_hold_are_refused(tile: tuple[int, int, int], sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record("gemm_sm90", (256, 256, 256), **{**PINGPONG, "tile": tile})
