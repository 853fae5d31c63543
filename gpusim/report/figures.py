"""Models the small figures of a report: warp states as bars, variants side by side, simulated against measured.
Leaves out the timeline (gpusim.report.timeline_figure)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from gpusim.engine.result import SimulationResult
from gpusim.report.states import STATES
from gpusim.report.style import ACCENT, SERIES, TICKS, draw_title, figure
from gpusim.report.tables import warp_state_table

__all__ = ["draw_accuracy", "draw_comparison", "draw_warp_states"]

_SMALLEST_SHOWN_PCT = 0.5


def draw_warp_states(result: SimulationResult) -> Figure:
    """Warp cycles per issued instruction by state, longest first."""
    table = warp_state_table(result)
    table = table[table["share_pct"] >= _SMALLEST_SHOWN_PCT][::-1]
    with figure(7.5, 0.8 + 0.27 * len(table)) as drawn:
        axes = drawn.add_subplot()
        colors = [STATES[name].color for name in table["state"]]
        bars = axes.barh(table["title"], table["cycles_per_issued"], color=colors, height=0.7)
        axes.bar_label(bars, fmt="%.2f", padding=3, fontsize=8)
        axes.margins(x=0.1)
        axes.set_xlabel("warp cycles per issued instruction")
        axes.tick_params(axis="y", length=0)
    return drawn


def draw_comparison(labels: Sequence[str], cycles: Sequence[float], title: str) -> Figure:
    """Cycles of variants as bars, the fastest one accented; shorter is better."""
    fastest = int(np.argmin(cycles))
    with figure(8.5, 1.1 + 0.32 * len(labels)) as drawn:
        axes = drawn.add_subplot()
        colors = [ACCENT if i == fastest else "#b0b8c0" for i in range(len(labels))]
        bars = axes.barh(list(labels), list(cycles), color=colors, height=0.7)
        slower = [f"{value:,.0f}  ({value / cycles[fastest]:.2f}x)" for value in cycles]
        axes.bar_label(bars, slower, padding=3, fontsize=8)
        axes.invert_yaxis()
        axes.margins(x=0.18)
        axes.set_xlabel("cycles (shorter is better)")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.locator_params(axis="x", nbins=TICKS)
        draw_title(drawn, title)
        axes.tick_params(axis="y", length=0)
    return drawn


def draw_accuracy(rows: pd.DataFrame, *, measured: str, simulated: str, group: str, title: str) -> Figure:
    """Simulated against measured, both logarithmic, a line of equality and a band of 15 per cent."""
    with figure(6.2, 6.0) as drawn:
        axes = drawn.add_subplot()
        both = np.concatenate([rows[measured].to_numpy(float), rows[simulated].to_numpy(float)])
        ends = np.array([both.min() * 0.8, both.max() * 1.25])
        axes.fill_between(ends, ends * 0.85, ends * 1.15, color="#eeeeee", label="within 15 %", linewidth=0)
        axes.plot(ends, ends, color="#999999", linewidth=0.8)
        for color, (name, part) in zip(_cycle(rows[group].nunique()), rows.groupby(group, sort=True), strict=True):
            axes.scatter(part[measured], part[simulated], s=18, color=color, label=str(name), alpha=0.85, linewidths=0)
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal", title=title)
        axes.set_xlabel("measured cycles")
        axes.set_ylabel("simulated cycles")
        axes.legend(loc="upper left")
    return drawn


def _cycle(count: int) -> list[str]:
    return [SERIES[i % len(SERIES)] for i in range(count)]
