"""Models the order of blocks that multiply on the fma pipe: what ptxas keeps among FFMAs (IDP.4A, DFMA), and beside.
Leaves out all else about it (gpusim.dsl.backend.schedule), and loads that ptxas draws forward by whole k steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from gpusim.arch import Kind
from gpusim.dsl.backend.graph import Graph
from gpusim.dsl.backend.instruction import Instruction, accumulates, has_tensor_work

__all__ = ["Products"]

_SOON = frozenset({Kind.shared_load, Kind.shared_store, Kind.commit, Kind.depbar, Kind.barrier})


class Products:
    """Rules read from the loops of 22 kernels (h200/simt_loops.csv) and eleven of h200/cutlass_replays.csv:

    - Products keep the order that the source has (all of those eleven loops).
    - Accesses of shared memory, barriers and what leads to them issue as soon as they can: a fragment load in the cycle
      in which the last product has read its registers. No path makes them wait for products.
    - Loads from global memory come behind the first k step with all their arithmetic, and no product between (16 of 22;
      the others spread them over that step).
    """

    def __init__(self, code: Sequence[Instruction], graph: Graph) -> None:
        """Adds the order of products to ``graph``."""
        products = [] if has_tensor_work(code) else [row for row, one in enumerate(code) if accumulates(one)]
        for first, second in pairwise(products):
            graph.add(first, second, 1)
        self._rows = frozenset(products)
        step = len({code[row].writes for row in products})
        self._ends_step = products[step - 1] if step < len(products) else None
        loads = {row for row, one in enumerate(code) if one.kind == Kind.global_load}
        self._loads = self._leading(code, graph, loads) if self._ends_step is not None else set()
        soon = {row for row, one in enumerate(code) if one.kind in _SOON} if products else set()
        self.soon = self._leading(code, graph, soon) | self._loads

    def _leading(self, code: Sequence[Instruction], graph: Graph, rows: set[int]) -> set[int]:
        """``rows`` and the arithmetic that leads to them."""
        found = set(rows)
        for row in reversed(range(len(code))):
            if code[row].kind == Kind.alu and row not in self._rows and not found.isdisjoint(graph.after[row]):
                found.add(row)
        return found

    def candidates(self, ready: Iterable[int]) -> list[int]:
        """Those of the ``ready`` rows that may be next."""
        rows = list(ready)
        if not self._loads:
            return rows
        waiting = self._rows if self._ends_step is None else self._loads
        return [row for row in rows if row not in waiting] or rows

    def issued(self, row: int) -> None:
        self._loads.discard(row)
        if row == self._ends_step:
            self._ends_step = None
