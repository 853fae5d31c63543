"""The recorded hgemm against silicon: counters of kernels.csv, loops of kernel_loops.csv, and its own arithmetic."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.program import Program

HARDWARE = Path(gs.__file__).parent / "data/hardware/h200"
SWIZZLES = {"sw0": "none", "sw1": "pad:16B"}


def hand_kernels() -> pd.DataFrame:
    rows = pd.read_csv(HARDWARE / "kernels.csv")
    return rows[rows.source == "hand"]


def configuration(row: pd.Series) -> dict:
    return {"tile": (row.tile_m, row.tile_n, row.tile_k), "warps": (row.tile_m // row.warp_m, row.tile_n // row.warp_n),
            "num_stages": row.stages, "swizzle": row.smem_swizzle}


@cache
def record(sizes: tuple[int, int, int], schedule: str = "source", **parameters: object) -> Program:
    return gs.load_program("hgemm_multistage").record(
        gs.load_gpu("h200"), dict(zip("MNK", sizes, strict=True)), schedule=schedule, **parameters)


def record_one_tile(row: pd.Series) -> tuple[Program, int]:
    """A program of one CTA of the row's kernel, and how many CTAs the row's launch has."""
    program = record((row.tile_m, row.tile_n, row.K), **configuration(row))
    return program, row.M // row.tile_m * (row.N // row.tile_n)


def mnemonics(program: Program) -> np.ndarray:
    ops = program.classes[0].roles[0].ops
    return np.array([static.mnemonic for static in program.statics])[ops["pc"]]


def count(program: Program, prefix: str) -> int:
    """Warp instructions of a CTA whose mnemonic starts with ``prefix`` and that are not predicated off."""
    role = program.classes[0].roles[0]
    matching = np.char.startswith(mnemonics(program), prefix)
    return int((matching & (role.ops["active"] == 1)).sum()) * role.num_warps


def wavefronts(program: Program, prefix: str) -> int:
    role = program.classes[0].roles[0]
    rows = role.ops["access"][np.char.startswith(mnemonics(program), prefix) & (role.ops["active"] == 1)]
    return int(role.accesses.wavefronts[rows].sum())


def loop_body(program: Program) -> np.ndarray:
    """Mnemonics of the last iteration of the main loop."""
    role = program.classes[0].roles[0]
    inside = np.array([static.scope == "main_loop" for static in program.statics])[role.ops["pc"]]
    names = mnemonics(program)[inside]
    ends = np.flatnonzero(names == "BRA")
    return names[ends[-2] + 1 : ends[-1] + 1]


@pytest.mark.parametrize("row", [row for _, row in hand_kernels().iterrows()], ids=lambda r: f"{r.kernel}-{r.M}-{r.K}")
def test_executes_what_the_counters_counted(row: pd.Series) -> None:
    program, ctas = record_one_tile(row)
    assert count(program, "HMMA") * ctas == row.hmma_instructions
    assert count(program, "LDSM") * ctas == row.ldsm_instructions
    assert count(program, "LDGSTS") * ctas == row.ldgsts_instructions
    issued = len(program.classes[0].roles[0].ops) * program.warps_per_cta * ctas
    assert issued == pytest.approx(row.warp_instructions, rel=0.10)
    assert wavefronts(program, "LDSM") * ctas == pytest.approx(row.smem_wavefronts_load, rel=0.01)
    assert program.launch.shared_bytes == row.smem_bytes
    assert program.launch.threads_per_cta == row.threads


@pytest.mark.parametrize("row", [row for _, row in pd.read_csv(HARDWARE / "kernel_loops.csv").iterrows()],
                         ids=lambda r: r.kernel)
def test_main_loop_is_as_long_as_the_compiled_one(row: pd.Series) -> None:
    kernels = hand_kernels()
    program, _ = record_one_tile(kernels[kernels.kernel == row.kernel].iloc[0])
    body = loop_body(program)
    assert len(body) == pytest.approx(row.loop_instructions, rel=0.10)
    found = [int(np.char.startswith(body, prefix).sum()) for prefix in ("HMMA", "LDSM", "LDGSTS", "BAR")]
    assert found == [row.hmma, row.ldsm, row.ldgsts, row.bar]


def test_an_iteration_holds_one_commit_one_wait_one_barrier() -> None:
    body = loop_body(record((128, 128, 256)))
    wanted = {"HMMA.16816.F32": 64, "LDSM.16.M88.4": 16, "LDGSTS.E.BYPASS.LTC128B.128": 8, "LDGDEPBAR": 1,
              "DEPBAR.LE": 1, "BAR.SYNC.DEFER_BLOCKING": 1}
    assert {name: int((body == name).sum()) for name in wanted} == wanted


def test_the_last_iterations_copy_nothing_but_still_commit() -> None:
    program = record((128, 128, 256), num_stages=4)
    ops, names = program.classes[0].roles[0].ops, mnemonics(program)
    copies = ops[names == "LDGSTS.E.BYPASS.LTC128B.128"]["active"].reshape(-1, 8)
    assert copies.all(axis=1).tolist() == [True] * 8 + [False] * 3
    assert not copies[8:].any()
    assert ops[names == "LDGDEPBAR"]["active"].tolist() == [1] * 11


CASES = [
    ((256, 256, 128), {}),
    ((128, 128, 256), {"swizzle": "none", "num_stages": 2}),
    ((128, 256, 128), {"swizzle": "pad:16B", "tile": (64, 128, 32), "warps": (2, 2), "raster": "n"}),
    ((128, 64, 192), {"swizzle": "128B", "tile": (64, 64, 64), "num_stages": 4}),
    ((64, 96, 96), {"swizzle": "S<1,4,4>", "tile": (32, 32, 32), "num_stages": 5}),
    ((64, 96, 144), {"swizzle": "none", "tile": (64, 96, 48), "warps": (2, 3)}),
]


@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize(("sizes", "parameters"), CASES)
def test_computes_the_product_without_a_race(sizes: tuple[int, int, int], parameters: dict, schedule: str) -> None:
    verify = pytest.importorskip("gpusim.verify")
    program = record(sizes, schedule, **parameters)
    generator = np.random.default_rng(sum(sizes))
    shapes = {t.name: t.shape for t in program.tensors if not t.is_output}
    inputs = {name: generator.integers(-4, 5, shape).astype(np.float16) for name, shape in shapes.items()}
    result = verify.execute(program, inputs)
    assert result.hazards == []
    np.testing.assert_array_equal(result.outputs["D"], gs.load_program("hgemm_multistage").reference(inputs)["D"])
    assert (result.written["D"] == 1).all()


@settings(max_examples=12, deadline=None)
@given(warps=st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2), (4, 1)]), m=st.sampled_from([1, 2, 3]),
       n=st.sampled_from([1, 2, 4]), bK=st.sampled_from([32, 64]), stages=st.integers(2, 4),
       swizzle=st.sampled_from(["none", "32B", "64B", "128B", "pad:16B", "cutlass"]), k_tiles=st.integers(1, 5))
def test_any_tile_stage_count_and_swizzle_computes_the_product(
        warps: tuple[int, int], m: int, n: int, bK: int, stages: int, swizzle: str, k_tiles: int) -> None:
    verify = pytest.importorskip("gpusim.verify")
    rows = max(32 * warps[0] * warps[1] * 8 // bK, 16)  # one pass of the copy's threads
    tile = tuple(-(-16 * w * count // rows) * rows for w, count in zip(warps, (m, n), strict=True))
    sizes = (tile[0], 2 * tile[1], bK * k_tiles)
    program = record(sizes, tile=(*tile, bK), warps=warps, num_stages=stages, swizzle=swizzle)
    generator = np.random.default_rng(k_tiles)
    shapes = {t.name: t.shape for t in program.tensors if not t.is_output}
    inputs = {name: generator.integers(-3, 4, shape).astype(np.float16) for name, shape in shapes.items()}
    result = verify.execute(program, inputs)
    assert result.hazards == []
    np.testing.assert_array_equal(result.outputs["D"], gs.load_program("hgemm_multistage").reference(inputs)["D"])


def test_conflict_free_swizzle_needs_the_ideal_wavefronts() -> None:
    for swizzle, factor in (("none", 4), ("64B", 1), ("pad:16B", 1), ("S<1,4,4>", 2)):
        accesses = record((128, 128, 64), swizzle=swizzle).classes[0].roles[0].accesses
        loads = np.array([operation == "LDSM4" for operation in accesses.operation])
        assert (accesses.wavefronts[loads] == factor * accesses.ideal_wavefronts[loads]).all(), swizzle


def test_recording_a_long_problem(benchmark) -> None:  # type: ignore[no-untyped-def]
    """K = 8192: design.md asks for less than a second; the benchmark prints it."""
    program_file, spec = gs.load_program("hgemm_multistage"), gs.load_gpu("h200")
    program = benchmark.pedantic(program_file.record, (spec, {"K": 8192}), rounds=3, warmup_rounds=1)
    assert count(program, "HMMA") == 4 * 64 * 256
