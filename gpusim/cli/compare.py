"""Models ``gpusim compare``: variants of one run, or two finished runs or profiles, as table, figure and sentence.
Leaves out the simulations (gpusim.experiments.compare) and the differences (gpusim.experiments.compare_runs)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.complete import complete_target
from gpusim.cli.options import Jobs, Json, Settings
from gpusim.cli.output import console, errors, print_frame, print_json, print_rows, progress_bar
from gpusim.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gpusim.experiments.compare import Comparison
    from gpusim.experiments.compare_runs import Difference

__all__ = ["compare"]

_FIGURE_ROWS = 16


def compare(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="CONFIG|PROGRAM | RUN RUN", autocompletion=complete_target,
                       help="One to vary with --over, or two results: directories of runs, or files of ncu --csv."),
    ],
    over: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="KEY=A,B", help="A key and its values: --over swizzle=none,64B."),
    ] = None,
    settings: Settings = None,
    jobs: Jobs = 1,
    kernel: Annotated[str | None, typer.Option(metavar="ID|REGEX", help="Which launch of an ncu file.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Differences to print.")] = 20,
    figure: Annotated[
        Path | None, typer.Option(help="Stem of FIGURE.svg and FIGURE.png; default with --over: beside the runs.")
    ] = None,
    json: Json = False,
) -> None:
    """Set runs side by side.

    With --over: simulate every combination, and name the fastest. With two results: what differs, by effect.
    """
    if over:
        if len(targets) != 1:
            raise UserError("--over varies one configuration or program", place="compare", got=" ".join(targets))
        return _compare_variants(targets[0], over, settings or [], jobs, figure, json)
    if len(targets) != 2:
        raise UserError("a comparison needs --over, or two results", place="compare", got=" ".join(targets),
                        suggestion="for example --over swizzle=none,64B, or two directories of reports/runs")
    _compare_results(targets[0], targets[1], kernel, top, figure, json)


def _compare_variants(
    target: str, over: list[str], settings: list[str], jobs: int, figure: Path | None, json: bool
) -> None:
    from gpusim.experiments.compare import compare as run_comparison
    from gpusim.report.figures import draw_comparison

    with progress_bar(f"comparing variants of {target}") as advance:
        comparison = run_comparison(target, over, settings, processes=jobs, progress=advance)
    labels = [variant.label for variant in comparison.simulated]
    cycles = [variant.cycles for variant in comparison.simulated]
    title = f"{comparison.name}: {comparison.verdict()}"
    _save(draw_comparison(labels, cycles, title), figure or comparison.figure_stem)
    if json:
        return print_json(_as_json(comparison))
    print_frame(f"{comparison.name}: variants", comparison.table(), keys=comparison.keys)
    console().print(comparison.verdict(), markup=False)


def _as_json(comparison: Comparison) -> dict[str, object]:
    rows = comparison.table().to_dict("records")
    return {"name": comparison.name, "variants": rows, "verdict": comparison.verdict()}


def _compare_results(
    before: str, after: str, kernel: str | None, top: int, figure: Path | None, json: bool
) -> None:
    from gpusim.experiments.compare_runs import compare_sides, load_side
    from gpusim.report.difference_figure import draw_differences

    difference = compare_sides(load_side(before, kernel), load_side(after, kernel))
    if figure:
        title = f"{difference.before.name} → {difference.after.name}"
        _save(draw_differences(difference.table.head(_FIGURE_ROWS), title), figure)
    if json:
        return print_json(_difference_json(difference))
    _print_difference(difference, top)


def _difference_json(difference: Difference) -> dict[str, object]:
    return {
        "before": difference.before.name, "after": difference.after.name, "verdict": difference.verdict(),
        "notes": difference.notes(),
        "differences": difference.table.to_dict("records"), "lines": difference.lines.to_dict("records"),
    }


def _print_difference(difference: Difference, top: int) -> None:
    before, after = difference.before.name, difference.after.name
    table = difference.table.head(top)
    headings = ["Number", "Unit", before, after, "Change", "Effect %"]
    columns = table[["title", "unit", "before", "after", "change", "effect_pct"]]
    shown = f"the {len(table)} largest of {len(difference.table)} differences" if len(difference.table) > top else (
        f"{len(table)} differences")
    if len(table):
        print_rows(f"{before} → {after}: {shown}", headings, columns.values.tolist())
    else:
        console().print(f"{before} → {after}: no number differs", markup=False)
    lines = difference.lines[difference.lines["effect_pct"] != 0].head(top)
    if len(lines):
        rows = [(f"{Path(row.file).name}:{row.line}", row.warp_cycles_before, row.warp_cycles_after, row.effect_pct)
                for row in lines.itertuples()]
        print_rows("Warp cycles by source line", ["Line", before, after, "Effect %"], rows)
    for note in difference.notes():
        console().print(f"note: {note}", markup=False)
    console().print(difference.verdict() or "nothing to tell which is faster", markup=False)


def _save(drawn: Figure, stem: Path) -> None:
    from gpusim.report.style import save_figure

    stem.parent.mkdir(parents=True, exist_ok=True)
    errors().print(f"wrote {' and '.join(map(str, save_figure(drawn, stem)))}", markup=False)
