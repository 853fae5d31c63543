"""Models whose addresses come first in a loop that multiplies: those of its copies, or those of its fragment loads.
Leaves out when there is room for either (gpusim.dsl.backend.schedule)."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.arch import Kind
from gpusim.dsl.backend.graph import Graph
from gpusim.dsl.backend.instruction import Instruction, has_tensor_work
from gpusim.dsl.backend.paths import load_paths, path_cycles, reach_of

__all__ = ["copies_in_turn", "leads_with_copies"]


def leads_with_copies(code: Sequence[Instruction], graph: Graph) -> bool:
    """Whether the way from what copies need is longer than that from what fragment loads in front of them need.

    In loops of two k steps it is where addresses begin with constants that the loop reads again (LDC); in longer ones
    it is not, as more tensor work hangs on the loads.
    """
    path = path_cycles(code, graph, {}, reach_of(code))
    copied, loaded = _leading(code, graph, path)
    return bool(copied and loaded) and max(path[row] for row in copied) > max(path[row] for row in loaded)


def copies_in_turn(code: Sequence[Instruction], graph: Graph, path: list[int], first: bool) -> None:
    """Shorten or lengthen the ``path`` of what leads to copies so that each copy's comes behind the one before's, and
    all of them behind fragment loads that stand in front, or with ``first`` before those."""
    if not has_tensor_work(code):
        return
    copied, loaded = _leading(code, graph, path)
    longest = max((path[row] for row in copied), default=0)
    if loaded and not first:
        longest = min(longest, min(path[row] for row in loaded if code[row].kind == Kind.ldmatrix) - 1)
    for row, number in copied.items():
        path[row] = longest - number


def _leading(code: Sequence[Instruction], graph: Graph, path: Sequence[int]) -> tuple[dict[int, int], set[int]]:
    """Copies and the arithmetic whose longest path leads to them, each with the number of the first such copy; fragment
    loads in front of all copies, and the arithmetic that leads to those."""
    copies = [row for row, one in enumerate(code) if one.kind == Kind.async_copy]
    copied = {row: number for number, row in enumerate(copies)}
    loaded = {row for row in range(min(copies, default=0)) if code[row].kind == Kind.ldmatrix}
    to_loads = load_paths(code, graph, path)
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
