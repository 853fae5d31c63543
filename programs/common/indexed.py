"""Models the problem of a GEMM whose rows of A and D are picked by index tensors, and its answer.
Leaves out duplicates among scattered rows, whose result would depend on the order of CTAs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import gpusim as gs
from common.output_op import LinearCombination
from common.problem import dtype
from gpusim import GmemTensor

__all__ = ["indexed_problem", "indexed_reference"]


def indexed_problem(tensors: Mapping[str, GmemTensor], rows: int, gather_a: bool, scatter_d: bool,
                    seed: int) -> dict[str, GmemTensor]:
    """Tensors with ``rows`` rows of A and D (0: twice as many as are picked) where those are indexed, and the index
    tensors rows_A, rows_D."""
    count, generator = tensors["A"].shape[0], np.random.default_rng(seed)
    rows = rows or 2 * count
    if scatter_d and rows < count:
        raise gs.UserError("a row of D is scattered to once, so there are at least M", got=f"rows={rows}, M={count}",
                           suggestion=f"rows={count} or more")
    found = dict(tensors)
    for name in ("A", *(("D", "C") if scatter_d else ()))[0 if gather_a else 1 :]:
        if name in found:
            found[name] = _with_rows(found[name], rows)
    if gather_a:
        values = generator.permutation(rows)[:count] if rows >= count else generator.integers(0, rows, count)
        found["rows_A"] = _index("rows_A", values)
    if scatter_d:
        found["rows_D"] = _index("rows_D", generator.permutation(rows)[:count])
    return found


def _with_rows(tensor: GmemTensor, rows: int) -> GmemTensor:
    """By row: another number of rows leaves the pitch alone; by column it is the pitch."""
    columns = tensor.shape[1]
    return replace(tensor, shape=(rows, columns), strides=(columns, 1) if tensor.strides[1] == 1 else (1, rows))


def _index(name: str, values: np.ndarray) -> GmemTensor:
    return gs.tensor(name, gs.s32, (len(values), 1), values=values.astype(np.int32)[:, None])


def indexed_reference(inputs: Mapping[str, Any], op: LinearCombination, output_type: str,
                      total_rows: int) -> dict[str, Any]:
    """D, masked where no row is scattered to."""
    a, b, source = inputs["A"], inputs["B"], inputs.get("C")
    kind = np.float32 if a.dtype in (np.float16, np.float32) else np.float64
    gathered = a if "rows_A" not in inputs else a[inputs["rows_A"][:, 0]]
    product = gathered.astype(kind) @ b.astype(kind).T
    if "rows_D" not in inputs:
        return {"D": op.evaluate(product, source, dtype(output_type))}
    rows = inputs["rows_D"][:, 0]
    scattered = op.evaluate(product, None if source is None else source[rows], dtype(output_type))
    shape = total_rows or 2 * len(rows), b.shape[0]
    result = np.ma.array(np.zeros(shape, scattered.dtype), mask=True)
    result[rows] = scattered
    return {"D": result}
