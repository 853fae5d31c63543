"""Models ``gpusim compare``: variants of one run in one table, one figure and one sentence.
Leaves out the simulations (gpusim.experiments.compare)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.options import Jobs, Json, Settings, Target
from gpusim.cli.output import console, errors, print_frame, print_json, progress_bar

if TYPE_CHECKING:
    from gpusim.experiments.compare import Comparison

__all__ = ["compare"]


def compare(
    target: Target,
    over: Annotated[
        list[str], typer.Option("--over", metavar="KEY=A,B", help="A key and its values: --over swizzle=none,64B.")
    ],
    settings: Settings = None,
    jobs: Jobs = 1,
    figure: Annotated[
        Path | None, typer.Option(help="Stem of FIGURE.svg and FIGURE.png; default: in the run's output directory.")
    ] = None,
    json: Json = False,
) -> None:
    """Simulate variants of a kernel side by side.

    One table: conflicts, cycles, TFLOP/s, occupancy and dominant stall of every combination; the last line names the
    fastest.
    """
    from gpusim.experiments.compare import compare as run_comparison

    with progress_bar(f"comparing variants of {target}") as advance:
        comparison = run_comparison(target, over, settings or [], processes=jobs, progress=advance)
    _draw(comparison, figure or comparison.figure_stem)
    if json:
        return print_json(_as_json(comparison))
    print_frame(f"{comparison.name}: variants", comparison.table())
    console().print(comparison.verdict(), markup=False)


def _draw(comparison: Comparison, stem: Path) -> None:
    from gpusim.report.figures import draw_comparison
    from gpusim.report.style import save_figure

    labels = [variant.label for variant in comparison.simulated]
    cycles = [variant.cycles for variant in comparison.simulated]
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = save_figure(draw_comparison(labels, cycles, f"{comparison.name}: {comparison.verdict()}"), stem)
    errors().print(f"wrote {' and '.join(map(str, written))}", markup=False)


def _as_json(comparison: Comparison) -> dict[str, object]:
    rows = comparison.table().to_dict("records")
    return {"name": comparison.name, "variants": rows, "verdict": comparison.verdict()}
