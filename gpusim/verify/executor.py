"""Models a launch functionally: roles of warps run their op tables in lock step between barriers, on real data.
Leaves out time, divergence inside a warp, and the interleaving of CTAs (each runs to its end, where flags let it, or
all of a cluster together)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.errors import SimulatedFailure
from gpusim.program import Program, launches_of
from gpusim.verify.dispatch import handler_for
from gpusim.verify.families.mbarrier import try_to_go_on
from gpusim.verify.hazards import Hazard, HazardLog, place_of
from gpusim.verify.order import turns
from gpusim.verify.state import Batch, Role
from gpusim.verify.step import Step
from gpusim.verify.tensors import GlobalMemory

__all__ = ["ExecutionResult", "execute"]

_BATCH_BYTES = 64 << 20
"""State of the CTAs executed together; about what stays fast in a processor's cache hierarchy."""


@dataclass(frozen=True)
class ExecutionResult:
    """What the launch left behind."""

    outputs: dict[str, np.ndarray]  # numbers of each output tensor
    hazards: list[Hazard]
    written: dict[str, np.ndarray]  # stores per element of each output tensor
    repeated: dict[str, np.ndarray]  # of these, at most so many that nothing orders
    ctas: np.ndarray  # launch-order numbers of the CTAs that ran


def execute(program: Program, inputs: Mapping[str, np.ndarray], *, ctas: Sequence[int] | None = None,
            ignore: Collection[str] = ()) -> ExecutionResult:
    """Run the op tables of ``program`` on data and say what its outputs are and which accesses race.

    Asynchronous copies and stores become visible only as hardware guarantees: cp.async data after the issuing warp
    waited for its group, and to other warps after a barrier. Reading earlier yields the old bytes and a hazard.

    Args:
        program: from any front end; only its op and access tables are read.
        inputs: values by tensor name, rounded to the tensor's type; outputs may be given too (else zeros).
        ctas: launch-order numbers of the CTAs to run; all by default.
        ignore: output tensors whose stores are dropped, such as cycle counts, which have no functional model.

    Raises:
        UserError: missing input, an instruction without a functional model whose result is used as data.
        SimulatedFailure: deadlock at a barrier, access out of bounds or misaligned.
    """
    memory, hazards = GlobalMemory(program, inputs, ignore), []
    chosen = np.arange(program.num_ctas) if ctas is None else np.asarray(ctas, np.int64)
    first = 0
    for launch in launches_of(program):
        log = HazardLog(launch.statics)
        for turn in turns(launch, chosen[(chosen >= first) & (chosen < first + launch.num_ctas)] - first):
            for ranks in _batches(launch, turn):
                cluster = tuple(Batch(launch, class_row, part, memory, log) for class_row, part in ranks)
                for batch in cluster:
                    batch.cluster = cluster
                _run(cluster)
            memory.end_turn()
        hazards += log.hazards
        first += launch.num_ctas
    return ExecutionResult(memory.outputs(), hazards, memory.written(), memory.written(in_one_turn=True), chosen)


def _batches(program: Program, ctas: np.ndarray) -> Iterator[list[tuple[int, np.ndarray]]]:
    """CTAs of one class at a time, few enough to fit ``_BATCH_BYTES``, by rank for clusters: those whose CTAs are of
    the same classes. Where CTAs have flags to wait for each other, those that do not run against the launch order: a
    wait that is missing shows."""
    ranks = program.launch.cluster_size
    first_ctas = np.unique(ctas // ranks) * ranks
    classes_of = program.cta_class[first_ctas[:, None] + np.arange(ranks)]
    kinds, kind = np.unique(classes_of, axis=0, return_inverse=True)
    numbers = range(len(kinds))
    for number in numbers[::-1] if program.flags.words.size else numbers:
        mine, classes = first_ctas[kind.reshape(-1) == number], kinds[number].tolist()
        size = max(1, _BATCH_BYTES // sum(_cta_bytes(program, class_row) for class_row in classes))
        for first in range(0, len(mine), size):
            yield [(class_row, mine[first:first + size] + rank) for rank, class_row in enumerate(classes)]


def _cta_bytes(program: Program, class_row: int) -> int:
    """State of one CTA: three layers of shared memory, and registers (256 assumed)."""
    warps = sum(role.num_warps for role in program.classes[class_row].roles)
    return 3 * program.launch.shared_bytes + 256 * 4 * 32 * max(1, warps)


def _run(cluster: Sequence[Batch]) -> None:
    """Let every role run until it waits, in turn, until all are done. Raises SimulatedFailure on deadlock."""
    roles = [(batch, role) for batch in cluster for role in batch.roles]
    while not all(role.finished for _, role in roles):
        progress = [_advance(batch, role) for batch, role in roles]
        if not any(progress):
            stuck = next(batch for batch, role in roles if not role.finished)
            raise SimulatedFailure(_deadlock(stuck))


def _advance(batch: Batch, role: Role) -> bool:
    """Run until the role waits, arrives at an mbarrier or ends; whether anything ran."""
    start, role.yields = role.position, False
    try_to_go_on(batch, role)
    while not (role.waits or role.finished or role.yields):
        step = Step(batch, role, role.position)
        role.position += 1
        if step.op.active:
            handler_for(step.mnemonic)(step)
    return role.position != start


def _deadlock(batch: Batch) -> str:
    """Which warps wait at which barrier, since which line, and what the others do."""
    parts = []
    for role in batch.roles:
        who = f"warps {role.warps[0]}..{role.warps[-1]} (role '{role.program.name}')"
        static = batch.program.statics[role.ops[role.position - 1].pc]
        if role.waiting_for is not None:
            phases = batch.phases[role.waiting_for.index]
            parts.append(f"{who} wait for mbarrier {phases.barrier.name} at {place_of(static)}, whose {phases.state}")
            continue
        if role.waiting_at_cluster:
            parts.append(f"{who} wait at the barrier of the cluster at {place_of(static)}")
            continue
        if role.waiting_at is None:
            parts.append(f"{who} have exited")
            continue
        arrivals = batch.arrived[role.waiting_at]
        threads = sum(32 * arrival.role.program.num_warps for arrival in arrivals)
        parts.append(f"{who} wait at barrier {role.waiting_at} ({static.mnemonic}) at {place_of(static)}, "
                     f"where {threads} of {arrivals[0].expected_threads} threads arrived")
    return f"deadlock in CTA {int(batch.ctas[0])} ({batch.cta_class.name}): {'; '.join(parts)}"
