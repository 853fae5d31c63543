"""Models the order of things: cp.async groups (LDGDEPBAR, DEPBAR.LE), barriers of CTAs (BAR) and clusters, EXIT.
Leaves out mbarriers (gpusim.verify.families.mbarrier); scoreboard waits other than for copies order nothing here."""

from __future__ import annotations

from gpusim.program import NO_BARRIER
from gpusim.verify.families.bulk import wait_for_stores
from gpusim.verify.state import BarrierArrival, Batch
from gpusim.verify.step import Step

__all__ = ["arrive", "arrive_at_cluster", "commit_group", "exit_warp", "fence_proxy", "sync", "wait_for_cluster",
           "wait_group"]

_COUNT_BITS, _BARRIER_BITS = 16, 8


def commit_group(step: Step) -> None:
    """LDGDEPBAR closes a copy group, also an empty one, on the scoreboard its ``write_barrier`` names (none: SB0)."""
    role = step.role
    role.copy_groups.append((_scoreboard(step), role.open_copies))
    role.open_copies = []
    role.groups_closed += 1


def wait_group(step: Step) -> None:
    """DEPBAR.LE SBx, n completes all but the newest n groups of that scoreboard; operand = x << 16 | n."""
    scoreboard, allowed = step.op.operand >> _COUNT_BITS, step.op.operand & ((1 << _COUNT_BITS) - 1)
    if scoreboard == 0:
        wait_for_stores(step, allowed)
    mine = [group for group in step.role.copy_groups if group[0] == scoreboard]
    for group in mine[:max(0, len(mine) - allowed)]:
        for copy in group[1]:
            step.batch.shared.complete_copy(copy)
        step.role.copy_groups.remove(group)


def sync(step: Step) -> None:
    """BAR.SYNC id[, threads]: arrive and wait. operand = threads << 8 | id; threads 0: the whole CTA."""
    step.role.waiting_at = _arrive(step)
    _complete(step.batch, step.role.waiting_at)


def arrive(step: Step) -> None:
    """BAR.ARV id, threads: arrive and go on."""
    _complete(step.batch, _arrive(step))


def arrive_at_cluster(step: Step) -> None:
    """UCGABAR_ARV: what these warps have done so far is there for the whole cluster when the barrier opens."""
    step.role.cluster_barriers += 1
    batch = step.batch
    batch.cluster_arrivals.append(batch.shared.tracker.arrive(step.role.warps))
    roles = [role for peer in batch.cluster for role in peer.roles]
    if all(role.finished or role.cluster_barriers >= step.role.cluster_barriers for role in roles):
        for peer in batch.cluster:
            if peer.cluster_arrivals:
                peer.shared.release(peer.cluster_arrivals)
            peer.cluster_arrivals = []
            peer.cluster_barriers = step.role.cluster_barriers
            for role in peer.roles:
                role.waiting_at_cluster = False


def wait_for_cluster(step: Step) -> None:
    """UCGABAR_WAIT: until all warps of the cluster have arrived as often as this one."""
    step.role.waiting_at_cluster = step.batch.cluster_barriers < step.role.cluster_barriers


def fence_proxy(step: Step) -> None:
    """FENCE.VIEW.ASYNC: what these warps stored to shared memory is there for TMA and wgmma."""
    step.batch.shared.tracker.fence(step.role.warps)


def exit_warp(step: Step) -> None:
    """EXIT: the warps of the role are done."""
    if step.op.active:
        step.role.position = len(step.role.ops)


def _scoreboard(step: Step) -> int:
    return 0 if step.op.write_barrier == NO_BARRIER else step.op.write_barrier


def _arrive(step: Step) -> int:
    """Note the arrival; the barrier's number."""
    barrier, threads = step.op.operand & ((1 << _BARRIER_BITS) - 1), step.op.operand >> _BARRIER_BITS
    batch, role = step.batch, step.role
    expected = threads or batch.program.launch.threads_per_cta
    arrival = BarrierArrival(role, expected, batch.shared.tracker.arrive(role.warps))
    batch.arrived.setdefault(barrier, []).append(arrival)
    return barrier


def _complete(batch: Batch, barrier: int) -> None:
    """Open the barrier when everybody is there: publish what the participants wrote and let them go on.

    A barrier of some of the warps publishes their writes to all warps of the CTA, which is more than hardware
    promises to the others.
    """
    arrivals = batch.arrived[barrier]
    if sum(32 * arrival.role.program.num_warps for arrival in arrivals) < arrivals[0].expected_threads:
        return
    batch.shared.release([arrival.done for arrival in arrivals])
    for arrival in arrivals:
        if arrival.role.waiting_at == barrier:
            arrival.role.waiting_at = None
    del batch.arrived[barrier]
