"""Models a sweep: all its points simulated on several processes or machines, each kept by what it was computed from.
Leaves out which points there are (gpusim.experiments.sweep_config), tables and figures (sweep_result), terminals."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

from gpusim.errors import UserError
from gpusim.experiments.batch import Job, JobResult, run_jobs
from gpusim.experiments.digest import digest
from gpusim.experiments.interrupts import heeding_ctrl_c
from gpusim.experiments.sweep_config import Point, SweepConfig
from gpusim.experiments.sweep_result import PointResult, SweepResult
from gpusim.files import write_whole
from gpusim.validation import ConfigError

__all__ = ["Backend", "run_sweep", "sweep_directory"]

Backend = Literal["local", "dask"]
Progress = Callable[[int, int], None]
"""Takes the number of points that are done, and of all."""
_KEPT = ("done", "refused", "failed")
"""What is decided by the digest; a crash may have been the host's."""


def run_sweep(
    name: str, config: SweepConfig, *, resume: bool = False, processes: int = 1, backend: Backend = "local",
    scheduler: str | None = None, progress: Progress | None = None,
) -> SweepResult:
    """Simulate every point; what cannot be simulated keeps the reason, and the others go on.

    A finished point is written at once to ``<output>/sweep-<name>/points/<digest>.json``; with ``resume`` such points
    are read instead of simulated, except those that crashed. Tables and figures are written at the end, also by an
    interrupted sweep. Raises UserError where no point has a valid configuration, or no cluster answers.
    """
    points = config.combinations()
    directory = sweep_directory(name, config)
    numbers, results = _plan(points)
    kept = {key: found for key in numbers if resume and (found := _read(directory, key))}
    for key, record in kept.items():
        results |= {i: PointResult.of(points[i], record, reused=True) for i in numbers[key]}
    jobs = [Job(points[where[0]].job.target, points[where[0]].job.settings, key)
            for key, where in numbers.items() if key not in kept]
    if progress:
        progress(len(results), len(points))
    try:
        with heeding_ctrl_c() as step, closing(_execute(jobs, processes, backend, scheduler)) as finished:
            for result in finished:
                key = jobs[result.index].digest
                with step():
                    _write(directory, key, jobs[result.index], result)
                    results |= {i: PointResult.of(points[i], result) for i in numbers[key]}
                if progress:
                    progress(len(results), len(points))
    finally:
        swept = SweepResult(name, directory, tuple(results[i] for i in sorted(results)), config.pareto)
        swept.write()
    return swept


def sweep_directory(name: str, config: SweepConfig) -> Path:
    """Where a sweep of this name keeps its points and tables."""
    return Path(config.output) / f"sweep-{name}"


def _plan(points: Sequence[Point]) -> tuple[dict[str, list[int]], dict[int, PointResult]]:
    """Numbers of the points by digest, and those whose configuration is refused."""
    numbers: dict[str, list[int]] = {}
    refused: dict[int, PointResult] = {}
    for i, point in enumerate(points):
        try:
            numbers.setdefault(digest(point.job.target, point.job.settings), []).append(i)
        except UserError as error:
            refused[i] = PointResult.of(point, JobResult(i, None, str(error), "refused"))
    if not numbers:
        sentences = dict.fromkeys(line for result in refused.values() for line in result.failure.splitlines())
        raise ConfigError([UserError(sentence) for sentence in sentences])
    return numbers, refused


def _execute(
    jobs: Sequence[Job], processes: int, backend: Backend, scheduler: str | None
) -> Generator[JobResult, None, None]:
    if backend == "local":
        yield from run_jobs(jobs, processes=processes)
    elif jobs:
        from gpusim.experiments.cluster import run_on_cluster

        yield from run_on_cluster(jobs, scheduler, workers=processes)


def _file(directory: Path, key: str) -> Path:
    return directory / "points" / f"{key}.json"


def _write(directory: Path, key: str, job: Job, result: JobResult) -> None:
    record = {"run": job.target, "settings": job.settings, "status": result.status, "failure": result.failure,
              "summary": result.summary}
    write_whole(_file(directory, key), json.dumps(record, default=lambda value: value.item()) + "\n")


def _read(directory: Path, key: str) -> JobResult | None:
    """A point that need not be simulated again."""
    file = _file(directory, key)
    if not file.exists():
        return None
    record = json.loads(file.read_text(encoding="utf-8"))
    found = JobResult(0, record["summary"], record["failure"], record["status"])
    return found if found.status in _KEPT else None
