"""Models the state of a batch of CTAs that run the same op tables: registers, copy groups, barriers, positions.
Leaves out predicates and uniform registers (addresses live in the access table) and divergence inside a role."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpusim.program import PREDICATE_BASE, Program, RoleProgram
from gpusim.verify.hazards import HazardLog
from gpusim.verify.liveness import used_results
from gpusim.verify.mbarriers import Phases
from gpusim.verify.shared import UNINITIALISED, SharedMemory
from gpusim.verify.tensors import GlobalMemory
from gpusim.verify.tracker import Arrival, Copy, SharedTracker, Touch

__all__ = ["DEFINED", "NEVER_WRITTEN", "BarrierArrival", "Batch", "Lanes", "Op", "PhaseWait", "Role"]

NEVER_WRITTEN = -2
DEFINED = -1


class Op(NamedTuple):
    """A row of the op table as Python numbers; field by field gpusim.program.OP."""

    pc: int
    stall: int
    yield_: int
    wait_mask: int
    write_barrier: int
    read_barrier: int
    active: int
    access: int
    shared_offset: int
    global_offset: int
    operand: int
    dst_start: int
    dst_count: int
    src_start: list[int]
    src_count: list[int]


@dataclass(frozen=True)
class Lanes:
    """The active lanes of one row of an access table, flat over (warp of the role, lane)."""

    warp: np.ndarray  # (n,)
    lane: np.ndarray  # (n,)
    shared: np.ndarray  # (n,) byte address, before shared_offset
    global_: np.ndarray  # (n,) byte offset from the CTA base, before global_offset
    zfill: np.ndarray  # (n,) bool


@dataclass(frozen=True)
class PhaseWait:
    """A wait for the phase of mbarrier ``index`` that has this parity."""

    index: int
    parity: int


class Role:
    """Warps of one role in all CTAs of the batch."""

    def __init__(self, program: RoleProgram, num_ctas: int) -> None:
        self.program = program
        self.ops = [Op._make(row) for row in zip(*(program.ops[name].tolist() for name in Op._fields), strict=True)]
        self.used = used_results(program)
        self.position = 0
        self.waiting_at: int | None = None  # barrier id
        self.open_copies: list[Copy] = []
        self.copy_groups: list[tuple[int, list[Copy]]] = []  # (scoreboard, copies), oldest first
        self.groups_closed = 0
        self.waiting_for: PhaseWait | None = None
        self.cluster_barriers = 0  # how often it has arrived at the cluster's
        self.waiting_at_cluster = False
        self.yields = False  # others may go on now: it has just arrived at an mbarrier
        self.open_stores: list[Touch] = []  # bulk stores since the last commit
        self.store_groups: list[list[Touch]] = []
        self.open_products: list[Any] = []  # wgmmas (gpusim.verify.families.warpgroup) since the last commit
        self.product_groups: list[list[Any]] = []
        self.fenced = False  # by wgmma.fence, since accumulators were last written otherwise
        count = _register_count(program.ops)
        self.registers = np.full((count, num_ctas, program.num_warps, 32), UNINITIALISED, np.uint32)
        self.origin = np.full(count, NEVER_WRITTEN, np.int32)  # DEFINED, NEVER_WRITTEN, or the pc without a model
        self.flying = np.full(count, -1, np.int32)  # pc of the wgmma that a register belongs to, -1: none
        self.accumulates = np.zeros(count, bool)  # registers that some wgmma has had
        self._lanes: dict[int, Lanes] = {}

    @property
    def finished(self) -> bool:
        return self.position >= len(self.ops)

    @property
    def waits(self) -> bool:
        return self.waiting_at is not None or self.waiting_for is not None or self.waiting_at_cluster

    @cached_property
    def warps(self) -> np.ndarray:
        """Numbers of the warps in their CTA."""
        return self.program.first_warp + np.arange(self.program.num_warps)

    def lanes(self, row: int) -> Lanes:
        """Active lanes of access ``row``, computed once."""
        if row not in self._lanes:
            self._lanes[row] = _active_lanes(self.program, row)
        return self._lanes[row]


@dataclass(frozen=True)
class BarrierArrival:
    """A role at a barrier that is not complete yet."""

    role: Role
    expected_threads: int
    done: Arrival


class Batch:
    """CTAs of one class executed together; every array has a CTA axis, what no CTA can differ in has none.

    ``cluster``: the batches that run beside it, by rank, itself among them; a place on the CTA axis is the same cluster
    in all of them.
    """

    def __init__(self, program: Program, class_row: int, ctas: np.ndarray, memory: GlobalMemory,
                 log: HazardLog) -> None:
        self.program, self.ctas, self.memory = program, ctas, memory
        self.cluster: tuple[Batch, ...] = (self,)
        self.cta_class = program.classes[class_row]
        tensor_bases = np.array([info.base_address for info in program.tensors], np.int64)
        self.bases = program.cta_bases[ctas] - tensor_bases  # (CTAs, T) bytes from the tensor's first
        tracker = SharedTracker(-(-program.launch.shared_bytes // 4), log, cta_class=self.cta_class.name,
                                cta=int(ctas[0]))
        self.shared = SharedMemory(len(ctas), program.launch.shared_bytes, tracker)
        self.roles = [Role(role, len(ctas)) for role in self.cta_class.roles]
        self.arrived: dict[int, list[BarrierArrival]] = {}  # by barrier id
        self.cluster_arrivals: list[Arrival] = []  # at the barrier of the cluster since it last opened
        self.cluster_barriers = 0  # how often it has
        self.phases = [Phases(barrier) for barrier in program.mbarriers]


def _register_count(ops: np.ndarray) -> int:
    starts = np.concatenate([ops["dst_start"][:, None], ops["src_start"]], axis=1).astype(np.int64)
    counts = np.concatenate([ops["dst_count"][:, None], ops["src_count"]], axis=1)
    vector = (starts < PREDICATE_BASE) & (counts > 0)
    return int((starts + counts)[vector].max(initial=0))


def _active_lanes(role: RoleProgram, row: int) -> Lanes:
    table = role.accesses
    shape = (role.num_warps, 32)
    bits = (table.lane_mask[row][:, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    warp, lane = np.nonzero(bits)
    zfill = (table.zfill_mask[row][:, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    return Lanes(warp, lane, np.broadcast_to(table.shared_address[row], shape)[warp, lane].astype(np.int64),
                 np.broadcast_to(table.global_offset[row], shape)[warp, lane].astype(np.int64),
                 zfill[warp, lane].astype(bool))
