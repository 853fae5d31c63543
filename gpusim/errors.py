"""Models the one way gpusim says no: place, rule, value, suggestion.
Leaves out what a message looks like on a terminal (gpusim.cli) and the line numbers of YAML (gpusim.validation)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["GpusimError", "SimulatedFailure", "UserError", "did_you_mean"]

_MOST_LISTED, _NEAREST = 24, 5
_SIMILAR = 0.4  # share of letters, of a beginning for instance
"""Names that a sentence may list; how many stand for a longer list."""


class GpusimError(Exception):
    """Base of everything gpusim raises on purpose."""


class UserError(GpusimError):
    """Bad usage, configuration or kernel; the command line exits with 2.

    ``str(error)`` is one sentence: ``place: rule, got value; suggestion``.
    """

    def __init__(self, rule: str, *, place: str = "", got: object = None, suggestion: str = "") -> None:
        self.place, self.rule, self.got, self.suggestion = place, rule, got, suggestion
        text = f"{place}: {rule}" if place else rule
        text += f", got {got}" if got is not None else ""
        text += f"; {suggestion}" if suggestion else ""
        super().__init__(text)


class SimulatedFailure(GpusimError):
    """The simulated thing failed (deadlock, hazard, wrong result, budget); the command line exits with 1."""


def did_you_mean(word: str, known: Iterable[str], *, listed_by: str = "") -> str:
    """A suggestion for a misspelt ``word``: what is near it, or else what is known, as far as a sentence holds it.

    ``listed_by``: the command that lists everything known; it takes the place of the list.
    """
    names = sorted(known)
    where = f"{listed_by} names all {len(names)}" if listed_by else ""
    close = [f"'{name}'" for name in difflib.get_close_matches(word, names, n=3 if listed_by else 1)]
    if close:
        return " ".join(filter(None, [f"did you mean {' or '.join(close)}?", where]))
    if where:
        similar = difflib.get_close_matches(word, names, n=1, cutoff=_SIMILAR)
        return f"nearest: '{similar[0]}'; {where}" if similar else where
    if len(names) <= _MOST_LISTED:
        return f"known: {', '.join(names)}"
    nearest = difflib.get_close_matches(word, names, n=_NEAREST, cutoff=0.0)
    return f"nearest of {len(names)}: {', '.join(nearest)}"
