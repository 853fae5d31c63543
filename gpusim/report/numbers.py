"""Models how a number is written in reports and on terminals.
Leaves out units and what the number is."""

from __future__ import annotations

__all__ = ["format_number"]


def format_number(value: object) -> str:
    """``1234567.0`` -> ``1,234,567``; ``0.12345`` -> ``0.123``; text as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3f}"
