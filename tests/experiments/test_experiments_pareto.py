"""Pareto fronts: equal to the definition, spelled out row by row, for any numbers, directions and groups."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from gpusim.experiments.pareto import pareto_front

NUMBERS = st.one_of(st.integers(0, 4).map(float), st.just(math.nan))
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from("xy")), min_size=1, max_size=12)
WAYS = st.sampled_from(["min", "max"])


def beats(one: tuple, other: tuple, better: dict[str, str]) -> bool:
    pairs = [(a, b) if way == "min" else (b, a) for a, b, way in zip(one, other, better.values(), strict=False)]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@given(ROWS, WAYS, WAYS)
def test_the_front_is_what_nothing_in_its_group_beats(rows: list, first: str, second: str):
    better = {"a": first, "b": second}
    table = pd.DataFrame(rows, columns=["a", "b", "group"])
    complete = [row for row in rows if not any(map(math.isnan, row[:2]))]
    expected = [row in complete and not any(beats(other, row, better) for other in complete if other[2] == row[2])
                for row in rows]
    assert pareto_front(table, better, table["group"]).tolist() == expected


@given(ROWS)
def test_the_best_of_every_single_number_is_on_the_front(rows: list):
    table = pd.DataFrame(rows, columns=["a", "b", "group"]).dropna()
    front = table[pareto_front(table, {"a": "min", "b": "max"})]
    if len(table):
        assert np.isclose(front["a"].min(), table["a"].min()) and np.isclose(front["b"].max(), table["b"].max())
