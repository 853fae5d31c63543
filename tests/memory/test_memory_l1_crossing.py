"""Wavefronts of cp.async through L1: an H200's counts for the patterns of copy_l1.csv, and what holds for any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.memory.l1_crossing import l1_crossings

LANES = np.arange(32)
ALL = np.array([0xFFFFFFFF], np.uint32)
MEASURED = [  # bytes per lane, lanes of a row, row and chunk step in shared memory; l1tex__data_pipe_lsu_wavefronts
    (4, 32, 128, 4, 1), (4, 16, 64, 4, 2), (4, 8, 32, 4, 4), (4, 4, 16, 4, 8),
    (4, 8, 4, 528, 4), (4, 8, 4, 520, 4), (4, 8, 4, 516, 4), (4, 8, 4, 512, 11),
    (8, 16, 128, 8, 2), (8, 4, 32, 8, 8),
    (16, 8, 128, 16, 4), (16, 4, 64, 16, 8), (16, 2, 32, 16, 16), (16, 8, 144, 16, 4),
]
PITCH_BYTES = 8192


@pytest.mark.parametrize(("width", "per_row", "row_step", "chunk_step", "measured"), MEASURED)
def test_counts_of_silicon(width: int, per_row: int, row_step: int, chunk_step: int, measured: int) -> None:
    rows, chunks = LANES // per_row, LANES % per_row
    shared, source = rows * row_step + chunks * chunk_step, rows * PITCH_BYTES + chunks * width
    assert l1_crossings(width, shared[None], source[None], ALL).tolist() == [measured]


@given(st.sampled_from((4, 8, 16)), st.lists(st.integers(0, 63), min_size=32, max_size=32),
       st.permutations(range(32)), st.integers(0, 2**32 - 1))
def test_between_one_wavefront_per_full_row_and_one_per_lane(
    width: int, units: list[int], places: list[int], mask: int
) -> None:
    """A wavefront moves 128 bytes at most and one lane at least; nobody moves nothing."""
    lanes = mask.bit_count()
    waves = int(l1_crossings(width, np.array([places]) * width, np.array([units]) * width,
                             np.array([mask], np.uint32))[0])
    assert -(-lanes * width // 128) <= waves <= 2 * lanes
    assert (waves == 0) == (lanes == 0)


def test_a_line_copied_as_it_stands_is_one_wavefront_whatever_its_place() -> None:
    for start in range(0, 4096, 128):
        assert l1_crossings(4, (LANES * 4 + start)[None], (LANES * 4)[None], ALL)[0] == 1
