"""CUTLASS's pipelines: the right answer, the inventory's counts and orders, and the loops that ptxas compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cutlass_helpers import HARDWARE, SPEC, active, check, count, mnemonics, named, record, story, wavefronts

import gpusim as gs
from gpusim.arch.occupancy import occupancy
from gpusim.dsl.backend import check_hazards
from gpusim.experiments.config import load_plan
from gpusim.experiments.families import job_for_row

TF32 = {"input_type": "tf32", "output_type": "f32", "instruction": (16, 8, 8), "tile": (128, 128, 16),
        "warp": (64, 64, 16)}
S8 = {"input_type": "s8", "accumulator_type": "s32", "output_type": "s32", "instruction": (16, 8, 32),
      "tile": (128, 128, 64), "warp": (64, 64, 64)}
SMALL = {"tile": (64, 64, 32), "warp": (32, 32, 32)}
CASES: list[tuple[str, tuple[int, int, int], dict[str, Any]]] = [
    ("gemm_multistage", (256, 128, 128), {}),
    ("gemm_multistage", (128, 256, 96), {"layouts": "nt", "num_stages": 4}),
    ("gemm_multistage", (128, 128, 64), {"layouts": "nn"}),
    ("gemm_multistage", (128, 128, 64), {"layouts": "tt", "output_type": "f32"}),
    ("gemm_multistage", (200, 136, 104), {"clear": "zfill"}),
    ("gemm_multistage", (72, 104, 40), {"clear": "zfill", "layouts": "nt", **SMALL}),
    ("gemm_multistage", (64, 64, 192), {"tile": (64, 64, 64), "warp": (32, 32, 64), "num_stages": 5}),
    ("gemm_multistage", (128, 128, 8), {"num_stages": 4}),
    ("gemm_multistage", (128, 128, 80), {"input_type": "bf16", "output_type": "bf16"}),
    ("gemm_multistage", (128, 128, 64), {"accumulator_type": "f16"}),
    ("gemm_multistage", (132, 128, 44), {**TF32, "clear": "zfill", "num_stages": 4}),
    ("gemm_multistage", (128, 64, 192), {"tile": (64, 64, 64), "warp": (32, 32, 32), "num_stages": 4}),
    ("gemm_multistage", (72, 72, 136), {"tile": (64, 64, 64), "warp": (64, 32, 32), "clear": "zfill"}),
    ("gemm_pipelined", (128, 128, 192), {"tile": (128, 128, 64), "layouts": "nt", "accumulator_type": "f16"}),
    ("gemm_multistage", (128, 144, 160), {**S8, "clear": "zfill"}),
    ("gemm_multistage", (192, 320, 32), {"raster_log": 3, **SMALL}),
    ("gemm_pipelined", (256, 128, 128), {}),
    ("gemm_pipelined", (200, 136, 104), {"layouts": "nt"}),
    ("gemm_pipelined", (136, 8, 24), {"layouts": "tt"}),
    ("gemm_pipelined", (128, 256, 64), {"tile": (128, 256, 32), "instruction": (16, 8, 8), "layouts": "nt"}),
    ("sgemm_pipelined", (128, 256, 32), {}),
    ("sgemm_pipelined", (201, 137, 37), {"layouts": "tn"}),
    ("sgemm_pipelined", (65, 64, 7), {"tile": (64, 64, 8), "warp": (32, 32, 8), "layouts": "tt"}),
    ("sgemm_multistage", (128, 128, 64), {}),
    ("sgemm_multistage", (130, 127, 29), {"layouts": "tn", "num_stages": 3, "clear": "zfill"}),
    ("sgemm_multistage", (64, 64, 24), {"tile": (64, 64, 8), "warp": (32, 32, 8), "layouts": "nn"}),
]


@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize(("name", "sizes", "parameters"), CASES)
def test_computes_the_product_once_and_without_a_race(name: str, sizes: tuple, parameters: dict, schedule: str) -> None:
    program = record(name, sizes, schedule, **parameters)
    report = check(name, program, sum(sizes))
    assert report.problems == []
    names = [static.mnemonic for static in program.statics]
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, SPEC.instruction_table) == []


def test_without_clearing_stale_rows_reach_masked_outputs_only() -> None:
    """CUTLASS's default: the stage that the main loop fills first keeps what it held beyond the edge."""
    program = record("gemm_multistage", (200, 136, 104))
    report = check("gemm_multistage", program, 1)
    assert {hazard.kind for hazard in report.hazards} == {"uninitialised"}
    assert all(output.ok for output in report.outputs)


