"""Compiled code keeps within its arrays: programs of every kind, compiled once more with checks of every index, which
takes two minutes (`pytest -m slow`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import gpusim as gs
from gpusim.experiments.micro import all_probes
from gpusim.experiments.micro.probe import run_probe

for program, gpu, sizes, parameters in (
    ("gemm_multistage", "rtx3090", {"M": 128, "N": 128, "K": 128}, {}),
    ("gemm_multistage", "h200", {"M": 64, "N": 64, "K": 64}, {"tile": (64, 64, 16), "warp": (32, 32, 16),
     "instruction": (8, 8, 4), "input_type": "f64", "accumulator_type": "f64", "output_type": "f64"}),
    ("gemm_sm90", "h200", {"M": 256, "N": 256, "K": 128}, {"kernel_schedule": "pingpong", "tile": (64, 128, 64),
     "cluster": (2, 1)}),
    ("gemm_streamk", "h200", {"M": 256, "N": 256, "K": 256}, {}),
    ("gemm_sparse", "a100", {"M": 128, "N": 128, "K": 128}, {}),
    ("transpose_shared", "v100", {"M": 128, "N": 128}, {}),
):
    gs.simulate(program, gpu, problem=sizes, parameters=parameters)
probe = next(probe for probe in all_probes() if probe.what == "mma_m16n8k16_f64, 8 warps, ILP 4")
run_probe(probe, gs.load_gpu("h200"))
"""


@pytest.mark.slow
def test_no_index_is_out_of_bounds(tmp_path: Path) -> None:
    """As when arithmetic read beyond the costs of places behind a tensor instruction: cycles differed from run to run.
    """
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
