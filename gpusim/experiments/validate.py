"""Models the comparison with hardware: rows of kernels.csv built, simulated cold, set beside their counters.
Leaves out the definition of errors (gpusim.experiments.quantities) and the written report (gpusim.report.accuracy)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gpusim.errors import UserError
from gpusim.experiments.accuracy import accuracy_summary
from gpusim.experiments.batch import Job, JobResult, run_jobs
from gpusim.experiments.csv_files import read_csv
from gpusim.experiments.families import CONFIGURATION_COLUMNS, OPTIONAL_COLUMNS, Unbuilt, job_for_row
from gpusim.experiments.quantities import errors_pct, measured_values, simulated_values

__all__ = ["ValidationResult", "read_kernels", "validate"]


@dataclass(frozen=True)
class ValidationResult:
    """``rows``: one object per input row, in its order: name, configuration, measured, simulated, error_pct, reason.

    ``summary``: see gpusim.experiments.accuracy.accuracy_summary.
    """

    rows: list[dict[str, Any]]
    summary: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"summary": self.summary, "rows": self.rows}


def validate(
    path: str | Path, gpu: str = "h200", jobs: int = 1, fidelity: str = "full",
    progress: Callable[[float], None] | None = None,
) -> ValidationResult:
    """Simulate every row of a kernels.csv. Raises UserError for a file that is none.

    Rows that no program of the library matches, and those a program refuses, keep the reason and are counted.
    """
    table = read_kernels(path)
    rows = [_row(record) for record in table.to_dict("records")]
    planned = [_plan(row, gpu, fidelity) for row in rows]
    order = [int(i) for i in np.argsort([-_work(row) for row in rows], kind="stable") if planned[i] is not None]
    queue: list[Job] = [job for i in order if (job := planned[i]) is not None]
    for done, result in enumerate(run_jobs(queue, processes=jobs), start=1):
        _fill(rows[order[result.index]], result)
        if progress:
            progress(done / len(queue))
    return ValidationResult(rows, accuracy_summary(rows))


def read_kernels(path: str | Path) -> pd.DataFrame:
    """A table with the configuration columns and measured cycles. Raises UserError naming a missing column."""
    table = read_csv(path)
    missing = [name for name in (*CONFIGURATION_COLUMNS, "cycles_elapsed") if name not in table.columns]
    if missing:
        raise UserError(f"column '{missing[0]}' is missing", place=str(path),
                        suggestion="the schema is that of kernels.csv in gpusim/data/hardware")
    return table


def _row(record: dict[str, Any]) -> dict[str, Any]:
    configuration = {name: record[name] for name in CONFIGURATION_COLUMNS}
    configuration |= {name: record[name] for name in OPTIONAL_COLUMNS if isinstance(record.get(name), str)}
    sizes = "x".join(str(record[size]) for size in ("M", "N", "K"))
    return {
        "name": f"{record['kernel']} {sizes}", "configuration": configuration, "measured": measured_values(record),
        "simulated": {}, "error_pct": {}, "reason": "",
    }


def _plan(row: dict[str, Any], gpu: str, fidelity: str) -> Job | None:
    """The job of a row; without one, the row keeps the reason."""
    try:
        return job_for_row(row["configuration"], gpu=gpu, fidelity=fidelity)
    except Unbuilt as error:
        row["reason"] = str(error)
        return None


def _work(row: dict[str, Any]) -> float:
    """What a row costs to simulate, roughly: the biggest go first."""
    sizes: Sequence[float] = [float(row["configuration"][size]) for size in ("M", "N", "K")]
    return float(np.prod(sizes))


def _fill(row: dict[str, Any], result: JobResult) -> None:
    if result.summary is None:
        row["reason"] = result.failure
        return
    row["simulated"] = simulated_values(result.summary)
    row["error_pct"] = errors_pct(row["measured"], row["simulated"])