def test_edges_are_classes_of_their_own() -> None:
    program = record("gemm_multistage", (1000, 1000, 1000))
    assert program.launch.grid == (8, 8, 1)
    assert np.bincount(program.cta_class).tolist() == [49, 7, 7, 1]
    assert ["edge" in cta_class.name for cta_class in program.classes] == [False, True, True, True]
    ops, accesses = program.classes[0].roles[0].ops, program.classes[0].roles[0].accesses
    first = ops[ops["access"] >= 0][0]
    lanes = [int(mask).bit_count() for mask in accesses.zfill_mask[first["access"]]]
    assert lanes == [24] * 4  # of the residue of 8 elements, one vector of four is inside; the others are zero-filled


@pytest.mark.parametrize(("log", "tiles", "grid", "idle"), [
    (0, (4, 4), (4, 4), 0), (1, (4, 4), (8, 2), 0), (2, (4, 4), (16, 1), 0), (3, (4, 4), (16, 1), 0),
    (3, (4, 6), (32, 1), 8), (2, (2, 5), (8, 2), 6),
])
def test_identity_swizzle(log: int, tiles: tuple, grid: tuple, idle: int) -> None:
    program = record("gemm_multistage", (64 * tiles[0], 64 * tiles[1], 32), raster_log=log, **SMALL)
    assert program.launch.grid == (*grid, 1)
    names = [program.classes[number].name for number in program.cta_class]
    assert sum(name.startswith("idle") for name in names) == idle
    if log == 1:
        d_tiles = program.cta_bases[:5, 2] - program.tensors[2].base_address
        m, n = 64 * tiles[1] * 64 * 2, 64 * 2
        assert d_tiles.tolist() == [0, n, m, m + n, 2 * m]


# the inventory's vectors


@pytest.mark.parametrize(("tiles", "stages"), [(16, 3), (5, 4), (1, 3), (2, 6)])
def test_multistage_counts(tiles: int, stages: int) -> None:
    program = record("gemm_multistage", (64, 64, 32 * tiles), num_stages=stages, **SMALL)
    waits = active(program, "DEPBAR")["operand"].tolist()
    in_epilogue = count(program, "BAR.SYNC", "epilogue") - 1
    assert count(program, "LDGDEPBAR") == (stages - 1) + tiles + 1
    assert waits == [stages - 2] * (1 + tiles) + [0]
    assert count(program, "BAR.SYNC") - in_epilogue == tiles + 2
    assert count(program, "LDSM") == (1 + 2 * tiles) * 4  # a round: 2 of A and 2 of B
    assert len(active(program, "LDGSTS")) == 4 * max(tiles, stages - 1)


def test_multistage_of_two_k_steps_interleaves_as_cutlass_does() -> None:
    program = record("gemm_multistage", (128, 128, 512))
    assert story(program, 3) == "L M A0 A1 B0 B1 A2 A3 B2 B3 C W | L M"


def test_multistage_of_four_k_steps_spreads_the_copies() -> None:
    program = record("gemm_multistage", (128, 128, 512), tile=(128, 128, 64), warp=(64, 32, 64))
    assert story(program, 2) == "L M A0 B0 L M A1 B1 L M A2 B2 A3 B3 C W | L M"
    narrow = record("gemm_multistage", (64, 128, 512), tile=(64, 128, 64), warp=(32, 32, 64))
    assert story(narrow, 2) == "L M A0 B0 L M A1 B1 L M B2 B3 C W | L M"


def test_the_tail_copies_nothing() -> None:
    ops = record("gemm_multistage", (128, 128, 256), num_stages=4).classes[0].roles[0].ops
    program = record("gemm_multistage", (128, 128, 256), num_stages=4)
    names = np.array([static.mnemonic for static in program.statics])[ops["pc"]]
    copies = ops[np.char.startswith(names, "LDGSTS")]["active"].reshape(-1, 8)
    assert copies.all(axis=1).tolist() == [True] * 8 + [False] * 3


def test_pipelined_counts_and_order() -> None:
    program = record("gemm_pipelined", (128, 128, 512))
    tiles = 16
    loads = [name for name in mnemonics(program) if name.startswith("LDG.")]
    assert len(loads) == 8 * (tiles + 1) and len(active(program, "LDG.")) == 8 * tiles
    assert count(program, "STS.128") == 8 * (tiles + 1)
    assert count(program, "BAR.SYNC") - count(program, "BAR.SYNC", "epilogue") == tiles + 1
    assert count(program, "LDSM") == (1 + 2 * tiles) * 8
    assert story(program, 2) == "L G M S | L M"
    sm75 = record("gemm_pipelined", (128, 256, 512), tile=(128, 256, 32), instruction=(16, 8, 8), layouts="nt")
    assert count(sm75, "HMMA.1688") == 2048 and sm75.launch.shared_bytes == 49152


