"""Models a group of GEMMs of different sizes in one launch: their matrices, their tables, the round robin of tiles.
Leaves out the code that finds a tile on the device (common.problem_visitor).

Source: cutlass/gemm/device/base_grouped.h, cutlass/gemm/kernel/grouped_problem_visitor.h.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import gpusim as gs
from common.output_op import LinearCombination
from common.pointers import pointer_tensor
from common.problem import dtype, operands
from common.tiles import tile_count
from gpusim import SCHEDULE_COLUMNS, GmemTensor

__all__ = ["Group", "Problem", "group_of", "round_robin"]

ALIGNMENT_BYTES = 256
"""Of each matrix in its allocation."""
LEADING = gs.DType("s64", 64)
Sizes = tuple[int, int, int]


@dataclass(frozen=True)
class Problem:
    """One GEMM of a group: its sizes, and views of its matrices by name."""

    sizes: Sizes
    matrices: Mapping[str, GmemTensor]


@dataclass(frozen=True)
class Group:
    """The problems of a launch, and what they are stored in."""

    problems: tuple[Problem, ...]
    allocations: Mapping[str, GmemTensor]  # "A", "B", "D" (and "C"): one-dimensional

    @property
    def flops(self) -> float:
        return sum(2.0 * m * n * k for m, n, k in (problem.sizes for problem in self.problems))

    def tables(self) -> dict[str, GmemTensor]:
        """What the kernel reads of the problems: sizes (P, 3), pointers and leading dimensions (matrices, P)."""
        sizes = np.array([problem.sizes for problem in self.problems], np.int32)
        views = [[problem.matrices[name] for problem in self.problems] for name in self.allocations]
        offsets = np.array([[view.bytes_of(view.offset) for view in row] for row in views])
        leading = np.array([[max(view.strides) for view in row] for row in views])
        return {"sizes": gs.tensor("sizes", gs.s32, sizes.shape, values=sizes),
                "pointers": pointer_tensor("pointers", offsets),
                "leading": gs.tensor("leading", LEADING, leading.shape, values=leading)}

    def tiles(self, tile: Sizes) -> list[tuple[int, int]]:
        """Tiles along m and n of every problem."""
        return [(tile_count(m, tile[0]), tile_count(n, tile[1])) for m, n, _ in (p.sizes for p in self.problems)]

    def answer(self, inputs: Mapping[str, Any], op: LinearCombination) -> np.ma.MaskedArray:
        """D, masked between the matrices."""
        output = self.allocations["D"]
        result = np.ma.array(np.zeros(output.shape), mask=True)
        for problem in self.problems:
            a, b, c = (self._matrix(problem, name, inputs.get(name)) for name in "ABC")
            kind = np.float32 if a.dtype in (np.float16, np.float32) else np.float64
            view = problem.matrices["D"]
            values = op.evaluate(a.astype(kind) @ b.astype(kind).T, c, output.dtype)
            result[view.offset : view.offset + values.size] = values.reshape(-1)
        return result

    def _matrix(self, problem: Problem, name: str, flat: Any) -> Any:
        """A matrix out of its allocation; None where there is none."""
        if flat is None or name not in problem.matrices:
            return None
        view = problem.matrices[name]
        rows, columns = np.ogrid[: view.shape[0], : view.shape[1]]
        return flat[view.offset + rows * view.strides[0] + columns * view.strides[1]]


def group_of(problems: str, sort_problems: bool, input_type: str, output_type: str, layouts: str,
             op: LinearCombination) -> Group:
    """The group that a text such as "512x512x256, 128x64x1024" describes; sorted: longest k first."""
    sizes = _sizes(problems)
    if sort_problems:
        sizes.sort(key=lambda size: -size[2])
    shapes = [operands(*size, input_type, output_type, layouts) for size in sizes]
    shapes = [{**tensors, **op.source(tensors["D"])} for tensors in shapes]
    allocations, views = {}, [{} for _ in sizes]  # type: ignore[var-annotated]
    for name in shapes[0]:
        element = dtype(output_type if name in "CD" else input_type)
        end = 0
        for view, tensors in zip(views, shapes, strict=True):
            view[name] = replace(tensors[name], offset=end)
            step = ALIGNMENT_BYTES * 8 // element.bits
            end += -(-int(np.prod(tensors[name].shape)) // step) * step
        allocations[name] = gs.tensor(name, element, (end,))
    return Group(tuple(Problem(size, view) for size, view in zip(sizes, views, strict=True)), allocations)


def _sizes(problems: str) -> list[Sizes]:
    words = problems.replace(",", " ").split()
    for word in words:
        if not re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", word):
            raise gs.UserError("a problem is MxNxK", place="problems", got=f"'{word}'", suggestion="512x512x256")
    if not words:
        raise gs.UserError("a group has at least one problem", place="problems", got="none", suggestion="512x512x256")
    return [(int(m), int(n), int(k)) for m, n, k in (word.split("x") for word in words)]


def round_robin(tiles: Sequence[tuple[int, int]], ctas: int) -> np.ndarray:
    """(C, V, 5) schedule: CTA c takes tiles c, c + C, ... of all problems in a row, each by rows of tiles of n."""
    rows = [(problem, m, n, 0, 0) for problem, (tiles_m, tiles_n) in enumerate(tiles)
            for m in range(tiles_m) for n in range(tiles_n)]
    ctas = min(ctas, len(rows))
    visits = -(-len(rows) // ctas)
    schedule = np.full((visits * ctas, len(SCHEDULE_COLUMNS)), -1, np.int64)
    schedule[: len(rows)] = rows
    return schedule.reshape(visits, ctas, -1).transpose(1, 0, 2).copy()
