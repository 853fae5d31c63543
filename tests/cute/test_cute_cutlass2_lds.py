"""CUTLASS's shared-memory layouts of operands that LDS reads, and the thread map of f64 ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim.cute.cutlass2 import (
    TensorOpMultiplicand32bCongruous,
    TensorOpMultiplicand64bCongruous,
    TensorOpMultiplicand64bCrosswise,
    warp_raked,
    warp_striped,
)
from gpusim.errors import UserError

LANE = np.arange(32)
ROWS, DEPTH = 64, 32


def offsets(crosswise: bool) -> np.ndarray:
    """(rows, k) element offsets of a tile."""
    rows, k = np.mgrid[:ROWS, :DEPTH]
    layout: Any = (TensorOpMultiplicand64bCrosswise if crosswise else TensorOpMultiplicand64bCongruous)(ROWS)
    return layout(k, rows) if crosswise else layout(rows, k)


@pytest.mark.parametrize("crosswise", [True, False])
def test_every_element_has_a_place_of_its_own(crosswise: bool) -> None:
    assert sorted(offsets(crosswise).ravel().tolist()) == list(range(ROWS * DEPTH))


@pytest.mark.parametrize("crosswise", [True, False])
def test_elements_eight_rows_apart_are_neighbours(crosswise: bool) -> None:
    """In odd groups of four k the other way round, crosswise (mma_tensor_op_tile_iterator_sm80.h exchanges them)."""
    place = offsets(crosswise)
    upper, lower = place.reshape(ROWS // 16, 2, 8, DEPTH).swapaxes(0, 1)
    turned = (np.arange(DEPTH) // 4 % 2 * crosswise).astype(bool)
    assert (np.minimum(upper, lower) % 2 == 0).all()
    np.testing.assert_array_equal(lower - upper, np.broadcast_to(np.where(turned, -1, 1), lower.shape))


@pytest.mark.parametrize("crosswise", [True, False])
def test_vector_loads_of_a_warp_are_free_of_conflicts(crosswise: bool) -> None:
    """Every eight lanes of an LDS.128 (row lane / 4, k lane % 4) touch all 32 banks once."""
    place = offsets(crosswise)
    for row in range(0, ROWS, 16):
        for k in range(0, DEPTH, 4):
            pairs = place[row + LANE // 4, k + LANE % 4] // 2
            banks = np.sort(pairs.reshape(4, 8) % 8, axis=1)
            assert (banks == np.arange(8)).all()


@pytest.mark.parametrize(("shape", "warps", "iterations", "delta"), [
    ((64, 16), 4, (4, 2), (16, 8)), ((128, 16), 8, (8, 1), (16, 16)), ((16, 16), 8, (1, 1), (16, 16)),
])
def test_striped_warps_cover_the_tile_once(shape: tuple[int, int], warps: int, iterations: tuple[int, int],
                                           delta: tuple[int, int]) -> None:
    found = warp_striped(shape, 32 * warps, (16, 2), 1)
    assert (found.iterations, found.delta) == (iterations, delta)
    places = found.accesses().reshape(-1, 2)
    assert len(np.unique(places[:, 0] + shape[0] * places[:, 1])) == len(places) == shape[0] * shape[1]


def test_striped_and_raked_warps_differ_in_who_is_next() -> None:
    """Raked: a warp's rows are neighbours; striped: its next rows lie behind those of all warps."""
    raked, striped = (make((64, 16), 128, (16, 2), 1) for make in (warp_raked, warp_striped))
    assert raked.delta == (16, 2) and striped.delta == (16, 8)
    assert raked.initial_offset(32) == (0, 4) and striped.initial_offset(32) == (0, 2)


def test_a_tile_that_warps_do_not_divide_is_refused() -> None:
    with pytest.raises(UserError, match="a thread map divides its tile without rest"):
        warp_striped((40, 16), 128, (16, 2), 1)


def test_words_with_contiguous_rows_are_loaded_without_conflicts() -> None:
    """A bijection, in which an 8 x 4 block (row lane / 4, k lane % 4) lies in 32 banks."""
    rows, k = np.mgrid[:ROWS, :DEPTH]
    place = TensorOpMultiplicand32bCongruous(ROWS)(rows, k)
    assert sorted(place.ravel().tolist()) == list(range(ROWS * DEPTH))
    for row in range(0, ROWS, 8):
        for depth in range(0, DEPTH, 4):
            assert len(np.unique(place[row + LANE // 4, depth + LANE % 4] % 32)) == 32
