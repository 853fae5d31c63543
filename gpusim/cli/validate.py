"""Models ``gpusim validate``: score the simulator against hardware counters, row by row and in all.
Leaves out the scoring (gpusim.experiments.validate)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpusim.cli.complete import complete_gpu
from gpusim.cli.options import Jobs, Settings
from gpusim.cli.output import console, print_json, print_rows, progress_bar
from gpusim.errors import SimulatedFailure, UserError
from gpusim.files import write_whole

if TYPE_CHECKING:
    from gpusim.experiments.validate import ValidationResult
    from gpusim.experiments.validate_ncu import ProfileValidation

__all__ = ["validate"]

_ROW_QUANTITIES = (
    "cycles", "warp_instructions", "bank_conflicts_load", "l2_sectors_read", "achieved_occupancy_pct",
)


def validate(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE|RUN]", help="Rows in the schema of kernels.csv; with --ncu: what to simulate."),
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(metavar="GPU", autocompletion=complete_gpu, help="Name or YAML file of a GPU; default h200."),
    ] = None,
    jobs: Jobs = 1,
    fidelity: Annotated[
        Literal["full", "sampled"] | None, typer.Option(help="Simulate every SM (default), or a few.")
    ] = None,
    ncu: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Your profile of RUN, written by ncu --csv (any page).")
    ] = None,
    kernel: Annotated[str | None, typer.Option(metavar="ID|REGEX", help="Which launch of the --ncu file.")] = None,
    settings: Settings = None,
    json: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write JSON; - is stdout.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="OUT.md", help="Write report and scatter plot.")] = None,
    gate: Annotated[float | None, typer.Option(metavar="PCT", help="Exit 1 above this mean error of cycles.")] = None,
    micro: Annotated[bool, typer.Option("--micro", help="Compare microbenchmarks instead; takes no FILE.")] = False,
    only: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="With --micro: rows whose mechanism or name it fits (regex).")
    ] = None,
) -> None:
    """Compare simulations with measurements.

    Of kernels: reads rows of kernels.csv, simulates each from a cold start and prints the errors of cycles, counters
    and stalls. With --micro: of microbenchmarks.
    With --ncu: sets one run beside a profile of the same kernel.
    """
    if ncu is not None:
        given = [f"{key}={value}" for key, value in (("gpu", gpu), ("fidelity", fidelity)) if value]
        return _validate_profile(ncu, file, [*given, *(settings or [])], kernel, json, gate)
    if settings or kernel:
        raise UserError("--set and --kernel belong to --ncu", place="validate")
    gpu, fidelity = gpu or "h200", fidelity or "full"
    if micro:
        _refuse_with_micro(file, report, gate)
        return _validate_micro(gpu, jobs, json, only)
    if only is not None:
        raise UserError("--only belongs to --micro", place="validate", got=only)
    if file is None:
        raise UserError("validate needs a FILE of rows, --ncu or --micro",
                        suggestion="the schema of FILE is that of kernels.csv")
    from gpusim.experiments.validate import validate as run_validation

    with progress_bar(f"validating {file} on {gpu}") as advance:
        result = run_validation(file, gpu, jobs, fidelity, progress=advance)
    if report:
        from gpusim.report.accuracy import write_accuracy

        write_accuracy(report, result.to_json(), source=str(file), gpu=gpu, fidelity=fidelity)
    _print(result, json)
    _hold(gate, result.summary["mape_cycles_pct"], "no row could be built")


def _hold(gate: float | None, error: float | None, without: str) -> None:
    """Exit 1 above the gate, and where there is no error to hold against it."""
    if gate is not None and (error is None or error > gate):
        found = without if error is None else f"the mean absolute error of cycles is {error:.2f} %"
        raise SimulatedFailure(f"{found}, the gate is {gate:g} %")


def _validate_profile(
    profile: Path, run: Path | None, settings: list[str], kernel: str | None, json: Path | None, gate: float | None
) -> None:
    from gpusim.experiments.validate_ncu import validate_profile

    if run is None:
        raise UserError("--ncu needs the run to simulate", place="validate",
                        suggestion="for example: gpusim validate hgemm --set M=4096 --ncu profile.csv")
    with progress_bar(f"simulating {run} for {profile}") as advance:
        result = validate_profile(profile, str(run), settings, kernel=kernel, progress=advance)
    if not _write_json(json, result.to_json()):
        _print_profile(result)
    error = result.cycles_error_pct
    _hold(gate, None if error is None else abs(error), "the profile has no cycles")


def _print_profile(result: ProfileValidation) -> None:
    rows = [(row["title"], row["unit"], row["measured"], row["simulated"], _signed(row["error_pct"]), row["ncu"])
            for row in result.rows if row["measured"] or row["simulated"]]
    print_rows(f"{result.name} against {result.kernel}", ["Number", "Unit", "Measured", "Simulated", "Error %", "ncu"],
               rows)
    for note in result.notes:
        console().print(f"note: {note}", markup=False)
    console().print(f"{len(result.rows)} numbers in common; {len(result.unmatched)} metrics of the profile have no "
                    "counterpart in a simulation", markup=False)


def _refuse_with_micro(file: Path | None, report: Path | None, gate: float | None) -> None:
    for name, value in (("FILE", file), ("--report", report), ("--gate", gate)):
        if value is not None:
            raise UserError(f"--micro has its own tables and takes no {name}", got=value)


def _validate_micro(gpu: str, jobs: int, json: Path | None, only: str | None) -> None:
    from gpusim.cli.micro_view import print_micro
    from gpusim.experiments.micro import chosen_probes, validate_micro

    probes = chosen_probes(only)
    with progress_bar(f"microbenchmarks on {gpu}") as advance:
        result = validate_micro(gpu, jobs, advance, probes)
    if not _write_json(json, result.to_json()):
        print_micro(result)


def _print(result: ValidationResult, json: Path | None) -> None:
    if _write_json(json, result.to_json()):
        return
    _print_rows(result)
    _print_dropped(result)
    print_rows("In all", ["", ""], [(key.replace("_", " "), value) for key, value in result.summary.items()])


def _write_json(path: Path | None, data: dict[str, Any]) -> bool:
    """Write ``data`` where the user wants it; True when that was stdout, which then holds nothing else."""
    import json

    from gpusim.cli.output import strict

    if path is None:
        return False
    if str(path) == "-":
        print_json(data)
        return True
    write_whole(path, json.dumps(strict(data), indent=2) + "\n")
    return False


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
