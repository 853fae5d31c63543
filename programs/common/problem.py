"""Models the GEMM that CUTLASS's pipelines compute, D = A * B, in any of the four operand layouts.
Leaves out alpha and beta (1 and 0)."""

from __future__ import annotations

import gpusim as gs
from gpusim import GmemTensor, dtype_named

__all__ = ["check_layouts", "dtype", "flops", "operands"]


def dtype(name: str) -> gs.DType:
    """The element type of a parameter."""
    return dtype_named(name)


def check_layouts(layouts: str) -> None:
    if len(layouts) != 2 or set(layouts) - set("nt"):
        raise gs.UserError("operand layouts are two letters, of A and of B: t by row, n by column (BLAS)",
                           got=f"'{layouts}'", suggestion="tn, nn, nt or tt")


def operands(M: int, N: int, K: int, input_type: str, output_type: str, layouts: str,
             batches: int | None = None) -> dict[str, GmemTensor]:
    """A is M x K; B is held as N x K, so B by column (n) has k contiguous. Batches lie one after another."""
    check_layouts(layouts)
    a_order, b_order = ("row" if layouts[0] == "t" else "column"), ("row" if layouts[1] == "n" else "column")
    tensors = (gs.tensor("A", dtype(input_type), (M, K), order=a_order),
               gs.tensor("B", dtype(input_type), (N, K), order=b_order), gs.tensor("D", dtype(output_type), (M, N)))
    return {tensor.name: tensor if batches is None else _batched(tensor, batches) for tensor in tensors}


def _batched(tensor: GmemTensor, batches: int) -> GmemTensor:
    rows, columns = tensor.shape
    return gs.tensor(tensor.name, tensor.dtype, (batches, rows, columns), strides=(rows * columns, *tensor.strides))


def flops(M: int, N: int, K: int, batches: int = 1) -> float:
    return 2.0 * M * N * K * batches
