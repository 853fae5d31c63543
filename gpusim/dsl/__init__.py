"""Models kernels as recorded Python: tensors, tiled copies and MMAs, pipelines, lowering to warp instructions.
Leaves out time (gpusim.engine) and data (gpusim.verify)."""

from gpusim.dsl.context import Context
from gpusim.dsl.dtypes import DType
from gpusim.dsl.hopper.mma import tiled_mma
from gpusim.dsl.kernel import Kernel, kernel
from gpusim.dsl.registry import ProgramFile, load_program, program_names
from gpusim.dsl.tensors import Fragment, GmemTensor, SmemArray, SmemTensor, Tile, tensor
from gpusim.dsl.tiled import TiledCopy, TiledMma, tiled_copy

__all__ = [
    "Context", "DType", "Fragment", "GmemTensor", "Kernel", "ProgramFile", "SmemArray", "SmemTensor", "Tile",
    "TiledCopy", "TiledMma", "kernel", "load_program", "program_names", "tensor", "tiled_copy", "tiled_mma",
]
