"""Models one warp access to a tile with a layout: the lanes' addresses, the phases, how often each bank is wanted.
Leaves out programs (gpusim.experiments.program_banks) and asynchronous copies, whose cost has a global side."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.cute import Layout, size
from gpusim.cute.drawing import draw_bank_hits
from gpusim.errors import UserError
from gpusim.experiments.layout_view import View
from gpusim.experiments.phase_tables import phase_table
from gpusim.memory import explain
from gpusim.memory.detail import ALL_LANES, BANKS
from gpusim.memory.operations import ASYNC_OPERATIONS, LANES, SharedOperation, shared_operation

__all__ = ["access_addresses", "bank_hits", "view_access"]


def view_access(layout: Any, bits: int, operation: str, lanes: str = "") -> View:
    """The phases of an access to the layout's tile, and its heat map."""
    addresses = access_addresses(layout, bits, operation, lanes)
    table, hits = phase_table(operation, addresses, ALL_LANES), bank_hits(operation, addresses)
    wavefronts = int(table["wavefronts"].sum())
    title = f"{operation} of {layout}, {bits}-bit elements: {wavefronts} wavefronts in {len(table)} phases"
    data = {"operation": operation, "layout": str(layout), "addresses": addresses.tolist(), "wavefronts": wavefronts,
            "phases": table.to_dict("records"), "hits": hits.tolist()}
    return View(title, f"{title}\n{table.to_string(index=False)}", data, lambda: draw_bank_hits(hits, title))


def access_addresses(layout: Any, bits: int, operation: str, lanes: str = "") -> np.ndarray:
    """(32,) byte addresses of the lanes in a tile of ``bits`` wide elements.

    ``lanes`` is a layout from the lane to the coordinate's number (first mode fastest). By default lanes go down the
    rows, then on to the next piece of the row. Raises UserError where lanes leave the tile, or for a copy.
    """
    if operation in ASYNC_OPERATIONS:
        raise UserError("an asynchronous copy has a global side as well", place="--access", got=operation,
                        suggestion="use gpusim banks --op with --global-layout")
    shape = shared_operation(operation)
    used = shape.address_lanes.bit_length()
    where = Layout.parse(lanes) if lanes else _down_the_rows(layout, bits, shape, used)
    if where.size() < used:
        raise UserError(f"{operation} needs a coordinate for each of {used} lanes", place="--lanes", got=str(where))
    coordinates = np.array([where(lane % where.size()) for lane in range(LANES)])
    if coordinates.max() >= size(layout):
        raise UserError(f"lanes must stay within the {size(layout)} coordinates of the tile", place="--lanes",
                        got=int(coordinates.max()), suggestion="choose a larger tile, or --lanes LAYOUT")
    return np.array([int(layout(int(coordinate))) for coordinate in coordinates], np.int64) * bits // 8


def bank_hits(operation: str, addresses: np.ndarray) -> np.ndarray:
    """(phases, 32) distinct words that a phase wants of each bank."""
    found = explain(operation, addresses)
    hits = np.zeros((len(found), BANKS), int)
    for row, phase in zip(hits, found, strict=True):
        row[list(phase.banks)] = [len(words) for words in phase.banks.values()]
    return hits


def _down_the_rows(layout: Any, bits: int, shape: SharedOperation, used: int) -> Layout:
    rows = min(size(layout[0]) if isinstance(layout.shape, tuple) else 1, used)
    piece = max(1, shape.bytes_per_lane * 8 // bits)
    return Layout((rows, -(-used // rows)), (1, size(layout[0]) * piece if isinstance(layout.shape, tuple) else piece))
