"""Models report.html: one file with tables, advice and figures inside, readable offline.
Leaves out what the numbers mean; every metric brings its own sentence (gpusim.report.metrics)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jinja2
import pandas as pd

from gpusim.report.metrics import METRICS
from gpusim.report.summary import Summary
from gpusim.report.tables import column_title

__all__ = ["Picture", "format_number", "render_report"]

_HEADLINES = ("cycles", "time_us", "tflops", "mma_peak_pct", "tensor_peak_pct", "achieved_occupancy_pct",
              "dominant_stall")
_TABLES = {
    "shared_memory": "Shared memory by access",
    "global_memory": "Global memory by access",
    "source_lines": "Source lines",
    "instructions": "Instructions",
}


@dataclass(frozen=True)
class Picture:
    """A figure to be put into the report."""

    title: str
    svg: str


def render_report(summary: Summary, tables: dict[str, pd.DataFrame], pictures: list[Picture], config_text: str) -> str:
    """The whole HTML page."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gpusim.report", "templates"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = format_number
    by_name = {metric.name: metric for metric in METRICS}
    return environment.get_template("report.html.j2").render(
        summary=summary, pictures=pictures, config_text=config_text,
        headlines=[(by_name[name], summary[name]) for name in _HEADLINES if summary[name] is not None],
        metrics=[(metric, summary[metric.name]) for metric in METRICS if summary[metric.name] is not None],
        tables=[(title, _columns(tables[name]), tables[name].values.tolist()) for name, title in _TABLES.items()],
    )


def _columns(table: pd.DataFrame) -> list[dict[str, Any]]:
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]
    names = [column_title(column) for column in table.columns]
    return [{"title": name, "numeric": is_number} for name, is_number in zip(names, numeric, strict=True)]


def format_number(value: object) -> str:
    """``1234567.0`` -> ``1,234,567``; ``0.12345`` -> ``0.123``; text as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3f}"
