"""Split-K, serial and parallel: how k is cut, who waits for whom, the right answer, two launches as one program."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutlass_helpers import SPEC, active, count, mnemonics, record

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.engine import simulate
from gpusim.experiments.batch import run_job
from gpusim.experiments.families import Unbuilt, job_for_row
from gpusim.experiments.validate import read_kernels
from gpusim.program import Program, launches_of
from gpusim.report.summary import summarise
from gpusim.verify import check_program, execute, random_inputs

sys.path.insert(0, str(Path(gs.load_program("gemm_splitk_serial").kernel.file).parent))
from common.splitk import parallel_slice, serial_slice

HARDWARE = Path(gs.__file__).parent / "data/hardware/h200"
SMALL = {"tile": (64, 64, 32), "warp": (32, 32, 32), "clear": "zfill"}
SIMT = {"tile": (64, 64, 8), "warp": (32, 32, 8), "instruction": (1, 1, 1), "input_type": "f32", "output_type": "f32",
        "layouts": "nt", "num_stages": 4, "clear": "zfill"}
CASES: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
    ((128, 128, 512), {"slices": 4}),
    ((136, 72, 1000), {**SMALL, "slices": 3}),
    ((72, 104, 328), {**SMALL, "slices": 5, "layouts": "nt"}),
    ((64, 192, 160), {**SMALL, "slices": 2, "alpha": 0.5, "beta": 2.0}),
    ((128, 64, 256), {**SMALL, "slices": 2, "output_type": "f32", "raster_log": 1}),
    ((136, 64, 104), {**SMALL, "slices": 3, "num_stages": 2, "clear": "none"}),
    ((65, 130, 100), {**SIMT, "slices": 3}),
    ((64, 64, 64), {**SMALL, "slices": 1}),
]


def checked(name: str, program: Program) -> Any:
    inputs = random_inputs(program, seed=5)
    return check_program(program, inputs, gs.load_program(name).expected(program, inputs))


@pytest.mark.parametrize("name", ["gemm_splitk_serial", "gemm_splitk_parallel"])
@pytest.mark.parametrize(("sizes", "parameters"), CASES)
def test_computes_the_product_without_a_race(name: str, sizes: tuple, parameters: dict) -> None:
    program = record(name, sizes, **parameters)
    report = checked(name, program)
    assert report.problems == []
    assert [output.times for output in report.outputs] == [parameters["slices"] if "serial" in name else 1]
    for launch in launches_of(program):
        names = [static.mnemonic for static in launch.statics]
        for cta_class in launch.classes:
            assert check_hazards(cta_class.roles[0].ops, names, SPEC.instruction_table) == []


# how k is cut


@pytest.mark.parametrize(("K", "tile_k", "slices", "lengths"), [
    (4096, 32, 20, [224] * 18 + [64, 0]), (4096, 8, 20, [208] * 19 + [144]), (4096, 64, 20, [256] * 16 + [0] * 4),
    (4096, 32, 16, [256] * 16), (1000, 32, 3, [352, 352, 296]),
])
def test_serial_slices_are_rounded_up(K: int, tile_k: int, slices: int, lengths: list[int]) -> None:
    ranges = [serial_slice(K, tile_k, slices, number) for number in range(slices)]
    assert [max(0, k.end - k.begin) for k in ranges] == lengths
    assert [k.tiles for k in ranges] == [-(-length // tile_k) for length in lengths]


@pytest.mark.parametrize(("K", "tile_k", "slices", "lengths"), [
    (4096, 2, 20, [204] * 19 + [220]), (4096, 8, 20, [200] * 19 + [296]), (4096, 32, 20, [192] * 19 + [448]),
    (4096, 32, 16, [256] * 16),
])
def test_parallel_slices_are_rounded_down(K: int, tile_k: int, slices: int, lengths: list[int]) -> None:
    ranges = [parallel_slice(K, tile_k, slices, number) for number in range(slices)]
    assert [k.end - k.begin for k in ranges] == lengths


def test_slices_without_a_tile_still_take_their_turn() -> None:
    """Five tiles of k in four slices: rounded up, the first three have them all."""
    program = record("gemm_splitk_serial", (64, 64, 160), slices=4, **SMALL)
    assert [count_of(program, number, "HMMA") > 0 for number in range(4)] == [True, True, True, False]
    assert checked("gemm_splitk_serial", program).problems == []


def count_of(program: Program, number: int, prefix: str) -> int:
    names = [program.statics[pc].mnemonic for pc in program.classes[number].roles[0].ops["pc"].tolist()]
    return sum(name.startswith(prefix) for name in names)


def test_more_slices_than_tiles_of_k_are_refused() -> None:
    with pytest.raises(gs.UserError, match=r"a slice has one tile of k or more.*slices=9 of 8 tiles"):
        record("gemm_splitk_parallel", (64, 64, 256), slices=9, **SMALL)


@pytest.mark.parametrize("name", ["gemm_splitk_parallel", "gemm_streamk"])
def test_sums_of_halves_are_refused_where_a_workspace_holds_them(name: str) -> None:
    with pytest.raises(gs.UserError, match=r"partial sums in a workspace are f32.*accumulator_type=f16"):
        record(name, (64, 64, 256), accumulator_type="f16", **SMALL)


def test_halves_are_summed_in_the_output_itself() -> None:
    program = record("gemm_splitk_serial", (64, 64, 256), slices=2, accumulator_type="f16", **SMALL)
    inputs = random_inputs(program, exact=True)
    assert check_program(program, inputs, gs.load_program("gemm_splitk_serial").expected(program, inputs)).ok


# serial


def test_the_workspace_is_one_word_per_tile() -> None:
    program = record("gemm_splitk_serial", (512, 512, 128), slices=2)
    words = next(tensor for tensor in program.tensors if tensor.name == "semaphore")
    assert words.size_bytes == 64
    tiles = {word: sorted(program.cta_index[program.flags.words[:, 0] == word][:, 2].tolist())
             for word in program.flags.words[:, 0].tolist()}
    assert tiles == {word: [0, 1] for word in range(16)}


def test_counts_of_a_slice() -> None:
    """Slices of T tiles run the main loop's counts; the semaphore adds 2 votes and 2 barriers to the epilogue's 16."""
    program = record("gemm_splitk_serial", (128, 128, 512), slices=4)
    tiles, stages = 4, 3
    assert count(program, "LDGDEPBAR") == stages - 1 + tiles + 1
    assert count(program, "BAR.SYNC") == tiles + 2 + 16 + 2
    assert count(program, "BAR.RED") == 2
    assert [name for name in mnemonics(program) if "STRONG" in name or "MEMBAR" in name] == [
        "LDG.E.STRONG.GPU", "LDG.E.STRONG.GPU", "MEMBAR.ALL.GPU", "STG.E.STRONG.GPU"]
    loads = [count_of(program, number, "LDG.E.128") for number in range(4)]
    assert loads == [0, 16, 16, 16]  # the first slice has no source, the others read D
    assert len(active(program, "STG.E.128")) == 16


def test_slices_of_a_tile_end_in_turn() -> None:
    program = record("gemm_splitk_serial", (256, 256, 512), slices=4, **SMALL)
    result = simulate(program, SPEC)
    for word in range(16):
        ends = result.cta_end[program.flags.words[:, 0] == word]
        assert (np.diff(ends) > 0).all()
    again = simulate(program, SPEC, window_cycles=50, workers=2)
    np.testing.assert_array_equal(again.cta_end, result.cta_end)


def test_slices_pay_where_k_is_long_and_tiles_are_few() -> None:
    cycles = [simulate(record("gemm_splitk_serial", (128, 128, 4096), slices=slices), SPEC).cycles
              for slices in (1, 8)]
    assert cycles[1] < 0.6 * cycles[0]


def test_without_its_wait_a_slice_reads_too_early() -> None:
    program = record("gemm_splitk_serial", (64, 64, 128), slices=2, **SMALL)
    names = np.array([static.mnemonic for static in program.statics])

    def impatient(cta: Any) -> Any:
        ops = cta.roles[0].ops.copy()
        ops["access"][names[ops["pc"]] == "LDG.E.STRONG.GPU"] = -1
        return dataclasses.replace(cta, roles=(dataclasses.replace(cta.roles[0], ops=ops),))

    broken = dataclasses.replace(program, classes=tuple(map(impatient, program.classes)))
    report = checked("gemm_splitk_serial", broken)
    assert report.outputs[0].wrong > 0
    assert report.outputs[0].rewritten == 64 * 64


# parallel


def test_the_reduction_is_a_second_launch_on_the_same_tensors() -> None:
    program = record("gemm_splitk_parallel", (256, 512, 256), slices=4)
    gemm, reduction = program.sequence
    assert (gemm.launch.grid, reduction.launch.grid) == ((4, 2, 4), (64, 2, 1))
    assert gemm.launch.threads_per_cta == reduction.launch.threads_per_cta == 128
    assert reduction.launch.shared_bytes == 0
    assert [tensor.base_address for tensor in gemm.tensors] == [tensor.base_address for tensor in reduction.tensors]
    assert next(t for t in gemm.tensors if t.name == "workspace").size_bytes == 4 * 256 * 512 * 4
    names = [reduction.statics[pc].mnemonic for pc in reduction.classes[0].roles[0].ops["pc"].tolist()]
    assert [names.count(name) for name in ("LDG.E.128", "FADD", "STG.E.128")] == [8, 32, 1]
    assert 165 <= len(names) <= 195  # nvcc's code for the same kernel executes 181


@pytest.mark.parametrize(("slices", "adds"), [(1, 8), (3, 24), (6, 48), (9, 72)])
def test_partitions_are_added_four_at_a_time(slices: int, adds: int) -> None:
    reduction = record("gemm_splitk_parallel", (64, 64, 32 * 9), slices=slices, **SMALL).sequence[1]
    ops, names = reduction.classes[0].roles[0].ops, np.array([static.mnemonic for static in reduction.statics])
    assert (names[ops["pc"]] == "FADD").sum() == adds
    loads = ops[names[ops["pc"]] == "LDG.E.128"]
    assert len(loads) == 8 * -(-slices // 4)
    assert loads["active"].sum() == 2 * slices


def test_cycles_and_counters_are_those_of_both_launches() -> None:
    program = record("gemm_splitk_parallel", (256, 256, 512), slices=4, **SMALL)
    both, alone = simulate(program, SPEC), simulate(program.sequence[0], SPEC)
    assert sum(both.launch_cycles) == both.cycles
    assert both.launch_cycles[0] == alone.cycles
    assert both.warp_instructions == sum(int(part.sum()) for part in np.split(both.issued, [len(alone.issued)]))
    assert (both.cta_start[alone.cta_start.size :] >= alone.cycles).all()
    summary = summarise("x", program, both, SPEC)
    assert [(launch["kernel"], launch["cycles"]) for launch in summary["launches"]] == [
        ("gemm_splitk_parallel", both.launch_cycles[0]), ("reduce_split_k", both.launch_cycles[1])]


def test_the_second_launch_finds_the_sums_in_l2_unless_a_profiler_flushed_it() -> None:
    program = record("gemm_splitk_parallel", (256, 256, 256), slices=4, **SMALL)
    kept, flushed = simulate(program, SPEC), simulate(program, SPEC, flush=True)
    sums = 4 * 256 * 256 * 4
    assert flushed.counters["dram_bytes_read"] - kept.counters["dram_bytes_read"] == pytest.approx(sums, rel=0.02)
    assert flushed.launch_cycles[1] > kept.launch_cycles[1]
    assert flushed.launch_cycles[0] == kept.launch_cycles[0]


def test_the_first_launch_alone_leaves_partial_sums() -> None:
    program = record("gemm_splitk_parallel", (64, 64, 128), slices=2, **SMALL)
    ctas = np.arange(program.sequence[0].num_ctas)
    result = execute(program, random_inputs(program), ctas=ctas.tolist())
    assert not result.written["D"].any()


# rows of kernels.csv


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return read_kernels(HARDWARE / "kernels.csv").to_dict("records")


@pytest.mark.parametrize(("like", "family", "changes", "program"), [
    ("h_64x64x64", "multistage_splitkserial", {}, "gemm_splitk_serial"),
    ("h_64x64x64", "multistage_splitkparallel", {}, "gemm_splitk_parallel"),
    ("h_64x64x64", "multistage_split_k_serial", {}, "gemm_splitk_serial"),
    ("h_128x128x32_w64x64x32_s2", "pipelined_splitkserial", {}, "gemm_splitk_serial"),
    ("h_64x64x64", "multistage_streamk", {"split_k": 1}, "gemm_streamk"),
    ("h_64x64x64", "streamk", {}, "gemm_streamk"),
    ("simt_", "simt_pipelined_splitkparallel", {}, "gemm_splitk_parallel"),
    ("simt_", "simt_splitkserial", {}, "gemm_splitk_serial"),
])
def test_rows_build_from_their_columns(rows: list, like: str, family: str, changes: dict, program: str) -> None:
    row = next(row for row in rows if row["kernel"].startswith(like))
    row = {**row, "family": family, "split_k": 4, "M": 128, "N": 256, "K": 1024, **changes}
    job = job_for_row(row, gpu="h200", fidelity="full")
    assert job.target == program
    result = run_job(0, job)
    assert (result.status, result.failure) == ("done", "")
    assert result.summary is not None
    assert result.summary["cycles"] > 5000
    assert len(result.summary["launches"]) == 1 + (program == "gemm_splitk_parallel")


def test_a_row_with_another_epilogue_is_refused(rows: list) -> None:
    row = next(row for row in rows if row["kernel"].startswith("h_64x64x64"))
    with pytest.raises(Unbuilt, match="gemm_splitk_serial has epilogue cutlass only"):
        job_for_row({**row, "family": "multistage_splitkserial", "epilogue": "direct"}, gpu="h200", fidelity="full")
