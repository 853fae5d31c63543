"""Models the GEMM that CUTLASS's pipelines compute, D = A * B, in any of the four operand layouts.
Leaves out alpha and beta (1 and 0), and batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gpusim as gs
from gpusim.dsl import GmemTensor

__all__ = ["check_layouts", "dtype", "flops", "operands", "reference"]


def dtype(name: str) -> gs.DType:
    """The element type of a parameter."""
    types = {"f16": gs.f16, "bf16": gs.bf16, "tf32": gs.tf32, "f32": gs.f32, "s8": gs.s8, "s32": gs.s32}
    if name not in types:
        raise gs.UserError("no such element type", got=f"'{name}'", suggestion=f"one of {', '.join(types)}")
    return types[name]


def check_layouts(layouts: str) -> None:
    if len(layouts) != 2 or set(layouts) - set("nt"):
        raise gs.UserError("operand layouts are two letters, of A and of B: t by row, n by column (BLAS)",
                           got=f"'{layouts}'", suggestion="tn, nn, nt or tt")


def operands(M: int, N: int, K: int, input_type: str, output_type: str, layouts: str) -> dict[str, GmemTensor]:
    """A is M x K; B is held as N x K, so B by column (n) has k contiguous."""
    check_layouts(layouts)
    a_order, b_order = ("row" if layouts[0] == "t" else "column"), ("row" if layouts[1] == "n" else "column")
    return {"A": gs.tensor("A", dtype(input_type), (M, K), order=a_order),
            "B": gs.tensor("B", dtype(input_type), (N, K), order=b_order),
            "D": gs.tensor("D", dtype(output_type), (M, N))}


def flops(M: int, N: int, K: int) -> float:
    return 2.0 * M * N * K


def reference(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Products of integers are exact in f64."""
    kind = "f8" if inputs["A"].dtype.kind in "iu" else "f4"
    return {"D": inputs["A"].astype(kind) @ inputs["B"].astype(kind).T}
