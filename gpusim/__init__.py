"""Models CUTLASS-style GPU pipelines: what a profiler would say of a kernel, without a GPU.
Leaves out everything heavy until it is used: the names below are loaded on first access.

Kernels are written as ``import gpusim as gs`` and ``from gpusim import cute``.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "kernel": "gpusim.dsl.kernel", "device_function": "gpusim.dsl.source", "Kernel": "gpusim.dsl.kernel",
    "tensor": "gpusim.dsl.tensors", "KRange": "gpusim.dsl.pieces",
    "tiled_mma": "gpusim.dsl.hopper.mma", "tiled_copy": "gpusim.dsl.tiled",
    **{f"tiled_copy_{operand}": "gpusim.dsl.mma_copies" for operand in "ABC"}, "retile": "gpusim.dsl.partitions",
    "mma": "gpusim.dsl.atoms", "copy": "gpusim.dsl.atoms",
    "load_program": "gpusim.dsl.registry", "program_names": "gpusim.dsl.registry",
    "simulate": "gpusim.experiments.library", "Result": "gpusim.experiments.library_result",
    "load_gpu": "gpusim.arch", "UserError": "gpusim.errors", "SimulatedFailure": "gpusim.errors",
    **{name: "gpusim.dsl.dtypes" for name in (
        "f16", "bf16", "tf32", "f32", "f64", "cf32", "e4m3", "e5m2", "s8", "u8", "s32", "s4", "u4", "u1", "DType")},
}
"""Public names and the modules they live in."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gpusim' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
