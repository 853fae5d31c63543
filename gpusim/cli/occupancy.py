"""Models ``gpusim occupancy``: how many CTAs fit on an SM, for one launch or for a table of launches.
Leaves out the rules (gpusim.arch.occupancy)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.options import Gpu, Json
from gpusim.cli.output import print_csv, print_json, print_rows

if TYPE_CHECKING:
    from gpusim.arch.occupancy import Occupancy

__all__ = ["occupancy"]


def occupancy(
    threads: Annotated[int | None, typer.Option(help="Threads per CTA.")] = None,
    registers: Annotated[int | None, typer.Option(help="Registers per thread.")] = None,
    shared: Annotated[int, typer.Option(help="Bytes of shared memory per CTA, dynamic and static.")] = 0,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Rows registers_per_thread,threads_per_block,dynamic_smem_bytes."),
    ] = None,
    gpu: Gpu = "h200",
    json: Json = False,
) -> None:
    """Find CTAs per SM and what limits them.

    --threads and --registers describe one launch; --csv takes a table of launches and prints CSV.
    """
    if csv is not None:
        from gpusim.experiments.occupancy import occupancy_csv

        table = occupancy_csv(csv, gpu)
        return print_json(table.to_dict("records")) if json else print_csv(table)
    if threads is None or registers is None:
        raise typer.BadParameter("give --threads and --registers, or --csv FILE", param_hint="occupancy")
    from gpusim.arch import load_gpu
    from gpusim.arch.occupancy import occupancy as find_occupancy

    found = find_occupancy(load_gpu(gpu), threads, registers, shared)
    launch = {"threads_per_cta": threads, "registers_per_thread": registers, "shared_bytes": shared}
    if json:
        return print_json({**launch, **_answer(found), "limits": dict(found.limits)})
    _print(gpu, launch, found)


def _answer(found: Occupancy) -> dict[str, object]:
    return {
        "blocks_per_sm": found.blocks_per_sm, "limiter": found.limiter, "warps_per_sm": found.warps_per_sm,
        "theoretical_occupancy_pct": round(found.theoretical_pct, 2),
        "refusal": str(found.refusal) if found.refusal else None,
    }


def _print(gpu: str, launch: dict[str, int], found: Occupancy) -> None:
    rows: list[tuple[str, object]] = [(name.replace("_", " "), value) for name, value in launch.items()]
    rows += [(f"block limit {name}", limit) for name, limit in found.limits.items()]
    rows += [(name.replace("_", " "), value) for name, value in _answer(found).items() if value is not None]
    print_rows(f"Occupancy on {gpu}", ["", ""], rows)
