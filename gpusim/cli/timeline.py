"""Models ``gpusim timeline``: simulate a configuration and draw one window of it.
Leaves out the drawing (gpusim.report.timeline_figure)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.options import Json, Settings, Target
from gpusim.cli.output import console, print_json
from gpusim.cli.run import simulate_with_bar

__all__ = ["timeline"]


def timeline(
    target: Target,
    cycles: Annotated[str | None, typer.Option(metavar="START:END", help="Window; default: in the main loop.")] = None,
    sm: Annotated[int | None, typer.Option(min=0, help="SM to record.")] = None,
    cta: Annotated[int | None, typer.Option(min=0, help="CTA to draw, in launch order.")] = None,
    out: Annotated[Path, typer.Option(help="Stem of OUT.svg, OUT.png and OUT.trace.json.gz.")] = Path("timeline"),
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Draw a kernel's pipeline over time.

    Warps, copies in flight and busy units as SVG and PNG, and the same window as a trace for ui.perfetto.dev.
    """
    from gpusim.experiments.config import load_plan
    from gpusim.report.perfetto import write_trace
    from gpusim.report.style import save_figure
    from gpusim.report.timeline import timeline as read_timeline
    from gpusim.report.timeline_figure import draw_timeline

    window = _window_settings(cycles) + ([f"timeline.sm={sm}"] if sm is not None else [])
    outcome = simulate_with_bar(load_plan(target, [*(settings or []), *window]))
    data = read_timeline(outcome.program, outcome.result, outcome.spec, cta=cta)
    title = f"{outcome.plan.name} on {outcome.spec.name}: cycles {data.start_cycle:,} to {data.end_cycle:,}"
    out.parent.mkdir(parents=True, exist_ok=True)
    files = [*save_figure(draw_timeline(data, title), out), out.with_suffix(".trace.json.gz")]
    write_trace(files[-1], outcome.program, outcome.result, {"name": outcome.plan.name, "gpu": outcome.spec.name})
    if json:
        window_json = {"cta": data.cta, "sm": data.sm, "start_cycle": data.start_cycle, "end_cycle": data.end_cycle}
        return print_json({**window_json, "files": [str(path) for path in files]})
    console().print(f"CTA {data.cta} on SM {data.sm}, cycles {data.start_cycle:,} to {data.end_cycle:,}: "
                    + ", ".join(map(str, files)), markup=False)


def _window_settings(cycles: str | None) -> list[str]:
    """``1000:4000`` as settings of the configuration."""
    if cycles is None:
        return []
    start, colon, end = cycles.partition(":")
    if not (colon and start.isdigit() and end.isdigit() and int(start) < int(end)):
        raise typer.BadParameter(f"'{cycles}' is not START:END in cycles, such as 20000:23000", param_hint="--cycles")
    return [f"timeline.start_cycle={start}", f"timeline.cycles={int(end) - int(start)}"]
