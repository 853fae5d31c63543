"""The warp-specialised GEMMs: the product by NumPy at whole and ragged sizes, and silicon's counters of sm90 rows."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gpusim as gs
from gpusim.engine import simulate
from gpusim.experiments.families import job_for_row
from gpusim.program import Program, RoleProgram
from gpusim.verify import check_program

HARDWARE = Path(gs.__file__).parent / "data/hardware/h200"
KERNELS = pd.read_csv(HARDWARE / "kernels.csv")
SM90 = [row for _, row in KERNELS[KERNELS.family.str.startswith("sm90")].iterrows()]
COOPERATIVE = {"kernel_schedule": "cooperative", "tile": (256, 128, 64), "num_stages": 4}


@cache
def record(name: str, sizes: tuple[int, int, int], **parameters: object) -> Program:
    return gs.load_program(name).record(gs.load_gpu("h200"), dict(zip("MNK", sizes, strict=True)), **parameters)


def mnemonics(program: Program, role: RoleProgram) -> list[str]:
    return [program.statics[pc].mnemonic for pc in role.ops["pc"]]


def instructions(program: Program) -> int:
    """Of the first CTA."""
    roles = program.classes[program.cta_class[0]].roles
    return sum(len(role.ops) * role.num_warps for role in roles)


def right_and_clean(name: str, sizes: tuple[int, int, int], **parameters: object) -> None:
    program, file = record(name, sizes, **parameters), gs.load_program(name)
    generator = np.random.default_rng(sum(sizes))
    inputs = {info.name: generator.integers(-3, 4, info.shape).astype(np.float16)
              for info in program.tensors if not info.is_output}
    report = check_program(program, inputs, lambda given: file.expected(program, given))
    assert report.problems == []
    assert report.outputs[0].wrong == report.outputs[0].unwritten == 0


@pytest.mark.parametrize(("sizes", "parameters"), [
    ((256, 256, 512), {}),
    ((200, 136, 104), {}),
    ((200, 136, 104), {"consumers": 2, "num_stages": 2}),
    ((264, 200, 64), {"tile": (64, 96, 32), "swizzle": "64B", "num_stages": 3}),
    ((136, 120, 328), {"tile": (64, 112, 128), "num_stages": 2, "in_flight": 0}),
    ((136, 104, 72), {"tile": (64, 48, 16), "swizzle": "none", "num_stages": 5}),
    ((129, 64, 8), {"tile": (128, 32, 16), "swizzle": "32B"}),
    ((128, 512, 64), {"tile": (128, 256, 64), "consumers": 2, "num_stages": 2}),
    ((200, 136, 328), {"tile": (64, 128, 64), "a_operand": "registers"}),
    ((200, 136, 104), {"tile": (128, 64, 64), "consumers": 2, "a_operand": "registers", "in_flight": 0}),
    ((136, 200, 264), {"tile": (64, 96, 32), "swizzle": "64B", "num_stages": 3, "a_operand": "registers"}),
])
def test_the_teaching_kernel_multiplies(sizes: tuple[int, int, int], parameters: dict) -> None:
    right_and_clean("hgemm_warp_specialized", sizes, **parameters)


@pytest.mark.parametrize(("sizes", "parameters"), [
    ((256, 256, 256), {}),
    ((200, 136, 104), {"alpha": 2.0}),
    ((200, 136, 104), {"layouts": "nn"}),
    ((200, 136, 104), {"layouts": "nt"}),
    ((200, 136, 104), {"layouts": "tt", "tile": (64, 64, 32), "num_stages": 3}),
    ((128, 64, 128), {"input_type": "bf16", "tile": (64, 32, 64)}),
    ((512, 256, 128), COOPERATIVE),
    ((304, 136, 104), {**COOPERATIVE, "layouts": "nt"}),
    ((256, 256, 64), {"alpha": 2.0, "beta": 0.5}),
    ((200, 136, 104), {"beta": -1.0, "tile": (64, 48, 64)}),
    ((200, 136, 104), {"beta": 0.5, "cluster": (2, 2)}),
    ((304, 136, 104), {**COOPERATIVE, "beta": 0.5, "cluster": (2, 1)}),
])
def test_cutlass_s_collectives_multiply(sizes: tuple[int, int, int], parameters: dict) -> None:
    right_and_clean("gemm_sm90", sizes, **parameters)


@pytest.mark.parametrize(("sizes", "parameters"), [
    ((128, 256, 256), {}),
    ((128, 128, 96), {"num_stages": 2, "tile": (64, 64, 32), "producers": 2}),
    ((192, 64, 320), {"num_stages": 5, "tile": (64, 64, 64), "swizzle": "128B", "producers": 1}),
    ((200, 136, 104), {}), ((130, 264, 8), {}),
    ((136, 72, 328), {"num_stages": 2, "tile": (64, 64, 64), "swizzle": "pad:16B", "producers": 2}),
])
def test_cp_async_producers_multiply(sizes: tuple[int, int, int], parameters: dict) -> None:
    right_and_clean("hgemm_producer_consumer", sizes, **parameters)


def test_persistent_ctas_take_tile_after_tile() -> None:
    """144 tiles of 128 x 64 on 132 SMs: twelve CTAs take a second one, and nobody's stages are mixed up."""
    parameters = {**COOPERATIVE, "tile": (128, 64, 64)}
    program = record("gemm_sm90", (1024, 1152, 64), **parameters)
    assert program.launch.grid == (132, 1, 1)
    assert sorted(Counter(program.cta_class.tolist()).values()) == [12, 120]
    right_and_clean("gemm_sm90", (1024, 1152, 64), **parameters)


