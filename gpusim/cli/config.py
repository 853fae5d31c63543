"""Models ``gpusim config show`` and ``gpusim config schema``: what a run is configured with, and what it could be.
Leaves out the schema itself (gpusim.experiments.config, gpusim.arch.spec)."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gpusim.cli.options import Json, Settings, Target
from gpusim.cli.output import print_json

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Show a resolved configuration, or the schema of configurations.")


@app.command()
def show(target: Target, settings: Settings = None, json: Json = False) -> None:
    """Print a configuration with every default filled in and what each key means, as YAML that runs again."""
    from gpusim.experiments.config import load_plan
    from gpusim.experiments.explain import explained_yaml

    plan = load_plan(target, settings or [])
    if json:
        return print_json(plan.resolved().model_dump(mode="json"))
    sys.stdout.write(explained_yaml(plan))


@app.command()
def schema(
    kind: Annotated[str, typer.Argument(metavar="[run|gpu]", help="Schema of a run or of a GPU file.")] = "run",
) -> None:
    """Print the JSON schema of a run configuration or of a GPU file, for editors."""
    from pydantic import BaseModel

    from gpusim.arch import GpuSpec
    from gpusim.experiments.config import RunConfig

    models: dict[str, type[BaseModel]] = {"run": RunConfig, "gpu": GpuSpec}
    if kind not in models:
        raise typer.BadParameter(f"'{kind}' is neither run nor gpu", param_hint="KIND")
    print_json(models[kind].model_json_schema())
