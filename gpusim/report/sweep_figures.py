"""Models the figures of a sweep: a map or bars of one number over all points, and two numbers traded off.
Leaves out which points are on the front (gpusim.experiments.pareto)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from gpusim.report.metrics import METRICS
from gpusim.report.style import ACCENT, SERIES, TICKS, draw_title, figure
from gpusim.report.tables import column_title

__all__ = ["draw_pareto", "draw_points"]

_SHADES = LinearSegmentedColormap.from_list("gpusim_sweep", ["#eef3f7", "#9cc3de", ACCENT])
"""From the worst point to the best."""
_DARK = 0.6
_GREY = "#9aa4ad"
_LARGEST_LABELLED_FRONT = 12
_CELLS_WITH_TEXT = 400
_SMALLEST_FILLING = 0.5
_SAME_PLACE = 0.03
"""Share of the axes within which two numbers would cover each other."""


def draw_points(table: pd.DataFrame, keys: Sequence[str], number: str, better: str, *, title: str) -> Figure:
    """``number`` at every point: a map where the values of ``keys`` make a grid, bars where they are a list."""
    counts = {key: table[key].astype(str).nunique() for key in keys}
    across = max(reversed(keys), key=counts.__getitem__)
    down = [key for key in keys if key != across and counts[key] > 1]
    rows, row_names = _numbered(table, down)
    columns, column_names = _numbered(table, [across])
    grid = np.full((len(row_names), len(column_names)), np.nan)
    grid[rows, columns] = table[number].astype(float)
    present = np.zeros(grid.shape, bool)
    present[rows, columns] = True
    title = f"{title}: {_axis_title(number)}, {_direction(better)}"
    if present.mean() < _SMALLEST_FILLING:
        return _draw_bars(table, keys, number, better, title)
    return _draw_map(grid, present, (row_names, column_names), ("".join(down[:1] * (len(down) == 1)), across), better,
                     title)


def _draw_map(
    grid: np.ndarray, present: np.ndarray, names: tuple[list[str], list[str]], labels: tuple[str, str], better: str,
    title: str,
) -> Figure:
    """One cell per point; points without a number say so."""
    rows, columns = names
    with figure(2.2 + 0.07 * max(map(len, rows)) + 0.95 * len(columns), 1.5 + 0.34 * len(rows)) as drawn:
        axes = drawn.add_subplot()
        _draw_cells(axes, grid, present, better)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylabel(labels[0])
        axes.set_xlabel(labels[1])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        draw_title(drawn, title)
    return drawn


def _draw_bars(table: pd.DataFrame, keys: Sequence[str], number: str, better: str, title: str) -> Figure:
    """A bar per point, the best one accented, with its ratio to the best."""
    values = table[number].astype(float).to_numpy()
    best = np.nanmin(values) if better == "min" else np.nanmax(values)
    labels = [_in_words(keys, row) for row in table[list(keys)].itertuples(index=False)]
    with figure(6.0 + 0.06 * max(map(len, labels)), 1.2 + 0.32 * len(labels)) as drawn:
        axes = drawn.add_subplot()
        bars = axes.barh(range(len(labels)), np.nan_to_num(values), height=0.7,
                         color=[ACCENT if value == best else _GREY for value in values])
        texts = ["not simulated" if np.isnan(value) else f"{_short(value)}  ({value / best:.2f}x)" for value in values]
        axes.bar_label(bars, texts, padding=3, fontsize=8)
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.margins(x=0.18)
        axes.locator_params(axis="x", nbins=TICKS)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel(_axis_title(number))
        axes.tick_params(axis="y", length=0)
        draw_title(drawn, title)
    return drawn


def draw_pareto(
    table: pd.DataFrame, front: np.ndarray, keys: Sequence[str], better: Mapping[str, str], *, problem: pd.Series,
    title: str,
) -> Figure:
    """Every point by the first two numbers that are traded off; the ``front`` (rows,) of each ``problem`` is joined.

    Points of the front are numbered and named below the axes, where they are few.
    """
    y, x = list(better)[:2]
    best = table[front].sort_values([x, y])
    with figure(7.5, 4.6 + 0.17 * min(len(best), _LARGEST_LABELLED_FRONT)) as drawn:
        axes = drawn.add_subplot()
        rest = table[~front]
        axes.scatter(rest[x].astype(float), rest[y].astype(float), s=22, color=_GREY, label="beaten", linewidths=0)
        for i, (name, line) in enumerate(best.groupby(problem, sort=False)):
            label = "on the front" + (f", {name}" if problem.nunique() > 1 else "")
            axes.plot(line[x].astype(float), line[y].astype(float), color=SERIES[i % len(SERIES)], linewidth=1,
                      marker="o", markersize=6, label=label)
        _name_points(axes, best[[x, y]].astype(float).to_numpy(), best, keys)
        axes.set_xlabel(f"{_axis_title(x)} ({_direction(better[x])})")
        axes.set_ylabel(f"{_axis_title(y)} ({_direction(better[y])})")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.margins(0.08)
        axes.legend(loc="best")
        draw_title(drawn, f"{title}: trade-off")
    return drawn


def _draw_cells(axes: Axes, grid: np.ndarray, present: np.ndarray, better: str) -> None:
    goodness = _goodness(grid, better)
    axes.imshow(goodness, cmap=_SHADES, vmin=0, vmax=1, aspect="auto")
    if grid.size > _CELLS_WITH_TEXT:
        return
    best = np.nanmin(grid) if better == "min" else np.nanmax(grid)
    for (row, column), value in np.ndenumerate(grid):
        if np.isnan(value):
            mark = "not\nsimulated" if present[row, column] else ""
            axes.text(column, row, mark, ha="center", va="center", fontsize=6.5, color="#8a4a2a")
            continue
        color = "white" if goodness[row, column] > _DARK else "black"
        weight = "bold" if value == best else "normal"
        axes.text(column, row, _short(value), ha="center", va="center", fontsize=8, color=color, fontweight=weight)


def _goodness(grid: np.ndarray, better: str) -> np.ndarray:
    """0 for the worst number, 1 for the best, by their ratio."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.log(grid) if np.nanmin(grid) > 0 else grid
    low, high = np.nanmin(scale), np.nanmax(scale)
    share = (scale - low) / ((high - low) or 1.0)
    return 1 - share if better == "min" else share


