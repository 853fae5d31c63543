"""Models ``gpusim sweep``: a grid of parameters over one run, in parallel, into one table; it can be resumed.
Leaves out the simulations (gpusim.experiments.sweep)."""

from __future__ import annotations

from typing import Annotated

import typer

from gpusim.cli.options import Jobs, Json, Output, Settings
from gpusim.cli.output import errors, print_frame, print_json, print_rows, progress_bar

__all__ = ["sweep"]


def sweep(
    target: Annotated[
        str | None, typer.Argument(metavar="SWEEP", help="Name of a file in configs/sweeps, or a YAML file.")
    ] = None,
    settings: Settings = None,
    jobs: Jobs = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep points that were computed from the same configuration and code.")
    ] = False,
    output: Output = None,
    json: Json = False,
    listing: Annotated[bool, typer.Option("--list", help="List the sweeps that have a name.")] = False,
) -> None:
    """Simulate a grid of parameters.

    Writes results.csv and results.parquet with every number of every point; points are kept as they finish.
    """
    if listing:
        return _print_listing(json)
    if target is None:
        raise typer.BadParameter("name a sweep, or use --list", param_hint="SWEEP")
    from gpusim.experiments.sweep import run_sweep
    from gpusim.experiments.sweep_config import load_sweep

    name, config = load_sweep(target, [*(settings or []), *([f"output={output}"] if output else [])])
    with progress_bar(f"sweeping {name}: {len(config.points())} points") as advance:
        result = run_sweep(name, config, resume=resume, processes=jobs, progress=advance)
    if json:
        return print_json({"name": name, "directory": str(result.directory), "reused": result.reused,
                           "points": result.headlines().to_dict("records")})
    print_frame(f"{name}: {len(result.points)} points", result.headlines())
    errors().print(f"{result.reused} points reused; wrote {result.directory}/results.csv and results.parquet",
                   markup=False)


def _print_listing(json: bool) -> None:
    from gpusim.cli.run import first_comment
    from gpusim.experiments.sweep_config import list_sweeps

    rows = [(name, first_comment(path)) for name, path in list_sweeps().items()]
    if json:
        return print_json([{"name": name, "about": about} for name, about in rows])
    print_rows("gpusim sweep NAME", ["Name", "About"], rows)
