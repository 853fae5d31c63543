"""Models an op table as flat arrays for the hazard scan: registers renumbered densely, reads and writes in lists.
Leaves out what is done with them (gpusim.dsl.backend.scan)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusim.arch import InstructionTable, Kind
from gpusim.dsl.backend.instruction import IN_ORDER, waits_for_group
from gpusim.dsl.backend.scan import Stream
from gpusim.program import PREDICATE_BASE

__all__ = ["dense_stream"]


def dense_stream(ops: np.ndarray, mnemonics: Sequence[str], table: InstructionTable) -> Stream:
    """Flat arrays of the (N,) OP rows."""
    entries = table.arrays(mnemonics)
    grouped = np.array([waits_for_group(Kind(kind)) for kind in entries["kind"]], bool)
    entries["variable_latency"][grouped], entries["latency"][grouped] = False, 1
    order_class = np.array([IN_ORDER.get(Kind(kind), 0) for kind in entries["kind"]], np.int64)
    pcs = ops["pc"]
    kinds, active = entries["kind"][pcs], ops["active"] != 0
    read_row, read_unit = _expand(ops["src_start"], ops["src_count"])
    write_row, write_unit = _expand(ops["dst_start"][:, None], ops["dst_count"][:, None])
    names, dense = np.unique(np.concatenate([read_unit, write_unit]), return_inverse=True)
    return Stream(
        cycle=np.cumsum(ops["stall"], dtype=np.int64) - ops["stall"],
        active=active,
        sets_barriers=active | _behind_active_copies(kinds, active),
        wait_mask=ops["wait_mask"].astype(np.int64),
        write_barrier=ops["write_barrier"].astype(np.int64),
        read_barrier=ops["read_barrier"].astype(np.int64),
        latency_cycles=entries["latency"][pcs].astype(np.int64),
        is_variable=entries["variable_latency"][pcs],
        order_class=order_class[pcs],
        read_first=_offsets(read_row, len(ops)),
        read_unit=dense[: len(read_unit)].astype(np.int64),
        write_first=_offsets(write_row, len(ops)),
        write_unit=dense[len(read_unit):].astype(np.int64),
        is_vector=names < PREDICATE_BASE,
        unit_names=names.astype(np.int64),
    )


def _behind_active_copies(kinds: np.ndarray, active: np.ndarray) -> np.ndarray:
    """(N,) copies whose group has an active one before them. Predicated off, they pass the queue all the same, and set
    their barriers in order: ptxas relies on it (h_128x128x32_w64x64x32_s4_tn of cutlass_loops.csv: what overwrites the
    address of the fifth copy waits for the barriers of the last three, each with a predicate of its own)."""
    is_copy = kinds == Kind.async_copy
    before = np.cumsum(is_copy & active)
    at_commit = np.maximum.accumulate(np.where(kinds == Kind.commit, before, 0)) if len(before) else before
    return is_copy & (before > at_commit)


def _expand(start: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N, G) register groups as two flat arrays, row and register unit, in row order."""
    rows, groups = np.nonzero(count)
    sizes = count[rows, groups].astype(np.int64)
    firsts = np.cumsum(sizes) - sizes
    within = np.arange(sizes.sum()) - np.repeat(firsts, sizes)
    return np.repeat(rows, sizes), np.repeat(start[rows, groups].astype(np.int64), sizes) + within


def _offsets(row: np.ndarray, num_rows: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=num_rows))]).astype(np.int64)
