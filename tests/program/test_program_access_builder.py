"""Access tables: what the engine reads must be what the pure analysis says, whatever the order of accesses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpusim.errors import UserError
from gpusim.memory import async_cost, shared_cost, warp_lines
from gpusim.memory.async_copy import bypass_pieces
from gpusim.memory.sectors import LINE
from gpusim.program.access import REQUEST, BulkBox
from gpusim.program.access_builder import Access, BulkRows, build_access_table

LANES = np.arange(32)
FULL = np.full(2, 0xFFFFFFFF, np.uint32)
NONE = np.zeros(2, np.uint32)
ROWS = np.stack([LANES * 64, LANES * 16])
TILE = np.stack([LANES // 4 * 8192 + LANES % 4 * 16] * 2)


def ldmatrix(shared: np.ndarray = ROWS) -> Access:
    return Access("LDSM4", "ldmatrix sA", 16, shared, None, -1, FULL, NONE)


def copy(zfill: np.ndarray = NONE) -> Access:
    return Access("CPA16", "cp.async gA -> sA", 16, ROWS, TILE, 0, FULL, zfill)


def load(shift: int = 0) -> Access:
    return Access("LDG128", "load gB", 16, None, np.stack([LANES * 16 + shift] * 2), 1, FULL, NONE)


def test_line_dtypes_of_memory_and_program_agree() -> None:
    assert LINE == REQUEST


def test_each_row_is_the_analysis_of_its_access() -> None:
    entries = [load(), ldmatrix(), copy(), load(8), ldmatrix(ROWS * 2)]
    table = build_access_table(entries)
    assert (len(table), table.num_warps) == (5, 2)
    assert table.operation == tuple(entry.operation for entry in entries)
    for row in (1, 4):
        expected = shared_cost("LDSM4", entries[row].shared_address, FULL)
        np.testing.assert_array_equal(table.wavefronts[row], expected.wavefronts)
        np.testing.assert_array_equal(table.ideal_wavefronts[row], expected.ideal_wavefronts)
        np.testing.assert_array_equal(table.bank_conflicts[row], expected.bank_conflicts)
    np.testing.assert_array_equal(table.wavefronts[2], async_cost("CPA16", ROWS, TILE, FULL).wavefronts)
    for row in (0, 2, 3):
        pieces = bypass_pieces(ROWS, TILE, FULL) if row == 2 else None
        expected_lines = warp_lines(entries[row].global_offset, 16, FULL, pieces)
        for warp in range(2):
            first, count = table.request_first[row, warp], table.request_count[row, warp]
            start = expected_lines.first[warp]
            np.testing.assert_array_equal(
                table.requests[first : first + count], expected_lines.requests[start : start + count]
            )
            assert count == expected_lines.count[warp]


def test_sides_an_access_lacks_are_empty() -> None:
    table = build_access_table([ldmatrix(), load()])
    assert (table.global_offset[0] == -1).all() and not table.request_count[0].any()
    assert (table.shared_address[1] == -1).all() and not table.wavefronts[1].any()


def test_zero_filled_lanes_write_shared_memory_but_read_nothing() -> None:
    half = np.array([0xFFFF0000, 0], np.uint32)
    table = build_access_table([copy(half)])
    # Warp 0 scatters 4 lines: two rows of shared memory each, either half of a sector. Warp 1 copies 8 in order.
    np.testing.assert_array_equal(table.request_count, [[4 * 2 * 2, 8]])
    np.testing.assert_array_equal(table.wavefronts, build_access_table([copy()]).wavefronts)


def test_an_empty_role_has_an_empty_table() -> None:
    table = build_access_table([], num_warps=4)
    assert (len(table), table.num_warps, len(table.requests)) == (0, 4, 0)
    assert table.shared_address.shape == (0, 4, 32)


def test_dtypes_are_those_of_the_contract() -> None:
    table = build_access_table([copy(), load()])
    expected = {
        "tensor": "i2", "bytes_per_lane": "u1", "lane_mask": "u4", "zfill_mask": "u4", "shared_address": "i4",
        "global_offset": "i8", "wavefronts": "u2", "ideal_wavefronts": "u2", "bank_conflicts": "f4",
        "request_first": "i4", "request_count": "i4", "requests": REQUEST,
    }
    assert {name: getattr(table, name).dtype for name in expected} == {n: np.dtype(d) for n, d in expected.items()}


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="one number of warps"):
        build_access_table([ldmatrix()], num_warps=3)
    with pytest.raises(UserError, match="a 16-byte access needs an address that is a multiple of 16, got 8"):
        build_access_table([ldmatrix(ROWS + 8)])


def test_a_bulk_copy_has_the_lines_of_its_box_and_no_lanes() -> None:
    box = BulkBox(-1, 1, 0, (0, 64), (3, 64), 1024, "128B")
    rows = BulkRows(offset=np.array([[0, 0, 0], [0, 4096, 8192]]),
                    inside_bytes=np.array([[0, 0, 0], [128, 128, 0]]), bytes=np.array([0, 384]), boxes=(box,))
    copy = Access("TMALDG", "tma A -> sA", 16, None, None, 0, np.array([0, 1], np.uint32), np.zeros(2, np.uint32), rows)
    table = build_access_table([load(), copy])
    assert table.bulk_bytes.tolist() == [[0, 0], [0, 384]] and table.request_count[1].tolist() == [0, 2]
    lines = table.requests[table.request_first[1, 1]:][:2]
    assert lines["line_offset"].tolist() == [0, 4096] and (lines["sector_mask"] == 15).all()
    assert table.bulk == (replace(box, row=1),)
    assert (table.wavefronts[1] == 0).all()
