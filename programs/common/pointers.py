"""Models arrays of pointers, one per batch, as GemmUniversal's mode kArray takes them: the kernel loads its own.
Leaves out where allocations lie: the batches of a tensor follow each other, whatever way they are found."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import gpusim as gs
from common.tables import load_uniform
from gpusim import Context, GlobalIterator, GmemTensor

__all__ = ["batch_pointers", "load_pointer", "pointer_tensor"]

MODES = ("strided", "array")
POINTER = gs.DType("u64", 64)


def batch_pointers(tensors: Mapping[str, GmemTensor], mode: str) -> dict[str, GmemTensor]:
    """Arrays of pointers to the batches of ``tensors``, where the mode wants them."""
    if mode not in MODES:
        raise gs.UserError("batches are found by a stride or by an array of pointers", got=f"'{mode}'",
                           suggestion=f"mode={' or '.join(MODES)}")
    if mode == "strided":
        return {}
    return {f"pointers_{name}": pointer_tensor(
        f"pointers_{name}", tensor.bytes_of(tensor.strides[0]) * np.arange(tensor.shape[0])[:, None, None])
        for name, tensor in tensors.items()}


def pointer_tensor(name: str, values: np.ndarray) -> GmemTensor:
    """A tensor of pointers; its values count from where the tensor they point into begins."""
    return gs.tensor(name, POINTER, values.shape, values=values.astype(np.uint64))


def load_pointer(ctx: Context, iterator: GlobalIterator | None, pointers: GmemTensor | None) -> None:
    """Load the pointer of the CTA's batch, and begin the iterator there; nothing without an array of pointers."""
    if iterator is None or pointers is None:
        return
    address = ctx.recorder.registers.vector(2)
    iterator.pointer.base, = load_uniform(ctx, pointers.batch(), [(0, 0)], address)
