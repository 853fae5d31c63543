"""Models how far an instruction is from the end of its block: the longest path of latencies, and tensor work behind it.
Leaves out what a list scheduler makes of that (gpusim.dsl.backend.schedule)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gpusim.arch import Kind
from gpusim.dsl.backend.graph import Graph
from gpusim.dsl.backend.instruction import Instruction, accumulates, has_tensor_work

__all__ = ["load_paths", "path_cycles", "reach_of"]

REACH_CYCLES = 72
"""Rule 6. Copies, barriers and fragment loads of the 60 loops of h200/src/gemm.cu (nvcc 13.0) stand nearest to where
ptxas puts them with 48 to 96; loops of MmaPipelined, whose loads go through registers, without a limit."""


def reach_of(code: Sequence[Instruction]) -> float:
    """How far the path of a fragment load goes on through the tensor instructions behind its user."""
    return REACH_CYCLES if any(one.kind == Kind.async_copy for one in code) else math.inf


def path_cycles(code: Sequence[Instruction], graph: Graph, slack: Mapping[int, int],
                reach: float = math.inf) -> list[int]:
    """Per row, the longest path of latencies to the block's end; results nobody reads here are needed after it.

    ``slack``: rows that have time, and the path that goes on from them. ``reach``: how far the path goes on
    through the tensor instructions behind a user (rule 6).
    """
    multiplies, path, work, tensor = has_tensor_work(code), [0] * len(code), 0, 0
    for row in reversed(range(len(code))):
        instruction = code[row]
        alone = instruction.expected_cycles if instruction.writes else 1
        if not multiplies and accumulates(instruction):
            work += instruction.interval_cycles
        if accumulates(instruction) or instruction.kind == Kind.async_copy:
            alone = max(alone, work)
        elif instruction.kind == Kind.mma and reach:
            alone = max(alone, instruction.interval_cycles + int(min(tensor, reach)))
        path[row] = max([alone, *(cycles + path[later] for later, cycles in graph.after[row].items()
                                  if not order_only(instruction, code[later]))])
        if instruction.kind == Kind.mma:
            tensor = path[row]
        path[row] = slack.get(row, path[row])
    return path


def load_paths(code: Sequence[Instruction], graph: Graph, path: Sequence[int]) -> list[int]:
    """``path`` without what leads through copies: 0 for the copies and for what nothing else waits for."""
    loads = [0] * len(code)
    for row in reversed(range(len(code))):
        if code[row].kind == Kind.async_copy:
            continue
        waits = [(later, cycles) for later, cycles in graph.after[row].items()
                 if not order_only(code[row], code[later])]
        if all(loads[later] == path[later] > 0 for later, _ in waits):
            loads[row] = path[row]
        else:
            loads[row] = max((cycles + loads[later] for later, cycles in waits if loads[later]), default=0)
    return loads


def order_only(first: Instruction, second: Instruction) -> bool:
    """A copy behind another one, or a fragment load behind a copy: it stays there, but does not need it."""
    return first.kind == Kind.async_copy and second.kind in (Kind.async_copy, Kind.ldmatrix)
