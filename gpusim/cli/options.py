"""Models the options that several commands share.
Leaves out those of a single command."""

from __future__ import annotations

from typing import Annotated

import typer

from gpusim.cli.complete import complete_gpu, complete_target

__all__ = ["Gpu", "Jobs", "Json", "Output", "Settings", "Target"]

Target = Annotated[
    str, typer.Argument(metavar="CONFIG|PROGRAM", autocompletion=complete_target,
                        help="Name or YAML file of a run, or name or .py file of a program.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key: --set l2=warm --set num_stages=4."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Gpu = Annotated[
    str, typer.Option("--gpu", metavar="GPU", help="Name or YAML file of a GPU.", autocompletion=complete_gpu)
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes to use.")]
Output = Annotated[str | None, typer.Option("--output", metavar="DIR", help="Where run directories go.")]
