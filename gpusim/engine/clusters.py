"""Models clusters of CTAs: their barrier, arrivals at mbarriers of other CTAs, and which SMs of a GPC they start on.
Leaves out multicast data (gpusim.engine.memory) and CTAs that leave before they arrive at a barrier others wait at.

A message takes longer than a window lasts (longest_window), so that the host can deliver it between two of them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numba import njit

from gpusim.arch import GpuSpec
from gpusim.engine.blocks import BlockScheduler, runs_alone
from gpusim.engine.mbarriers import settle_phase
from gpusim.engine.messages import CTA_ARRIVES, REMOTE_ARRIVE, post_message
from gpusim.engine.result import WARP_STATES
from gpusim.engine.scoreboards import ready_time
from gpusim.engine.state import COMPLETION, NEVER
from gpusim.errors import UserError
from gpusim.program import Program

__all__ = ["ARRIVES", "WAITS", "ClusterScheduler", "Clusters", "check_clusters", "cluster_order", "leave_cluster",
           "longest_window", "receive_message", "use_cluster_barrier"]

ARRIVES, WAITS = 0, 1
"""Operands of the two halves of the barrier."""
BARRIER_STATE = WARP_STATES.index("barrier")
RANKS = np.arange(16)


def check_clusters(program: Program, spec: GpuSpec, blocks_per_sm: int) -> None:
    """Raises UserError for clusters that the GPU cannot place, or that do not make up the launch."""
    size, shape = program.launch.cluster_size, "x".join(map(str, program.launch.cluster))
    if size == 1:
        return
    if spec.cluster is None:
        raise UserError(f"{spec.name} has no clusters", place=program.name, got=shape, suggestion="use an sm_90 GPU")
    if size > spec.cluster.max_ctas:
        raise UserError(f"a cluster has at most {spec.cluster.max_ctas} CTAs", place=program.name, got=shape)
    if program.num_ctas % size:
        raise UserError("a launch is made of whole clusters", place=program.name,
                        got=f"{program.num_ctas} CTAs in clusters of {size}")
    gpcs, sms = np.array(spec.noc.gpc_runs).T
    room = int(np.bincount(gpcs, sms).max()) * blocks_per_sm
    if size > room:
        raise UserError("all CTAs of a cluster run on one GPC at the same time", place=program.name,
                        got=f"{size} CTAs where {room} fit", suggestion="a smaller cluster")


def longest_window(program: Program, spec: GpuSpec) -> int:
    """Cycles for which no SM can notice another."""
    limit = min(spec.l2.lookahead_cycles, spec.launch.cta_gap_cycles)
    if program.launch.cluster_size > 1 and spec.cluster is not None:
        limit = min(limit, spec.cluster.remote_arrive_cycles, spec.cluster.barrier_cycles)
    return limit


@dataclass
class Clusters:
    """Where the CTAs of every cluster are, and who has arrived at its barrier. Clusters of one CTA send nothing."""

    size: int
    peers: np.ndarray  # (clusters, size, 2) i8: SM and CTA slot
    barrier_ctas: np.ndarray  # (clusters,) i8: CTAs at the barrier
    barrier_time: np.ndarray  # (clusters,) i8: when it would open

    @classmethod
    def of(cls, program: Program) -> Clusters:
        size = program.launch.cluster_size
        number = program.num_ctas // size if size > 1 else 0
        return cls(size, np.full((number, size, 2), -1), np.zeros(number, np.int64), np.zeros(number, np.int64))

    def deliver(self, messages: np.ndarray) -> np.ndarray:
        """COMPLETIONs: an arrival for each CTA it goes to, and for every CTA of a cluster whose last one has arrived at
        the barrier that it opens."""
        cluster = messages["cta"] // self.size
        opened = np.zeros(len(messages), bool)
        for number in np.flatnonzero(messages["asynchronous"] == CTA_ARRIVES).tolist():
            opened[number] = self._arrive(int(cluster[number]), messages[number : number + 1])
        goes = (messages["ranks"][:, None] >> RANKS[: self.size] & 1).astype(bool)
        goes[messages["asynchronous"] == CTA_ARRIVES] = False
        goes[opened] = True
        row, rank = np.nonzero(goes)
        done = np.zeros(len(row), COMPLETION)
        for name in ("time", "token", "asynchronous"):
            done[name] = messages[name][row]
        done["sm"], done["slot"] = self.peers[cluster[row], rank].T
        done["cta"], done["flag"] = cluster[row] * self.size + rank, -1
        done["issued"], done["op"] = messages["sm"][row], messages["sequence"][row]
        return done

    def _arrive(self, cluster: int, message: np.ndarray) -> bool:
        """A CTA is at the barrier; whether it was the last. The barrier opens when the latest arrival says so."""
        self.barrier_ctas[cluster] += 1
        self.barrier_time[cluster] = max(self.barrier_time[cluster], message["time"][0])
        if self.barrier_ctas[cluster] < self.size:
            return False
        message["time"] = self.barrier_time[cluster]
        self.barrier_ctas[cluster] = self.barrier_time[cluster] = 0
        return True


def cluster_order(runs: Sequence[tuple[int, int]], size: int, number: int) -> list[int]:
    """GPCs of the first ``number`` clusters, as far as they find SMs of their own; ``runs``: (GPC, SMs) as SMs are
    numbered.

    GPCs whose SMs come one by one go first where those are enough for a cluster. Then all runs of SMs take turns; when
    fewer clusters are left than there are runs, the last ones get them (measured: cluster_order.csv).
    """
    alone = runs_alone(runs)
    first = [gpc for gpc, sms in Counter(gpc for gpc, _ in runs[:alone]).items() for _ in range(sms // size)][:number]
    room, left = [sms // size for _, sms in runs[alone:]], number - len(first)
    while left and any(room):
        for run in [run for run, clusters in enumerate(room) if clusters][-left:]:
            first.append(runs[alone + run][0])
            room[run] -= 1
            left -= 1
    return first


@dataclass
class ClusterScheduler(BlockScheduler):
    """Clusters in launch order go round the GPCs (``cluster_order``), later ones to that with the most room, their CTAs
    to its SMs with the most room; a cluster starts as soon as all its CTAs fit."""

    clusters: Clusters = field(kw_only=True)
    gpc_of: np.ndarray = field(kw_only=True)
    _first: deque[int] = field(default_factory=deque)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._room = np.zeros(len(self.gpc_of), np.int64)
        self._room[self.sms] = self.blocks_per_sm

    @property
    def gap_cycles(self) -> int:
        assert self.spec.cluster is not None
        return super().gap_cycles + self.spec.cluster.gap_cycles

    def launch(self, cycle: int) -> None:
        self._waiting.extend(self.ctas.tolist())
        size = self.clusters.size
        self._first.extend(cluster_order(self.spec.noc.gpc_runs, size, len(self.ctas) // size))
        self._start(cycle)

    def _succeed(self, cycle: int, sm: int) -> None:
        self._room[sm] += 1
        self._start(cycle)

    def _install(self, cycle: int, sm: int, cta: int) -> None:
        super()._install(cycle, sm, cta)
        slot = int(np.flatnonzero(self._slot_cta[sm] == cta)[0])
        self.state.slots[sm, slot]["rank"] = cta % self.clusters.size
        self.clusters.peers[cta // self.clusters.size, cta % self.clusters.size] = sm, slot

    def _start(self, cycle: int) -> None:
        """As many clusters as fit."""
        while self._waiting:
            gpc = self._first.popleft() if self._first else int(np.argmax(np.bincount(self.gpc_of, self._room)))
            members = np.flatnonzero(self.gpc_of == gpc)
            if self._room[members].sum() < self.clusters.size:
                return
            for _ in range(self.clusters.size):
                sm = int(members[np.argmax(self._room[members])])
                self._room[sm] -= 1
                self._upcoming.append((cycle, sm, self._waiting.popleft()))


@njit(cache=True, nogil=True)
def use_cluster_barrier(st, mach, win, s, w, row, time):
    """UCGABAR_ARV and UCGABAR_WAIT."""
    warp = st.warps[s, w]
    slot = st.slots[s, warp.cta_slot]
    if row.operand == ARRIVES:
        warp.cluster_arrivals += 1
        slot.at_cluster_barrier += 1
        pass_on(st, mach, win, s, warp, time)
    else:
        warp.cluster_waits += 1
        if slot.cluster_opened < warp.cluster_waits:
            warp.membar_end, warp.fence_state = NEVER, BARRIER_STATE


@njit(cache=True, nogil=True)
def pass_on(st, mach, win, s, warp, time):
    """The CTA has arrived when all its warps have, or have left."""
    slot, warps = st.slots[s, warp.cta_slot], st.warps[s]
    for w in range(len(warps)):
        other = warps[w]
        if other.live and other.cta_slot == warp.cta_slot and other.cluster_arrivals <= slot.cluster_arrivals:
            return
    slot.cluster_arrivals += 1
    slot.at_cluster_barrier = 0
    post_message(win, st.sms[s], s, CTA_ARRIVES, time + mach.cluster_barrier, warp.cta, 0, 0)


@njit(cache=True, nogil=True)
def leave_cluster(st, mach, win, s, warp, time):
    """A warp that leaves is not waited for."""
    if st.slots[s, warp.cta_slot].at_cluster_barrier:
        pass_on(st, mach, win, s, warp, time)


@njit(cache=True, nogil=True)
def receive_message(st, mach, ops, counts, s, done):
    """What another SM sent, or the opening of the cluster's barrier; nothing, where the CTA has gone."""
    slot = st.slots[s, done.slot]
    if slot.cta != done.cta:
        return
    if done.asynchronous == REMOTE_ARRIVE:
        st.mbarriers[s, done.slot, done.token].pending -= 1
        settle_phase(st, mach, ops, counts, s, done.slot, done.token, done.time)
        return
    slot.cluster_opened += 1
    for w in range(len(st.warps[s])):
        warp = st.warps[s, w]
        waits = warp.fence_state == BARRIER_STATE and warp.membar_end == NEVER
        if warp.live and warp.cta_slot == done.slot and waits and warp.cluster_waits <= slot.cluster_opened:
            warp.membar_end = done.time
            warp.ready = ready_time(warp, ops[warp.op])
            part = st.parts[s, w % 4]
            part.next_issue = min(part.next_issue, warp.ready)
