"""Models how far apart ptxas keeps memory accesses: four cycles, and more beside tensor work that has few of them.
Leaves out their widths, which make no difference to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusim.arch import Kind
from gpusim.dsl.backend.instruction import MEMORY, Instruction, has_tensor_work

__all__ = ["spaced"]

LEAST_CYCLES, MOST_CYCLES = 4, 8
"""Stall counts between accesses that follow each other in kernels of CUTLASS 2.x (h200/src/cutlass_bench, nvcc 13.0): 4
in 7,161 of 7,449 pairs of STS, STS.64, LDS or LDS.128 that no HMMA, branch or barrier stands between, never less."""

SHARE, GLOBAL_SHARE = 0.4, 0.5
"""The first: of the mean distance of accesses in a block with tensor instructions, in which a load from global memory
counts as GLOBAL_SHARE of an access. Of 148 loops of mma.sync (92 of h200/src/gemm.cu and gemm_blind.cu, 56 of CUTLASS
2.x) that is the most frequent distance of ldmatrix in 125, whatever their registers and threads, and one cycle off in
the others (access_spacing.csv). Why is not known."""


def spaced(code: Sequence[Instruction]) -> list[Instruction]:
    """``code`` with the intervals that ptxas keeps between accesses; those without registers follow at once."""
    cycles = _interval_cycles(code)
    return [replace(one, interval_cycles=cycles if one.has_registers else 1) if one.kind in MEMORY else one
            for one in code]


def _interval_cycles(code: Sequence[Instruction]) -> int:
    if not has_tensor_work(code):
        return LEAST_CYCLES
    accesses = sum(GLOBAL_SHARE if one.kind == Kind.global_load else 1 for one in code
                   if one.kind in MEMORY and one.has_registers)
    work = sum(one.interval_cycles if one.kind == Kind.mma else 1 for one in code)
    return min(max(round(SHARE * work / max(accesses, 1)), LEAST_CYCLES), MOST_CYCLES)
