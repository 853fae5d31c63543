"""Models the command line: which commands there are, and what becomes of their errors.
Leaves out the commands themselves (one module each) and everything heavy, which they import when they run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from gpusim.cli import (
    banks,
    check,
    compare,
    config,
    gallery,
    layout,
    occupancy,
    run,
    suggest,
    sweep,
    timeline,
    validate,
)
from gpusim.errors import SimulatedFailure, UserError

__all__ = ["app", "main"]

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130

app = typer.Typer(
    name="gpusim", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Simulate CUTLASS-style GPU pipelines: cycles, bank conflicts, occupancy, stalls, a timeline. No GPU needed.",
    epilog="Exit status: 0 done, 1 the simulated thing failed, 2 bad usage or configuration.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS: tuple[Callable[..., None], ...] = (
    run.run, compare.compare, sweep.sweep, timeline.timeline, layout.layout, banks.banks, suggest.suggest,
    occupancy.occupancy, check.check, validate.validate,
    gallery.gallery,
)
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(config.app, name="config")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"gpusim {version('gpusim')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


def main() -> None:
    """Run the command line; errors become one sentence each on stderr, and an exit status."""
    try:
        app()
    except SystemExit as stop:
        if stop.code == EXIT_INTERRUPTED:
            _interrupted()
        raise
    except KeyboardInterrupt:  # where typer no longer, or not yet, looks out for it
        _interrupted()
    except UserError as error:
        _fail(error, EXIT_USAGE)
    except SimulatedFailure as error:
        _fail(error, EXIT_FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _fail(f"{place}{error.strerror}", EXIT_USAGE)
    except Exception as error:
        from gpusim.cli.user_code import as_user_error

        if (mistake := as_user_error(error)) is None:
            raise
        _fail(mistake, EXIT_USAGE)


def _interrupted() -> NoReturn:
    """Ends with the status that shells know.

    Python notes a Ctrl-C that passes through ``exec`` of text, as dataclasses do when they are imported, and would end
    by the signal instead, though it was caught; the next such text clears the note.
    """
    print("interrupted", file=sys.stderr)
    exec("")
    sys.exit(EXIT_INTERRUPTED)


def _fail(error: object, status: int) -> None:
    for line in str(error).splitlines():
        print(f"error: {line}", file=sys.stderr)
    sys.exit(status)
