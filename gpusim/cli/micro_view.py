"""Models what `gpusim validate --micro` prints: every row, what could not be built and why, errors by mechanism.
Leaves out the comparison (gpusim.experiments.micro)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gpusim.cli.output import print_rows

if TYPE_CHECKING:
    from gpusim.experiments.micro import MicroResult

__all__ = ["print_micro"]


def print_micro(result: MicroResult) -> None:
    """Three tables: rows, reasons of those not built, mechanisms with the sum over all at the end."""
    _print_simulated(result)
    _print_unbuilt(result)
    _print_mechanisms(result)


def _print_simulated(result: MicroResult) -> None:
    headings = ["Mechanism", "What", "Unit", "Measured", "Simulated", "Error %"]
    rows = [[row["mechanism"], row["what"], row["unit"], f"{row['measured']:.2f}", f"{row['simulated']:.2f}",
             _signed(row["error_pct"])] for row in result.rows if row["simulated"] is not None]
    if rows:
        print_rows("Rows", headings, rows)


def _print_unbuilt(result: MicroResult) -> None:
    reasons = Counter((row["mechanism"], row["reason"]) for row in result.rows if row["simulated"] is None)
    if reasons:
        rows = [[mechanism, count, reason] for (mechanism, reason), count in reasons.items()]
        print_rows(f"Not built: {reasons.total()} of {len(result.rows)}", ["Mechanism", "Rows", "Reason"], rows)


def _print_mechanisms(result: MicroResult) -> None:
    headings = ["Mechanism", "GPU", "Rows", "Built", "Within level", "Mean |error| %", "Bias %", "Worst %", "Worst row"]
    total = {"mechanism": "all", "gpu": "", **result.summary}
    rows = [[entry["mechanism"], entry["gpu"], entry["rows"], entry["built"], entry["within_level"],
             "-" if entry["mean_pct"] is None else f"{entry['mean_pct']:.1f}", _signed(entry["bias_pct"]),
             _signed(entry["worst_pct"]), entry["worst"]] for entry in [*result.mechanisms, total]]
    title = "Mechanisms (level: a latency within 1 cycle or 3 %, a throughput within 3 %, a bandwidth within 10 %)"
    print_rows(title, headings, rows)


def _signed(error_pct: float | None) -> str:
    return "-" if error_pct is None else f"{error_pct:+.1f}"
