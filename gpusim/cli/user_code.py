"""Models whose mistake an exception is: that of a user's kernel becomes one sentence, one of gpusim stays a traceback.
Leaves out mistakes that gpusim finds itself (gpusim.errors)."""

from __future__ import annotations

import difflib
import sysconfig
import traceback
from pathlib import Path

import gpusim
from gpusim.errors import UserError

__all__ = ["as_user_error"]


def as_user_error(error: Exception) -> UserError | None:
    """``kernel.py:61: AttributeError: 'Context' object has no attribute 'sync_thread'; did you mean 'sync_threads'?``

    None where the exception was not raised by a user's file, or by a library that it called.
    """
    libraries = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_in(frame.filename, str(Path(gpusim.__file__).parent)):
            return None
        if Path(frame.filename).is_file() and not any(_is_in(frame.filename, place) for place in libraries):
            return UserError(f"{type(error).__name__}: {error}", place=f"{frame.filename}:{frame.lineno}",
                             suggestion=_suggestion(error))
    return None


def _is_in(file: str, directory: str) -> bool:
    return Path(file).is_relative_to(directory)


def _suggestion(error: Exception) -> str:
    if not isinstance(error, AttributeError) or error.name is None:
        return ""
    close = difflib.get_close_matches(error.name, dir(error.obj), n=1)
    return f"did you mean '{close[0]}'?" if close else ""
