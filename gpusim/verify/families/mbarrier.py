"""Models SYNCS and ARRIVES: arriving at an mbarrier, expecting bytes, waiting for a phase.
Leaves out initialisation, which the program's list of mbarriers stands for."""

from __future__ import annotations

from gpusim.errors import UserError
from gpusim.program import NO_ACCESS, MBarrierAction, unpack_mbarrier
from gpusim.verify.mbarriers import Phases
from gpusim.verify.state import Batch, PhaseWait, Role
from gpusim.verify.step import Step

__all__ = ["synchronise", "try_to_go_on"]


def synchronise(step: Step) -> None:
    """Any op of kind mbarrier: its operand says what it does."""
    use, batch, role = unpack_mbarrier(step.op.operand), step.batch, step.role
    if use.index >= len(batch.phases):
        raise UserError(f"{step.mnemonic} has no functional model without the program's mbarriers", place=step.place)
    if use.action == MBarrierAction.wait:
        role.waiting_for = PhaseWait(use.index, use.parity)
        try_to_go_on(batch, role)
        return
    phases = batch.phases[use.index]
    count = _arrivals(step)
    if use.action == MBarrierAction.arrive_async:
        phases.add_copies(list(role.open_copies))
    if count:
        expected = step.op.global_offset if use.action == MBarrierAction.expect_tx else 0
        phases.arrive(count, batch.shared.tracker.arrive(role.warps), expected_bytes=expected)
        role.yields = use.action == MBarrierAction.arrive


def try_to_go_on(batch: Batch, role: Role) -> None:
    """Let a role that waits for a phase go on if that has completed; it sees what the phase has ordered."""
    wait = role.waiting_for
    if wait is None or not batch.phases[wait.index].has_completed(wait.parity):
        return
    role.waiting_for = None
    _publish(batch, batch.phases[wait.index])


def _publish(batch: Batch, phases: Phases) -> None:
    arrivals, copies = phases.take_ordered()
    for copy in copies:
        batch.shared.publish_copy(copy)
    if arrivals:
        batch.shared.release(arrivals)


def _arrivals(step: Step) -> int:
    """Of all the warps: the lanes of the access row, where there is one, else as many of each warp as the op says."""
    if step.op.access != NO_ACCESS:
        return len(step.lanes.lane)
    each = 1 if unpack_mbarrier(step.op.operand).action == MBarrierAction.expect_tx else step.op.shared_offset
    return each * step.role.program.num_warps
