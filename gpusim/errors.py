"""Models the one way gpusim says no: place, rule, value, suggestion.
Leaves out what a message looks like on a terminal (gpusim.cli) and the line numbers of YAML (gpusim.validation)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["GpusimError", "SimulatedFailure", "UserError", "did_you_mean"]


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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A suggestion sentence for a misspelt ``word``, or the list of what is known."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(names)}"