def _name_points(axes: Axes, values: np.ndarray, best: pd.DataFrame, keys: Sequence[str]) -> None:
    """Number the points, those that all but coincide together, and say below the axes what they are."""
    if not 0 < len(best) <= _LARGEST_LABELLED_FRONT:
        return
    span = np.ptp(values, axis=0)
    cells = np.round(values / np.where(span > 0, span * _SAME_PLACE, 1.0))
    for cell in np.unique(cells, axis=0):
        here = np.flatnonzero((cells == cell).all(axis=1))
        axes.annotate(", ".join(map(str, here + 1)), values[here].max(axis=0), xytext=(6, 6),
                      textcoords="offset points", fontsize=8)
    rows = best[list(keys)].itertuples(index=False)
    lines = [f"{number}  {_in_words(keys, row)}" for number, row in enumerate(rows, start=1)]
    axes.text(0, -0.17, "\n".join(lines), transform=axes.transAxes, va="top", fontsize=8, family="monospace")


def _numbered(table: pd.DataFrame, keys: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The number of every row's combination of ``keys``, and the combinations in words, in order of appearance."""
    if not keys:
        return np.zeros(len(table), int), [""]
    named = keys if len(keys) > 1 else ()
    words = [_in_words(named, row) for row in table[list(keys)].itertuples(index=False)]
    codes, names = pd.factorize(pd.Series(words))
    return codes, list(names)


def _in_words(keys: Sequence[str], values: Sequence[object]) -> str:
    """``swizzle=64B  num_stages=3``; without keys the values alone. A key that a point does not set is left out."""
    if not keys:
        return "  ".join(map(str, values))
    return "  ".join(f"{key}={value}" for key, value in zip(keys, values, strict=True) if not pd.isna(value))


def _axis_title(number: str) -> str:
    metric = next((metric for metric in METRICS if metric.name == number), None)
    if metric is None:
        return column_title(number)
    return f"{metric.title} [{metric.unit}]" if metric.unit else metric.title


def _direction(better: str) -> str:
    return "lower is better" if better == "min" else "higher is better"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
