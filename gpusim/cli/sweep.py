"""Models ``gpusim sweep``: a grid of parameters over one run, in parallel, into one table; it can be resumed.
Leaves out the simulations (gpusim.experiments.sweep)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gpusim.cli.complete import complete_sweep
from gpusim.cli.options import Jobs, Json, Output, Settings
from gpusim.cli.output import errors, print_frame, print_json, print_rows, progress_count
from gpusim.errors import SimulatedFailure, UserError

if TYPE_CHECKING:
    from gpusim.experiments.sweep_result import SweepResult

__all__ = ["sweep"]


def sweep(
    target: Annotated[
        str | None, typer.Argument(metavar="SWEEP", help="Name of a file in configs/sweeps, or a YAML file.",
                                   autocompletion=complete_sweep)
    ] = None,
    settings: Settings = None,
    jobs: Jobs = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep points that were computed from the same configuration and code.")
    ] = False,
    backend: Annotated[
        Literal["local", "dask"], typer.Option(help="Processes of this host, or workers of a Dask cluster.")
    ] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDR", help="Dask scheduler, tcp://host:8786, or its scheduler file (.json).")
    ] = None,
    output: Output = None,
    json: Json = False,
    listing: Annotated[bool, typer.Option("--list", help="List the sweeps that have a name.")] = False,
) -> None:
    """Simulate a grid of parameters.

    Prints every point and the trade-off among them; writes results and pareto as CSV and Parquet, and figures. Points
    are kept as they finish. Exit status 1 where a point has no result.
    """
    if listing:
        return _print_listing(json)
    if target is None:
        raise typer.BadParameter("name a sweep, or use --list", param_hint="SWEEP")
    if scheduler and backend != "dask":
        raise UserError("only the dask backend has a scheduler", place="--scheduler", suggestion="add --backend dask")
    from gpusim.experiments.sweep import run_sweep, sweep_directory
    from gpusim.experiments.sweep_config import load_sweep

    name, config = load_sweep(target, [*(settings or []), *([f"output={output}"] if output else [])])
    try:
        with progress_count(f"sweeping {name}") as advance:
            result = run_sweep(name, config, resume=resume, processes=jobs, backend=backend, scheduler=scheduler,
                               progress=advance)
    except KeyboardInterrupt:
        kept = sweep_directory(name, config)
        errors().print(f"finished points are kept in {kept}; go on with --resume", markup=False)
        raise
    if json:
        print_json(_as_json(result))
    else:
        _print(result)
    _fail_where_incomplete(result)


def _print(result: SweepResult) -> None:
    if result.simulated:
        print_frame(f"{result.name}: {len(result.points)} points", result.headlines(), keys=result.keys)
        traded = ", ".join(f"{name} {way}" for name, way in result.better.items())
        print_frame(f"Pareto front of {traded}", result.pareto(), keys=result.keys)
    if len(result.failures()):
        print_frame("Not simulated", result.failures(), keys=result.keys)
    errors().print(f"{result.reused} points reused; wrote {result.directory}: results, pareto, figures", markup=False)


def _as_json(result: SweepResult) -> dict[str, object]:
    return {
        "name": result.name, "directory": str(result.directory), "reused": result.reused,
        "points": result.headlines().to_dict("records"), "pareto": result.pareto().to_dict("records"),
        "failures": result.failures().to_dict("records"),
    }


def _fail_where_incomplete(result: SweepResult) -> None:
    missing = len(result.points) - len(result.simulated)
    if missing:
        reasons = dict.fromkeys(point.failure.splitlines()[0] for point in result.points if point.failure)
        first = next(iter(reasons))
        more = f" (one of {len(reasons)} reasons)" if len(reasons) > 1 else ""
        raise SimulatedFailure(f"{missing} of {len(result.points)} points were not simulated: {first}{more}")


def _print_listing(json: bool) -> None:
    from gpusim.cli.run import first_comment
    from gpusim.experiments.sweep_config import list_sweeps

    rows = [(name, first_comment(path)) for name, path in list_sweeps().items()]
    if json:
        return print_json([{"name": name, "about": about} for name, about in rows])
    print_rows("gpusim sweep NAME", ["Name", "About"], rows)
