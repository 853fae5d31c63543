"""Shared-memory wavefronts: the hardware's table, a naive golden model, and laws of banks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.errors import UserError
from gpusim.memory import SHARED_OPERATIONS, explain, phases, shared_cost
from gpusim.memory.operations import shared_operation

DATA = Path(gpusim.__file__).parent / "data/hardware/h200"
ALL = 0xFFFFFFFF


def golden(operation: str, addresses: list[int], mask: int) -> tuple[int, int]:
    """(wavefronts, conflicts) by a lane loop: dict of bank -> set of words, phase after phase."""
    matrix = "SM" in operation
    number = int("".join(c for c in operation if c.isdigit()))
    width = 16 if matrix else number // 8
    size = 8 if matrix else 32 if width <= 4 else 128 // width
    lanes_used = 8 * number if matrix else 32

    def agrees(distance: int) -> bool:
        pairs = [(lane, lane ^ distance) for lane in range(32) if mask >> lane & 1 and mask >> (lane ^ distance) & 1]
        return all(addresses[a] == addresses[b] for a, b in pairs)

    if operation in ("LDS64", "LDS128") and (agrees(1) or agrees(2)):
        size *= 2
    wavefronts = conflicts = 0
    for start in range(0, lanes_used, size):
        banks: dict[int, set[int]] = {}
        for lane in range(start, start + size):
            if mask >> lane & 1:
                for byte in range(addresses[lane], addresses[lane] + width):
                    banks.setdefault(byte // 4 % 32, set()).add(byte // 4)
        ways = max(map(len, banks.values()), default=0)
        wavefronts += ways
        conflicts += max(0, ways - 1)
    return wavefronts, conflicts


@st.composite
def accesses(draw: st.DrawFn, operations: tuple[str, ...] = SHARED_OPERATIONS) -> tuple[str, list[int], int]:
    """Aligned addresses; a small range makes lanes share words, a large one makes them collide."""
    operation = draw(st.sampled_from(operations))
    width = shared_operation(operation).bytes_per_lane
    reach = draw(st.sampled_from([1, 2, 4, 33, 512]))
    units = draw(st.lists(st.integers(0, reach - 1), min_size=32, max_size=32))
    if draw(st.booleans()):
        units = [units[lane & draw(st.sampled_from([30, 29, 31]))] for lane in range(32)]
    mask = draw(st.one_of(st.just(ALL), st.integers(0, ALL)))
    return operation, [unit * width for unit in units], mask


def cost(operation: str, addresses: list[int], mask: int = ALL) -> tuple[int, int]:
    found = shared_cost(operation, np.array([addresses]), np.array([mask], np.uint32))
    return int(found.wavefronts[0]), int(found.bank_conflicts[0])


@pytest.mark.parametrize(("name", "number"), [("smem_patterns.csv", 714), ("shared_patterns.csv.gz", 1224)])
def test_every_row_of_the_hardware_tables_is_matched(name: str, number: int) -> None:
    """The second one was drawn after the rules."""
    table = pd.read_csv(DATA / name)
    addresses = table[[f"a{lane}" for lane in range(32)]].to_numpy()
    masks = np.array([int(mask, 16) for mask in table["mask"]], np.uint32)
    assert len(table) == number
    for operation, rows in table.groupby("op").groups.items():
        found = shared_cost(str(operation), addresses[rows], masks[rows])
        np.testing.assert_array_equal(found.wavefronts, table.loc[rows, "wavefronts"], err_msg=operation)
        np.testing.assert_array_equal(found.bank_conflicts, table.loc[rows, "bank_conflicts"], err_msg=operation)


@given(accesses())
@settings(max_examples=300, deadline=None)
def test_equals_the_golden_model(access: tuple[str, list[int], int]) -> None:
    assert cost(*access) == golden(*access)


@given(accesses())
@settings(deadline=None)
def test_detail_adds_up_to_the_cost(access: tuple[str, list[int], int]) -> None:
    operation, _, mask = access
    detail = explain(*access)
    assert sum(phase.ways for phase in detail) == cost(*access)[0]
    seen = [lane for phase in detail for lane in phase.lanes]
    assert seen == [lane for group in phases(operation) for lane in group if mask >> lane & 1]
    assert all(bool(phase.collisions) == (phase.ways > 1) for phase in detail)


@given(accesses(), st.integers(0, 1000))
@settings(deadline=None)
def test_moving_by_whole_rows_changes_nothing(access: tuple[str, list[int], int], rows: int) -> None:
    operation, addresses, mask = access
    assert cost(operation, [a + 128 * rows for a in addresses], mask) == cost(*access)


@given(accesses(tuple(op for op in SHARED_OPERATIONS if op not in ("LDS64", "LDS128"))), st.randoms())
@settings(deadline=None)
def test_order_of_lanes_inside_a_phase_does_not_matter(access: tuple[str, list[int], int], random: object) -> None:
    operation, addresses, mask = access
    order = [lane for group in phases(operation) for lane in random.sample(group, len(group))]  # type: ignore[attr-defined]
    order += range(len(order), 32)
    moved = sum((mask >> order[lane] & 1) << lane for lane in range(32))
    assert cost(operation, [addresses[lane] for lane in order], moved) == cost(*access)


@given(accesses())
@settings(deadline=None)
def test_switching_a_lane_off_never_costs_more_wavefronts(access: tuple[str, list[int], int]) -> None:
    operation, addresses, mask = access
    fewer = mask & (mask - 1)
    assert cost(operation, addresses, fewer)[0] <= cost(*access)[0]
    assert cost(operation, addresses, 0) == (0, 0)


@pytest.mark.parametrize("operation", SHARED_OPERATIONS)
def test_broadcast_is_free(operation: str) -> None:
    assert cost(operation, [4096] * 32)[1] == 0


@pytest.mark.parametrize(("operation", "wavefronts"), [("LDS128", 2), ("STS128", 4), ("LDS64", 1), ("STS64", 2)])
def test_wide_loads_fuse_where_stores_do_not(operation: str, wavefronts: int) -> None:
    width = shared_operation(operation).bytes_per_lane
    pairs = [lane // 2 * width for lane in range(32)]
    assert cost(operation, pairs) == (wavefronts, 0)
    pairs[31] += width
    assert cost(operation, pairs)[0] == shared_operation(operation).num_phases, "one odd lane undoes the fusion"


def test_ldmatrix_reads_only_the_addresses_it_needs() -> None:
    rows = [lane * 16 for lane in range(32)]
    garbage = rows[:8] + [-3] * 24
    assert cost("LDSM1", garbage) == cost("LDSM1", rows) == (1, 0)


def test_collisions_name_the_lanes() -> None:
    first, *_ = explain("LDSM4", [lane % 8 * 128 for lane in range(32)], 0xFF)
    assert first.ways == 8
    assert first.collisions[0] == {32 * row: (row,) for row in range(8)}


@pytest.mark.parametrize(
    ("operation", "address", "sentence"),
    [
        ("LDS128", 8, "access 0, lane 5: a 16-byte access needs an address that is a multiple of 16, got 8"),
        ("LDS16", 3, "access 0, lane 5: a 2-byte access needs an address that is a multiple of 2, got 3"),
        ("STS8", -1, "access 0, lane 5: an address must not be negative, got -1"),
        ("LDS256", 0, "unknown shared-memory operation, got 'LDS256'; did you mean"),
    ],
)
def test_says_what_hardware_refuses(operation: str, address: int, sentence: str) -> None:
    addresses = [0] * 5 + [address] + [0] * 26
    with pytest.raises(UserError) as error:
        cost(operation, addresses)
    assert str(error.value).startswith(sentence)
    with pytest.raises(UserError) as again:
        explain(operation, addresses)
    assert str(again.value) == str(error.value)


def test_an_inactive_lane_may_hold_any_address() -> None:
    assert cost("LDS128", [0] * 5 + [-3] + [0] * 26, ALL ^ 1 << 5) == (2, 0)


def test_rate(benchmark: object) -> None:
    addresses = np.random.default_rng(0).integers(0, 4096, (100_000, 32)) * 16
    mask = np.full(len(addresses), ALL, np.uint32)
    benchmark(shared_cost, "LDSM4", addresses, mask)  # type: ignore[operator]
    stats = getattr(benchmark, "stats", None)
    if stats is not None:
        print(f"\n{len(addresses) / stats.stats.min:,.0f} accesses per second")
