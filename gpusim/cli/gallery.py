"""Models ``gpusim gallery``: run the commands of a page, put what they print beneath them, and so make its figures.
Leaves out what a page is (gpusim.report.page)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.output import progress_count
from gpusim.errors import SimulatedFailure, UserError

__all__ = ["gallery"]

_PAGE = Path("reports/gallery/tutorial.md")
_COLUMNS = "110"


def gallery(
    page: Annotated[Path, typer.Argument(metavar="PAGE.md", help="Page with console blocks.")] = _PAGE,
) -> None:
    """Run a page's commands and refresh it.

    Every line '$ gpusim ...' of its console blocks runs in the current directory; its output replaces the lines below.
    """
    from gpusim.files import write_whole
    from gpusim.report.page import blocks, refresh

    text = page.read_text(encoding="utf-8")
    total = "".join(blocks(text, "console")).count("$ gpusim")
    if not total:
        raise UserError("the page has no command '$ gpusim ...' in a console block", place=str(page))
    with progress_count(f"running {page}") as advance:
        done = iter(range(1, total + 1))

        def run(words: list[str]) -> str:
            answer = _run(words, page)
            advance(next(done), total)
            return answer

        write_whole(page, refresh(text, run))


def _run(words: list[str], page: Path) -> str:
    """What one command prints on stdout. Raises SimulatedFailure where it fails."""
    if words[:1] != ["gpusim"]:
        raise UserError("a page runs gpusim's commands only", place=str(page), got=f"'{' '.join(words)}'")
    done = subprocess.run([sys.executable, "-m", "gpusim", *words[1:]], capture_output=True, text=True, check=False,
                          env={**os.environ, "COLUMNS": _COLUMNS, "NO_COLOR": "1"})
    if done.returncode:
        raise SimulatedFailure(f"{page}: '{' '.join(words)}' exits with {done.returncode}: {done.stderr.strip()}")
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines()) + "\n"
