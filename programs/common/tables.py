"""Models loads of single words from tables that a launch brings along: pointers, sizes, leading dimensions.
Leaves out what is computed from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusim import LANES, Context, GlobalIterator, GmemTensor, Group, Line, Pieces

__all__ = ["load_lanes", "load_uniform"]


def load_uniform(ctx: Context, table: GmemTensor, places: Sequence[tuple[int, int]], address: Group) -> list[Group]:
    """Registers with the elements of a table at ``places`` (row, column), one LDG each, all through ``address``."""
    shape = len(places), ctx.recorder.num_warps * LANES
    rows, columns = (np.broadcast_to(np.array(where)[:, None], shape) for where in zip(*places, strict=True))
    return load_lanes(ctx, table, rows, columns, address)


def load_lanes(ctx: Context, table: GmemTensor, rows: np.ndarray, columns: np.ndarray, address: Group) -> list[Group]:
    """Registers with elements (loads, threads) of a table; threads beyond its end load nothing."""
    width = max(1, table.dtype.bits // 32)
    source = GlobalIterator(ctx, table, (1, 1), (None, None), Pieces(rows, columns, 1))
    groups = [ctx.recorder.registers.vector(width) for _ in rows]
    mnemonic = "LDG.E" + (f".{32 * width}" if width > 1 else "")
    ctx.code([Line(mnemonic, group, (address,), row) for row, group in enumerate(groups)],
             source.access(f"LDG{32 * width}", 0, range(len(rows)), label=f"ld.global {table.name}"))
    return groups
