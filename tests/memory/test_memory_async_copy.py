"""cp.async: the hardware's table, a naive golden model of both paths, and laws."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from itertools import product
from operator import xor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.errors import UserError
from gpusim.memory import ASYNC_OPERATIONS, async_cost, warp_lines
from gpusim.memory.async_copy import BYPASS_OPERATION, async_width_bytes, bypass_pieces
from gpusim.memory.l1_crossing import l1_crossings

DATA = Path(gpusim.__file__).parent / "data/hardware/h200"
ALL = 0xFFFFFFFF
TAG_BANK_OF_BIT = [1, 2, 1, 2, 3, 1, 2, 3, 2, 1, 2, 1, 3, 1, 3, 2, 1, 3, 1, 3, 2, 3, 1, 3, 1]
"""Of a line's number; the banks of its bits add up by XOR."""


def golden_through_l1(width: int, shared: list[int], source: list[int], mask: int) -> int:
    wavefronts = 0
    for start in range(0, 32, 128 // width):
        sides = [(shared[lane] % 128, source[lane] % 128) for lane in range(start, start + 128 // width)
                 if mask >> lane & 1]
        wavefronts += max((sum(a == c or b == d for c, d in sides) for a, b in sides), default=0)
    return wavefronts


def golden_bypass(shared: list[int], source: list[int], mask: int) -> int:
    writer = {shared[lane]: lane for lane in reversed(range(32)) if mask >> lane & 1}
    lanes = sorted(writer.values())
    pieces: Counter[tuple[object, ...]] = Counter()
    for lane in lanes:
        mates = [k for k in lanes if source[k] == source[lane] ^ 16 and shared[k] == shared[lane] ^ 16]
        kind = "whole" if mates else ("low", "high")[source[lane] // 16 % 2]
        way = (source[lane] // 128, shared[lane] // 128, kind, (source[lane] ^ shared[lane]) // 16 % 4)
        pieces[(*way, source[lane])] += 1
    most = {way: max(count for (*key, _), count in pieces.items() if tuple(key) == way)
            for way in {tuple(key) for *key, _ in pieces}}
    return sum(most.values())


def golden_conflicts(width: int, shared: list[int], source: list[int], mask: int) -> float:
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    total = 0
    for base in range(0, 32 * 1024, 1024):
        line_of = {lane: (source[lane] + base) // 128 for lane in lanes}
        queues: dict[int, list[int]] = {}
        for line in dict.fromkeys(line_of.values()):
            queues.setdefault(reduce(xor, [bank for bit, bank in enumerate(TAG_BANK_OF_BIT) if line >> bit & 1], 0),
                              []).append(line)
        together: dict[tuple[int, int], list[int]] = {}
        for lane in lanes:
            turn = next(queue.index(line_of[lane]) for queue in queues.values() if line_of[lane] in queue)
            together.setdefault((lane * width // 128, turn), []).append(lane)
        total += sum(golden_crossing(shared, source, group) - 1 for group in together.values())
    return total / 32


def golden_crossing(shared: list[int], source: list[int], lanes: list[int]) -> int:
    """Each lane behind all earlier ones that need a bank of its."""
    turn: dict[int, int] = {}
    for lane in lanes:
        rivals = [k for k in turn if shared[k] % 128 == shared[lane] % 128 or source[k] % 128 == source[lane] % 128]
        turn[lane] = 1 + max((turn[k] for k in rivals), default=0)
    return max(turn.values())


def cost(operation: str, shared: list[int], source: list[int], mask: int = ALL) -> tuple[int, float]:
    found = async_cost(operation, np.array([shared]), np.array([source]), np.array([mask], np.uint32))
    return int(found.wavefronts[0]), float(found.bank_conflicts[0])


@st.composite
def copies(draw: st.DrawFn) -> tuple[str, list[int], list[int], int]:
    """Lanes scattered over a few lines and rows, with or without holes and repeated sources."""
    operation = draw(st.sampled_from(ASYNC_OPERATIONS))
    width = async_width_bytes(operation)
    targets = draw(st.lists(st.integers(0, 4 * 128 // width - 1), min_size=32, max_size=32,
                            unique=operation != BYPASS_OPERATION))
    sources = draw(st.lists(st.integers(0, 3 * 128 // width - 1), min_size=32, max_size=32))
    mask = draw(st.one_of(st.just(ALL), st.integers(0, ALL)))
    return operation, [t * width for t in targets], [s * width for s in sources], mask


@pytest.mark.parametrize("operation", ["CPA4", "CPA8", "CPA16"])
def test_every_row_of_the_hardware_table_is_matched(operation: str) -> None:
    table, shared, source, masks = patterns("ldgsts_patterns.csv", operation)
    found = async_cost(operation, shared, source, masks)
    assert len(table) >= 120
    np.testing.assert_array_equal(found.wavefronts, table["wavefronts"])
    np.testing.assert_array_equal(found.bank_conflicts, table["bank_conflicts"])


def patterns(name: str, operation: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a table, shared and global addresses, masks."""
    table = pd.read_csv(DATA / name)
    table = table[table["op"] == operation]
    shared, source = (table[[f"{side}{lane}" for lane in range(32)]].to_numpy() for side in "ag")
    return table, shared, source, np.array([int(mask, 16) for mask in table["mask"]], np.uint32)


@pytest.mark.parametrize(("operation", "rows", "others"), [
    ("CPA4", 2010, 0), ("CPA8", 790, 0), ("CPA16CA", 540, 0), ("CPA16", 1100, 29)])
def test_other_patterns_of_silicon(operation: str, rows: int, others: int) -> None:
    """``others``: 16-byte copies that bring a chunk to several places, whose pairs are not
    understood. Conflicts and data wavefronts are means over 32 bases 1 KiB apart."""
    table, shared, source, masks = patterns("copy_patterns.csv.gz", operation)
    found, width = async_cost(operation, shared, source, masks), async_width_bytes(operation)
    differs = found.wavefronts != table["wavefronts"]
    assert (len(table), differs.sum()) == (rows, others)
    assert all(len(set(lanes)) < len(lanes) for lanes in active(source[differs], masks[differs]))
    known = table["bank_conflicts"].notna().to_numpy()
    np.testing.assert_array_equal(found.bank_conflicts[known], table["bank_conflicts"][known])
    crossed = table["data_wavefronts"].notna().to_numpy()
    bases = [l1_crossings(width, shared[crossed], source[crossed] + base, masks[crossed])
             for base in range(0, 32 * 1024, 1024)]
    np.testing.assert_array_equal(np.mean(bases, axis=0), table["data_wavefronts"][crossed])
    assert crossed.sum() >= 130 or operation == "CPA16"


def active(addresses: np.ndarray, masks: np.ndarray) -> list[np.ndarray]:
    return [row[mask >> np.arange(32) & 1 == 1] for row, mask in zip(addresses, masks, strict=True)]


@given(copies())
@settings(max_examples=300, deadline=None)
def test_equals_the_golden_model(copy: tuple[str, list[int], list[int], int]) -> None:
    operation, *rest = copy
    width = async_width_bytes(operation)
    expected = (golden_bypass(*rest), 0) if operation == BYPASS_OPERATION else (
        golden_through_l1(width, *rest), golden_conflicts(width, *rest))
    assert cost(*copy) == expected


@given(copies(), st.integers(0, 100), st.integers(-100, 100))
@settings(deadline=None)
def test_moving_either_side_by_whole_lines_keeps_the_wavefronts(
    copy: tuple[str, list[int], list[int], int], rows: int, lines: int
) -> None:
    operation, shared, source, mask = copy
    rows_on = [a + 128 * rows for a in shared]
    assert cost(operation, rows_on, source, mask) == cost(*copy)
    assert cost(operation, rows_on, [g + 128 * lines for g in source], mask)[0] == cost(*copy)[0]


@given(copies())
@settings(deadline=None)
def test_bounds(copy: tuple[str, list[int], list[int], int]) -> None:
    lanes = copy[3].bit_count()
    wavefronts, conflicts = cost(*copy)
    assert bool(lanes) <= wavefronts <= lanes
    assert 0 <= conflicts < max(1, lanes)


@pytest.mark.parametrize(("operation", "swizzle"), list(product(ASYNC_OPERATIONS, range(8))))
def test_a_swizzle_inside_rows_of_128_bytes_is_free(operation: str, swizzle: int) -> None:
    width = async_width_bytes(operation)
    source = [lane * width // 128 * 8192 + lane * width % 128 for lane in range(32)]
    shared = [(lane * width) ^ (swizzle << 4) for lane in range(32)]
    assert cost(operation, shared, source) == (width // 4, 0)


def test_lines_of_different_tag_banks_conflict_and_those_of_one_bank_take_turns() -> None:
    """One bank of L1, one line each: at how many of 32 bases 1 KiB apart an H100 counted a conflict."""
    pairs = pd.read_csv(DATA / "tag_banks.csv")
    source = np.zeros((len(pairs), 32), np.int64)
    source[:, :2] = pairs[["first_line", "second_line"]].to_numpy() * 128
    shared = np.broadcast_to(np.arange(32) * 4, source.shape)
    found = async_cost("CPA4", shared, source, np.full(len(pairs), 3, np.uint32))
    assert len(pairs) == 288
    np.testing.assert_array_equal(found.bank_conflicts * 32, pairs["conflicts"])


def test_says_what_hardware_refuses() -> None:
    lanes = [lane * 16 for lane in range(32)]
    with pytest.raises(UserError, match="access 0, lane 1: a 16-byte access needs an address that is a multiple of 16"):
        cost("CPA16", [0, 8, *lanes[2:]], lanes)
    with pytest.raises(UserError, match="access 0, lane 2, global side: a 16-byte access"):
        cost("CPA16", lanes, [0, 16, 40, *lanes[3:]])
    with pytest.raises(UserError, match="unknown asynchronous copy, got 'CPA32'; did you mean"):
        cost("CPA32", lanes, lanes)


@pytest.mark.parametrize(
    ("row_bytes", "pitch", "ratio"), [(64, 64, 1.0), (64, 80, 1.5), (128, 128, 1.0), (128, 144, 1.5)]
)
def test_a_padded_row_asks_for_split_sectors_twice(row_bytes: int, pitch: int, ratio: float) -> None:
    """Padding by 16 bytes splits the sectors of every other row: l1tex__m_xbar2l1tex_read_sectors grows by half."""
    lanes, per_row = np.arange(32), row_bytes // 16
    shared = (lanes // per_row * pitch + lanes % per_row * 16)[None]
    offsets = (lanes // per_row * 8192 + lanes % per_row * 16)[None]
    full = np.full(1, 0xFFFFFFFF, np.uint32)
    lines = warp_lines(offsets, 16, full, bypass_pieces(shared, offsets, full))
    assert np.bitwise_count(lines.requests["sector_mask"]).sum() == ratio * 16
