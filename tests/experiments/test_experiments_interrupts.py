"""Ctrl-C while several processes work: only the one at the terminal hears it, and never in the middle of a step."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from gpusim.experiments.batch import Job, run_jobs
from gpusim.experiments.interrupts import heeding_ctrl_c

needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
JOB = Job("hgemm_multistage", ("M=64", "N=64", "K=64", "tile=[64,64,32]", "timeline.cycles=0"))


def ignores_ctrl_c(process: int) -> bool:
    status = Path(f"/proc/{process}/status").read_text()
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(ignored, 16) >> (signal.SIGINT - 1) & 1)


def workers() -> list[int]:
    """Child processes of this one that simulate."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [int(child) for child in children if b"popen_loky" in Path(f"/proc/{child}/cmdline").read_bytes()]


@needs_proc
def test_worker_processes_leave_ctrl_c_to_the_one_that_started_them():
    # A worker that still imports numba would answer with a traceback, between our sentences.
    finished = run_jobs([JOB] * 3, processes=2)
    next(finished)
    found = workers()
    assert len(found) >= 2 and all(map(ignores_ctrl_c, found))
    assert not ignores_ctrl_c(os.getpid())
    assert len(list(finished)) == 2


def test_ctrl_c_in_a_step_takes_effect_after_it():
    steps = []
    with pytest.raises(KeyboardInterrupt), heeding_ctrl_c() as step:
        with step():
            signal.raise_signal(signal.SIGINT)
            steps.append("first half")
            steps.append("second half")
        steps.append("the next step")
    assert steps == ["first half", "second half"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_between_steps_takes_effect_at_once():
    steps = []
    with pytest.raises(KeyboardInterrupt), heeding_ctrl_c() as step:
        with step():
            steps.append("a step")
        signal.raise_signal(signal.SIGINT)
        steps.append("waiting")
    assert steps == ["a step"]


def test_ctrl_c_that_a_library_swallows_takes_effect_after_the_next_step():
    steps = []
    with pytest.raises(KeyboardInterrupt), heeding_ctrl_c() as step:
        for number in range(3):
            with suppress(KeyboardInterrupt):  # as Python does in __del__
                signal.raise_signal(signal.SIGINT)
            with step():
                steps.append(number)
    assert steps == [0]


def test_an_error_in_a_step_is_not_hidden_by_ctrl_c():
    with pytest.raises(ValueError, match="the error"), heeding_ctrl_c() as step, step():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("the error")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
