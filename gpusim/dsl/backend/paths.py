"""Models how far an instruction is from the end of its block: the longest path of latencies, and tensor work behind it.
Leaves out what a list scheduler makes of that (gpusim.dsl.backend.schedule)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from gpusim.arch import Kind
from gpusim.dsl.backend.graph import Graph
from gpusim.dsl.backend.instruction import Instruction, accumulates, has_tensor_work

__all__ = ["load_paths", "paths_to_end"]

REACH_CYCLES = 72
"""Rule 6. Copies, barriers and fragment loads of the 60 loops of h200/src/gemm.cu (nvcc 13.0) stand nearest to where
ptxas puts them with 48 to 96; loops of MmaPipelined, whose loads go through registers, without a limit."""


def paths_to_end(code: Sequence[Instruction], graph: Graph, held: Iterable[int] = (), *,
                 ordered: bool = True) -> list[int]:
    """Per row, the longest path of latencies to the block's end; results nobody reads here are needed after it.

    In a block with copies it goes on from the user of a fragment load through REACH_CYCLES of tensor work, from
    arithmetic on what has been loaded to the end of that (rule 6), and from rows that are ``held`` no further than
    their user. ``ordered``: whether a copy's path goes on through the copies behind it.
    """
    relaxed = _path_cycles(code, graph, {}, 0, ordered) if held else []
    slack = {row: relaxed[row] for row in held}
    if all(one.kind != Kind.async_copy for one in code):
        return _path_cycles(code, graph, slack, math.inf, ordered)
    path = _path_cycles(code, graph, slack, REACH_CYCLES, ordered)
    feeding = _feeding_rows(code, graph)
    if feeding:
        whole = _path_cycles(code, graph, {}, math.inf, ordered)
        for row in feeding:
            path[row] = whole[row]
    return path


def load_paths(code: Sequence[Instruction], graph: Graph, path: Sequence[int], *, ordered: bool = True) -> list[int]:
    """``path`` without what leads through copies: 0 for the copies and for what nothing else waits for."""
    loads = [0] * len(code)
    for row in reversed(range(len(code))):
        if code[row].kind == Kind.async_copy:
            continue
        waits = [(later, cycles) for later, cycles in graph.after[row].items()
                 if not _order_only(code[row], code[later], ordered)]
        if all(loads[later] == path[later] > 0 for later, _ in waits):
            loads[row] = path[row]
        else:
            loads[row] = max((cycles + loads[later] for later, cycles in waits if loads[later]), default=0)
    return loads


def _path_cycles(code: Sequence[Instruction], graph: Graph, slack: Mapping[int, int], reach: float,
                 ordered: bool) -> list[int]:
    """``slack``: rows that have time, and the path that goes on from them. ``reach``: how far the path goes on through
    the tensor instructions behind a user."""
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
                                  if not _order_only(instruction, code[later], ordered))])
        if instruction.kind == Kind.mma:
            tensor = path[row]
        path[row] = slack.get(row, path[row])
    return path


def _feeding_rows(code: Sequence[Instruction], graph: Graph) -> set[int]:
    """Arithmetic between fragment loads and tensor instructions: conversions, signs, moves."""
    feeding: set[int] = set()
    for row in reversed(range(len(code))):
        if code[row].kind == Kind.alu and any(code[later].kind == Kind.mma or later in feeding
                                              for later in graph.after[row]):
            feeding.add(row)
    return feeding


def _order_only(first: Instruction, second: Instruction, ordered: bool) -> bool:
    """A fragment load behind a copy, and unless ``ordered`` another copy: it stays there, but does not need it."""
    return first.kind == Kind.async_copy and (
        second.kind == Kind.ldmatrix or (not ordered and second.kind == Kind.async_copy))
