"""Real compiled kernels, in the order ptxas gave them, executed on data: the GEMM's answer and no hazard."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.sass import SassLaunch, Scalar, TensorPointer, load_sass
from gpusim.verify import CheckReport, check_program, random_inputs

KERNELS = Path(gpusim.__file__).parent / "data/hardware/h200/sass"
NAMES = sorted(path.name.removesuffix(".sass.gz") for path in KERNELS.glob("*.sass.gz"))


def check_kernel(name: str, k: int = 192) -> CheckReport:
    """Two CTAs of src/gemm.cu; its parameters are A, B, D, M, N, K and a pointer for cycle counts."""
    bm, bn, bk, wm, wn, stages, swizzle = map(int, re.findall(r"\d+", name))
    m, n, threads = 2 * bm, bn, bm // wm * (bn // wn) * 32
    params = (TensorPointer("A", "f16", (m, k)), TensorPointer("B", "f16", (n, k)),
              TensorPointer("D", "f16", (m, n), is_output=True), Scalar(m), Scalar(n), Scalar(k),
              TensorPointer("cycles", "i64", (2, 4), is_output=True))
    shared_bytes = stages * (bm + bn) * (bk + (8 if swizzle == 1 else 0)) * 2
    launch = SassLaunch((2, 1, 1), (threads, 1, 1), params, shared_bytes, registers=255)
    program = load_sass(KERNELS / f"{name}.sass.gz", launch=launch)

    def reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"D": inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64).T}

    return check_program(program, random_inputs(program), reference, ignore=["cycles"])


@pytest.mark.parametrize("name", ["128x128x32_w64x64_s3_sw2", "64x64x32_w32x32_s4_sw1"])
def test_a_compiled_kernel_computes_its_gemm(name: str) -> None:
    assert check_kernel(name).problems == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_compiled_kernel_computes_its_gemm(name: str) -> None:
    assert check_kernel(name).problems == []
