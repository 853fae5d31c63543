"""Models what ptxas does after instruction selection: order, control fields, hazards, register need.
Leaves out the statements of the DSL, which gpusim.dsl lowers to Blocks."""

from gpusim.dsl.backend.block import Block, FinishedOps
from gpusim.dsl.backend.checker import Hazard, check_hazards
from gpusim.dsl.backend.finish import Schedule, finish
from gpusim.dsl.backend.registers import RegisterEstimate

__all__ = ["Block", "FinishedOps", "Hazard", "RegisterEstimate", "Schedule", "check_hazards", "finish"]
