"""Models the problem of a GEMM with an output operator, D = activation(alpha * A * B + beta * C), and its answer.
C exists only where the operator reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from common.channels import channel_tensors
from common.output_op import LinearCombination
from common.problem import dtype, operands
from gpusim import GmemTensor

__all__ = ["problem", "reference"]


def problem(M: int, N: int, K: int, input_type: str, output_type: str, layouts: str, beta: complex, scale: str,
            batches: int | None = None) -> dict[str, GmemTensor]:
    """Tensors of a GEMM, or of a batch of them, by the names of its kernel's arguments."""
    tensors = operands(M, N, K, input_type, output_type, layouts, batches)
    op = LinearCombination(beta=beta, scale=scale)
    return {**tensors, **op.source(tensors["D"]), **channel_tensors(op.channels, N)}


def reference(inputs: Mapping[str, np.ndarray], output_type: str, alpha: complex, beta: complex, scale: str,
              activation: str, operator: str = "default") -> dict[str, Any]:
    """D; products of integers are exact in f64. ``operator``: xor_popc counts the bits in which rows differ."""
    a = inputs["A"]
    kind = np.dtype("f4" if a.dtype in (np.float16, np.float32) else "c16" if np.iscomplexobj(a) else "f8")
    product = a.astype(kind) @ inputs["B"].astype(kind).swapaxes(-1, -2)
    if operator == "xor_popc":
        product = a.sum(-1)[..., :, None] + inputs["B"].sum(-1)[..., None, :] - 2 * product
    op = LinearCombination(alpha, beta, scale, activation)
    channels = {name: inputs[name] for name in op.channels}
    return {"D": op.evaluate(product, inputs.get("C"), dtype(output_type), channels)}
