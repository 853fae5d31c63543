"""Models many independent runs on several processes: jobs in, summaries out as they finish.
Leaves out which jobs there are (compare, sweep, validate), and other machines (gpusim.experiments.cluster)."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from joblib import Parallel, delayed

from gpusim.errors import GpusimError, UserError
from gpusim.experiments.config import load_plan
from gpusim.experiments.digest import digest
from gpusim.experiments.interrupts import deaf_to_ctrl_c
from gpusim.experiments.run import simulate_plan
from gpusim.report.summary import Summary

__all__ = ["Job", "JobResult", "Status", "run_job", "run_jobs"]

Status = Literal["done", "refused", "failed", "crashed"]
"""refused: the configuration, by a rule; failed: the simulated thing; crashed: anything else, worth another try."""

_FRUITLESS_ROUNDS = 3
"""Pools of workers that may die one after the other over a job that runs alone."""


@dataclass(frozen=True)
class Job:
    """A run or program and the settings on top of it, as ``gpusim run`` would take them.

    With a ``digest`` the job runs only where it is computed from exactly that (gpusim.experiments.digest).
    """

    target: str
    settings: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True)
class JobResult:
    """What became of job number ``index``: a summary, or the sentence that says why there is none."""

    index: int
    summary: Summary | None
    failure: str = ""
    status: Status = "done"


class _PlanChanged(Exception):
    """A worker would compute something else than what was asked for."""


def run_jobs(jobs: Sequence[Job], *, processes: int = 1) -> Iterator[JobResult]:
    """Simulate every job, without events; results come in the order in which they finish.

    A worker that dies takes no result with it: unfinished jobs run again on new workers, and only jobs during which
    one pool after the other dies are given up.
    """
    left, alone, tries = list(range(len(jobs))), False, 0
    while left:
        batch = left[:1] if alone else left
        tasks = [delayed(run_job)(index, jobs[index]) for index in batch]
        before = len(left)
        try:
            with deaf_to_ctrl_c():
                finished = Parallel(n_jobs=processes, return_as="generator_unordered")(tasks)
            for result in finished:
                left.remove(result.index)
                yield result
            tries = 0
        except BrokenProcessPool:
            tries = tries + 1 if alone else 0
            alone = alone or len(left) == before  # who breaks the pool shows when jobs run one by one
            left = left if alone else left[processes:] + left[:processes]  # those that ran when it broke go last
        if tries == _FRUITLESS_ROUNDS:
            yield JobResult(left.pop(0), None, "its worker process was killed, or ran out of memory", "crashed")
            alone, tries = False, 0


def run_job(index: int, job: Job) -> JobResult:
    """Simulate one job, in whatever process this is; an exception becomes the job's failure."""
    try:
        _check_digest(job)
        plan = load_plan(job.target, job.settings)
        return JobResult(index, simulate_plan(plan, record=False).summary)
    except _PlanChanged as error:
        return JobResult(index, None, str(error), "crashed")
    except UserError as error:
        return JobResult(index, None, str(error), "refused")
    except GpusimError as error:
        return JobResult(index, None, str(error), "failed")
    except Exception as error:
        return JobResult(index, None, _sentence(error), "crashed")


def _check_digest(job: Job) -> None:
    if job.digest and digest(job.target, job.settings) != job.digest:
        raise _PlanChanged("gpusim, the kernel or a configuration is another here than when this was planned")


def _sentence(error: Exception) -> str:
    """``kernel.py:12: ZeroDivisionError: division by zero``."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    return f"{place}{type(error).__name__}: {error}"
