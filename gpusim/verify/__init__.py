"""Models what a program computes: functional execution with asynchronous visibility, hazards, deadlocks, the answer.
Leaves out time (gpusim.engine) and register hazards of control fields (gpusim.dsl.backend)."""

from gpusim.verify.check import AccessCheck, CheckReport, OutputCheck, check_program
from gpusim.verify.executor import ExecutionResult, execute
from gpusim.verify.hazards import Hazard
from gpusim.verify.inputs import random_inputs
from gpusim.verify.tolerance import Tolerance, tolerance_for

__all__ = [
    "AccessCheck", "CheckReport", "ExecutionResult", "Hazard", "OutputCheck", "Tolerance", "check_program", "execute",
    "random_inputs", "tolerance_for",
]
