"""Models the trade-off among points: which of them no other point beats in everything.
Leaves out what the numbers are, and points that have none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

__all__ = ["pareto_front"]


def pareto_front(table: pd.DataFrame, better: Mapping[str, str], within: pd.Series | None = None) -> np.ndarray:
    """(rows,) bool: no row of the same group ``within`` is as good in every column of ``better`` and better in one.

    ``better``: column -> ``"min"`` or ``"max"``. Equal rows are all on the front, rows without a number are not.
    """
    signs = np.array([1.0 if way == "min" else -1.0 for way in better.values()])
    cost = table[list(better)].astype(float).to_numpy() * signs
    group = np.zeros(len(cost), int) if within is None else pd.factorize(within)[0]
    complete = ~np.isnan(cost).any(axis=1)
    return np.array([complete[i] and not _beaten(cost, i, complete & (group == group[i])) for i in range(len(cost))])


def _beaten(cost: np.ndarray, row: int, others: np.ndarray) -> bool:
    rivals = cost[others]
    return bool(((rivals <= cost[row]).all(axis=1) & (rivals < cost[row]).any(axis=1)).any())
