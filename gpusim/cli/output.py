"""Models how results reach a terminal: tables and JSON on stdout, progress and errors on stderr.
Leaves out what the results are."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.progress import ProgressColumn

__all__ = [
    "console", "errors", "number", "print_csv", "print_frame", "print_json", "print_rows", "progress_bar",
    "progress_count", "strict",
]

_NUMBER = re.compile(r"-|[-+]?[\d,]+(\.\d+)?( [\w/%]+)?")
_PLAIN_WIDTH = 10_000
"""Columns of a table that goes to a file or a pipe."""
_GAP, _SHORT_TEXT = 2, 30
"""Blanks between columns; what is longer may wrap."""
_ETA_SECONDS = 3600.0
"""What the estimate of the time left looks back on: points of a sweep may take minutes each."""


def console() -> Console:
    """Rich console on stdout; as wide as tables need where stdout is no terminal and COLUMNS says nothing."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PLAIN_WIDTH
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
    """``1234567.0`` -> ``1,234,567``; ``None`` and NaN -> ``-``."""
    from gpusim.report.numbers import format_number

    return "-" if value is None or value != value else format_number(value)


def print_rows(title: str, headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on stdout; columns of numbers are set to the right.

    Where a terminal is narrow, long texts wrap, then headings; nothing is ever cut off.
    """
    from rich.markup import escape
    from rich.table import Table

    cells = [[number(row[index]) for row in rows] for index in range(len(headings))]
    lengths = [max(map(len, column), default=0) for column in cells]
    screen = console()
    headings = _fitting(headings, lengths, screen.width)
    screen.width = max(screen.width, _needed(headings, lengths))
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False,
                  padding=(0, _GAP, 0, 0), show_header=any(headings))
    for heading, column, length in zip(headings, cells, lengths, strict=True):
        is_number = all(_NUMBER.fullmatch(cell) for cell in column)
        table.add_column(heading, justify="right" if is_number else "left", vertical="top",
                         no_wrap=length <= _SHORT_TEXT, min_width=_room(heading, length))
    for row in zip(*cells, strict=True):
        table.add_row(*map(escape, row))
    screen.print(table)
    screen.print()


def _fitting(headings: Sequence[str], lengths: Sequence[int], width: int) -> Sequence[str]:
    """The headings, a word per line where the table is too wide otherwise."""
    return headings if _needed(headings, lengths) <= width else [heading.replace(" ", "\n") for heading in headings]


def _needed(headings: Sequence[str], lengths: Sequence[int]) -> int:
    """Characters of a line of the table, long texts wrapped."""
    return sum(_room(heading, length) + _GAP for heading, length in zip(headings, lengths, strict=True))


def _room(heading: str, length: int) -> int:
    return max(min(length, _SHORT_TEXT), *map(len, heading.split("\n")))


def print_frame(title: str, frame: pd.DataFrame, *, keys: Collection[str] = ()) -> None:
    """A pandas frame as a table, with Nsight's spelling of its columns; ``keys`` of settings as they are typed."""
    from gpusim.report.tables import column_title

    headings = [name if name in keys else column_title(name) for name in frame.columns]
    print_rows(title, headings, frame.values.tolist())


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None]]:
    """A bar with the time left, on stderr where that is a terminal; the value takes the share done, 0 to 1."""
    with _bar(what, total=1.0) as update:
        yield lambda share: update(share, 1.0)


@contextmanager
def progress_count(what: str) -> Iterator[Callable[[int, int], None]]:
    """The same for things that are counted; the value takes how many are done, and of how many."""
    from rich.progress import MofNCompleteColumn

    with _bar(what, MofNCompleteColumn(), total=None) as update:
        yield update


@contextmanager
def _bar(what: str, *more: ProgressColumn, total: float | None) -> Iterator[Callable[[float, float], None]]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    screen = errors()
    columns = (TextColumn("{task.description}"), BarColumn(), *more, TaskProgressColumn(), TextColumn("ETA"),
               TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal,
                  speed_estimate_period=_ETA_SECONDS) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done, of: progress.update(task, completed=done, total=of)
