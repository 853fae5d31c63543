"""Models many independent runs on several processes: jobs in, summaries out as they finish.
Leaves out which jobs there are (gpusim.experiments.compare, gpusim.experiments.validate)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed

from gpusim.errors import GpusimError, UserError
from gpusim.experiments.config import load_plan
from gpusim.experiments.run import simulate_plan
from gpusim.report.summary import Summary

__all__ = ["Job", "JobResult", "run_jobs"]


@dataclass(frozen=True)
class Job:
    """A run or program and the settings on top of it, as ``gpusim run`` would take them."""

    target: str
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class JobResult:
    """What became of job number ``index``: a summary, or the sentence that says why there is none."""

    index: int
    summary: Summary | None
    failure: str = ""
    refused: bool = False  # the configuration was refused, nothing was simulated


def run_jobs(jobs: Sequence[Job], *, processes: int = 1) -> Iterator[JobResult]:
    """Simulate every job, without events; results come in the order in which they finish."""
    tasks = (delayed(_run)(index, job) for index, job in enumerate(jobs))
    yield from Parallel(n_jobs=processes, return_as="generator_unordered")(tasks)


def _run(index: int, job: Job) -> JobResult:
    try:
        plan = load_plan(job.target, job.settings)
        return JobResult(index, simulate_plan(plan, record=False).summary)
    except UserError as error:
        return JobResult(index, None, str(error), refused=True)
    except GpusimError as error:
        return JobResult(index, None, str(error))
