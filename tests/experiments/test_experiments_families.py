"""Rows of a user's own CSV: each family becomes the program of its kernels, with the parameters of its columns."""

from __future__ import annotations

from typing import Any

import pytest

from gpusim.experiments.batch import run_job
from gpusim.experiments.config import load_plan
from gpusim.experiments.families import CONFIGURATION_COLUMNS, OPTIONAL_COLUMNS, Unbuilt, job_for_row

F16 = {"a_dtype": "f16", "b_dtype": "f16", "acc_dtype": "f32", "out_dtype": "f16"}
BASE: dict[str, Any] = {
    **F16, "kernel": "anything", "source": "cutlass", "layout_a": "row", "layout_b": "col", "tile_m": 64, "tile_n": 64,
    "tile_k": 32, "warp_m": 32, "warp_n": 32, "warp_k": 32, "inst_m": 16, "inst_n": 8, "inst_k": 16, "stages": 3,
    "smem_swizzle": "cutlass", "epilogue": "cutlass", "split_k": 1, "raster_log": 0, "cluster_m": 1, "cluster_n": 1,
    "M": 128, "N": 64, "K": 64,
}


def shape(tile: int, depth: int, warp: int, instruction: tuple[int, int, int]) -> dict[str, int]:
    """Columns of a square threadblock tile and warp tile."""
    return {"tile_m": tile, "tile_n": tile, "tile_k": depth, "warp_m": warp, "warp_n": warp, "warp_k": depth,
            **dict(zip(("inst_m", "inst_n", "inst_k"), instruction, strict=True))}


def alike(dtype: str) -> dict[str, str]:
    return dict.fromkeys(("a_dtype", "b_dtype", "acc_dtype", "out_dtype"), dtype)


def integers(dtype: str, output: str = "s32") -> dict[str, str]:
    return {"a_dtype": dtype, "b_dtype": dtype, "acc_dtype": "s32", "out_dtype": output}


FFMA = (1, 1, 1)
SM90 = {"acc_dtype": "f32", "tile_m": 64, "tile_n": 64, "tile_k": 64, "inst_m": 64, "inst_n": 64, "inst_k": 16}
FAMILIES: list[tuple[str, str, dict[str, Any], str, dict[str, Any]]] = [  # family, gpu, columns, program, parameters
    ("multistage", "h200", {}, "gemm_multistage", {"input_type": "f16", "num_stages": 3}),
    ("multistage", "h200", {**alike("f64"), **shape(64, 16, 32, (8, 8, 4))}, "gemm_multistage", {"input_type": "f64"}),
    ("multistage", "h200", {**integers("s8"), **shape(64, 64, 32, (16, 8, 32))}, "gemm_multistage",
     {"input_type": "s8", "accumulator_type": "s32"}),
    ("multistage", "a100", {**integers("s4"), **shape(64, 128, 32, (16, 8, 64)), "K": 256}, "gemm_multistage",
     {"input_type": "s4", "instruction": [16, 8, 64]}),
    ("multistage", "h200", {**integers("b1"), **shape(64, 512, 32, (16, 8, 256)), "K": 1024}, "gemm_multistage",
     {"input_type": "b1"}),
    ("pipelined", "h200", {**integers("s8"), **shape(64, 64, 32, (16, 8, 32)), "stages": 2}, "gemm_pipelined",
     {"input_type": "s8"}),
    ("multistage_batched", "h200", {"split_k": 3}, "gemm_batched", {}),
    ("batched", "h200", {"split_k": 2}, "gemm_batched", {}),
    ("array", "h200", {"split_k": 2}, "gemm_batched", {"mode": "array"}),
    ("grouped", "h200", {"split_k": 2}, "gemm_grouped", {"problems": "128x64x64, 128x64x64"}),
    ("multistage_gather", "h200", {}, "gemm_gather_scatter", {"gather_a": True, "scatter_d": False}),
    ("scatter", "h200", {}, "gemm_gather_scatter", {"gather_a": False, "scatter_d": True}),
    ("gather_scatter", "h200", {}, "gemm_gather_scatter", {"gather_a": True, "scatter_d": True}),
    ("interleaved", "h200", {**integers("s8", "s8"), **shape(64, 64, 32, (16, 8, 32))}, "gemm_interleaved",
     {"input_type": "s8"}),
    ("multistage_interleaved", "a100", {**integers("s4", "s4"), **shape(64, 128, 64, (16, 8, 64)), "K": 256},
     "gemm_interleaved", {"input_type": "s4"}),
    ("sparse", "h200", shape(64, 64, 32, (16, 8, 32)), "gemm_sparse", {"num_stages": 3}),
    ("sm90_ws", "h200", {**SM90, "raster_log": -1}, "gemm_sm90", {"kernel_schedule": "warp_specialized"}),
    ("sm90_coop", "h200", {**SM90, "tile_m": 128}, "gemm_sm90", {"kernel_schedule": "cooperative"}),
    ("sm90_pingpong", "h200", {**SM90, "cluster_m": 2}, "gemm_sm90",
     {"kernel_schedule": "pingpong", "cluster": [2, 1], "num_stages": 3, "layouts": "tn"}),
    ("wmma", "h200", {**shape(64, 32, 32, (16, 16, 16)), "stages": 2}, "wmma_gemm", {"accumulator_type": "f32"}),
    ("wmma_pipelined", "h200", {**shape(64, 32, 32, (16, 16, 16)), "stages": 2}, "wmma_gemm", {}),
    ("simt_pipelined", "h200", {**alike("f32"), **shape(64, 8, 32, FFMA), "stages": 2}, "sgemm_pipelined",
     {"input_type": "f32"}),
    ("simt_pipelined", "h200", {**alike("f64"), **shape(64, 8, 32, FFMA), "stages": 2}, "sgemm_pipelined",
     {"input_type": "f64"}),
    ("simt_multistage", "h200", {**alike("f64"), **shape(64, 8, 32, FFMA)}, "sgemm_multistage", {"input_type": "f64"}),
    ("simt_pipelined", "h200", {**integers("s8"), **shape(64, 32, 32, (1, 1, 4)), "stages": 2}, "igemm_dp4a",
     {"output_type": "s32"}),
    ("simt_dp4a", "h200", {**integers("s8", "f32"), **shape(64, 32, 32, (1, 1, 4)), "stages": 2}, "igemm_dp4a",
     {"output_type": "f32"}),
    ("complex", "h200", {**alike("cf32"), **shape(64, 8, 32, FFMA), "stages": 2}, "complex_gemm",
     {"instruction": [1, 1, 1], "num_stages": 2}),
    ("simt_multistage", "h200", {**alike("cf32"), **shape(64, 8, 32, FFMA)}, "complex_gemm", {"num_stages": 3}),
    ("complex_tensorop", "h200", {**alike("cf32"), **shape(64, 16, 32, (16, 8, 8))}, "complex_gemm",
     {"instruction": [16, 8, 8]}),
    ("multistage", "a100", {**alike("cf32"), **shape(64, 16, 32, (16, 8, 8))}, "complex_gemm",
     {"instruction": [16, 8, 8]}),
    ("conv2d_fprop", "h200", {"problem": "N=1 H=16 W=16 C=32 K=64 R=3 S=3 padding=1 stride=2"}, "conv2d_fprop",
     {"iterator": "optimized", "padding": [1, 1], "stride": [2, 2], "dilation": [1, 1]}),
    ("conv2d_fprop_analytic", "a100", {"problem": "N=1 H=16 W=16 C=32 K=64 R=1 S=1"}, "conv2d_fprop",
     {"iterator": "analytic", "padding": [0, 0]}),
]


