"""Placement: where the first CTAs of a launch go."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.arch import load_gpu
from gpusim.engine.blocks import fill_order

RUNS = load_gpu("h200").noc.gpc_runs


def gpcs(order: np.ndarray) -> list[int]:
    owner = np.repeat([gpc for gpc, _ in RUNS], [size for _, size in RUNS])
    return owner[order].tolist()


def test_sms_that_come_one_by_one_are_filled_first() -> None:
    assert fill_order(RUNS, 8)[:8].tolist() == list(range(8))
    assert gpcs(fill_order(RUNS, 4)[:4]) == [0, 1, 2, 3]


def test_few_ctas_spread_over_all_gpcs_next_ones_together() -> None:
    order = gpcs(fill_order(RUNS, 64)[8:])
    counts = [order.count(gpc) for gpc in range(8)]
    assert sum(counts) == 56 and max(counts) - min(counts) <= 2
    assert sum(left != right for left, right in pairwise(order)) == 7


def test_a_launch_that_fills_the_chip_takes_every_sm_in_turn() -> None:
    np.testing.assert_array_equal(fill_order(RUNS, 1000), np.arange(132))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(1, 90))
def test_every_cta_of_the_first_wave_has_an_sm_of_its_own(sizes: list[int], ctas: int) -> None:
    order = fill_order([(gpc, size) for gpc, size in enumerate(sizes)], ctas)
    assert len(set(order.tolist())) == len(order) >= min(ctas, sum(sizes))
    assert order.min() >= 0 and order.max() < sum(sizes)
    if sizes[0] > 1:
        assert order[0] == 0


@pytest.mark.parametrize("gpu", ["a100", "v100", "t4", "rtx3090"])
def test_one_cta_runs_on_the_first_sm(gpu: str) -> None:
    assert fill_order(load_gpu(gpu).noc.gpc_runs, 1)[0] == 0
