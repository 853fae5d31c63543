"""gemm_sm90 in clusters: the product by NumPy, what CTAs load for each other, and what happens when one does not."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_programs_hopper import COOPERATIVE, SM90, instructions, mnemonics, record, right_and_clean

import gpusim as gs
from gpusim.engine import SimulationResult, simulate
from gpusim.errors import SimulatedFailure
from gpusim.experiments.batch import Job, run_job
from gpusim.experiments.families import Unbuilt, job_for_row
from gpusim.program import CtaClass, Program
from gpusim.verify import execute

sys.path.insert(0, str(Path(gs.load_program("gemm_sm90").kernel.file).parent))
from common.sm90_schedule import sm90_tiles

CLUSTERS = [(2, 1), (1, 2), (2, 2), (4, 1)]


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize(("sizes", "parameters"), [
    ((512, 512, 128), {}),
    ((200, 136, 104), {"alpha": 2.0}),
    ((200, 136, 104), {"layouts": "nt", "tile": (64, 128, 64)}),
    ((304, 264, 72), {**COOPERATIVE, "layouts": "tt"}),
])
def test_clusters_multiply(cluster: tuple[int, int], sizes: tuple[int, int, int], parameters: dict) -> None:
    """Ragged sizes leave CTAs of a cluster outside the problem: they load for the others, and store nothing."""
    right_and_clean("gemm_sm90", sizes, cluster=cluster, **parameters)


@pytest.mark.parametrize("cluster", [(2, 1), (2, 2)])
def test_persistent_clusters_take_tiles_after_tiles(cluster: tuple[int, int]) -> None:
    parameters = {**COOPERATIVE, "tile": (128, 64, 64), "cluster": cluster}
    program = record("gemm_sm90", (1024, 1152, 64), **parameters)
    assert program.num_ctas == {2: 132, 4: 116}[program.launch.cluster_size]
    right_and_clean("gemm_sm90", (1024, 1152, 64), **parameters)


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from([(1, 1), *CLUSTERS]), st.integers(8, 40))
def test_the_scheduler_gives_every_tile_to_one_cta(m: int, n: int, cluster: tuple[int, int], sms: int) -> None:
    """Clusters take neighbouring tiles, along the longer side last; tiles outside only fill clusters up."""
    size = cluster[0] * cluster[1]
    schedule = sm90_tiles((m, n), sms, cluster)
    taken = schedule[schedule[..., 0] == 0][:, 1:3].tolist()
    rounded = [-(-tiles // along) * along for tiles, along in zip((m, n), cluster, strict=True)]
    assert sorted(taken) == [[i, j] for i in range(rounded[0]) for j in range(rounded[1])]
    assert len(schedule) % size == 0 and len(schedule) <= max(sms, size)
    for visit in range(schedule.shape[1]):
        for clusters in schedule[:, visit].reshape(-1, size, 5):
            first = clusters[0, 1:3]
            assert len(set(clusters[:, 0].tolist())) == 1
            if clusters[0, 0] == 0:
                assert (first % cluster == 0).all()
                assert (clusters[:, 1:3] - first).tolist() == [[r % cluster[0], r // cluster[0]] for r in range(size)]
    second = schedule[size:2 * size, 0, 1:3]
    if len(schedule) > size and min(rounded[0] // cluster[0], rounded[1] // cluster[1]) > 1:
        assert second[0].tolist() == ([cluster[0], 0] if rounded[1] > rounded[0] else [0, cluster[1]])


@pytest.mark.parametrize("cluster", [(1, 1), *CLUSTERS])
def test_what_a_cta_executes_does_not_depend_on_its_cluster(cluster: tuple[int, int]) -> None:
    """Boxes, wgmma, waits and arrivals are as many; a barrier of the cluster takes the place of the CTA's."""
    alone, program = record("gemm_sm90", (512, 512, 512)), record("gemm_sm90", (512, 512, 512), cluster=cluster)
    for one, other in zip(alone.classes[0].roles, program.classes[0].roles, strict=True):
        counts = [Counter(name.split(".")[0] for name in mnemonics(*pair)) for pair in ((alone, one), (program, other))]
        counts[1]["BAR"] += counts[1].pop("UCGABAR_ARV", 0)
        assert counts[1].pop("UCGABAR_WAIT", 0) == (cluster != (1, 1))
        assert counts[0] == counts[1]
    multicasts = Counter(mnemonics(program, program.classes[0].roles[0]))["UTMALDG.2D.MULTICAST"]
    assert multicasts == 8 * sum(along > 1 for along in cluster)
    assert instructions(program) == pytest.approx(instructions(alone), rel=0.01)


