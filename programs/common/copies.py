"""Models what the copy programs share: tensors of one element type, thread layouts, references.
Leaves out the copies themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gpusim as gs
from gpusim import Context, CopyAtom, GmemTensor, Partition, ThreadFragment, TiledCopy, cute

__all__ = ["along_rows", "copied", "dtype", "load_tile", "no_flops", "pair"]


def pair(A: tuple[int, int], D: tuple[int, int], element: gs.DType) -> dict[str, GmemTensor]:
    """Source and destination, both by row."""
    return {"A": gs.tensor("A", element, A), "D": gs.tensor("D", element, D)}


def dtype(name: str) -> gs.DType:
    """The element type of a parameter."""
    types = {"f32": gs.f32, "f16": gs.f16}
    if name not in types:
        raise gs.UserError("a copy program has the element types f16 and f32", got=f"'{name}'")
    return types[name]


def no_flops(M: int, N: int) -> float:
    return 0.0


def copied(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """D = A."""
    return {"D": inputs["A"]}


def along_rows(atom: CopyAtom, threads: int, columns: int, element: gs.DType) -> TiledCopy:
    """Neighbouring threads move neighbouring vectors of rows of ``columns`` elements."""
    values = atom.bits_per_thread // element.bits
    chunks = columns // values
    if chunks < 1 or columns % values or threads % chunks:
        raise gs.UserError("the vectors of a row must divide the threads", got=f"{columns} columns, {threads} threads",
                           suggestion="another number of columns")
    return gs.tiled_copy(atom, cute.Layout((threads // chunks, chunks), (chunks, 1)),
                         cute.Layout((1, values), (values, 1)))


def load_tile(ctx: Context, copy: TiledCopy, source: Partition, registers: ThreadFragment, *,
              pred: bool | None = None) -> None:
    """ld.global of a thread's part; of a partial tile, zeros for what it does not have."""
    if source.tile.inside is not None:
        ctx.clear(registers)
    ctx.copy(copy, source, registers, pred=pred)
