"""Models ``gpusim banks``: shared-memory wavefronts and bank conflicts, of a program, of one access, or of a table.
Leaves out the rules (gpusim.memory) and the parsing of tables (gpusim.experiments.banks)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.complete import complete_target
from gpusim.cli.options import Gpu, Json, Settings
from gpusim.cli.output import print_csv, print_frame, print_json

if TYPE_CHECKING:
    from gpusim.experiments.program_banks import AccessDetail
    from gpusim.program import Program

__all__ = ["banks"]


def banks(
    target: Annotated[
        str | None, typer.Argument(metavar="[CONFIG|PROGRAM]", autocompletion=complete_target,
                                   help="A run or a program, by name or by file.")
    ] = None,
    settings: Settings = None,
    detail: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Lanes and banks that collide, of accesses with this label.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Rows in the schema of smem_ or ldgsts_patterns.csv.")
    ] = None,
    op: Annotated[str | None, typer.Option(help="Access: LDS32, LDSM4, STS128, CPA16, CPA16CA (.ca).")] = None,
    layout: Annotated[
        str | None, typer.Option(help="Lane to byte offset as a CuTe layout: '(8,4):(64,16)'.")
    ] = None,
    swizzle: Annotated[str, typer.Option(help="XOR of byte-address bits, such as 'S<2,4,3>'.")] = "",
    global_layout: Annotated[str, typer.Option(help="For cp.async: lane to global byte offset.")] = "",
    gpu: Gpu = "h200",
    json: Json = False,
) -> None:
    """Count wavefronts and bank conflicts.

    A program: one row per source access, over all warps and stages. --op and --layout describe one access and print its
    phases; --csv takes a table of accesses and prints CSV.
    """
    _require_one_question(target is not None, [settings, detail], [csv, op, layout])
    if target is not None:
        return _of_program(target, settings or [], detail, json)
    from gpusim.arch import load_gpu

    load_gpu(gpu)
    if csv is not None:
        from gpusim.experiments.banks import banks_csv

        table = banks_csv(csv)
        return print_json(table.to_dict("records")) if json else print_csv(table)
    if op is None or layout is None:
        raise typer.BadParameter("name a program, or give --op and --layout, or --csv FILE", param_hint="banks")
    from gpusim.experiments.banks import banks_access

    phases = banks_access(op, layout, swizzle=swizzle, global_layout=global_layout)
    return print_json(phases.to_dict("records")) if json else print_frame(f"{op} over {layout}", phases)


def _require_one_question(names_program: bool, of_program: list[object], of_access: list[object]) -> None:
    """Options of the other question would be ignored; say so instead."""
    if names_program and any(of_access):
        raise typer.BadParameter("a program has accesses of its own: leave out --op, --layout, --csv",
                                 param_hint="banks")
    if not names_program and any(of_program):
        raise typer.BadParameter("--set and --detail need a program", param_hint="banks")


def _of_program(target: str, settings: list[str], detail: str | None, json: bool) -> None:
    from gpusim.arch import load_gpu
    from gpusim.experiments.config import load_plan
    from gpusim.experiments.program_banks import program_banks
    from gpusim.experiments.run import record_plan

    plan = load_plan(target, settings)
    program = record_plan(plan, load_gpu(plan.config.gpu))
    if detail is not None:
        return _print_details(program, detail, json)
    table = program_banks(program)
    if json:
        return print_json(table.to_dict("records"))
    parameters = " ".join(f"{key}={value}" for key, value in plan.parameters.items())
    print_frame(f"{plan.name} {parameters}", table)


def _print_details(program: Program, label: str, json: bool) -> None:
    from gpusim.experiments.program_banks import access_details

    found = access_details(program, label)
    if json:
        return print_json([_as_json(one) for one in found])
    for one in found:
        print_frame(f"{one.place} {one.label} ({one.operation}), warp {one.warp} from address {one.lowest_address}: "
                    f"{one.wavefronts} wavefronts, {one.ideal_wavefronts} at best", one.table)


def _as_json(one: AccessDetail) -> dict[str, object]:
    names = ("label", "place", "operation", "warp", "lowest_address", "wavefronts", "ideal_wavefronts")
    return {name: getattr(one, name) for name in names} | {"phases": one.table.to_dict("records")}
