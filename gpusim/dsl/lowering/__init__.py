"""Models what a compiler adds to a kernel's statements: addresses, guards, counters, conversions.
Leaves out schedule and control fields (gpusim.dsl.backend)."""

from gpusim.dsl.lowering.blocks import LoweredRole, lower_role
from gpusim.dsl.lowering.rules import fit_registers
from gpusim.dsl.lowering.template import StaticTable

__all__ = ["LoweredRole", "StaticTable", "fit_registers", "lower_role"]