def test_simt_counts() -> None:
    program = record("sgemm_pipelined", (128, 128, 512))
    assert count(program, "BAR.SYNC") - count(program, "BAR.SYNC", "epilogue") == 65
    assert count(program, "LDS.128") == 513 * 4
    assert count(program, "FFMA") == 64 * 512
    assert count(program, "LDG.") == 8 * 65


def test_simt_padding_makes_transposed_stores_conflict_free() -> None:
    program = record("sgemm_pipelined", (128, 128, 64), layouts="tn")
    assert program.launch.shared_bytes == 16896
    accesses = program.classes[0].roles[0].accesses
    assert accesses.bank_conflicts.sum() == 0


def test_simt_multistage_has_no_padding() -> None:
    """kK / 32 elements in default_mma_core_sm80.h; measured: 32768 bytes for simt_128x128x8_w32x64x8_s4_tn."""
    assert record("sgemm_multistage", (128, 128, 64), layouts="tn").launch.shared_bytes == 32768


def test_epilogue_has_two_barriers_a_step() -> None:
    """ptxas, CUTLASS 4: 16 BAR.SYNC for the 8 steps of a warp tile of 64 rows."""
    program = record("gemm_multistage", (128, 128, 64))
    assert count(program, "BAR.SYNC", "epilogue") - 1 == 16
    assert count(program, "STS.64", "epilogue") == 64 and count(program, "STG", "epilogue") == 16


def test_mixed_epilogue_is_free_of_conflicts_and_half_accumulators_are_not() -> None:
    assert record("gemm_multistage", (128, 128, 64)).classes[0].roles[0].accesses.bank_conflicts.sum() == 0
    half = record("gemm_multistage", (128, 128, 64), accumulator_type="f16").classes[0].roles[0].accesses
    stores = [row for row, operation in enumerate(half.operation) if operation.startswith("STS")]
    assert (half.wavefronts[stores] == 2 * half.ideal_wavefronts[stores]).all()


def test_sliced_k_adds_the_shares_in_the_epilogue() -> None:
    program = record("gemm_multistage", (64, 64, 128), tile=(64, 64, 64), warp=(32, 32, 32))
    assert program.launch.threads_per_cta == 256
    steps, partitions = 4, 2  # 256 threads store 16 rows of 64 halves: 4 each
    assert count(program, "LDS.128", "epilogue") == steps * partitions
    assert count(program, "FADD", "epilogue") == steps * 4
    assert count(program, "STG.E.64", "epilogue") == steps
    assert count(program, "BAR.SYNC", "epilogue") - 1 == 2 * steps


# silicon


def cutlass_rows() -> list[pd.Series]:
    rows = pd.read_csv(HARDWARE / "kernels.csv")
    return [row for _, row in rows[(rows.source == "cutlass") & (rows.M == 512)].iterrows() if named(row.kernel)]


@pytest.mark.parametrize("row", cutlass_rows(), ids=lambda row: row.kernel)
def test_executes_what_the_counters_counted(row: pd.Series) -> None:
    name, parameters = named(row.kernel) or ("", {})
    program = record(name, (row.M, row.N, row.K), **parameters)
    warps = row.M // row.tile_m * (row.N // row.tile_n) * row.threads // 32
    assert len(mnemonics(program)) == pytest.approx(row.warp_instructions / warps, rel=0.06)
    assert len(active(program, "HMMA")) == row.hmma_instructions / warps
    assert len(active(program, "LDSM")) == row.ldsm_instructions / warps
    assert len(active(program, "LDGSTS")) == row.ldgsts_instructions / warps
    ctas = row.M // row.tile_m * (row.N // row.tile_n)
    assert wavefronts(program, "LDS") == pytest.approx(row.smem_wavefronts_load / ctas, rel=0.01)
    assert wavefronts(program, "STS") == pytest.approx(row.smem_wavefronts_store / ctas, rel=0.05)
    launch = program.launch
    assert (launch.shared_bytes, launch.threads_per_cta) == (row.smem_bytes, row.threads)
    assert launch.registers_per_thread == pytest.approx(row.registers, abs=10)
    found = occupancy(SPEC, launch.threads_per_cta, launch.registers_per_thread, launch.shared_bytes)
    assert found.blocks_per_sm == row.blocks_per_sm


def compiled_loops() -> list[tuple[str, int, int]]:
    """(kernel, registers, instructions of the loop) of main_loops.md."""
    rows = [line.split("|")[1:] for line in (HARDWARE / "main_loops.md").read_text().splitlines()
            if line.startswith("| ") and line.count("|") > 15]
    cells = [[cell.strip() for cell in row] for row in rows]
    return [(row[0], int(row[1]), int(row[3])) for row in cells if row[1].isdigit() and named(row[0])]


def test_the_table_of_compiled_loops_was_found() -> None:
    assert len(compiled_loops()) == 30


