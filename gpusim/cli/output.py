"""Models how results reach a terminal: tables and JSON on stdout, progress and errors on stderr.
Leaves out what the results are."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

__all__ = [
    "console", "errors", "number", "print_csv", "print_frame", "print_json", "print_rows", "progress_bar", "strict",
]

_NUMBER = re.compile(r"-|[-+]?[\d,]+(\.\d+)?( [\w/%]+)?")
_PLAIN_WIDTH = 10_000
"""Columns of a table that goes to a file or a pipe."""


def console() -> Console:
    """Rich console on stdout; as wide as tables need where stdout is no terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PLAIN_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=True)


def errors() -> Console:
    """Rich console on stderr."""
    from rich.console import Console

    return Console(file=sys.stderr, highlight=False, soft_wrap=True)


def print_json(data: object) -> None:
    """JSON on stdout; NaN and infinity become null."""
    sys.stdout.write(json.dumps(strict(data), indent=2) + "\n")


def strict(value: Any) -> Any:
    """Plain Python values that JSON has a spelling for."""
    if isinstance(value, dict):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value - value != 0 else value


def print_csv(frame: pd.DataFrame) -> None:
    """CSV on stdout."""
    frame.to_csv(sys.stdout, index=False, lineterminator="\n")


def number(value: object) -> str:
    """``1234567.0`` -> ``1,234,567``; ``None`` -> ``-``."""
    from gpusim.report.html import format_number

    return "-" if value is None else format_number(value)


def print_rows(title: str, headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on stdout; columns of numbers are set to the right, text wraps where a terminal is narrow."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0),
                  show_header=any(headings))
    for index, heading in enumerate(headings):
        cells = [number(row[index]) for row in rows]
        is_number = all(_NUMBER.fullmatch(cell) for cell in cells)
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=is_number)
    for row in rows:
        table.add_row(*(escape(number(cell)) for cell in row))
    screen = console()
    screen.print(table)
    screen.print()


def print_frame(title: str, frame: pd.DataFrame) -> None:
    """A pandas frame as a table, with Nsight's spelling of its columns."""
    from gpusim.report.tables import column_title

    print_rows(title, [column_title(name) for name in frame.columns], frame.values.tolist())


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on stderr; the value is a function that takes the share done, 0 to 1."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    screen = errors()
    if not screen.is_terminal:
        screen.print(what, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda share: progress.update(task, completed=share)
