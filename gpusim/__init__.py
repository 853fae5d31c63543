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
    # what the iterators, epilogues and pipelines of programs/common are made of
    "GpuSpec": "gpusim.arch", "CopyAtom": "gpusim.arch.atoms", "occupancy": "gpusim.arch.occupancy",
    "Context": "gpusim.dsl.context", "dtype_named": "gpusim.dsl.dtypes", "global_iterator": "gpusim.dsl.gather",
    "GlobalIterator": "gpusim.dsl.iterators", "SharedAccess": "gpusim.dsl.iterators",
    "lane_bits": "gpusim.dsl.iterators", "BlockCoordinate": "gpusim.dsl.launch",
    "SCHEDULE_COLUMNS": "gpusim.dsl.launch", "write_key": "gpusim.dsl.lowering.copies",
    "TilePointer": "gpusim.dsl.lowering.iterators", "read_key": "gpusim.dsl.lowering.loads",
    "ldmatrix_matrices": "gpusim.dsl.partition", "Partition": "gpusim.dsl.partitions",
    "ThreadFragment": "gpusim.dsl.partitions", "Pieces": "gpusim.dsl.pieces",
    "widest_alignment": "gpusim.dsl.pieces", "Group": "gpusim.dsl.registers", "Code": "gpusim.dsl.statements",
    "Instance": "gpusim.dsl.statements", "Line": "gpusim.dsl.statements", "Fragment": "gpusim.dsl.tensors",
    "GmemTensor": "gpusim.dsl.tensors", "LINE_BYTES": "gpusim.dsl.tensors", "SmemArray": "gpusim.dsl.tensors",
    "SmemTensor": "gpusim.dsl.tensors", "Tile": "gpusim.dsl.tensors", "LANES": "gpusim.dsl.tiled",
    "TiledCopy": "gpusim.dsl.tiled", "TiledMma": "gpusim.dsl.tiled", "ldmatrix_origins": "gpusim.dsl.tiled",
    "FlagUse": "gpusim.program", "Access": "gpusim.program.access_builder",
    "JUMP_ALL_THERE": "gpusim.program.flags", "JUMP_MISSING": "gpusim.program.flags",
    "chain_lines": "gpusim.dsl.lowering.iterators:chain",
    "dead_load_lines": "gpusim.dsl.lowering.iterators:dead_loads",
    "early_exit_lines": "gpusim.dsl.lowering.iterators:early_exit",
    "next_stage_lines": "gpusim.dsl.lowering.iterators:next_stage",
    "prefetching_mnemonic": "gpusim.dsl.lowering.iterators:prefetching",
    "setup_lines": "gpusim.dsl.lowering.iterators:setup",
    "stage_step_lines": "gpusim.dsl.lowering.iterators:stage_step", "split_offset": "gpusim.dsl.moves:split",
    # and the sm90 collectives
    "Accumulators": "gpusim.dsl.hopper.mma", "WarpgroupMma": "gpusim.dsl.hopper.mma",
    **{name: "gpusim.dsl.hopper.operands" for name in ("BulkTile", "OperandTile", "SmemOperand")},
    **{name: "gpusim.dsl.hopper.pipeline" for name in ("Consumer", "Pipeline", "Producer", "Stage")},
    **{name: "gpusim.dsl.hopper.order" for name in ("OrderedGroup", "OrderedSequence")},
    "pack_lines": "gpusim.dsl.hopper.stores", "subtile_registers": "gpusim.dsl.hopper.stores",
    "load_gpu": "gpusim.arch", "UserError": "gpusim.errors", "SimulatedFailure": "gpusim.errors",
    **{name: "gpusim.dsl.dtypes" for name in (
        "f16", "bf16", "tf32", "f32", "f64", "cf32", "e4m3", "e5m2", "s8", "u8", "s32", "s4", "u4", "u1", "DType")},
}
"""Public names and the modules they live in, with the name there where it is another one."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gpusim' has no attribute '{name}'")
    module, _, there = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(module), there or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