@cache
def simulated(cluster: tuple[int, int]) -> SimulationResult:
    return simulate(record("gemm_sm90", (512, 512, 256), cluster=cluster), gs.load_gpu("h200"))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_what_ctas_share_is_asked_for_once(cluster: tuple[int, int]) -> None:
    """A is asked for by one of every n CTAs, B by one of every m; everything still lands everywhere."""
    alone, shared = simulated((1, 1)).counters, simulated(cluster).counters
    assert shared["bulk_bytes_asked"] / alone["bulk_bytes_asked"] == (1 / cluster[0] + 1 / cluster[1]) / 2
    assert shared["bulk_bytes_loaded"] == alone["bulk_bytes_loaded"] == alone["bulk_bytes_asked"]
    if min(cluster) > 1:  # kernels_sm90.csv: what is sent to several CTAs does not merge with what others ask for
        assert shared["coalesced_sectors"] == 0 < alone["coalesced_sectors"]
    assert shared["sectors_to_sms"] == alone["sectors_to_sms"]


def test_a_run_takes_a_cluster_as_any_other_parameter() -> None:
    sizes = [f"problem.{name}=512" for name in "MN"] + ["problem.K=256"]
    job = Job("gemm_sm90", (*sizes, "parameters.cluster=[2,1]", "launch_overhead=true"))
    result = run_job(0, job)
    assert result.summary is not None and result.summary["occupancy"]["cluster"] == "2x1x1"
    assert result.summary["cycles"] == simulated((2, 1)).cycles
    assert "got 3 x 3" in run_job(0, Job("gemm_sm90", (*sizes, "parameters.cluster=[3,3]"))).failure


def without(program: Program, label: str) -> Program:
    """Nothing with this label reaches any CTA but the own."""
    classes = []
    for number, cta in enumerate(program.classes):
        rank, roles = program.cta_class.tolist().index(number) % program.launch.cluster_size, []
        for role in cta.roles:
            mine = np.array([found.startswith(label) for found in role.accesses.label])
            masks = role.accesses.cta_mask & np.where(mine[:, None], 1 << rank, 0xFFFF).astype(np.uint16)
            lanes = np.where((masks == 0) & (role.accesses.cta_mask > 0), 0, role.accesses.lane_mask).astype(np.uint32)
            roles.append(replace(role, accesses=replace(role.accesses, cta_mask=masks, lane_mask=lanes)))
        classes.append(CtaClass(cta.name, tuple(roles)))
    return replace(program, classes=tuple(classes))


@pytest.mark.parametrize(("label", "barrier"), [("release", "ab.empty"), ("tma.load B", "ab.full")])
def test_a_cluster_whose_ctas_do_not_care_for_each_other_hangs(label: str, barrier: str) -> None:
    program = record("gemm_sm90", (256, 256, 1024), cluster=(2, 1))
    inputs = {info.name: np.ones(info.shape, np.float16) for info in program.tensors if not info.is_output}
    with pytest.raises(SimulatedFailure, match=rf"wait for mbarrier {barrier}\[0\]"):
        execute(without(program, label), inputs)
    with pytest.raises(SimulatedFailure, match=rf"mbarrier \d+ \({barrier}\[0\]\), which lacks"):
        simulate(without(program, label), gs.load_gpu("h200"))


@pytest.mark.parametrize("cluster", [(2, 1), (1, 4), (4, 2)])
def test_rows_of_clusters_come_from_their_columns(cluster: tuple[int, int]) -> None:
    row = pd.Series({**SM90[0], "cluster_m": cluster[0], "cluster_n": cluster[1]})
    assert f"parameters.cluster={list(cluster)}" in job_for_row(row, gpu="h200", fidelity="full").settings


@pytest.mark.parametrize("cluster", [(3, 1), (4, 4), (16, 1)])
def test_rows_of_other_clusters_are_refused(cluster: tuple[int, int]) -> None:
    row = pd.Series({**SM90[0], "cluster_m": cluster[0], "cluster_n": cluster[1]})
    with pytest.raises(Unbuilt, match=f"clusters of 1, 2 or 4 CTAs along m and n, 8 at most, got {cluster[0]}x"):
        job_for_row(row, gpu="h200", fidelity="full")
