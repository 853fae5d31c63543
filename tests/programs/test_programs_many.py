"""Several GEMMs in a launch, and rows by index: batches, groups of problems, gather and scatter.

Compiled numbers are those of CUTLASS 4.2's GemmGrouped and GemmUniversal with gather and scatter, f16, 128x128x32,
warps of 64x64, tn, sm_90a, CUDA 13.0.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cutlass_helpers import HARDWARE, SPEC, check

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.engine import simulate
from gpusim.experiments.config import load_plan
from gpusim.experiments.families import job_for_row
from gpusim.program import Program, RoleProgram
from gpusim.verify import check_program, random_inputs

SMALL = {"tile": (64, 64, 32), "warp": (32, 32, 32)}
RAGGED = {"clear": "zfill", **SMALL}
CASES: list[tuple[str, dict[str, int], dict[str, Any]]] = [
    ("gemm_batched", {"M": 128, "N": 128, "K": 96, "batches": 3}, {}),
    ("gemm_batched", {"M": 72, "N": 104, "K": 40, "batches": 5}, {**RAGGED, "beta": 0.5}),
    ("gemm_batched", {"M": 65, "N": 67, "K": 34, "batches": 2}, {**RAGGED, "mode": "array"}),
    ("gemm_batched", {"M": 64, "N": 64, "K": 40, "batches": 5}, {**RAGGED, "max_grid_z": 2, "layouts": "nt"}),
    ("gemm_batched", {"M": 64, "N": 72, "K": 40, "batches": 3}, {
        **RAGGED, "max_grid_z": 2, "mode": "array", "beta": 1.5}),
    ("gemm_grouped", {}, {**RAGGED, "problems": "64x64x64"}),
    ("gemm_grouped", {}, {**RAGGED, "problems": "72x136x40, 200x8x104, 64x64x64", "beta": -1.0}),
    ("gemm_grouped", {}, {**RAGGED, "problems": "768x768x32, 65x66x34, 130x70x66", "ctas_per_sm": 1}),
    ("gemm_grouped", {}, {**RAGGED, "problems": " ".join(["64x64x32"] * 32 + ["40x64x64"] * 2), "layouts": "nt"}),
    ("gemm_gather_scatter", {"M": 256, "N": 128, "K": 128}, {"clear": "zfill"}),
    ("gemm_gather_scatter", {"M": 130, "N": 72, "K": 100}, {**RAGGED, "beta": 0.5}),
    ("gemm_gather_scatter", {"M": 200, "N": 66, "K": 38}, {**RAGGED, "scatter_d": False, "rows": 50}),
    ("gemm_gather_scatter", {"M": 70, "N": 64, "K": 32}, {**RAGGED, "gather_a": False, "raster_log": 1}),
]


@cache
def record(name: str, schedule: str = "list", **given: Any) -> Program:
    sizes = {key: given.pop(key) for key in list(given) if key in ("M", "N", "K", "batches")}
    return gs.load_program(name).record(SPEC, sizes, schedule=schedule, **given)


@pytest.mark.parametrize(("name", "sizes", "parameters"), CASES)
def test_every_answer_is_right_and_written_once(name: str, sizes: dict, parameters: dict) -> None:
    program = record(name, **sizes, **parameters)
    assert check(name, program, 5).problems == []
    names = [static.mnemonic for static in program.statics]
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, SPEC.instruction_table) == []


def mnemonics(program: Program, role: RoleProgram, scope: str = "") -> Counter[str]:
    statics = [program.statics[pc] for pc in role.ops["pc"].tolist()]
    return Counter(static.mnemonic for static in statics if scope in ("", static.scope))


def loads(program: Program, role: RoleProgram, label: str) -> int:
    """Active instructions of a warp whose access has this label."""
    ops = role.ops[(role.ops["access"] >= 0) & (role.ops["active"] == 1)]
    return sum(role.accesses.label[row] == label for row in ops["access"].tolist())


def only_role(program: Program) -> RoleProgram:
    return program.classes[0].roles[0]


# batches


def test_a_batch_is_a_multistage_gemm() -> None:
    """The inventory's counts of MmaMultistage hold for each batch that a CTA takes."""
    program = record("gemm_batched", M=64, N=64, K=160, batches=6, max_grid_z=3, **SMALL)
    assert (program.launch.grid, len(program.tensors)) == ((1, 1, 3), 6)
    tiles, stages, batches = 5, 3, 2
    found = mnemonics(program, only_role(program))
    in_epilogue = 2 * 4  # barriers: two for each of four steps
    assert found["LDGDEPBAR"] == batches * (stages - 1 + tiles + 1)
    assert found["BAR.SYNC.DEFER_BLOCKING"] == batches * (tiles + 2 + in_epilogue) + (batches - 1)
    assert found["HMMA.16816.F32"] == batches * tiles * 2 * 8


