"""Models ``gpusim check``: is a kernel right, free of races, and free of bank conflicts? One table of verdicts.
Leaves out time, and the questions themselves (gpusim.experiments.check)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gpusim.cli.options import Json, Settings, Target
from gpusim.cli.output import print_json, print_rows, progress_bar
from gpusim.errors import SimulatedFailure

__all__ = ["check"]


def check(
    target: Target,
    settings: Settings = None,
    full_size: Annotated[bool, typer.Option("--full-size", help="Keep the problem size.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.")] = 0,
    json: Json = False,
) -> None:
    """Check a kernel's answer, races, conflicts.

    Executes it on random data at a small size, without timing; also proves that its control fields cover every
    register hazard.
    """
    from gpusim.experiments.check import check as run_check
    from gpusim.experiments.check import small
    from gpusim.experiments.config import load_plan

    plan = load_plan(target, settings or [])
    if not full_size:
        plan = load_plan(target, [*(settings or []), *small(plan.problem)])
    with progress_bar(f"checking {plan.name}"):
        result = run_check(plan, seed=seed)
    if json:
        print_json({**asdict(result), "passed": result.passed})
    else:
        sizes = " ".join(f"{key}={value}" for key, value in result.problem.items())
        rows = [(verdict.verdict, verdict.question, verdict.detail) for verdict in result.verdicts]
        print_rows(f"{result.name} at {sizes}", ["Verdict", "Question", "Answer"], rows)
    failed = [verdict.question for verdict in result.verdicts if verdict.verdict == "FAIL"]
    if failed:
        raise SimulatedFailure(f"{result.name} failed: {', '.join(failed)}")
