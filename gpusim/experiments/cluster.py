"""Models the same jobs on a Dask cluster: one that stands at an address, or worker processes of this host.
Leaves out starting clusters, and moving code to them: workers have gpusim and the kernels installed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpusim.errors import UserError
from gpusim.experiments.batch import Job, JobResult, run_job
from gpusim.experiments.interrupts import deaf_to_ctrl_c

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["run_on_cluster"]

_CONNECT_SECONDS = 10


def run_on_cluster(jobs: Sequence[Job], scheduler: str | None = None, *, workers: int = 1) -> Iterator[JobResult]:
    """Simulate every job, as gpusim.experiments.batch.run_jobs does.

    ``scheduler``: address (``tcp://host:8786``) or scheduler file (``.json``); without one, ``workers`` processes of
    this host. Jobs of a worker that dies are given to others, as often as the cluster's ``allowed-failures`` says.
    Raises UserError without dask or without an answer.
    """
    with _connect(scheduler, workers) as client:
        from distributed import as_completed

        numbers = {client.submit(run_job, index, job, pure=False): index for index, job in enumerate(jobs)}
        for future in as_completed(list(numbers), loop=client.loop):
            yield _result(future, numbers.pop(future))


def _connect(scheduler: str | None, workers: int) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise UserError("the dask backend needs dask", suggestion="pip install 'gpusim[dask]'") from None
    if scheduler is None:
        with deaf_to_ctrl_c():
            return Client(n_workers=workers, threads_per_worker=1, dashboard_address=None, set_as_default=False,
                          silence_logs=logging.CRITICAL)
    named = {"scheduler_file": scheduler} if scheduler.endswith(".json") else {"address": scheduler}
    try:
        return Client(**named, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise UserError("no Dask scheduler answers", place="--scheduler", got=f"'{scheduler}' ({error})",
                        suggestion="start one with 'dask scheduler', and workers with 'dask worker'") from None


def _result(future: Future, index: int) -> JobResult:
    if future.status == "finished":
        return future.result()
    error = future.exception() if future.status == "error" else None
    reason = f"{type(error).__name__}: {error}" if error else "the cluster lost it"
    return JobResult(index, None, " ".join(reason.split()), "crashed")
