"""Lines and sectors of global accesses against a byte loop, and coalescing stories."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.memory import lines_in_part, sectors_per_request, warp_lines, words_written

ALL = 0xFFFFFFFF


def golden(offsets: list[int], width: int, mask: int) -> list[tuple[int, int]]:
    lines: dict[int, int] = {}
    for lane, offset in enumerate(offsets):
        if mask >> lane & 1:
            for byte in range(offset, offset + width):
                line = byte // 128 * 128
                lines[line] = lines.get(line, 0) | 1 << (byte - line) // 32
    return list(lines.items())


@given(
    st.lists(st.tuples(st.lists(st.integers(-400, 900), min_size=32, max_size=32), st.integers(0, ALL)), max_size=4),
    st.sampled_from([1, 2, 4, 8, 16, 128, 200]),
)
@settings(deadline=None)
def test_equals_the_byte_loop(accesses: list[tuple[list[int], int]], width: int) -> None:
    offsets = np.array([offsets for offsets, _ in accesses], np.int64).reshape(-1, 32)
    masks = np.array([mask for _, mask in accesses], np.uint32)
    found = warp_lines(offsets, width, masks)
    for i, (lanes, mask) in enumerate(accesses):
        rows = found.requests[found.first[i] : found.first[i] + found.count[i]]
        assert [tuple(row) for row in rows.tolist()] == golden(lanes, width, mask)
    assert len(found.requests) == found.count.sum()


@given(st.lists(st.integers(-400, 900), min_size=32, max_size=32), st.integers(0, ALL),
       st.sampled_from([1, 2, 4, 8, 16, 200]), st.booleans())
@settings(deadline=None)
def test_words_are_those_of_which_a_store_writes_every_byte_and_lines_in_part_have_a_sector_that_lacks_one(
    offsets: list[int], mask: int, width: int, aligned: bool
) -> None:
    offsets = [offset // width * width for offset in offsets] if aligned else offsets
    written = {byte for lane in range(32) if mask >> lane & 1 for byte in range(offsets[lane], offsets[lane] + width)}
    partly = {byte // 128 for byte in written if not written.issuperset(range(byte // 32 * 32, byte // 32 * 32 + 32))}
    accesses = np.array([offsets]), width, np.array([mask])
    lines = warp_lines(*accesses)
    words = words_written(*accesses, lines)
    for row, mask_of_words in zip(lines.requests.tolist(), words.tolist(), strict=True):
        whole = [word for word in range(32) if written.issuperset(range(row[0] + 4 * word, row[0] + 4 * word + 4))]
        assert mask_of_words == sum(1 << word for word in whole)
    found = lines.requests["line_offset"][lines_in_part(lines.requests["sector_mask"], words).astype(bool)] // 128
    assert sorted(found.tolist()) == sorted(partly)


@pytest.mark.parametrize(
    ("stride", "width", "lanes", "lines"),
    [(16, 16, 32, 0), (4, 4, 32, 0), (32, 16, 16, 4), (128, 16, 8, 8), (2, 2, 8, 1), (2, 2, 32, 0), (0, 4, 32, 1)],
)
def test_lines_that_a_store_fills_in_part(stride: int, width: int, lanes: int, lines: int) -> None:
    """Rows of 16 bytes, as an epilogue of words has them, and halves of four sectors of a line."""
    accesses = np.arange(32)[None] * stride, width, np.array([(1 << lanes) - 1])
    found = warp_lines(*accesses)
    assert lines_in_part(found.requests["sector_mask"], words_written(*accesses, found)).sum() == lines


@pytest.mark.parametrize(
    ("stride", "width", "sectors", "efficiency"),
    [(4, 4, 4, 1.0), (16, 16, 16, 1.0), (8, 4, 8, 0.5), (32, 4, 32, 0.125), (4096, 4, 32, 0.125), (0, 4, 1, 1.0)],
)
def test_coalescing(stride: int, width: int, sectors: int, efficiency: float) -> None:
    offsets, mask = np.arange(32)[None] * stride, np.array([ALL], np.uint32)
    statistics = sectors_per_request(warp_lines(offsets, width, mask), width, mask)
    assert statistics.sectors_per_request == sectors
    assert statistics.coalescing_efficiency == efficiency


def test_misalignment_costs_one_more_sector() -> None:
    mask = np.array([ALL, ALL, 0], np.uint32)
    lines = warp_lines(np.arange(32) * 4 + np.array([[0], [4], [8]]), 4, mask)
    assert lines.count.tolist() == [1, 2, 0]
    statistics = sectors_per_request(lines, 4, mask)
    assert (statistics.requests, statistics.sectors, statistics.ideal_sectors) == (2, 9, 8)


def test_nothing_asked_is_perfectly_coalesced() -> None:
    mask = np.zeros(2, np.uint32)
    statistics = sectors_per_request(warp_lines(np.zeros((2, 32), np.int64), 4, mask), 4, mask)
    assert (statistics.sectors_per_request, statistics.coalescing_efficiency) == (0.0, 1.0)
