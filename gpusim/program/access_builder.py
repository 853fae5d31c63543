"""Models the step from lane addresses to an AccessTable: wavefronts and conflicts, lines and sectors, per warp.
Leaves out where the addresses come from (gpusim.dsl, gpusim.sass)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from gpusim.memory.async_copy import BYPASS_OPERATION, async_cost, bypass_pieces
from gpusim.memory.bulk import bulk_lines
from gpusim.memory.operations import ASYNC_OPERATIONS
from gpusim.memory.sectors import warp_lines
from gpusim.memory.shared import SharedCost, shared_cost
from gpusim.program.access import REQUEST, AccessTable, BulkBox, MatrixOperand

__all__ = ["Access", "BulkRows", "build_access_table"]

LANES = 32
Key = TypeVar("Key", str, tuple[int, bool])


@dataclass(frozen=True)
class BulkRows:
    """What a bulk copy moves, per warp of W: the R rows of its box in the order in which it asks for them."""

    offset: np.ndarray  # (W, R) byte offset of each row from the CTA's base pointer of the tensor
    inside_bytes: np.ndarray  # (W, R) bytes of the row inside the tensor, 0: none
    bytes: np.ndarray  # (W,) bytes moved to or from shared memory; 0: the warp does not copy
    boxes: tuple[BulkBox, ...] = ()  # their `row` is filled in by build_access_table


@dataclass(frozen=True)
class Access:
    """One distinct access of a role with W warps."""

    operation: str  # LDS32.. STS128 LDSM4 STSM4 CPA4 CPA8 CPA16 LDG128 STG32
    label: str
    bytes_per_lane: int
    shared_address: np.ndarray | None  # (W, 32) byte addresses from the CTA's shared-memory base
    global_offset: np.ndarray | None  # (W, 32) byte offsets from the CTA's base pointer of the tensor
    tensor: int  # row of Program.tensors, -1: no global side
    lane_mask: np.ndarray  # (W,) u4
    zfill_mask: np.ndarray  # (W,) u4: cp.async lanes that write zeros and read nothing
    bulk: BulkRows | None = None  # of a bulk copy, which has no lane addresses
    matrices: tuple[MatrixOperand, ...] = ()  # of a wgmma; their `row` is filled in by build_access_table
    cta_mask: np.ndarray | None = None  # (W,) u2, see AccessTable; None: zeros


def build_access_table(entries: Sequence[Access], num_warps: int | None = None) -> AccessTable:
    """The table of ``entries``, in their order; each operation is analysed in one vectorised call.

    Args:
        entries: accesses of one role, all with the same number of warps W.
        num_warps: W, needed only when ``entries`` is empty (default 1 then).

    Raises:
        UserError: from the analysis: unknown operation, misaligned or negative shared address.
        ValueError: entries with different numbers of warps.
    """
    warps = _num_warps(entries, num_warps)
    shared = _stack([entry.shared_address for entry in entries], warps, np.int32)
    offsets = _stack([entry.global_offset for entry in entries], warps, np.int64)
    lane_mask = _masks([entry.lane_mask for entry in entries], warps)
    zfill_mask = _masks([entry.zfill_mask for entry in entries], warps)
    wavefronts, ideal, conflicts = _shared_side(entries, shared, offsets, lane_mask)
    first, count, requests = _global_side(entries, shared, offsets, lane_mask & ~zfill_mask)
    return AccessTable(
        operation=tuple(entry.operation for entry in entries),
        tensor=np.array([entry.tensor for entry in entries], np.int16),
        bytes_per_lane=np.array([entry.bytes_per_lane for entry in entries], np.uint8),
        lane_mask=lane_mask,
        zfill_mask=zfill_mask,
        shared_address=shared,
        global_offset=offsets,
        wavefronts=wavefronts,
        ideal_wavefronts=ideal,
        bank_conflicts=conflicts,
        request_first=first,
        request_count=count,
        requests=requests,
        label=tuple(entry.label for entry in entries),
        bulk_bytes=np.array([entry.bulk.bytes if entry.bulk else np.zeros(warps) for entry in entries],
                            np.int32).reshape(-1, warps),
        bulk=tuple(replace(box, row=row) for row, entry in enumerate(entries) if entry.bulk
                   for box in entry.bulk.boxes),
        matrices=tuple(replace(matrix, row=row) for row, entry in enumerate(entries) for matrix in entry.matrices),
        cta_mask=np.array([np.zeros(warps) if entry.cta_mask is None else entry.cta_mask for entry in entries],
                          np.uint16).reshape(-1, warps),
    )


def _num_warps(entries: Sequence[Access], num_warps: int | None) -> int:
    found = {len(entry.lane_mask) for entry in entries} | ({num_warps} if num_warps is not None else set())
    if len(found) > 1:
        raise ValueError(f"accesses of one role need one number of warps, got {sorted(found)}")
    return found.pop() if found else 1


def _stack(parts: Sequence[np.ndarray | None], warps: int, dtype: type[np.signedinteger]) -> np.ndarray:
    stacked = np.full((len(parts), warps, LANES), -1, dtype)
    for row, part in zip(stacked, parts, strict=True):
        if part is not None:
            row[...] = part
    return stacked


def _masks(parts: Sequence[np.ndarray], warps: int) -> np.ndarray:
    return np.array(parts, np.uint32).reshape(len(parts), warps)


def _shared_side(
    entries: Sequence[Access], shared: np.ndarray, offsets: np.ndarray, lane_mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    wavefronts, ideal = np.zeros(lane_mask.shape, np.uint16), np.zeros(lane_mask.shape, np.uint16)
    conflicts = np.zeros(lane_mask.shape, np.float32)
    keys = [entry.operation if entry.shared_address is not None else None for entry in entries]
    for operation, rows in _rows_by(keys):
        cost = _cost(operation, shared[rows], offsets[rows], lane_mask[rows])
        wavefronts[rows] = cost.wavefronts.reshape(len(rows), -1)
        ideal[rows] = cost.ideal_wavefronts.reshape(len(rows), -1)
        conflicts[rows] = cost.bank_conflicts.reshape(len(rows), -1)
    return wavefronts, ideal, conflicts


def _cost(operation: str, shared: np.ndarray, offsets: np.ndarray, lane_mask: np.ndarray) -> SharedCost:
    if operation in ASYNC_OPERATIONS:
        return async_cost(operation, shared.reshape(-1, LANES), offsets.reshape(-1, LANES), lane_mask.reshape(-1))
    return shared_cost(operation, shared.reshape(-1, LANES), lane_mask.reshape(-1))


def _global_side(
    entries: Sequence[Access], shared: np.ndarray, offsets: np.ndarray, lane_mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, count = np.zeros(lane_mask.shape, np.int32), np.zeros(lane_mask.shape, np.int32)
    requests = [np.zeros(0, REQUEST)]
    total = 0
    for (width, splits), rows in _rows_by([_global_key(entry) for entry in entries]):
        lanes = offsets[rows].reshape(-1, LANES)
        mask = lane_mask[rows].reshape(-1)
        pieces = bypass_pieces(shared[rows], lanes, mask) if splits else None
        lines = warp_lines(lanes, width, mask, pieces)
        first[rows] = lines.first.reshape(len(rows), -1) + total
        count[rows] = lines.count.reshape(len(rows), -1)
        requests.append(lines.requests)
        total += len(lines.requests)
    for row, entry in enumerate(entries):
        if entry.bulk is not None:
            boxes = [bulk_lines(*rows) for rows in zip(entry.bulk.offset, entry.bulk.inside_bytes, strict=True)]
            count[row] = [len(lines) for lines in boxes]
            first[row] = total + np.cumsum(count[row]) - count[row]
            requests += boxes
            total += int(count[row].sum())
    return first, count, np.concatenate(requests)


def _global_key(entry: Access) -> tuple[int, bool] | None:
    """(bytes per lane, whether lines are asked for piece by piece)."""
    bypasses = entry.operation == BYPASS_OPERATION and entry.shared_address is not None
    return (entry.bytes_per_lane, bypasses) if entry.global_offset is not None else None


def _rows_by(keys: Sequence[Key | None]) -> list[tuple[Key, np.ndarray]]:
    groups: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        if key is not None:
            groups.setdefault(key, []).append(row)
    return [(key, np.array(rows)) for key, rows in groups.items()]
