"""Compiled microbenchmarks of one CTA, replayed: when each of its warps reads its clocks. Leaves out what a launch
costs; L2 is warm."""

from __future__ import annotations

import numpy as np

from gpusim.arch.loader import load_gpu
from gpusim.engine import RecordWindow, simulate
from gpusim.experiments.micro.compiled import CompiledKernel, replay
from gpusim.experiments.micro.probe import issue_cycles
from gpusim.sass.launch import SassLaunch, Scalar, TensorPointer

SHARED_BYTES, REGISTERS = 65536, 64


def replayed_clocks(kernel: CompiledKernel, warps: int, *parameters: Scalar | TensorPointer) -> list[np.ndarray]:
    """Cycles in which each warp reads its clocks."""
    gpu, launch = load_gpu("h200"), SassLaunch((1, 1, 1), (32 * warps, 1, 1), parameters, SHARED_BYTES, REGISTERS)
    result = simulate(replay(gpu, kernel=kernel, launch=launch), gpu, l2="warm", launch_overhead=False,
                      record=RecordWindow(0, 0, 10**9))
    return [issue_cycles(result, kernel.clock_pcs, warp) for warp in range(warps)]
