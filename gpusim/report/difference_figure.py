"""Models the picture of what differs between two runs: one bar per number, by effect.
Leaves out the choice and the order of the numbers (gpusim.experiments.compare_runs)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from gpusim.report.states import STATES
from gpusim.report.style import ACCENT, draw_title, figure

__all__ = ["draw_differences"]

_LEAST_ROWS = 3


def draw_differences(table: pd.DataFrame, title: str) -> Figure:
    """Columns name, title, unit, before, after, effect_pct; stalls have the colours of their states."""
    rows = table[::-1]
    with figure(9.0, 1.1 + 0.3 * max(len(rows), _LEAST_ROWS)) as drawn:
        axes = drawn.add_subplot()
        bars = axes.barh(rows["title"], rows["effect_pct"], color=[_color(name) for name in rows["name"]], height=0.7)
        labels = [f"{_short(before)} → {_short(after)} {unit}".rstrip() for before, after, unit in
                  zip(rows["before"], rows["after"], rows["unit"], strict=True)]
        axes.bar_label(bars, labels, padding=3, fontsize=7.5)
        axes.axvline(0, color="#666666", linewidth=0.7)
        reach = 1.75 * max(1.0, float(rows["effect_pct"].abs().max() if len(rows) else 1.0))
        axes.set_xlim(-reach, reach)
        axes.set_xlabel("effect, % (stalls: of all warp cycles per instruction; conflicts: of wavefronts; "
                        "shares: points)")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        draw_title(drawn, title)
    return drawn


def _color(name: str) -> str:
    return STATES[name.removeprefix("stall_")].color if name.startswith("stall_") else ACCENT


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
