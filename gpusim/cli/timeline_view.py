"""Models the timeline on a terminal: letters in the colours of the figure, as wide as the terminal is.
Leaves out what the letters are (gpusim.report.timeline_text)."""

from __future__ import annotations

import itertools
import shutil

from rich.text import Text

from gpusim.cli.output import console
from gpusim.report.timeline import Timeline
from gpusim.report.timeline_text import LegendEntry, TextRow, axis_row, text_legend, text_rows

__all__ = ["print_timeline"]

_LEAST_COLUMNS = 30


def print_timeline(data: Timeline, title: str) -> None:
    """The window on stdout; colours only where the terminal has them and NO_COLOR does not forbid them."""
    names = [row.name for row in text_rows(data, 1)] + [axis_row(data, 1).name]
    indent = max(map(len, names)) + 2
    columns = max(_LEAST_COLUMNS, shutil.get_terminal_size((120, 24)).columns - indent - 1)
    screen = console()
    screen.print(f"{title}: {(data.end_cycle - data.start_cycle) / columns:.1f} cycles a column", markup=False)
    for row in [*text_rows(data, columns), axis_row(data, columns)]:
        screen.print(_line(row, indent), overflow="crop", no_wrap=True)
    issues, waits = text_legend(data)
    screen.print(_legend("issues", issues), _legend("waits", waits), sep="\n")


def _line(row: TextRow, indent: int) -> Text:
    """Neighbours of one colour are one piece of text."""
    line = Text(row.name.ljust(indent))
    for color, run in itertools.groupby(zip(row.text, row.colors, strict=True), key=lambda cell: cell[1]):
        line.append("".join(letter for letter, _ in run), style=color)
    return line


def _legend(title: str, entries: list[LegendEntry]) -> Text:
    line = Text(f"{title}:")
    for entry in entries:
        line.append(f"  {entry.letter} ", style=f"bold {entry.color}").append(entry.meaning)
    return line
