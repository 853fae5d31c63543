"""The library of programs for laws that hold for all of it: what each is run on for its answer, and summarised at."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gpusim as gs

PROGRAMS = sorted(path.stem for path in (Path(gs.__file__).parents[1] / "programs").glob("*.py"))
"""Every program of the library; microbenchmarks have no answer and are compared with silicon instead."""

GEMM = ({"M": 256, "N": 128, "K": 128}, {"M": 200, "N": 136, "K": 104}, {"M": 72, "N": 8, "K": 40})
SIMT = ({"M": 128, "N": 128, "K": 32}, {"M": 130, "N": 67, "K": 37}, {"M": 1, "N": 5, "K": 3})
MATRIX = ({"M": 64, "N": 256}, {"M": 100, "N": 68}, {"M": 1, "N": 4})
ZFILL = {"clear": "zfill"}
CONVOLUTIONS = (dict(zip("NHWCKRS", (1, 8, 16, 32, 128, 3, 3), strict=True)),
                dict(zip("NHWCKRS", (2, 9, 11, 40, 72, 3, 3), strict=True)),
                dict(zip("NHWCKRS", (1, 7, 5, 16, 24, 1, 1), strict=True)))


@dataclass(frozen=True)
class Answered:
    """Problem sizes on which a program's answer is compared with NumPy's, and its parameters."""

    sizes: tuple[dict[str, int], ...]
    parameters: dict[str, Any] = field(default_factory=dict)


ANSWERED: dict[str, tuple[Answered, ...]] = {
    **dict.fromkeys(("column_read", "copy_async", "copy_global", "transpose_shared"), (Answered(MATRIX),)),
    "copy_fragments": (Answered(({"M": 128, "K": 64}, {"M": 72, "K": 104}, {"M": 8, "K": 136})),
                       Answered(({"M": 72, "K": 104},), {"load": "x4.trans"})),
    **dict.fromkeys(("gemm_pipelined", "wmma_gemm", "hgemm_cute", "hgemm_double_buffer",
                     "hgemm_multistage", "hgemm_single_stage", "hgemm_producer_consumer", "hgemm_warp_specialized"),
                    (Answered(GEMM),)),
    **dict.fromkeys(("gemm_multistage", "gemm_gather_scatter", "gemm_streamk"), (Answered(GEMM, ZFILL),)),
    **dict.fromkeys(("gemm_splitk_serial", "gemm_splitk_parallel"), (
        Answered((*GEMM[:2], {"M": 72, "N": 8, "K": 72}), {**ZFILL, "slices": 2}),)),
    "sgemm_pipelined": (Answered(SIMT),), "sgemm_multistage": (Answered(SIMT, ZFILL),),
    "gemm_sm90": (Answered(GEMM), Answered(GEMM, {"kernel_schedule": "cooperative", "tile": [256, 128, 64],
                                                  "num_stages": 4, "beta": 0.5}),
                  Answered(GEMM, {"kernel_schedule": "pingpong"})),
    "complex_gemm": (Answered(SIMT), Answered(SIMT, {
        "instruction": [16, 8, 8], "tile": [64, 64, 16], "warp": [32, 32, 16], "num_stages": 3, **ZFILL})),
    "conv2d_fprop": (Answered(CONVOLUTIONS),),
    "gemm_batched": (Answered(tuple({**sizes, "batches": 3} for sizes in GEMM), ZFILL),
                     Answered(({"M": 72, "N": 8, "K": 40, "batches": 5},), {**ZFILL, "max_grid_z": 2})),
    "gemm_grouped": tuple(Answered(({},), {**ZFILL, "problems": problems}) for problems in (
        "256x128x64", "200x136x104 72x8x40", "128x128x32 130x264x8 1x8x8")),
    "gemm_interleaved": (Answered(({"M": 256, "N": 128, "K": 128}, {"M": 136, "N": 160, "K": 96},
                                   {"M": 24, "N": 32, "K": 224}), ZFILL),),
    "gemm_sparse": (Answered(({"M": 256, "N": 128, "K": 128}, {"M": 160, "N": 136, "K": 192},
                              {"M": 32, "N": 8, "K": 64}), ZFILL),),
    "igemm_dp4a": (Answered(({"M": 256, "N": 128, "K": 128}, {"M": 200, "N": 136, "K": 104},
                             {"M": 33, "N": 72, "K": 20})),),
}
"""By program. K or M of some come in units that their layouts impose: 32 rows of metadata and whole tiles of k
(gemm_sparse), groups of 32 (gemm_interleaved), words of four k (igemm_dp4a)."""


@dataclass(frozen=True)
class Summarised:
    """What a committed summary was made of."""

    program: str
    sizes: dict[str, int]
    parameters: dict[str, Any] = field(default_factory=dict)


SQUARE = {"M": 256, "N": 256, "K": 256}
LONG = {**SQUARE, "K": 1024}
SUMMARISED: dict[str, Summarised] = {
    **{name: Summarised(name, SQUARE) for name in PROGRAMS},
    **{name: Summarised(name, {"M": 128, "N": 256})
       for name in ("column_read", "copy_async", "copy_global", "transpose_shared")},
    **{name: Summarised(name, LONG) for name in ("gemm_splitk_parallel", "gemm_splitk_serial", "gemm_streamk")},
    "copy_fragments": Summarised("copy_fragments", {"M": 128, "K": 128}),
    "gemm_batched": Summarised("gemm_batched", {**SQUARE, "batches": 2}),
    "gemm_grouped": Summarised("gemm_grouped", {}),
    "conv2d_fprop": Summarised("conv2d_fprop", dict(zip("NHWCKRS", (2, 8, 16, 40, 128, 3, 3), strict=True))),
    "complex_gemm_tensor_op": Summarised("complex_gemm", SQUARE, {
        "instruction": (16, 8, 8), "tile": (64, 64, 16), "warp": (32, 32, 16), "num_stages": 3}),
    "gemm_batched_visits": Summarised("gemm_batched", {**SQUARE, "batches": 4}, {"max_grid_z": 2}),
    "gemm_grouped_visits": Summarised("gemm_grouped", {}, {"problems": "2048x2304x64", "ctas_per_sm": 1}),
    "gemm_multistage_sliced_k": Summarised("gemm_multistage", SQUARE, {"tile": (64, 64, 64), "warp": (32, 32, 32)}),
    "gemm_multistage_s8": Summarised("gemm_multistage", SQUARE, {
        "input_type": "s8", "accumulator_type": "s32", "output_type": "s8", "instruction": (16, 8, 32),
        "tile": (128, 128, 64), "warp": (64, 64, 64)}),
    "gemm_sm90_cooperative": Summarised("gemm_sm90", SQUARE, {
        "kernel_schedule": "cooperative", "tile": (256, 128, 64), "num_stages": 4, "cluster": (1, 2)}),
    "gemm_sm90_pingpong": Summarised("gemm_sm90", {"M": 1024, "N": 1152, "K": 128}, {
        "kernel_schedule": "pingpong", "tile": (64, 64, 64), "num_stages": 3, "beta": 0.5}),
}
"""By the name of the file in expected/."""
