"""Workers that die: nothing that is finished is lost, the rest runs again, and what kills every worker is given up.

Real processes that end themselves, and a real Dask cluster of several worker processes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpusim.errors import UserError
from gpusim.experiments.batch import Job, JobResult, run_jobs
from gpusim.experiments.cluster import run_on_cluster

SIZES = ("M=64", "N=64", "K=64", "tile=[64,64,32]", "timeline.cycles=0")
DEADLY = """
from pathlib import Path
import os, signal, sys
if Path({mark!r}).exists():
    Path({mark!r}).unlink() if {once} else None
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kernel(folder: Path, name: str, before: str = "") -> str:
    """A copy of a kernel that runs ``before`` whenever it is loaded."""
    from gpusim.dsl import program_names

    source = program_names()["hgemm_multistage"].read_text()
    line = "import gpusim as gs"
    (folder / f"{name}.py").write_text(source.replace(line, before + line, 1))
    return str(folder / f"{name}.py")


def jobs(folder: Path, *, once: bool) -> list[Job]:
    """Four jobs that work, and in the middle one that kills its process: the first time, or always."""
    mark = folder / "armed"
    mark.touch()
    deadly = kernel(folder, "deadly", DEADLY.format(mark=str(mark), once=once))
    good = [Job("hgemm", (*SIZES, f"num_stages={stages}")) for stages in (2, 3, 4, 5)]
    return [*good[:2], Job(deadly, SIZES), *good[2:]]


def in_order(results: Iterator[JobResult]) -> list[JobResult]:
    listed = sorted(results, key=lambda result: result.index)
    assert [result.index for result in listed] == list(range(5))
    return listed


def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path):
    results = in_order(run_jobs(jobs(tmp_path, once=True), processes=2))
    assert [result.status for result in results] == ["done"] * 5


def test_a_job_that_kills_every_worker_is_given_up_alone(tmp_path: Path):
    results = in_order(run_jobs(jobs(tmp_path, once=False), processes=2))
    assert [result.status for result in results] == ["done", "done", "crashed", "done", "done"]
    assert results[2].failure == "its worker process was killed, or ran out of memory"


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    """Three worker processes with two threads each, under a scheduler with an address."""
    distributed = pytest.importorskip("distributed", reason="needs gpusim[dask]")
    with distributed.LocalCluster(n_workers=3, threads_per_worker=2, dashboard_address=None,
                                  silence_logs=50) as started:
        yield started


def test_a_cluster_gives_the_numbers_of_this_process(cluster, tmp_path: Path):
    work = jobs(tmp_path, once=True)[:2]
    there = sorted(run_on_cluster(work, cluster.scheduler_address), key=lambda result: result.index)
    here = list(run_jobs(work))
    for one, other in zip(there, here, strict=True):
        assert one.summary and other.summary
        assert one.summary["cycles"] == other.summary["cycles"] > 0
        assert one.summary["warp_instructions"] == other.summary["warp_instructions"]


def test_a_killed_worker_of_a_cluster_loses_nothing(cluster, tmp_path: Path):
    results = in_order(run_on_cluster(jobs(tmp_path, once=True), cluster.scheduler_address))
    assert [result.status for result in results] == ["done"] * 5


def test_a_worker_killed_from_outside_loses_nothing(cluster):
    work = [Job("hgemm", (*SIZES, f"num_stages={stages}")) for stages in (2, 3, 4, 5, 6)]
    running = run_on_cluster(work, cluster.scheduler_address)
    first = next(running)
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    results = in_order(iter([first, *running]))
    assert [result.status for result in results] == ["done"] * 5


def test_a_worker_with_another_kernel_is_refused(cluster, tmp_path: Path):
    (result,) = run_on_cluster([Job("hgemm", SIZES, digest="0" * 16)], cluster.scheduler_address)
    assert (result.status, result.summary) == ("crashed", None)
    assert "is another here than when this was planned" in result.failure


def test_a_scheduler_that_does_not_answer_is_a_sentence(monkeypatch):
    pytest.importorskip("distributed", reason="needs gpusim[dask]")
    monkeypatch.setattr("gpusim.experiments.cluster._CONNECT_SECONDS", 1)
    with pytest.raises(UserError, match=r"--scheduler: no Dask scheduler answers, got 'tcp://127\.0\.0\.1:9'"):
        next(run_on_cluster([Job("hgemm")], "tcp://127.0.0.1:9"))
