"""Models one warp instruction as its handler sees it: operands, lanes and addresses of all warps and CTAs at once.
Leaves out what the instruction does (gpusim.verify.families)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusim.errors import SimulatedFailure, UserError
from gpusim.program import NO_ACCESS, PREDICATE_BASE
from gpusim.verify.hazards import place_of
from gpusim.verify.state import DEFINED, NEVER_WRITTEN, Batch, Lanes, Op, Role
from gpusim.verify.tracker import Touch

__all__ = ["Step", "peers"]


@dataclass
class Step:
    """One warp instruction in all warps of a role and all CTAs of a batch: what a handler works on."""

    batch: Batch
    role: Role
    index: int
    op: Op = field(init=False)

    def __post_init__(self) -> None:
        self.op = self.role.ops[self.index]

    @property
    def mnemonic(self) -> str:
        return self.batch.program.statics[self.op.pc].mnemonic

    @property
    def place(self) -> str:
        return place_of(self.batch.program.statics[self.op.pc])

    @property
    def used(self) -> bool:
        """Whether any later instruction uses the result."""
        return bool(self.role.used[self.index])

    @property
    def lanes(self) -> Lanes:
        if self.op.access == NO_ACCESS:
            raise UserError(f"{self.mnemonic} needs an access", place=self.place, got="none")
        return self.role.lanes(self.op.access)

    @property
    def bytes_per_lane(self) -> int:
        return int(self.role.program.accesses.bytes_per_lane[self.op.access])

    @property
    def immediate(self) -> int:
        """The 32 bits of the op's operand; 0 where compiled code was not asked for its immediates."""
        return self.op.operand & 0xFFFFFFFF

    @property
    def vector_sources(self) -> list[tuple[int, int]]:
        """(start, count) of the source groups that are vector registers, in operand order."""
        groups = zip(self.op.src_start, self.op.src_count, strict=True)
        return [(start, count) for start, count in groups if count and start < PREDICATE_BASE]

    @property
    def writes_vector(self) -> bool:
        return self.op.dst_count > 0 and self.op.dst_start < PREDICATE_BASE

    def source_group(self, operand: int) -> tuple[int, int]:
        """(start, count) of source group ``operand``."""
        return self.op.src_start[operand], self.op.src_count[operand]

    def holds_data(self, operand: int) -> bool:
        """Whether source group ``operand`` is one vector register that something modelled has written."""
        start, count = self.source_group(operand)
        return count == 1 and start < PREDICATE_BASE and self.role.origin[start] == DEFINED

    def is_address(self, operand: int) -> bool:
        """Whether source group ``operand`` came from instructions without a functional model, as addresses do."""
        start, count = self.source_group(operand)
        return count > 0 and start < PREDICATE_BASE and bool((self.role.origin[start:start + count] >= 0).any())

    def source(self, operand: int) -> np.ndarray | None:
        """Registers (count, CTAs, warps, 32) of source group ``operand``; None where the group is empty."""
        count = self.op.src_count[operand]
        return self.group(self.op.src_start[operand], count) if count else None

    def group(self, start: int, count: int) -> np.ndarray:
        """Registers (count, CTAs, warps, 32) used as data. Raises UserError where nothing modelled wrote them."""
        self._check_flying(start, count)
        origin = self.role.origin[start:start + count]
        if (origin != DEFINED).any():
            self._refuse(start, origin)
        return self.role.registers[start:start + count]

    def write(self, values: np.ndarray) -> None:
        """Write the destination group: (count, CTAs, warps, 32) uint32, or what broadcasts to it."""
        start, count = self.op.dst_start, self.op.dst_count
        self._check_flying(start, count)
        if self.role.fenced and self.role.accumulates[start:start + count].any():
            self.role.fenced = False
        self.role.registers[start:start + count] = values
        self.role.origin[start:start + count] = DEFINED

    def write_lanes(self, values: np.ndarray, lanes: Lanes) -> None:
        """Write (CTAs, n, words) to the destination group of the active lanes; the others keep their value."""
        start = self.op.dst_start
        for word in range(values.shape[-1]):
            self.role.registers[start + word][:, lanes.warp, lanes.lane] = values[..., word]
        self.role.origin[start:start + self.op.dst_count] = DEFINED

    def stored_data(self, size: int) -> np.ndarray:
        """Bytes (CTAs, n, size) that the active lanes store: the last vector source group."""
        lanes = self.lanes
        start, count = self.vector_sources[-1]
        words = self.group(start, count)[:, :, lanes.warp, lanes.lane]
        return np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(np.uint8)[..., :size]

    def matrix_rows(self, count: int, alignment: int) -> np.ndarray:
        """Row addresses (warps, count) of ldmatrix or stmatrix. Raises SimulatedFailure where not aligned."""
        accesses = self.role.program.accesses
        rows = np.broadcast_to(accesses.shared_address[self.op.access], (self.role.program.num_warps, 32))[:, :count]
        rows = rows.astype(np.int64) + self.op.shared_offset
        self._check_alignment(rows, alignment)
        return rows

    def forget_result(self) -> None:
        """The destination holds something that has no functional model: using it as data is an error."""
        if self.writes_vector:
            self.role.origin[self.op.dst_start:self.op.dst_start + self.op.dst_count] = self.op.pc

    def touch(self, words: np.ndarray, warp: np.ndarray) -> Touch:
        """Words (n, k) touched by warps ``warp`` (n,) of the role, flat. Raises SimulatedFailure out of bounds."""
        limit = self.batch.shared.num_bytes
        if words.size and (int(words.min()) < 0 or int(words.max()) * 4 >= limit):
            raise SimulatedFailure(f"{self.place}: {self.mnemonic} must stay inside the CTA's shared memory, got byte "
                                   f"{int(words.max()) * 4} of {limit}; ask for more shared memory")
        warps = np.repeat(warp + self.role.program.first_warp, words.shape[-1])
        return Touch(self.op.pc, words.ravel(), warps)

    def shared_addresses(self, alignment: int) -> np.ndarray:
        """Byte addresses (n,) of the active lanes. Raises SimulatedFailure where not aligned."""
        addresses = self.lanes.shared + self.op.shared_offset
        self._check_alignment(addresses, alignment)
        return addresses

    def global_offsets(self) -> tuple[int, np.ndarray]:
        """Tensor, and byte offsets (CTAs, n) of the active lanes in it."""
        tensor = int(self.role.program.accesses.tensor[self.op.access])
        return tensor, self.batch.bases[:, tensor, None] + self.lanes.global_ + self.op.global_offset

    def _check_flying(self, start: int, count: int) -> None:
        """Registers that belong to a wgmma under way must not be used."""
        if not (self.role.open_products or self.role.product_groups):
            return
        pcs = self.role.flying[start:start + count]
        if (pcs >= 0).any():
            self.note_register_hazard("group", int(pcs.max()))

    def note_register_hazard(self, rule: str, other_pc: int) -> None:
        """A rule of gpusim.verify.hazards that the role's warps break with registers."""
        batch, warp = self.batch, self.role.program.first_warp
        batch.shared.tracker.log.add(rule, self.op.pc, other_pc, cta_class=batch.cta_class.name,
                                     cta=int(batch.ctas[0]), warp=warp, other_warp=warp, first_byte=-1, last_byte=-1,
                                     copy_group=-1)

    def _check_alignment(self, addresses: np.ndarray, alignment: int) -> None:
        wrong = addresses % alignment != 0
        if wrong.any():
            raise SimulatedFailure(f"{self.place}: {self.mnemonic} needs {alignment}-byte aligned shared addresses, "
                                   f"got byte {int(addresses[wrong][0])}")

    def _refuse(self, start: int, origin: np.ndarray) -> None:
        where = int(np.flatnonzero(origin != DEFINED)[0])
        pc = int(origin[where])
        if pc == NEVER_WRITTEN:
            raise UserError("a register must be written before it is used as data", place=self.place,
                            got=f"R{start + where} read by {self.mnemonic}", suggestion="load or zero it first")
        writer = self.batch.program.statics[pc]
        raise UserError(f"{writer.mnemonic} has no functional model (or an immediate operand), its result is no data",
                        place=place_of(writer), got=f"R{start + where} read by {self.mnemonic} at {self.place}",
                        suggestion="add a handler in gpusim.verify.families")


def peers(step: Step) -> list[tuple[Batch, np.ndarray]]:
    """CTAs of the cluster that the op's access names, none where it names none, with a mask (warps,) of the warps that
    name them. Raises UserError for a rank that the cluster does not have."""
    masks, cluster = step.role.program.accesses.cta_mask[step.op.access], step.batch.cluster
    if (masks >> len(cluster)).any():
        raise UserError(f"{step.mnemonic} names CTAs of its cluster", place=step.place,
                        got=f"mask {int(masks.max()):#x} in a cluster of {len(cluster)}")
    named = [(peer, (masks >> rank & 1).astype(bool)) for rank, peer in enumerate(cluster)]
    return [(peer, member) for peer, member in named if member.any()]
