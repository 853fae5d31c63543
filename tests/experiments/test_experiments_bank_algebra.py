"""The F2 argument and the closed formula against counting: whenever they speak, the counter says the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.experiments.bank_algebra import Column, access_rank, column_of, f2_rank, phase_rank
from gpusim.experiments.shared_accesses import SourceAccess
from gpusim.memory import shared_cost

PHASES = {"STS32": (32, 4), "STS64": (16, 8), "STS128": (8, 16), "LDSM1": (8, 16), "STS16": (32, 2)}
"""Lanes of the first phase and bytes per lane; stores and ldmatrix never fuse phases."""


def counted(operation: str, addresses: list[int]) -> int:
    lanes = np.zeros((1, 32), np.int64)
    lanes[0, : len(addresses)] = addresses
    return int(shared_cost(operation, lanes, np.array([(1 << len(addresses)) - 1], np.uint32)).wavefronts[0])


@given(st.lists(st.integers(0, 255), max_size=7))
def test_the_rank_is_the_logarithm_of_the_span(vectors: list[int]):
    span = {0}
    for vector in vectors:
        span |= {vector ^ other for other in span}
    assert 1 << f2_rank(vectors) == len(span)


@settings(deadline=None)  # the first example compiles the counter
@given(st.sampled_from(sorted(PHASES)), st.data())
def test_a_linear_phase_takes_two_to_the_difference_of_ranks(operation: str, data: st.DataObject):
    lanes, width = PHASES[operation]
    units = st.integers(0, (1 << 14) // width - 1)
    first, *columns = (data.draw(units) * width for _ in range(lanes.bit_length()))
    addresses = [first] * lanes
    for lane in range(lanes):
        for bit, column in enumerate(columns):
            addresses[lane] ^= column if lane >> bit & 1 else 0
    found = phase_rank(addresses, width)
    assert found is not None and found.ways == counted(operation, addresses)


@settings(deadline=None)
@given(st.sampled_from(sorted(PHASES)), st.integers(0, 64), st.integers(0, 128))
def test_rows_of_any_pitch_are_judged_right_or_not_at_all(operation: str, start: int, pitch: int):
    lanes, width = PHASES[operation]
    addresses = [(start + pitch * lane) * width for lane in range(lanes)]
    found = phase_rank(addresses, width)
    assert found is None or found.ways == counted(operation, addresses)


def test_padding_to_80_bytes_needs_the_bank_bits_alone():
    addresses = [80 * lane for lane in range(8)]
    found = phase_rank(addresses, 16)
    assert found is not None and (found.rank, found.bank_rank, found.bank_bits) == (3, 3, (4, 5, 6))
    assert phase_rank([16 + address for address in addresses], 16) is None


def access(operation: str, addresses: np.ndarray, mask: int = 0xFFFFFFFF) -> SourceAccess:
    rows = len(addresses)
    return SourceAccess("ldmatrix sA", 1, "k.py", operation, addresses, np.full((rows, 32), -1),
                        np.full(rows, mask, np.uint32), np.arange(rows), np.ones(rows, np.int64))


LANES = np.arange(32)


@pytest.mark.parametrize("row_bytes", [16, 32, 64, 128, 256])
def test_the_closed_formula_frees_a_column_of_16_byte_units(row_bytes: int):
    addresses = (LANES * row_bytes)[None]
    column = column_of(access("LDSM4", addresses))
    assert column == Column(16, row_bytes)
    swizzle = column.swizzle()
    assert swizzle is not None
    rank = access_rank(access("LDSM4", np.asarray(swizzle(addresses))))
    assert rank is not None and rank.ways == 1


def test_a_pitch_that_is_no_power_of_two_has_no_formula():
    column = column_of(access("LDSM4", (LANES * 80)[None]))
    assert column == Column(16, 80) and column.swizzle() is None


def test_the_worst_phase_of_all_executions_is_named():
    free, four_ways = LANES * 16, LANES * 64
    rank = access_rank(access("LDSM4", np.array([free, four_ways])))
    assert rank is not None and rank.ways == 4
    assert column_of(access("LDSM4", np.array([free, four_ways]))) is None


def test_lanes_that_are_off_and_copies_get_no_argument():
    assert access_rank(access("LDSM4", (LANES * 16)[None], mask=0xFFFF)) is None
    assert access_rank(replace(access("LDSM4", (LANES * 16)[None]), operation="CPA16")) is None