@pytest.mark.parametrize(("family", "gpu", "columns", "program", "parameters"), FAMILIES,
                         ids=[f"{case[0]}-{case[2].get('a_dtype', 'f16')}-{case[1]}" for case in FAMILIES])
def test_a_row_becomes_its_program_and_runs(family: str, gpu: str, columns: dict, program: str,
                                            parameters: dict) -> None:
    row = {**BASE, **columns, "family": family}
    assert set(row) - set(OPTIONAL_COLUMNS) == set(CONFIGURATION_COLUMNS)
    job = job_for_row(row, gpu=gpu, fidelity="full")
    plan = load_plan(job.target, job.settings)
    assert plan.program.name == program
    assert {name: plan.parameters[name] for name in parameters} == parameters
    assert plan.parameters["tile"] == [row["tile_m"], row["tile_n"], row["tile_k"]]
    result = run_job(0, job)
    assert (result.status, result.failure) == ("done", "")
    assert result.summary is not None and result.summary["cycles"] > 1000


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("conv2d_fprop", {}, "M, N and K do not say the image, the filter and the padding of a convolution, got no N, H, "
                         "W, C, K, R, S in column 'problem'.*N=8 H=56"),
    ("conv2d_fprop", {"problem": "N=8 H=28 W=28 C=64 K=64 R=3"}, "got no S in column"),
    ("conv2d_fprop", {"problem": "N=8 H=28px"}, "column 'problem' has sizes NAME=NUMBER, got 'H=28px'"),
    ("conv2d_fprop", {"problem": "N=8 pad=1"}, "column 'problem' has sizes NAME=NUMBER, got 'pad=1'"),
    ("conv2d_dgrad", {}, "no program for family 'conv2d_dgrad' of source 'cutlass'"),
    ("sm90_ws", {}, "gemm_sm90 has inst_m 64 only, got 16"),
    ("sm90_pingpong", {**SM90, "raster_log": -1}, "gemm_sm90 has raster_log 0 only, got -1"),
    ("sm90_pingpong", {**SM90, "inst_n": 32}, "gemm_sm90 has inst_n 64 here only, got 32"),
    ("grouped", {"raster_log": 2}, "gemm_grouped has raster_log 0 only, got 2"),
    ("wmma", {"stages": 2}, "wmma_gemm has inst_n 16 only, got 8"),
    ("interleaved", {**integers("s8", "f32"), **shape(64, 64, 32, (16, 8, 32))}, "out_dtype is a_dtype.*f32 and s8"),
    ("simt_pipelined", {**alike("f32"), "out_dtype": "f16", **shape(64, 8, 32, FFMA), "stages": 2},
     "out_dtype is a_dtype, got f16 and f32"),
    ("simt_pipelined", {**alike("f16"), **shape(64, 8, 32, FFMA), "stages": 2},
     "sgemm_pipelined has a_dtype f32 or f64 only, got f16"),
    ("dp4a", {**integers("s8"), **shape(64, 32, 32, (1, 1, 1)), "stages": 2}, "igemm_dp4a has inst_k 4 only, got 1"),
    ("sparse", {"a_dtype": "s8"}, "gemm_sparse has a_dtype f16 or bf16 only, got s8"),
    ("complex", {**alike("cf32"), "out_dtype": "f32", **shape(64, 8, 32, FFMA)}, "has out_dtype cf32 only, got f32"),
]


@pytest.mark.parametrize(("family", "columns", "sentence"), REFUSED)
def test_a_row_that_no_program_is_says_why(family: str, columns: dict, sentence: str) -> None:
    with pytest.raises(Unbuilt, match=sentence):
        job_for_row({**BASE, **columns, "family": family}, gpu="h200", fidelity="full")
