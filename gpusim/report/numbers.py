"""Models how a number is written in reports and on terminals.
Leaves out units and what the number is."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ctas_per_sm", "format_number", "speed_sentence"]


def format_number(value: object) -> str:
    """``1234567.0`` -> ``1,234,567``; ``0.12345`` -> ``0.123``; text as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3f}"


def ctas_per_sm(count: int) -> str:
    """``1 CTA per SM``, ``2 CTAs per SM``."""
    return f"{count} CTA per SM" if count == 1 else f"{count} CTAs per SM"


def speed_sentence(runs: Sequence[tuple[str, float]]) -> str:
    """``B is 1.62x faster than A``: the fastest against the slowest of runs with a name and cycles each."""
    fast, slow = min(runs, key=_cycles), max(runs, key=_cycles)
    if fast[1] == slow[1]:
        return f"{' and '.join(name for name, _ in runs)} take the same number of cycles"
    ratio = f"{slow[1] / fast[1]:.2f}"
    worth = "less than 1 %" if ratio == "1.00" else f"{ratio}x"
    return f"{fast[0]} is {worth} faster than {slow[0]}"


def _cycles(run: tuple[str, float]) -> float:
    return run[1]
