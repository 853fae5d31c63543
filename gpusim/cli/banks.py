"""Models ``gpusim banks``: shared-memory wavefronts and bank conflicts of lane addresses, for one access or a table.
Leaves out the rules (gpusim.memory) and the parsing of tables (gpusim.experiments.banks)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.options import Gpu, Json
from gpusim.cli.output import print_csv, print_frame, print_json

__all__ = ["banks"]


def banks(
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Rows in the schema of smem_ or ldgsts_patterns.csv.")
    ] = None,
    op: Annotated[str | None, typer.Option(help="Access, such as LDS32, LDSM4 or STS128.")] = None,
    layout: Annotated[
        str | None, typer.Option(help="Lane to byte offset as a CuTe layout: '(8,4):(64,16)'.")
    ] = None,
    swizzle: Annotated[str, typer.Option(help="XOR of byte-address bits, such as 'S<2,4,3>'.")] = "",
    global_layout: Annotated[str, typer.Option(help="For cp.async: lane to global byte offset.")] = "",
    gpu: Gpu = "h200",
    json: Json = False,
) -> None:
    """Count wavefronts and bank conflicts.

    --op and --layout describe one access and print its phases; --csv takes a table of accesses and prints CSV.
    """
    from gpusim.arch import load_gpu

    load_gpu(gpu)
    if csv is not None:
        from gpusim.experiments.banks import banks_csv

        table = banks_csv(csv)
        return print_json(table.to_dict("records")) if json else print_csv(table)
    if op is None or layout is None:
        raise typer.BadParameter("give --op and --layout, or --csv FILE", param_hint="banks")
    from gpusim.experiments.banks import banks_access

    phases = banks_access(op, layout, swizzle=swizzle, global_layout=global_layout)
    return print_json(phases.to_dict("records")) if json else print_frame(f"{op} over {layout}", phases)
