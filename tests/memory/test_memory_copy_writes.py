"""Turns in which data of cp.async past L1 are written: an H200's streams, a model lane by lane, and laws."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.arch import load_gpu
from gpusim.memory import warp_lines
from gpusim.memory.async_copy import bypass_pieces
from gpusim.memory.copy_writes import LINE_CLASSES, REQUESTS_AT_ONCE, classes_written, write_turns

MEASURED = pd.read_csv(Path(gpusim.__file__).parent / "data/hardware/h200/copy_classes.csv", dtype={"classes": str})
ROW_BYTES, PATTERNS = (16, 32, 64, 128), ("0123", "0101", "0110", "0012", "0001", "0011", "0000")
LANES, ALL = np.arange(32), 0xFFFFFFFF
LINE, CHUNK, PITCH = 128, 16, 4096
WHOLE_LINE = 0b1111  # sectors

Copy = tuple[list[int], list[int], int]
"""Shared addresses, global offsets, lanes that take part."""


def turns(shared: Sequence[int] | np.ndarray, source: Sequence[int] | np.ndarray, mask: int = ALL) -> int:
    return int(write_turns(np.array([shared]), np.array([source]), np.array([mask], np.uint32))[0])


def line_pairs(shared: list[int], source: list[int], mask: int) -> dict[tuple[int, int], None]:
    """Global and shared lines between which data go, in the order of their first lanes; of lanes with one place the
    first writes."""
    writer = {shared[lane]: lane for lane in reversed(range(32)) if mask >> lane & 1}
    return dict.fromkeys((source[lane] // LINE, shared[lane] // LINE) for lane in sorted(writer.values()))


def golden_turns(shared: list[int], source: list[int], mask: int) -> int:
    """Of four pairs, those to lines of the fullest class take as many turns as they are."""
    classes = [line % 4 for _, line in line_pairs(shared, source, mask)]
    fours = [classes[start : start + 4] for start in range(0, len(classes), 4)]
    return sum(max(map(four.count, four)) for four in fours)


@st.composite
def copies(draw: st.DrawFn) -> Copy:
    """Lanes scattered over some lines, or rows in their order, with or without holes."""
    chunks = st.lists(st.integers(0, 12 * LINE // CHUNK - 1), min_size=32, max_size=32)
    per_row = draw(st.sampled_from((1, 2, 4, 8)))
    starts = np.array(draw(chunks))[LANES // per_row] // 8 * 8 + LANES % per_row
    shared, source = draw(st.one_of(chunks, st.just(starts.tolist()))), draw(chunks)
    if draw(st.booleans()):
        source = (LANES // per_row * PITCH // CHUNK + LANES % per_row).tolist()
    return [a * CHUNK for a in shared], [g * CHUNK for g in source], draw(st.one_of(st.just(ALL), st.integers(0, ALL)))


@given(copies())
@settings(max_examples=300, deadline=None)
def test_equals_the_golden_model(copy: Copy) -> None:
    assert turns(*copy) == golden_turns(*copy)


@given(copies())
@settings(deadline=None)
def test_four_pairs_of_lines_take_a_turn_at_least_and_a_turn_each_at_most(copy: Copy) -> None:
    count = len(line_pairs(*copy))
    assert -(-count // REQUESTS_AT_ONCE) <= turns(*copy) <= count


@given(copies(), st.integers(0, 100), st.integers(0, 100))
@settings(deadline=None)
def test_a_stage_further_on_takes_as_many_turns(copy: Copy, lines: int, rounds: int) -> None:
    """Which lines have equal numbers modulo four stays as it is, whether all move by 128 bytes or by 512; and nothing
    depends on where in global memory lines are."""
    shared, source, mask = copy
    moved = [a + LINE * (lines + LINE_CLASSES * rounds) for a in shared]
    assert turns(moved, [g + LINE * rounds for g in source], mask) == turns(*copy)


@given(copies(), st.lists(st.integers(0, 11), min_size=12, max_size=12))
@settings(deadline=None)
def test_lines_count_modulo_four(copy: Copy, rounds: list[int]) -> None:
    """Each line may move by any multiple of 512 bytes, if no two meet."""
    shared, source, mask = copy
    moved = [a + LINE * LINE_CLASSES * (12 * rounds[a // LINE] + a // LINE) for a in shared]
    assert turns(moved, source, mask) == turns(*copy)


@given(st.permutations(range(24)), st.permutations(range(4)), st.data())
@settings(deadline=None)
def test_the_order_of_the_lanes_of_a_request_does_not_matter(
    rows: list[int], order: list[int], data: st.DataObject
) -> None:
    """Nor that of the four requests that are written at once."""
    per_row = data.draw(st.sampled_from((2, 4, 8)))
    places = [rows[lane // per_row] * LINE + lane % per_row * CHUNK for lane in range(32)]
    source = [lane // per_row * PITCH + lane % per_row * CHUNK for lane in range(32)]
    within = [lane for start in range(0, 32, per_row)
              for lane in data.draw(st.permutations(range(start, start + per_row)))]
    fours = [[lane for n in order for lane in within[start + n * per_row:start + (n + 1) * per_row]]
             for start in range(0, 32, 4 * per_row)]
    shuffled = [lane for four in fours for lane in four]
    assert turns([places[k] for k in shuffled], [source[k] for k in shuffled]) == turns(places, source)


@given(copies(), copies())
@settings(deadline=None)
def test_lanes_that_take_no_part_do_not_count(copy: Copy, other: Copy) -> None:
    shared, source, mask = copy
    mixed = [[mine if mask >> lane & 1 else theirs for lane, (mine, theirs) in enumerate(zip(*sides, strict=True))]
             for sides in ((shared, other[0]), (source, other[1]))]
    assert turns(*mixed, mask) == turns(*copy)
    assert turns(shared, source, 0) == 0


@pytest.mark.parametrize(("stride", "expected"), [(128, 4), (256, 4), (384, 4), (512, 8), (768, 4), (1536, 8)])
def test_a_k_major_tile_of_64_byte_rows_by_the_distance_of_its_lines(stride: int, expected: int) -> None:
    """Two rows to a line, as CUTLASS has them: the stages of a tile stand side by side, so that in four stages all
    lines of one copy are 512 bytes apart."""
    rows, chunks = LANES // 4, LANES % 4
    shared = rows // 2 * stride + (((rows % 2 * 4 + chunks) ^ rows // 2 % 4) * CHUNK)
    assert turns(shared, rows * PITCH + chunks * CHUNK) == expected


def stream(row_bytes: int, pattern: str) -> tuple[np.ndarray, np.ndarray]:
    """The places of copy_classes.cu: four lines of eight lanes each, whose numbers are ``pattern`` modulo four."""
    line, per_row = LANES // 8, row_bytes // CHUNK
    numbers = line * 4 + np.array([int(digit) for digit in pattern])[line]
    return (numbers * LINE + (LANES % 8 ^ line) * CHUNK,
            LANES // per_row * PITCH + LANES % per_row * CHUNK)


def cycles(row_bytes: int, pattern: str) -> float:
    """What a copy and the end of its group take: to look its requests up, or to write its data."""
    l1, (shared, source) = load_gpu("h200").l1, stream(row_bytes, pattern)
    mask = np.array([ALL], np.uint32)
    lines = warp_lines(source[None], CHUNK, mask, bypass_pieces(shared[None], source[None], mask))
    looked_up = sum(l1.whole_line_cycles if sectors == WHOLE_LINE else l1.tag_interval_cycles
                    for sectors in lines.requests["sector_mask"])
    return max(float(looked_up), turns(shared, source) + l1.copy_write_lead_cycles + l1.commit_write_cycles)


def fastest(row_bytes: int, pattern: str) -> float:
    """However many warps copy, nothing else being done: with few of them nobody has the next copy ready."""
    rows = MEASURED[(MEASURED["row_bytes"] == row_bytes) & (MEASURED["classes"] == pattern)]
    return float(rows.query("loaders == 0 and slots == 8")["cycles_per_copy"].min())


@pytest.mark.parametrize(("row_bytes", "pattern"), list(product(ROW_BYTES, PATTERNS)))
def test_a_stream_takes_what_silicon_takes(row_bytes: int, pattern: str) -> None:
    """Rows of 128 bytes are not copied faster than every six cycles for other reasons, whatever their lines."""
    expected, measured = cycles(row_bytes, pattern), fastest(row_bytes, pattern)
    if row_bytes == LINE:
        assert expected <= measured
    else:
        assert measured == pytest.approx(expected, rel=0.02)


def test_only_equal_classes_in_all_of_four_requests_show_on_silicon() -> None:
    """Eight rows of 64 bytes are looked up in eight cycles, which hides up to six turns."""
    slow = [pattern for pattern in PATTERNS if fastest(64, pattern) > 9]
    assert slow == [pattern for pattern in PATTERNS if turns(*stream(64, pattern)) > 6] == ["0011", "0000"]


@given(st.lists(st.integers(0, 255), min_size=32, max_size=32), st.integers(0, ALL))
def test_classes_written_are_those_of_the_lines_of_lanes_that_take_part(chunks: list[int], mask: int) -> None:
    shared = [chunk * CHUNK for chunk in chunks]
    expected = {shared[lane] // LINE % 4 for lane in range(32) if mask >> lane & 1}
    assert classes_written(np.array([shared]), np.array([mask], np.uint32)).tolist() == [len(expected)]
