"""Models ``gpusim validate``: score the simulator against hardware counters, row by row and in all.
Leaves out the scoring (gpusim.experiments.validate)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gpusim.cli.options import Gpu, Jobs
from gpusim.cli.output import console, print_json, print_rows, progress_bar
from gpusim.errors import SimulatedFailure

if TYPE_CHECKING:
    from gpusim.experiments.validate import ValidationResult

__all__ = ["validate"]

_ROW_QUANTITIES = (
    "cycles", "warp_instructions", "bank_conflicts_load", "l2_sectors_read", "achieved_occupancy_pct",
)


def validate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows in the schema of kernels.csv.")],
    gpu: Gpu = "h200",
    jobs: Jobs = 1,
    fidelity: Annotated[Literal["full", "sampled"], typer.Option(help="Simulate every SM, or a few.")] = "full",
    json: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write JSON; - is stdout.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="OUT.md", help="Write report and scatter plot.")] = None,
    gate: Annotated[float | None, typer.Option(metavar="PCT", help="Exit 1 above this mean error of cycles.")] = None,
) -> None:
    """Compare simulations with measured kernels.

    Reads rows of kernels.csv, simulates each from a cold start and prints the errors of cycles, counters and stalls.
    """
    from gpusim.experiments.validate import validate as run_validation

    with progress_bar(f"validating {file} on {gpu}") as advance:
        result = run_validation(file, gpu, jobs, fidelity, progress=advance)
    if report:
        from gpusim.report.accuracy import write_accuracy

        write_accuracy(report, result.to_json(), source=str(file), gpu=gpu, fidelity=fidelity)
    _print(result, json)
    error = result.summary["mape_cycles_pct"]
    if gate is not None and (error is None or error > gate):
        found = "no row could be built" if error is None else f"the mean absolute error of cycles is {error:.2f} %"
        raise SimulatedFailure(f"{found}, the gate is {gate:g} %")


def _print(result: ValidationResult, json: Path | None) -> None:
    if json is not None and str(json) == "-":
        return print_json(result.to_json())
    if json is not None:
        _write_json(json, result)
    _print_rows(result)
    _print_dropped(result)
    print_rows("In all", ["", ""], [(key.replace("_", " "), value) for key, value in result.summary.items()])


def _write_json(path: Path, result: ValidationResult) -> None:
    import json

    from gpusim.cli.output import strict

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(strict(result.to_json()), indent=2) + "\n", encoding="utf-8")


def _print_rows(result: ValidationResult) -> None:
    built = [row for row in result.rows if row["simulated"]]
    compared = [f"{name} %" for name in _ROW_QUANTITIES]
    headings = ["Kernel and size", "Measured cycles", "Simulated", *compared, "stalls %"]
    rows = []
    for row in built:
        errors = row["error_pct"]
        shown = [_signed(errors.get(name)) for name in _ROW_QUANTITIES]
        stalls = sum(abs(value) for name, value in errors.items() if name.startswith("stall_") and value is not None)
        rows.append([row["name"], row["measured"]["cycles"], row["simulated"]["cycles"], *shown, round(stalls, 1)])
    if rows:
        print_rows("Errors by row (signed; stalls: sum over reasons)", headings, rows)


def _signed(error: float | None) -> str:
    return "-" if error is None else f"{error:+.1f}"


def _print_dropped(result: ValidationResult) -> None:
    dropped = [row for row in result.rows if not row["simulated"]]
    if dropped:
        rows = [(row["name"], row["reason"]) for row in dropped]
        print_rows(f"Not built: {len(dropped)} of {len(result.rows)}", ["Kernel and size", "Reason"], rows)
    else:
        console().print(f"all {len(result.rows)} rows built\n")