def test_batches_lie_at_their_strides() -> None:
    program = record("gemm_batched", M=64, N=64, K=64, batches=3, **SMALL)
    assert np.diff(program.cta_bases, axis=0).tolist() == [[64 * 64 * 2] * 3] * 2


def test_a_row_of_batches_is_built_from_its_columns() -> None:
    """In kernels_more.csv the number of batches stands in the column split_k."""
    rows = pd.read_csv(HARDWARE / "kernels_more.csv")
    batched = rows[rows.family == "multistage_batched"].assign(kernel="anything").to_dict("records")
    jobs = [job_for_row(row, gpu="h200", fidelity="full") for row in batched]
    plans = [load_plan(job.target, job.settings) for job in jobs]
    assert len(plans) == 3 and {plan.program.name for plan in plans} == {"gemm_batched"}
    assert [plan.problem["batches"] for plan in plans] == [row["split_k"] for row in batched]


def test_batches_execute_what_the_counters_counted() -> None:
    rows = pd.read_csv(HARDWARE / "kernels_more.csv")
    row = rows[(rows.family == "multistage_batched") & (rows.M == 512)].iloc[0]
    sizes = {"M": int(row.M), "N": int(row.N), "K": int(row.K), "batches": int(row.split_k)}
    program = record("gemm_batched", num_stages=4, **sizes)
    executed = sum(len(program.classes[number].roles[0].ops) for number in program.cta_class.tolist()) * 4
    assert executed == pytest.approx(row.warp_instructions, rel=0.01)
    warps = 4 * program.num_ctas
    assert mnemonics(program, only_role(program))["LDSM.16.M88.4"] == row.ldsm_instructions / warps
    assert program.launch.threads_per_cta == row.threads and program.launch.shared_bytes == row.smem_bytes


def test_arrays_of_pointers_cost_a_load_per_tensor_and_batch() -> None:
    array = record("gemm_batched", M=64, N=64, K=64, batches=2, mode="array", **SMALL)
    role = only_role(array)
    assert [loads(array, role, f"ld.global pointers_{name}") for name in "ABD"] == [1, 1, 1]
    strided = record("gemm_batched", M=64, N=64, K=64, batches=2, **SMALL)
    extra = mnemonics(array, role) - mnemonics(strided, only_role(strided))
    assert extra == Counter({"LDG.E.64": 3, "IADD3": 3, "IADD3.X": 3})


def by_visit(program: Program) -> list[dict[str, int]]:
    """Instructions of a CTA's warp by scope, tile by tile: what follows an epilogue belongs to the next one."""
    found: list[dict[str, int]] = []
    for row in only_role(program).ops:
        scope = program.statics[row["pc"]].scope
        if not found or (scope != "epilogue" and "epilogue" in found[-1]):
            found.append(Counter())
        found[-1][scope] += 1
    return found


def test_later_batches_do_without_what_threads_have_computed() -> None:
    """ptxas, GemmBatched: 172 + 296 instructions before the first loop, 296 before a later one; an epilogue takes 469.
    The later one has a barrier here that CUTLASS's has not."""
    first, *later = by_visit(record("gemm_batched", M=128, N=128, K=256, batches=6, max_grid_z=2))
    assert len(later) == 2 and first["prologue"] == pytest.approx(172 + 296, rel=0.06)
    for tile in later:
        assert tile["prologue"] == pytest.approx(296 + 1, abs=4) and tile["epilogue"] == pytest.approx(469, abs=4)


def test_without_the_barrier_between_batches_copies_overwrite_sums(tmp_path: Path) -> None:
    text = Path(gs.load_program("gemm_batched").kernel.file).read_text()
    barrier = "                ctx.sync_threads()  # the epilogue before is done with shared memory\n"
    assert text.count(barrier) == 1
    path = tmp_path / "gemm_batched.py"
    path.write_text(text.replace(barrier, "                pass\n"))
    file = gs.load_program(path)
    program = file.record(SPEC, {"M": 64, "N": 64, "K": 64, "batches": 2}, max_grid_z=1, **SMALL)
    inputs = random_inputs(program, seed=1)
    report = check_program(program, inputs, file.expected(program, inputs))
    assert {hazard.kind for hazard in report.hazards} == {"war"}


# groups


def test_later_tiles_of_a_group_do_without_what_threads_have_computed() -> None:
    """ptxas, GemmGrouped: 391 instructions from one epilogue to the loop of the same problem's next tile; epilogue 471.
    The first tile is found after 550."""
    first, second, *_ = by_visit(record("gemm_grouped", problems="2048x2304x256", ctas_per_sm=1))
    assert first["visitor"] + first["prologue"] == pytest.approx(550, rel=0.02)
    assert second["visitor"] + second["prologue"] == pytest.approx(391, abs=4)
    assert second["epilogue"] == pytest.approx(471, abs=4)


