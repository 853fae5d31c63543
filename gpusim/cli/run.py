"""Models ``gpusim run``: simulate one configuration, print what a profiler would, leave a run directory.
Leaves out the simulation (gpusim.experiments.run)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.complete import complete_target
from gpusim.cli.options import Json, Output, Settings
from gpusim.cli.output import print_json, print_rows, progress_bar

if TYPE_CHECKING:
    from gpusim.experiments.config import Plan
    from gpusim.experiments.run import Outcome

__all__ = ["run", "simulate_with_bar"]


def run(
    target: Annotated[
        str | None, typer.Argument(metavar="CONFIG|PROGRAM", autocompletion=complete_target,
                                   help="A run or a program, by name or by file.")
    ] = None,
    settings: Settings = None,
    json: Json = False,
    output: Output = None,
    listing: Annotated[bool, typer.Option("--list", help="List the runs and programs that have a name.")] = False,
    try_changes: Annotated[
        bool, typer.Option("--what-if", help="Also simulate what the rules propose; each takes as long as the run.")
    ] = False,
) -> None:
    """Simulate a kernel and report on it.

    Prints cycles, occupancy, bank conflicts, stalls and traffic; writes tables, a timeline and a report.
    """
    if listing:
        return _print_listing(json)
    if target is None:
        raise typer.BadParameter("name a configuration or a program, or use --list", param_hint="CONFIG|PROGRAM")
    from gpusim.cli.run_view import print_summary
    from gpusim.experiments.config import load_plan
    from gpusim.experiments.run import write_run

    settings = [*(settings or []), *([f"output={output}"] if output else [])]
    outcome = simulate_with_bar(load_plan(target, settings))
    if try_changes:
        outcome = _with_changes(target, settings, outcome)
    directory = write_run(outcome)
    if json:
        print_json({**outcome.summary, "run_directory": str(directory)})
    else:
        print_summary(outcome, directory)


def simulate_with_bar(plan: Plan) -> Outcome:
    """Simulate with a progress bar on stderr."""
    from joblib import cpu_count

    from gpusim.experiments.run import simulate_plan

    sizes = " ".join(f"{key}={value}" for key, value in plan.problem.items())
    with progress_bar(f"simulating {plan.name} on {plan.config.gpu} ({sizes})") as advance:
        return simulate_plan(plan, workers=cpu_count(), progress=advance)


def _with_changes(target: str, settings: list[str], outcome: Outcome) -> Outcome:
    """The outcome with what proposed changes would be worth."""
    from joblib import cpu_count

    from gpusim.experiments.what_if import what_if, with_trials

    with progress_bar("simulating the changes that the rules propose") as advance:
        trials = what_if(target, settings, outcome, processes=cpu_count(), progress=advance)
    return with_trials(outcome, trials)


def _print_listing(json: bool) -> None:
    from gpusim.dsl import program_names
    from gpusim.experiments.config import list_configs

    rows = [("run", name, first_comment(path)) for name, path in list_configs().items()]
    rows += [("program", name, first_comment(path)) for name, path in program_names().items()]
    if json:
        return print_json([{"kind": kind, "name": name, "about": about} for kind, name, about in rows])
    print_rows("gpusim run NAME", ["Kind", "Name", "About"], rows)


def first_comment(path: Path) -> str:
    """The first line of a YAML comment or of a module docstring."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((text for line in lines if (text := line.strip(' #"')) and text != "---"), "")
