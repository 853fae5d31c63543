"""Models SYNCS and ARRIVES: arriving at an mbarrier, expecting bytes, waiting for a phase.
Leaves out initialisation, which the program's list of mbarriers stands for."""

from __future__ import annotations

from gpusim.errors import UserError
from gpusim.program import NO_ACCESS, MBarrierAction, unpack_mbarrier
from gpusim.verify.mbarriers import Phases
from gpusim.verify.state import Batch, PhaseWait, Role
from gpusim.verify.step import Step, peers

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
    if use.action == MBarrierAction.arrive_async:
        batch.phases[use.index].add_copies(list(role.open_copies))
    expected = step.op.global_offset if use.action == MBarrierAction.expect_tx else 0
    for target, count in _arrivals(step):
        target.phases[use.index].arrive(count, batch.shared, batch.shared.tracker.arrive(role.warps),
                                        expected_bytes=expected)
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
    for shared in {id(shared): shared for shared, _ in arrivals}.values():
        shared.release([arrival for owner, arrival in arrivals if owner is shared])


def _arrivals(step: Step) -> list[tuple[Batch, int]]:
    """At whose mbarrier all the warps arrive how often: as the access row says, where there is one, once at each CTA
    that it names for a warp, or at the own one with each lane; else as often per warp as the op says."""
    if step.op.access != NO_ACCESS:
        plain = step.role.program.accesses.cta_mask[step.op.access][step.lanes.warp] == 0
        counts = [(peer, int(member.sum())) for peer, member in peers(step)]
        return [*counts, (step.batch, int(plain.sum()))] if plain.any() else counts
    each = 1 if unpack_mbarrier(step.op.operand).action == MBarrierAction.expect_tx else step.op.shared_offset
    return [(step.batch, each * step.role.program.num_warps)] if each else []
