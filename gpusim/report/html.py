"""Models report.html: one file with bars, figures, tables and advice inside, readable offline and on paper.
Leaves out what stands in each section (gpusim.report.html_sections) and what the numbers mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from gpusim.report.html_sections import sections
from gpusim.report.metric import Run
from gpusim.report.numbers import format_number
from gpusim.report.summary import Summary

__all__ = ["Page", "render_report"]


@dataclass(frozen=True)
class Page:
    """What a report is made of. ``pictures``: SVG text by name, those of ``gpusim.report.pictures``."""

    run: Run
    summary: Summary
    tables: dict[str, pd.DataFrame]
    pictures: dict[str, str]
    config_text: str


def render_report(page: Page) -> str:
    """The whole HTML page."""
    context = sections(page.run, page.summary, page.tables)
    return _environment().get_template("report.html.j2").render(
        summary=page.summary, pictures=page.pictures, config_text=page.config_text, **context)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gpusim.report", "templates"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = format_number
    environment.filters["breakable"] = _breakable
    return environment


def _breakable(name: str) -> Markup:
    """The name of a metric or a file that may be broken into lines after its dots, slashes and underscores."""
    return Markup(re.sub(r"(__|_|\.|/)", r"\1<wbr>", str(escape(name))))
