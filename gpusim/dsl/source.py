"""Models where a statement stands: the file and line that reports show for the instructions it becomes.
Leaves out the statements (gpusim.dsl.statements).

A statement belongs to the line of the kernel that is being executed, also where that calls helpers; a helper that is a
part of the kernel itself, such as a main loop that several kernels share, is a ``device_function``: its lines count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from gpusim.arch.paths import data_roots

__all__ = ["SourceLine", "calling_line", "device_function", "shown_file"]

Function = TypeVar("Function", bound=Callable[..., object])
_DEVICE_FILES: set[str] = set()


class SourceLine(NamedTuple):
    """A line of a file, as messages name it; without a file, of the kernel's."""

    line: int = 0
    file: str = ""


def device_function(function: Function) -> Function:
    """Decorator: statements that come from this function's file are shown with their own lines, not the caller's."""
    _DEVICE_FILES.add(function.__code__.co_filename)
    return function


def calling_line(kernel_file: str, depth: int) -> SourceLine:
    """The innermost line of the kernel's file or of a device function's, ``depth`` frames up or further."""
    frame = caller = sys._getframe(depth)
    while caller is not None:
        name = caller.f_code.co_filename
        if name == kernel_file or name in _DEVICE_FILES:
            return SourceLine(caller.f_lineno, "" if name == kernel_file else shown_file(name))
        caller = caller.f_back  # type: ignore[assignment]
    return SourceLine(frame.f_lineno)


@cache
def shown_file(name: str) -> str:
    """A file as messages name it: from the root of the installation, or of where the user is."""
    file = Path(name)
    roots = [root for root in (*data_roots(), Path.cwd()) if file.is_relative_to(root)]
    return str(file.relative_to(roots[0])) if roots else name
