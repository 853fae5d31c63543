"""Models questions about bank conflicts: a file of lane addresses, or one access written as a layout.
Leaves out the rules (gpusim.memory) and where the tables are printed (gpusim.cli)."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from gpusim.cute import ComposedLayout, Layout, Swizzle
from gpusim.errors import UserError, did_you_mean
from gpusim.experiments.phase_tables import lane_ranges, lanes_of, phase_table
from gpusim.memory.async_copy import async_cost, async_width_bytes
from gpusim.memory.detail import ALL_LANES
from gpusim.memory.operations import ASYNC_OPERATIONS, LANES, SHARED_OPERATIONS, bad_address, shared_operation
from gpusim.memory.shared import SharedCost, lane_bits, shared_cost

__all__ = ["banks_access", "banks_csv", "lane_addresses"]

SHARED_COLUMNS = tuple(f"a{lane}" for lane in range(LANES))
GLOBAL_COLUMNS = tuple(f"g{lane}" for lane in range(LANES))
LINE_OF_FIRST_ROW = 2


def banks_csv(path: str | Path) -> pd.DataFrame:
    """``idx, wavefronts, bank_conflicts`` of every row of a file with the columns of smem_patterns.csv.

    Columns read: ``idx``, ``op``, ``mask`` (0x... or decimal), shared byte addresses ``a0..a31`` and, for rows of
    cp.async, global byte offsets ``g0..g31``; all others are ignored, so measured tables can be read as they are.

    Raises UserError (``file:line``) for a file that cannot be read, a missing column, an unknown operation, a cell
    that is no whole number, and an address of an active lane that is negative or misaligned.
    """
    path = Path(path)
    table = _read(path)
    _require(table, ("idx", "op", "mask", *SHARED_COLUMNS), path.name)
    operations = table["op"].str.strip()
    _check_operations(operations, path.name)
    masks = _masks(table["mask"], path.name)
    wavefronts = np.zeros(len(table), np.int64)
    conflicts = np.zeros(len(table))
    for operation in operations.unique():
        rows = np.flatnonzero(operations == operation)
        cost = _cost_of_rows(operation, table, rows, masks[rows], path.name)
        wavefronts[rows], conflicts[rows] = cost.wavefronts, cost.bank_conflicts
    whole = conflicts.astype(np.int64)
    numbers = whole if (whole == conflicts).all() else conflicts
    return pd.DataFrame({"idx": _index(table["idx"]), "wavefronts": wavefronts, "bank_conflicts": numbers})


def banks_access(
    operation: str, layout: str, *, swizzle: str = "", lane_mask: int = ALL_LANES, global_layout: str = ""
) -> pd.DataFrame:
    """One access, one row per phase (for cp.async one row in all).

    Args:
        operation: as in smem_patterns.csv, e.g. LDSM4.
        layout: lane to byte address, e.g. ``(8,4):(64,16)`` or ``S<2,4,3> o 0 o (8,4):(64,16)``.
        swizzle: applied to the byte addresses, e.g. ``S<2,4,3>``.
        lane_mask: lanes that take part.
        global_layout: lane to global byte offset; needed by cp.async alone.

    Raises:
        UserError: unknown operation; a layout with too few lanes; misaligned or negative addresses.
    """
    _check_operations(pd.Series([operation]), "")
    addresses = lane_addresses(layout, _lanes_needed(operation), swizzle)
    if operation in SHARED_OPERATIONS:
        return phase_table(operation, addresses, lane_mask)
    if not global_layout:
        raise UserError("cp.async needs global offsets as well", place=operation, suggestion="give a global layout")
    offsets = lane_addresses(global_layout, LANES)
    cost = async_cost(operation, addresses[None], offsets[None], np.array([lane_mask]))
    row = {"phase": 0, "lanes": lane_ranges(lanes_of(lane_mask)), "wavefronts": int(cost.wavefronts[0])}
    return pd.DataFrame([row | {"bank_conflicts": float(cost.bank_conflicts[0])}])


def lane_addresses(layout: str, lanes_needed: int, swizzle: str = "") -> np.ndarray:
    """(32,) byte addresses of the lanes; those beyond ``lanes_needed`` repeat the layout.

    Raises UserError for text that is no layout or swizzle, or a layout of fewer than ``lanes_needed`` coordinates.
    """
    parsed = ComposedLayout.parse(layout) if " o " in layout else Layout.parse(layout)
    if parsed.size() < lanes_needed:
        rule = f"the layout needs a coordinate for each of {lanes_needed} lanes"
        raise UserError(rule, place=layout, got=parsed.size())
    addresses = np.array([parsed(lane % parsed.size()) for lane in range(LANES)], np.int64)
    return addresses if not swizzle else Swizzle.parse(swizzle)(addresses)


def _lanes_needed(operation: str) -> int:
    return LANES if operation in ASYNC_OPERATIONS else shared_operation(operation).address_lanes.bit_length()


def _read(path: Path) -> pd.DataFrame:
    try:
        text = StringIO(path.read_text(encoding="utf-8").rstrip())
        return pd.read_csv(text, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError("the file cannot be read as CSV", place=str(path), got=f"'{reason}'") from None


def _require(table: pd.DataFrame, columns: Sequence[str], place: str) -> None:
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise UserError(f"column '{missing[0]}' is missing", place=place,
                        suggestion="needed: idx, op, mask, a0..a31, and g0..g31 for cp.async")


def _check_operations(operations: pd.Series, name: str) -> None:
    known = (*SHARED_OPERATIONS, *ASYNC_OPERATIONS)
    unknown = ~operations.isin(known).to_numpy()
    if unknown.any():
        row = int(unknown.argmax())
        got = operations.iloc[row]
        raise UserError("unknown memory operation", place=_line(name, row), got=f"'{got}'",
                        suggestion=did_you_mean(got, known))


def _cost_of_rows(operation: str, table: pd.DataFrame, rows: np.ndarray, masks: np.ndarray, name: str) -> SharedCost:
    is_copy = operation in ASYNC_OPERATIONS
    width = async_width_bytes(operation) if is_copy else shared_operation(operation).bytes_per_lane
    used = masks if is_copy else masks & np.uint32(shared_operation(operation).address_lanes)
    shared = _addresses(table, SHARED_COLUMNS, rows, used, width, name)
    if not is_copy:
        return shared_cost(operation, shared, masks)
    _require(table, GLOBAL_COLUMNS, name)
    return async_cost(operation, shared, _addresses(table, GLOBAL_COLUMNS, rows, used, width, name), masks)


def _addresses(
    table: pd.DataFrame, columns: Sequence[str], rows: np.ndarray, masks: np.ndarray, width: int, name: str
) -> np.ndarray:
    texts = table.iloc[rows][list(columns)]
    numbers = texts.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    broken = np.argwhere(~(numbers % 1 == 0))
    if len(broken):
        row, lane = broken[0]
        raise UserError("an address should be a whole number", place=f"{_line(name, rows[row])}, {columns[lane]}",
                        got=f"'{texts.iloc[row, lane]}'")
    addresses = numbers.astype(np.int64)
    found = bad_address(addresses, lane_bits(masks), width)
    if found is not None:
        row, lane, rule = found
        raise UserError(rule, place=f"{_line(name, rows[row])}, {columns[lane]}", got=int(addresses[row, lane]))
    return addresses


def _index(texts: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(texts, errors="coerce")
    return texts if numbers.isna().any() else numbers


def _masks(texts: pd.Series, name: str) -> np.ndarray:
    masks = np.zeros(len(texts), np.uint32)
    for row, text in enumerate(texts):
        try:
            masks[row] = int(text.strip(), 0)
        except (ValueError, OverflowError):
            raise UserError("a mask should be a 32-bit whole number such as 0xffffffff", place=_line(name, row),
                            got=f"'{text}'") from None
    return masks


def _line(name: str, row: int) -> str:
    return f"{name}:{row + LINE_OF_FIRST_ROW}" if name else ""
