"""The warp-specialised GEMMs: the product by NumPy at whole and ragged sizes, and silicon's counters of sm90 rows."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gpusim as gs
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
])
def test_cutlass_s_collectives_multiply(sizes: tuple[int, int, int], parameters: dict) -> None:
    right_and_clean("gemm_sm90", sizes, **parameters)


@pytest.mark.parametrize(("sizes", "parameters"), [
    ((128, 256, 256), {}),
    ((128, 128, 96), {"num_stages": 2, "tile": (64, 64, 32), "producers": 2}),
    ((192, 64, 320), {"num_stages": 5, "tile": (64, 64, 64), "swizzle": "128B", "producers": 1}),
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


@pytest.mark.parametrize(("name", "parameters", "sentence"), [
    ("hgemm_warp_specialized", {"tile": (128, 8, 64)}, "stores 16 columns at a time, got tile n 8"),
    ("hgemm_warp_specialized", {"in_flight": 1, "num_stages": 1}, "one iteration late at most"),
    ("hgemm_warp_specialized", {"num_stages": 9}, "shared memory of a CTA is limited to 232448 bytes"),
    ("gemm_sm90", {"tile": (128, 24, 64)}, "stored in columns of 16"),
    ("gemm_sm90", {"kernel_schedule": "pingpong"}, "no such schedule, got 'pingpong'"),
    ("gemm_sm90", {"input_type": "tf32"}, "multiply f16 or bf16, got tf32"),
])
def test_what_cannot_run_is_refused(name: str, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record(name, (256, 256, 256), **parameters)


@pytest.mark.parametrize("name", ["hgemm_warp_specialized", "gemm_sm90", "hgemm_producer_consumer"])
def test_gpus_without_wgmma_are_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(gs.UserError, match=r"needs sm_90a, got sm_80; gpu=h200, or a program with cp\.async"):
        gs.load_program(name).record(gs.load_gpu("a100"), {"M": 128, "N": 128, "K": 128})
