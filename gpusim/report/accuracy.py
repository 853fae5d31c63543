"""Models reports/ACCURACY.md: what was compared, how good it is, every row, bad ones included, and a scatter plot.
Leaves out how the numbers were made (gpusim.experiments.validate)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gpusim.files import write_whole
from gpusim.report.figures import draw_accuracy
from gpusim.report.html import format_number
from gpusim.report.style import save_figure

__all__ = ["accuracy_markdown", "write_accuracy"]

Row = Mapping[str, Any]
_HEAD = """# Simulated against measured

Written by `gpusim validate {source} --gpu {gpu} --fidelity {fidelity} --report {report}`; do not edit.
Cold L2, launch overhead counted, as Nsight Compute profiles. Errors are signed, in per cent of the measured value;
those of bank conflicts in per cent of measured wavefronts, those of stalls in per cent of all measured warp cycles per
issued instruction.
"""


def write_accuracy(path: Path, data: Mapping[str, Any], *, source: str, gpu: str, fidelity: str) -> None:
    """Write the report, and the scatter plot beside it as ``<stem>.svg`` and ``<stem>.png``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    built = [row for row in data["rows"] if row["simulated"]]
    figure = None
    if built:
        drawn = draw_accuracy(_points(built), measured="measured", simulated="simulated", group="swizzle",
                              title=f"Cycles of {len(built)} kernels on {gpu}")
        figure = save_figure(drawn, path.with_suffix(""))[0].name
    head = _HEAD.format(source=source, gpu=gpu, fidelity=fidelity, report=path)
    write_whole(path, head + accuracy_markdown(data, figure))


def accuracy_markdown(data: Mapping[str, Any], figure: str | None) -> str:
    """The body of the report: summary, errors by quantity, every built row worst first, rows not built by reason."""
    summary, rows = data["summary"], data["rows"]
    built = sorted((row for row in rows if row["simulated"]), key=lambda row: -abs(row["error_pct"]["cycles"]))
    parts = ["\n## In all\n", _key_table(summary)]
    if built:
        parts += [f"\n![simulated against measured cycles]({figure})\n"] if figure else []
        parts += ["\n## Mean absolute error by quantity\n", _quantity_table(summary)]
        parts += ["\n## Rows, worst first\n", _row_table(built)]
    return "\n".join([*parts, _unbuilt(rows)]) + "\n"


def _points(built: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "measured": [row["measured"]["cycles"] for row in built],
            "simulated": [row["simulated"]["cycles"] for row in built],
            "swizzle": [f"swizzle {row['configuration']['smem_swizzle']}" for row in built],
        }
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(headings) + " |", "| --- " + "| ---: " * (len(headings) - 1) + "|"]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return "-" if value is None else format_number(value).replace("|", r"\|")


def _key_table(summary: Mapping[str, Any]) -> str:
    keys = [key for key in summary if not key.startswith("mape_") or key == "mape_cycles_pct"]
    return _table(["quantity", "value"], [(key.replace("_", " "), summary[key]) for key in keys])


def _quantity_table(summary: Mapping[str, Any]) -> str:
    keys = [key for key in summary if key.startswith("mape_")]
    return _table(["quantity", "mean absolute error, %"], [(key[5:-4].replace("_", " "), summary[key]) for key in keys])


def _row_table(built: Sequence[Row]) -> str:
    def numbers(row: Row) -> tuple[object, ...]:
        return row["name"], row["measured"]["cycles"], row["simulated"]["cycles"], row["error_pct"]["cycles"]

    headings = ["kernel and size", "measured cycles", "simulated cycles", "error, %"]
    return _table(headings, [numbers(row) for row in built])


def _unbuilt(rows: Sequence[Row]) -> str:
    missing = [(row["name"], row["reason"]) for row in rows if not row["simulated"]]
    return "\n## Not built\n\n" + _table(["kernel and size", "reason"], missing) if missing else ""
