"""Models the one intermediate representation, the op table, and the launch around it.
Leaves out the front ends that make it and the engine that times it."""

from gpusim.program.access import REQUEST, AccessTable, BulkBox, MatrixOperand
from gpusim.program.flags import FlagAction, FlagTable, FlagUse, flag_action
from gpusim.program.mbarriers import MBarrier, MBarrierAction, MBarrierUse, pack_mbarrier, unpack_mbarrier
from gpusim.program.ops import (
    MAX_SOURCES,
    NO_ACCESS,
    NO_BARRIER,
    OP,
    PREDICATE_BASE,
    UNIFORM_BASE,
    empty_ops,
)
from gpusim.program.program import CtaClass, Launch, Program, RoleProgram, Static, TensorInfo
from gpusim.program.sequence import join_programs, launches_of
from gpusim.program.slots import BANKS, slot_reads

__all__ = [
    "BANKS", "MAX_SOURCES", "NO_ACCESS", "NO_BARRIER", "OP", "PREDICATE_BASE", "REQUEST", "UNIFORM_BASE",
    "AccessTable", "BulkBox", "CtaClass", "FlagAction", "FlagTable", "FlagUse", "Launch", "MBarrier", "MBarrierAction",
    "MBarrierUse", "MatrixOperand", "Program", "RoleProgram", "Static", "TensorInfo", "empty_ops", "flag_action",
    "join_programs", "launches_of", "pack_mbarrier", "slot_reads", "unpack_mbarrier",
]
