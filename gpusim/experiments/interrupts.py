"""Models what Ctrl-C does while several processes work: workers leave it to this one, and a step ends before it acts.
Leaves out what the command line says of it (gpusim.cli.main)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

__all__ = ["Step", "deaf_to_ctrl_c", "heeding_ctrl_c"]

Step = Callable[[], AbstractContextManager[None]]


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
def heeding_ctrl_c() -> Iterator[Step]:
    """Ctrl-C breaks off what runs meanwhile, but steps (``with step():``), which end first.

    Python drops an exception that comes while it collects an object, as those of a cluster's client are: a Ctrl-C lost
    that way takes effect at the end of the next step.
    """
    pressed = inside = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        if not inside:
            raise KeyboardInterrupt

    @contextmanager
    def step() -> Iterator[None]:
        nonlocal inside
        inside = True
        try:
            yield
        finally:
            inside = False
        if pressed:
            raise KeyboardInterrupt

    if not _in_main_thread():
        yield step
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield step
    finally:
        signal.signal(signal.SIGINT, before)


def _in_main_thread() -> bool:
    """Elsewhere Python allows no handlers, and gets no signals."""
    return threading.current_thread() is threading.main_thread()
