"""Models the printed form of integer tuples, e.g. ``(8,(2,32)):(64,(1,2))``, as text to be read back.
Leaves out what the text means (Layout.parse and Swizzle.parse build the objects).
"""

from __future__ import annotations

import ast

from gpusim.cute.int_tuple import IntTuple, is_int
from gpusim.errors import UserError

__all__ = ["parse_int_tuple"]


def parse_int_tuple(text: str, place: str) -> IntTuple:
    """The integer or nested tuple written in ``text``; CuTe's static integers (``_8``) read like plain ones.

    Raises UserError naming ``place`` (the whole text it came from).
    """
    try:
        value = ast.literal_eval(text.replace("_", "").strip())
    except (ValueError, SyntaxError):
        value = None
    if not _is_int_tuple(value):
        raise UserError("expected an integer or a nested tuple of integers", place=place, got=f"'{text.strip()}'")
    return value


def _is_int_tuple(value: object) -> bool:
    return all(map(_is_int_tuple, value)) if isinstance(value, tuple) else is_int(value)
