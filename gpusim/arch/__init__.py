"""Models the GPU as data: specification, instruction table, occupancy, MMA and copy atoms.
Leaves out programs and time."""

from gpusim.arch.instructions import INSTRUCTION, InstructionEntry, InstructionTable, Kind, Pipe, ResultCycles
from gpusim.arch.loader import gpu_names, load_gpu
from gpusim.arch.occupancy import Occupancy, check_launch, occupancy
from gpusim.arch.provenance import Source
from gpusim.arch.spec import GpuSpec

__all__ = [
    "INSTRUCTION", "GpuSpec", "InstructionEntry", "InstructionTable", "Kind", "Occupancy", "Pipe", "ResultCycles",
    "Source", "check_launch", "gpu_names", "load_gpu", "occupancy",
]
