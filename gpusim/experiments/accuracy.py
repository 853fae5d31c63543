"""Models how good a set of simulations is against measurements: mean errors, bias, ratio, rank correlation, worst row.
Leaves out where the numbers come from (gpusim.experiments.validate)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gpusim.experiments.quantities import QUANTITIES

__all__ = ["accuracy_summary", "dominant_stall_of"]

_MINIMUM_ROWS_FOR_RANKS = 2


def accuracy_summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summary of validated rows, each with ``name``, ``measured``, ``simulated``, ``error_pct`` (empty if not built).

    ``mape_X_pct`` is the mean absolute error of X, ``bias_cycles_pct`` the mean signed error, ``spearman_cycles``
    the rank correlation. A quantity without any comparable row is None. ``swizzle_sets``: how many sets of rows differ
    in nothing but their swizzle; of how many the fastest one, and the order of all, are as measured.
    """
    built = [row for row in rows if row["simulated"]]
    summary: dict[str, Any] = {"rows_total": len(rows), "rows_built": len(built)}
    if not built:
        return summary | {"mape_cycles_pct": None, "bias_cycles_pct": None, "spearman_cycles": None, "worst_row": None}
    errors = pd.DataFrame([row["error_pct"] for row in built], dtype=float)
    mean_absolute, within = errors.abs().mean(), errors.abs()
    worst = built[int(errors["cycles"].abs().argmax())]
    cycles = pd.DataFrame({side: [row[side]["cycles"] for row in built] for side in ("measured", "simulated")})
    summary |= {
        "mape_cycles_pct": float(mean_absolute["cycles"]),
        "bias_cycles_pct": float(errors["cycles"].mean()),
        "geometric_mean_ratio_cycles": float(np.exp(np.log(cycles["simulated"] / cycles["measured"]).mean())),
        "spearman_cycles": _spearman(cycles),
        "worst_row": worst["name"],
        "worst_row_error_pct": worst["error_pct"]["cycles"],
        "within_15_pct_cycles": int((within["cycles"] <= 15).sum()),
        "dominant_stall_right": sum(_same_dominant_stall(row) for row in built),
    } | _swizzle_ranks(built)
    others = [quantity.name for quantity in QUANTITIES if quantity.name in errors and quantity.name != "cycles"]
    return summary | {f"mape_{name.removesuffix('_pct')}_pct": _number(mean_absolute[name]) for name in others}


def dominant_stall_of(values: Mapping[str, float]) -> str:
    """The stall, other than Selected, with most warp cycles per issued instruction."""
    stalls = {name: value for name, value in values.items() if name.startswith("stall_") and name != "stall_selected"}
    return max(stalls, key=stalls.__getitem__).removeprefix("stall_") if stalls else ""


def _swizzle_ranks(built: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    sets: dict[frozenset[tuple[str, str]], list[Mapping[str, Any]]] = {}
    for row in built:
        same = {name: str(value) for name, value in row.get("configuration", {}).items()
                if name not in ("kernel", "smem_swizzle")}
        sets.setdefault(frozenset(same.items()), []).append(row)
    ranks = [(_order(rows, "measured"), _order(rows, "simulated")) for rows in sets.values()
             if 1 < len(rows) == len({row.get("configuration", {}).get("smem_swizzle") for row in rows})]
    return {
        "swizzle_sets": len(ranks),
        "swizzle_best_right": sum(measured[0] == simulated[0] for measured, simulated in ranks),
        "swizzle_order_right": sum(measured == simulated for measured, simulated in ranks),
    } if ranks else {}


def _order(rows: Sequence[Mapping[str, Any]], side: str) -> list[int]:
    return sorted(range(len(rows)), key=lambda row: float(rows[row][side]["cycles"]))


def _same_dominant_stall(row: Mapping[str, Any]) -> bool:
    return dominant_stall_of(row["measured"]) == dominant_stall_of(row["simulated"])


def _spearman(cycles: pd.DataFrame) -> float | None:
    """Pearson's correlation of ranks."""
    if len(cycles) < _MINIMUM_ROWS_FOR_RANKS:
        return None
    return _number(cycles["measured"].rank().corr(cycles["simulated"].rank()))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