def test_tiles_of_c_come_one_after_another_through_the_stages_of_d() -> None:
    """144 tiles of 128 x 64, two parts each, four stages: stages of C go round across tiles."""
    right_and_clean("gemm_sm90", (1024, 1152, 64), **{**COOPERATIVE, "tile": (128, 64, 64)}, beta=0.5)


@pytest.mark.parametrize("parameters", [{}, COOPERATIVE])
def test_c_is_loaded_once_and_costs_no_shared_memory(parameters: dict) -> None:
    sizes = (512, 512, 64)
    with_c, without = (record("gemm_sm90", sizes, **parameters, beta=beta) for beta in (0.5, 0.0))
    assert with_c.launch.shared_bytes == without.launch.shared_bytes
    counters = [simulate(program, gs.load_gpu("h200")).counters for program in (with_c, without)]
    assert counters[0]["bulk_bytes_loaded"] - counters[1]["bulk_bytes_loaded"] == 512 * 512 * 2
    assert counters[0]["bulk_bytes_stored"] == counters[1]["bulk_bytes_stored"] == 512 * 512 * 2
    assert counters[0]["ldsm_instructions"] == 512 * 512 // 256 and counters[1]["ldsm_instructions"] == 0
    consumer = with_c.classes[0].roles[-1]
    names = Counter(mnemonics(with_c, consumer))
    assert names["LDSM.16.M88.4"] == names["STSM.16.M88.4"]


@pytest.mark.parametrize("row", SM90, ids=lambda row: f"{row.family}-{row.M}")
def test_rows_of_silicon_come_from_their_columns(row: pd.Series) -> None:
    job = job_for_row(row, gpu="h200", fidelity="full")
    parameters = {"kernel_schedule": {"sm90_ws": "warp_specialized", "sm90_coop": "cooperative"}[row.family],
                  "tile": (row.tile_m, row.tile_n, row.tile_k), "num_stages": row.stages}
    assert job.target == "gemm_sm90"
    assert all(f"parameters.{name}=" in " ".join(job.settings) for name in parameters)
    program = record("gemm_sm90", (row.M, row.N, row.K), **parameters)
    assert program.launch.shared_bytes == row.smem_bytes
    assert program.launch.threads_per_cta == row.threads
    assert program.launch.registers_per_thread == row.registers
    assert "x".join(map(str, program.launch.grid)) == row.grid
    assert instructions(program) * program.num_ctas == pytest.approx(row.warp_instructions, rel=0.05)
    consumer = program.classes[0].roles[-1]
    hgmma = sum(name.startswith("HGMMA") for name in mnemonics(program, consumer)) * consumer.num_warps
    assert hgmma * program.num_ctas == row.hmma_instructions
    stores = consumer.accesses.wavefronts[consumer.ops["access"][consumer.ops["access"] >= 0]].sum()
    assert stores * program.num_ctas == row.smem_wavefronts_store


@pytest.mark.parametrize("name", ["hgemm_warp_specialized", "gemm_sm90"])
def test_main_loops_are_those_that_nvcc_compiles(name: str) -> None:
    """55 instructions of the consumer's, 30 of the producer's (gpusim/dsl/hopper/__init__.py)."""
    short, long = (record(name, (128, 128, k)) for k in (64 * 8, 64 * 9))
    for number, (expected, slack) in {0: (30, 1), -1: (55, 0)}.items():
        lengths = [len(program.classes[0].roles[number].ops) for program in (short, long)]
        assert abs(lengths[1] - lengths[0] - expected) <= slack


