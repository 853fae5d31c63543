"""Models ``gpusim timeline``: simulate one configuration or two and show a window of it, as text, figure and trace.
Leaves out the drawing (gpusim.report.timeline_figure) and the choice of cycles (gpusim.experiments.timeline)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.options import Json, Settings, Target
from gpusim.cli.output import errors, print_json, progress_bar

if TYPE_CHECKING:
    from gpusim.experiments.timeline import Shown, View

__all__ = ["timeline"]


def timeline(
    target: Target,
    cycles: Annotated[str | None, typer.Option(metavar="START:END", help="Window; default: in the main loop.")] = None,
    iteration: Annotated[
        str | None, typer.Option(metavar="FIRST[:LAST]", help="Iterations of the main loop instead of cycles.")
    ] = None,
    sm: Annotated[int | None, typer.Option(min=0, help="SM to record.")] = None,
    cta: Annotated[int | None, typer.Option(min=0, help="CTA to show, in launch order.")] = None,
    warps: Annotated[str | None, typer.Option(metavar="0,2-3", help="Warps of the CTA; default: all.")] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN|KEY=VALUE", help="A second run below the first: a name, or what it has different."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Stem of OUT.svg, OUT.png and OUT.trace.json.gz.")] = Path("timeline"),
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Draw a kernel's pipeline over time.

    Warps, copies in flight and busy units: on the terminal, as SVG and PNG, and as a trace for ui.perfetto.dev.
    """
    from gpusim.experiments.timeline import View

    view = View(sm, cta, _warps(warps), _pair(cycles, "--cycles"), _pair(iteration, "--iteration"))
    runs = [(target, settings or [])]
    if against:
        names = [text for text in against if "=" not in text]
        runs.append((names[-1] if names else target, [*(settings or []), *(text for text in against if "=" in text)]))
    shown = [_show(name, changes, view) for name, changes in runs]
    labels = [_label(one, changes) for one, (_, changes) in zip(shown, runs, strict=True)]
    files = _write(shown, labels, out, aligned=len(shown) > 1 and cycles is None)
    if json:
        windows = [_as_json(one, label) for one, label in zip(shown, labels, strict=True)]
        return print_json({**windows[0], "against": windows[1:], "files": [str(path) for path in files]})
    from gpusim.cli.timeline_view import print_timeline

    for one, label in zip(shown, labels, strict=True):
        print_timeline(one.data, f"{label}, CTA {one.data.cta} on SM {one.data.sm}, {one.subject}")
    errors().print(f"wrote {', '.join(map(str, files))}", markup=False)


def _show(target: str, settings: list[str], view: View) -> Shown:
    from joblib import cpu_count

    from gpusim.experiments.config import load_plan
    from gpusim.experiments.timeline import show

    plan = load_plan(target, settings)
    with progress_bar(f"simulating {plan.name} on {plan.config.gpu}") as advance:
        return show(plan, view, workers=cpu_count(), progress=advance)


def _label(shown: Shown, settings: list[str]) -> str:
    plan = shown.outcome.plan
    return f"{' '.join([plan.name, *settings])} on {shown.outcome.spec.name}"


def _write(shown: list[Shown], labels: list[str], stem: Path, *, aligned: bool) -> list[Path]:
    from gpusim.report.perfetto import TraceRun, write_traces
    from gpusim.report.style import save_figure
    from gpusim.report.timeline_figure import draw_timelines

    stem.parent.mkdir(parents=True, exist_ok=True)
    titles = [f"{label}: {one.subject}" for one, label in zip(shown, labels, strict=True)]
    drawn = draw_timelines([one.data for one in shown], titles, aligned=aligned)
    files = [*save_figure(drawn, stem), stem.with_suffix(".trace.json.gz")]
    runs = [TraceRun(one.outcome.program, one.outcome.result, label if len(shown) > 1 else "")
            for one, label in zip(shown, labels, strict=True)]
    write_traces(files[-1], runs, {"runs": titles})
    return files


def _as_json(shown: Shown, label: str) -> dict[str, object]:
    data = shown.data
    return {"run": label, "cta": data.cta, "sm": data.sm, "warps": data.warps, "start_cycle": data.start_cycle,
            "end_cycle": data.end_cycle}


def _pair(text: str | None, option: str) -> tuple[int, int] | None:
    """``20000:23000`` as numbers; an iteration alone is the first and the last."""
    if text is None:
        return None
    first, colon, last = text.partition(":")
    last = last if colon or option == "--cycles" else first
    if not (first.isdigit() and last.isdigit()) or int(first) + (option == "--cycles") > int(last):
        example = "START:END in cycles, such as 20000:23000" if option == "--cycles" else "FIRST:LAST, such as 10:12"
        raise typer.BadParameter(f"'{text}' is not {example}", param_hint=option)
    return int(first), int(last)


def _warps(text: str | None) -> tuple[int, ...] | None:
    """``0,2-3`` as numbers."""
    if text is None:
        return None
    parts = [re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip()) for part in text.split(",")]
    if not all(parts):
        raise typer.BadParameter(f"'{text}' is not a list of warps, such as 0,2-3", param_hint="--warps")
    return tuple(sorted({warp for part in parts if part for warp in range(int(part[1]), int(part[2] or part[1]) + 1)}))
