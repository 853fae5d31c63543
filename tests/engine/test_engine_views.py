"""Compiled code sees arrays as pointers and shapes: the same elements as NumPy's, read, written and cut."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from gpusim.engine.views import borrow, prefetch

RECORD = np.dtype([("key", "<i8"), ("ring", "<i4", (3,)), ("small", "u1")], align=True)
PACKED = np.dtype([("key", "<i8"), ("small", "u1")])  # its numbers stand at odd addresses


class Inner(NamedTuple):
    cube: np.ndarray
    packed: np.ndarray


class Outer(NamedTuple):
    rows: np.ndarray
    inner: Inner


@njit
def visit(outer, floats):
    table, numbers = borrow(outer), borrow(floats)
    cube, rows = table.inner.cube, table.rows
    total = 0.0
    for a in range(len(cube)):
        plane = cube[a]
        for b in range(plane.shape[0]):
            prefetch(cube, (a, b, 0))
            for c in range(len(plane[b])):
                total += plane[b, c] * numbers[a, b] + cube[a, b, c] + plane[b][c]
                numbers[a, b] = total
    rows[2] = rows[1]
    rows[2].key += 5
    rows[0].ring[1] = rows[1].small
    table.inner.packed[1].key = table.inner.packed[0].key
    return total


def test_views_read_and_write_what_numpy_does() -> None:
    rng = np.random.default_rng(0)
    cube, floats = rng.integers(0, 9, (2, 3, 4)), rng.random((2, 3))
    rows, packed = np.zeros(3, RECORD), np.zeros(2, PACKED)
    rows["key"], rows["small"], packed["key"] = [10, 20, 30], [1, 2, 3], [-1 << 40, 0]
    expected, changed = 0.0, floats.copy()
    for (a, b, _), value in np.ndenumerate(cube):
        expected += value * changed[a, b] + 2 * value
        changed[a, b] = expected
    assert visit(Outer(rows, Inner(cube, packed)), floats) == pytest.approx(expected)
    np.testing.assert_allclose(floats, changed)
    assert rows["key"].tolist() == [10, 20, 25] and rows["small"].tolist() == [1, 2, 2]
    assert rows["ring"][0].tolist() == [0, 2, 0]
    assert packed["key"].tolist() == [-1 << 40, -1 << 40]


def test_more_indices_than_dimensions_are_refused_when_it_is_compiled() -> None:
    @njit
    def wrong(array):
        return borrow(array)[0, 0]

    with pytest.raises(TypingError):
        wrong(np.zeros(3))