def test_a_from_registers_costs_ldmatrix_and_frees_the_data_stage() -> None:
    """Every element of A passes registers once; wgmma reads B alone from shared memory."""
    shape = {"tile": (64, 64, 64), "num_stages": 4}
    results = {where: simulate(record("hgemm_warp_specialized", (64, 64, 1024), **shape, a_operand=where),
                               gs.load_gpu("h200")).counters for where in ("shared", "registers")}
    assert results["registers"]["ldsm_instructions"] == 64 * 1024 // 256 and not results["shared"]["ldsm_instructions"]
    assert results["registers"]["hmma_instructions"] == results["shared"]["hmma_instructions"] == 4 * 1024 // 16
    read = {where: counters["data_stage_cycles"] - counters["shared_wavefronts_load"]
            for where, counters in results.items()}
    assert read["shared"] - read["registers"] == 1024 // 16 * (64 * 32 // 128)


def test_bytes_and_sectors_of_tma_are_those_of_the_boxes() -> None:
    """Ragged tiles ask for what there is, and fill whole stages."""
    program = record("hgemm_warp_specialized", (200, 136, 104))
    edge = next(c for c in program.classes if "edge mn" in c.name)
    producer = edge.roles[0]
    loads = producer.ops["access"][np.char.startswith(mnemonics(program, producer), "UTMALDG")]
    table = producer.accesses
    assert table.bulk_bytes[loads].tolist() == [[128 * 64 * 2]] * 4
    lines = [table.requests["sector_mask"][first[0] : first[0] + count[0]] for first, count in
             zip(table.request_first[loads], table.request_count[loads], strict=True)]
    sectors = [int(np.bitwise_count(line).sum()) for line in lines]
    rows, pitch = {"A": 200 - 128, "B": 136 - 128}, 2 * 104
    expected = [sum(-(-(row * pitch + end) // 32) - (row * pitch + start) // 32 for row in range(count))
                for start, end in ((0, 128), (128, 208)) for count in (rows["A"], rows["B"])]
    assert sectors == expected


def test_only_ragged_producers_pay_for_predicates() -> None:
    """One predicate per piece of a tile where k is ragged; a producer of whole tiles has none."""
    found = []
    for k in (96, 104):
        program = record("hgemm_producer_consumer", (128, 128, k))
        names = Counter(mnemonics(program, program.classes[0].roles[0]))
        copies = sum(number for name, number in names.items() if name.startswith("LDGSTS"))
        assert copies == 8 * -(-k // 32)
        found.append(names["ISETP.LT.AND"])
    assert found == [0, 8 * 4]


@pytest.mark.parametrize(("name", "parameters", "sentence"), [
    ("hgemm_warp_specialized", {"tile": (128, 8, 64)}, "stores 16 columns at a time, got tile n 8"),
    ("hgemm_warp_specialized", {"in_flight": 1, "num_stages": 1}, "one iteration late at most"),
    ("hgemm_warp_specialized", {"a_operand": "registers"}, "64 rows a warpgroup.*128 rows for 1 warpgroups"),
    ("hgemm_warp_specialized", {"a_operand": "texture"}, "in shared memory or in registers, got 'texture'"),
    ("hgemm_warp_specialized", {"num_stages": 9}, "shared memory of a CTA is limited to 232448 bytes"),
    ("gemm_sm90", {"tile": (128, 24, 64)}, "stored in columns of 16"),
    ("gemm_sm90", {"kernel_schedule": "streamk"}, "no such schedule, got 'streamk'.*cooperative or pingpong"),
    ("gemm_sm90", {**COOPERATIVE, "tile": (64, 128, 64)}, "or a multiple, got 64 rows for 2 warpgroups"),
    ("gemm_sm90", {"input_type": "tf32"}, "multiply f16 or bf16, got tf32"),
])
def test_what_cannot_run_is_refused(name: str, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record(name, (256, 256, 256), **parameters)


@pytest.mark.parametrize("name", ["hgemm_warp_specialized", "gemm_sm90", "hgemm_producer_consumer"])
def test_gpus_without_wgmma_are_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(gs.UserError, match=r"needs sm_90a, got sm_80; gpu=h200, or a program with cp\.async"):
        gs.load_program(name).record(gs.load_gpu("a100"), {"M": 128, "N": 128, "K": 128})
