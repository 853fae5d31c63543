"""Models what Ctrl-C does while several processes work: workers leave it to this one, and a step ends before it acts.
Leaves out what the command line says of it (gpusim.cli.main)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ctrl_c_waits", "deaf_to_ctrl_c"]


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that start meanwhile leave Ctrl-C to this one, which ends them.

    Otherwise one that is still importing answers with a traceback. What is pressed here in that time is lost: a blocked
    signal would wait, but joblib unblocks it for all that it starts.
    """
    if not _in_main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """Ctrl-C that comes meanwhile takes effect at the end."""
    if not _in_main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        signal.raise_signal(signal.SIGINT)


def _in_main_thread() -> bool:
    """Elsewhere Python allows no handlers, and gets no signals."""
    return threading.current_thread() is threading.main_thread()
