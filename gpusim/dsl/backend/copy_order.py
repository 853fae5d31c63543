"""Models when a loop that multiplies works out the addresses of its copies: in turn, before or behind fragment loads'.
Leaves out how long tensor instructions wait for them (gpusim.dsl.backend.schedule)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from gpusim.arch import Kind
from gpusim.dsl.backend.graph import Graph
from gpusim.dsl.backend.instruction import Instruction
from gpusim.dsl.backend.paths import load_paths, paths_to_end

__all__ = ["CopyOrder", "copies_in_turn", "copy_order"]

CopyOrder = Literal["chain", "behind loads", "before loads"]
"""Rule 11. A chain: each copy is needed by all those behind it."""


def copy_order(code: Sequence[Instruction], graph: Graph) -> CopyOrder:
    """A chain, unless all copies stand in front of the tensor instructions in the source; then in turn, before fragment
    loads where the way to the end of the block from what copies need is longer than that from what the loads need that
    stand in front of them.

    In loops of two k steps it is where addresses begin with constants that the loop reads again (LDC); in longer ones
    it is not, as more tensor work hangs on the loads.
    """
    kinds = [one.kind for one in code]
    if Kind.async_copy not in kinds or Kind.mma not in kinds or Kind.async_copy in kinds[kinds.index(Kind.mma):]:
        return "chain"
    path = paths_to_end(code, graph, ordered=False)
    copied, loaded = _leading(code, graph, path)
    longer = max(path[row] for row in copied) > max((path[row] for row in loaded), default=math.inf)
    return "before loads" if longer else "behind loads"


def copies_in_turn(code: Sequence[Instruction], graph: Graph, path: Sequence[int], behind_loads: bool) -> list[int]:
    """``path``, in which the order of copies does not count, with a cycle less for each copy before; with
    ``behind_loads`` less than those of fragment loads that stand in front of the copies."""
    copied, loaded = _leading(code, graph, path)
    ranks, less = list(path), 0
    if behind_loads and loaded:
        last_load = min(path[row] for row in loaded if code[row].kind == Kind.ldmatrix)
        less = max(0, max(path[row] for row in copied) + 1 - last_load)
    for row, number in copied.items():
        ranks[row] = max(path[row] - number - less, 1)
    return ranks


def _leading(code: Sequence[Instruction], graph: Graph, path: Sequence[int]) -> tuple[dict[int, int], set[int]]:
    """Copies and the arithmetic whose longest path leads to them, each with the number of the first such copy; fragment
    loads in front of all copies, and the arithmetic that leads to those."""
    copies = [row for row, one in enumerate(code) if one.kind == Kind.async_copy]
    copied = {row: number for number, row in enumerate(copies)}
    loaded = {row for row in range(copies[0]) if code[row].kind == Kind.ldmatrix}
    to_loads = load_paths(code, graph, path, ordered=False)
    for row in reversed(range(len(code))):
        if code[row].kind != Kind.alu:
            continue
        if to_loads[row] < path[row]:
            numbers = [copied[later] for later in graph.after[row] if later in copied]
            if numbers:
                copied[row] = min(numbers)
        elif not loaded.isdisjoint(graph.after[row]):
            loaded.add(row)
    return copied, loaded