@pytest.mark.parametrize(("kernel", "registers", "instructions"), compiled_loops())
def test_main_loop_is_as_long_as_the_compiled_one(kernel: str, registers: int, instructions: int) -> None:
    name, parameters = named(kernel) or ("", {})
    tile = parameters["tile"]
    program = record(name, (tile[0], tile[1], 4 * tile[2]), **parameters)
    tolerance = 0.06 if instructions > 100 else 0.12
    assert len(mnemonics(program, "main_loop")) / 4 == pytest.approx(instructions, rel=tolerance)
    assert program.launch.registers_per_thread == pytest.approx(registers, abs=10)


# refusals


@pytest.mark.parametrize(("name", "sizes", "parameters", "sentence"), [
    ("gemm_multistage", (128, 128, 64), {"num_stages": 2}, "MmaMultistage has at least 3 stages, got num_stages=2"),
    ("gemm_multistage", (128, 128, 33), {}, "cp.async moves 4, 8 or 16 bytes, got accesses of 2 bytes"),
    ("gemm_multistage", (128, 128, 64), {"layouts": "xy"}, "operand layouts are two letters"),
    ("gemm_multistage", (128, 128, 64), {**S8, "layouts": "nt"}, "ldmatrix.trans moves 16-bit elements"),
    ("gemm_multistage", (128, 128, 64), {"warp": (64, 64, 16)}, "a warp tile has an even number of k steps"),
    ("gemm_pipelined", (128, 128, 64), {"warp": (64, 48, 32)}, "warp tiles must divide the threadblock tile"),
    ("gemm_multistage", (128, 128, 64), {"input_type": "f15"}, "no such element type, got 'f15'"),
    ("sgemm_pipelined", (128, 128, 64), {"tile": (128, 128, 16), "warp": (32, 64, 16), "layouts": "tn"},
     "the padding of a transposed tile must be whole vectors"),
    ("gemm_multistage", (128, 128, 64), {**S8, "output_type": "f64"}, "an epilogue converts s32 to .*got f64"),
    ("sgemm_pipelined", (128, 128, 64), {"warp": (8, 64, 8)}, "a lane owns whole vectors"),
])
def test_refusals_name_rule_and_value(name: str, sizes: tuple, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record(name, sizes, **parameters)


@pytest.mark.parametrize(("gpu", "name", "parameters", "sentence"), [
    ("t4", "gemm_multistage", {"instruction": (16, 8, 8)}, "SM80_CP_ASYNC_CACHEGLOBAL_ZFILL_16B needs sm_80 or later"),
    ("v100", "gemm_pipelined", {"instruction": (16, 8, 8)}, "SM75_U32x4_LDSM_N needs sm_75 or later"),
    ("v100", "sgemm_multistage", {}, "SM80_CP_ASYNC_CACHEALWAYS_ZFILL_4B needs sm_80 or later"),
])
def test_an_older_gpu_refuses_what_it_lacks(gpu: str, name: str, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        gs.load_program(name).record(gs.load_gpu(gpu), {"M": 128, "N": 128, "K": 64}, **parameters)


@pytest.mark.parametrize(("gpu", "name", "parameters"), [
    ("a100", "gemm_multistage", {"layouts": "nt"}), ("t4", "gemm_pipelined", {"instruction": (16, 8, 8)}),
    ("t4", "sgemm_pipelined", {}), ("v100", "sgemm_pipelined", {}),
])
def test_other_gpus_run_what_they_have(gpu: str, name: str, parameters: dict) -> None:
    program = gs.load_program(name).record(gs.load_gpu(gpu), {"M": 128, "N": 128, "K": 32}, **parameters)
    report = check(name, program, 2)
    assert report.problems == []
    has_uniform = any(static.mnemonic.startswith("U") for static in program.statics)
    assert has_uniform == (gpu != "v100")


# validation


def test_every_row_of_these_families_is_built_from_its_columns() -> None:
    """The name of a kernel plays no part: it is replaced."""
    rows = pd.read_csv(HARDWARE / "kernels.csv")
    chosen = rows[(rows.source == "cutlass") & ~rows.family.str.startswith("sm90")]
    assert len(chosen) == 12
    for columns in chosen.assign(kernel="anything").to_dict("records"):
        job = job_for_row(columns, gpu="h200", fidelity="full")
        plan = load_plan(job.target, job.settings)
        assert plan.problem == {size: columns[size] for size in "MNK"}
        assert plan.parameters["tile"] == [columns["tile_m"], columns["tile_n"], columns["tile_k"]]
        letters = {"row": "t", "col": "n"}
        assert plan.parameters["layouts"] == letters[columns["layout_a"]] + letters[columns["layout_b"]]
