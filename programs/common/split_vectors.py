"""Models an output thread map whose vectors are wider than a store: each is stored in parts of 16 bytes.
Leaves out everything else of the map, which stays (gpusim.cute.cutlass2).

Source: cutlass/arch/memory.h, global_store of 32 bytes: two st.global.v4 side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpusim.cute.cutlass2 import OutputTileShape, OutputTileThreadMap

__all__ = ["SplitThreadMap"]


@dataclass(frozen=True)
class SplitThreadMap:
    """``whole`` with every access in ``parts`` neighbouring ones."""

    whole: OutputTileThreadMap
    parts: int

    @property
    def elements_per_access(self) -> int:
        return self.whole.elements_per_access // self.parts

    @property
    def iterations(self) -> OutputTileShape:
        its = self.whole.iterations
        return replace(its, column=its.column * self.parts)

    def accesses(self, compact: bool = False) -> np.ndarray:
        """(threads, accesses, 2) row and column, the parts of a vector one after another."""
        vectors = self.whole.accesses(compact)
        steps = np.arange(self.parts)[:, None] * np.array([0, self.elements_per_access])
        return (vectors[:, :, None] + steps).reshape(len(vectors), -1, 2)

    def step_rows(self, step: int | np.ndarray) -> int | np.ndarray:
        return self.whole.step_rows(step)