def test_ctas_share_out_the_tiles_of_all_problems_in_turn() -> None:
    program = record("gemm_grouped", problems="768x768x32, 65x66x34", ctas_per_sm=1, **SMALL)
    assert program.launch.grid == (132, 1, 1) and len(program.tensors) == 2 * 6
    origin = program.tensors[2].base_address
    tiles = [(m * 64 * 768 + n * 64) * 2 for m in range(12) for n in range(12)]
    assert (program.cta_bases[:, 2] - origin).tolist() == tiles[:132]
    assert (program.cta_bases[:12, 8] - origin).tolist() == tiles[132:]
    kinds = Counter(program.classes[number].name.partition(" #")[0] for number in program.cta_class)
    assert sum(kinds.values()) == 132 and kinds["interior"] == 132 - 4


def test_a_problem_is_found_as_the_compiled_visitor_finds_it() -> None:
    """41 instructions for every 32 problems read, 7 and a guard to stay where one is, 3 sizes of each problem."""
    def visitor(problems: str, **more: Any) -> tuple[Counter[str], int, int]:
        program = record("gemm_grouped", problems=problems, **SMALL, **more)
        role = program.classes[program.cta_class[0]].roles[0]
        return (mnemonics(program, role, "visitor"), loads(program, role, "ld.global sizes"),
                loads(program, role, "ld.global pointers"))

    few, sizes, pointers = visitor("64x64x32, 64x64x32")
    assert (few["SHFL.UP"], few["VOTE.ANY"], sizes, pointers) == (5, 1, 2 + 3, 3)
    many, sizes_of_many, _ = visitor(" ".join(["64x64x32"] * 33))
    assert (many["SHFL.UP"], sizes_of_many) == (2 * 5, 2 * 2 + 3)  # the end is known behind the second group
    assert sum((many - few).values()) == pytest.approx(41, abs=8)


def test_sorted_problems_are_shared_out_evenly() -> None:
    """Half as many long tiles as CTAs, twice: unsorted the same CTAs take them both times."""
    problems = "704x384x512, 704x384x64, 704x384x512, 704x384x64"
    programs = [record("gemm_grouped", problems=problems, ctas_per_sm=1, sort_problems=ordered, **SMALL)
                for ordered in (False, True)]
    cycles = [simulate(program, SPEC).cycles for program in programs]
    assert cycles[1] < 0.8 * cycles[0]


# gather and scatter


def test_every_gathered_row_costs_an_index_and_a_product() -> None:
    """ptxas: a main loop of 197 instructions instead of 163, of them 4 LDG.E, for 4 pieces of A."""
    gathered = record("gemm_gather_scatter", M=128, N=128, K=256)
    body = mnemonics(gathered, only_role(gathered), "main_loop")
    assert sum(body.values()) / 8 == pytest.approx(197, rel=0.02)
    assert (body["LDG.E"], body["LDC.64"]) == (8 * 4, 8 * 4)
    role = only_role(gathered)
    assert loads(gathered, role, "ld.global rows_A") == 4 * 8  # the last two iterations copy nothing
    assert loads(gathered, role, "ld.global rows_D") == 16  # 8 steps of two rows


def test_index_loads_ask_for_the_words_of_their_rows() -> None:
    program = record("gemm_gather_scatter", M=128, N=128, K=64)
    table = only_role(program).accesses
    row = table.label.index("ld.global rows_A")
    assert table.global_offset[row, 0].reshape(8, 4).tolist() == [[4 * n] * 4 for n in range(8)]
    assert [int(mask).bit_count() for mask in table.lane_mask[row]] == [32] * 4
    lines = table.request_count[[n for n, label in enumerate(table.label) if label.startswith("cp.async A")], 0]
    assert lines.max() == 8  # every row of a warp's piece lies in another line


def test_a_tile_of_picked_rows_is_a_class_of_its_own() -> None:
    program = record("gemm_gather_scatter", M=256, N=256, K=64)
    assert np.bincount(program.cta_class).tolist() == [2, 2]
    plain = record("gemm_gather_scatter", M=256, N=256, K=64, gather_a=False, scatter_d=False)
    assert len(plain.classes) == 1


@pytest.mark.parametrize(("name", "given", "sentence"), [
    ("gemm_batched", {"mode": "list"}, "batches are found by a stride or by an array of pointers, got 'list'"),
    ("gemm_grouped", {"problems": "64x64"}, "problems: a problem is MxNxK, got '64x64'; 512x512x256"),
    ("gemm_grouped", {"problems": " , "}, "a group has at least one problem"),
    ("gemm_gather_scatter", {"M": 256, "rows": 128}, "a row of D is scattered to once, .*got rows=128, M=256"),
    ("gemm_gather_scatter", {"M": 256, "N": 128, "K": 64, "layouts": "nt"}, "rows are gathered and scattered where"),
])
def test_refusals(name: str, given: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record(name, **given)
