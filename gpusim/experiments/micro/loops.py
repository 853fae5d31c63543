"""Models a program made of stretches of a compiled kernel: loop bodies with their control fields, addresses given.
Leaves out the emulator: for kernels that chase pointers or divide, whose addresses their definition tells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gpusim.experiments.micro.compiled import CompiledKernel
from gpusim.program import CtaClass, Launch, Program, RoleProgram, TensorInfo
from gpusim.program.access_builder import Access, build_access_table
from gpusim.sass.optable import instruction_rows, statics_of
from gpusim.sass.parser import SassFunction, parse_sass
from gpusim.sass.scopes import loops

__all__ = ["GLOBAL_BASES", "body_after_clock", "exit_pc", "function_of", "loop_around", "looped_role",
           "one_tensor_program", "tail_pcs"]

GLOBAL_BASES = ("LDG", "STG", "LDGSTS")
MEMORY_ADDRESS = 1 << 32
FULL_MASK = 0xFFFF_FFFF


@lru_cache
def function_of(kernel: CompiledKernel) -> SassFunction:
    """Its parsed text."""
    return parse_sass(kernel.text, name=kernel.source)[0]


def body_after_clock(kernel: CompiledKernel) -> range:
    """Instructions of the first loop behind the first clock read that touches global memory."""
    instructions, clock = function_of(kernel).instructions, kernel.clock_pcs[0]
    return next(range(loop.first, loop.last + 1) for loop in loops(function_of(kernel)) if loop.first > clock
                and any(i.base in GLOBAL_BASES for i in instructions[loop.first:loop.last + 1]))


def loop_around(kernel: CompiledKernel, body: range) -> range:
    """Instructions of the innermost loop that holds another one."""
    around = [range(loop.first, loop.last + 1) for loop in loops(function_of(kernel))
              if loop.first <= body.start and body.stop <= loop.last]
    return min(around, key=len)


def tail_pcs(kernel: CompiledKernel) -> range:
    """From behind the loop around that loop to the second clock read."""
    return range(loop_around(kernel, body_after_clock(kernel)).stop, kernel.clock_pcs[-1] + 1)


def exit_pc(kernel: CompiledKernel) -> int:
    """An EXIT that no predicate guards."""
    return next(n for n, i in enumerate(function_of(kernel).instructions) if i.base == "EXIT" and i.guard is None)


def looped_role(
    kernel: CompiledKernel, pcs: Sequence[int], access: Access, offsets_bytes: np.ndarray,
    shared_offsets_bytes: np.ndarray | None = None,
) -> RoleProgram:
    """Warps that run the instructions ``pcs`` and then leave; access number i adds ``offsets_bytes[i]`` to ``access``.

    Offsets are used again from the start when there are more accesses than offsets.
    """
    function, order = function_of(kernel), np.array([*pcs, exit_pc(kernel)])
    ops = instruction_rows(function)[order]
    idle = np.array([i.guard is not None and i.guard.is_zero and i.guard.negated for i in function.instructions])
    ops["active"][idle[order]] = 0
    touches = np.array([i.base in GLOBAL_BASES for i in function.instructions])[order] & (ops["active"] > 0)
    count = int(touches.sum())
    ops["access"][touches] = 0
    ops["global_offset"][touches] = np.resize(offsets_bytes, count)
    if shared_offsets_bytes is not None:
        ops["shared_offset"][touches] = np.resize(shared_offsets_bytes, count)
    warps = len(access.lane_mask)
    return RoleProgram("all", 0, warps, ops, build_access_table([access]))


def one_tensor_program(
    kernel: CompiledKernel, roles: Sequence[RoleProgram], cta_class: np.ndarray, starts_bytes: np.ndarray,
    size_bytes: int, *, shared_bytes: int = 0, registers: int = 64, is_output: bool = False,
) -> Program:
    """One class per role; CTA i starts ``starts_bytes[i]`` bytes behind the start of a tensor of ``size_bytes``."""
    ctas = len(cta_class)
    tensor = TensorInfo("p", "u8", (size_bytes,), (1,), MEMORY_ADDRESS, size_bytes, is_output)
    index = np.zeros((ctas, 3), np.int32)
    index[:, 0] = np.arange(ctas)
    return Program(
        name=kernel.part, statics=statics_of(function_of(kernel)),
        classes=tuple(CtaClass(f"class {number}", (role,)) for number, role in enumerate(roles)),
        launch=Launch((ctas, 1, 1), 32 * roles[0].num_warps, registers, shared_bytes),
        cta_class=cta_class.astype(np.int32), cta_bases=(MEMORY_ADDRESS + starts_bytes)[:, None].astype(np.int64),
        cta_index=index, tensors=(tensor,),
    )
