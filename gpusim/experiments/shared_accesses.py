"""Models every shared-memory access of a program: each source access with all its warps, at every address it takes.
Leaves out time, and how often a whole launch repeats it (gpusim.report.executions)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpusim.memory import PhaseDetail, SharedCost, async_cost, explain, shared_cost
from gpusim.memory.operations import ASYNC_OPERATIONS, LANES
from gpusim.program import Program
from gpusim.report.executions import RoleCount, roles

__all__ = ["SourceAccess", "access_cost", "access_phases", "source_accesses"]

BANK_ROW_BYTES = 128
_Key = tuple[str, int, str, str]


@dataclass(frozen=True)
class SourceAccess:
    """One memory statement of the source: N executions that differ in warp or address.

    ``shared`` holds true byte addresses, the op's offset (stage) included: nothing is taken from the access table's
    own counts, so costs found from it are a second opinion on them.
    """

    label: str
    line: int
    file: str
    operation: str
    shared: np.ndarray  # (N, 32) byte addresses
    offsets: np.ndarray  # (N, 32) global byte offsets of asynchronous copies, -1: none
    lane_mask: np.ndarray  # (N,) u4
    warp: np.ndarray  # (N,) warp of its CTA
    executions: np.ndarray  # (N,) in the whole launch

    @property
    def is_copy(self) -> bool:
        """Asynchronous: written by the memory system, not in phases of lanes."""
        return self.operation in ASYNC_OPERATIONS


def source_accesses(program: Program) -> tuple[SourceAccess, ...]:
    """All shared-memory accesses that the launch executes, in order of the source."""
    parts: dict[_Key, list[SourceAccess]] = {}
    for item in roles(program):
        for part in _of_role(program, item):
            parts.setdefault((part.label, part.line, part.file, part.operation), []).append(part)
    joined = [_joined(group) for group in parts.values()]
    return tuple(sorted(joined, key=lambda access: (access.file, access.line, access.label)))


def access_cost(access: SourceAccess) -> SharedCost:
    """Wavefronts and conflicts of the N executions, counted from their addresses."""
    if access.is_copy:
        return async_cost(access.operation, access.shared, access.offsets, access.lane_mask)
    return shared_cost(access.operation, access.shared, access.lane_mask)


def access_phases(access: SourceAccess) -> tuple[list[tuple[PhaseDetail, ...]], np.ndarray]:
    """The phases of each distinct pattern of lanes, and (N,) which pattern an execution has.

    Moving all lanes by whole rows of banks changes no phase, so that such executions share a pattern.
    """
    lowest = np.where(access.shared >= 0, access.shared, access.shared.max()).min(axis=1)
    moved = access.shared - (lowest // BANK_ROW_BYTES * BANK_ROW_BYTES)[:, None]
    keyed = np.concatenate([moved, access.lane_mask[:, None].astype(np.int64)], axis=1)
    patterns, which = np.unique(keyed, axis=0, return_inverse=True)
    return [explain(access.operation, row[:LANES], int(row[LANES])) for row in patterns], which.reshape(-1)


def _of_role(program: Program, item: RoleCount) -> Iterator[SourceAccess]:
    ops, table = item.role.ops, item.role.accesses
    on_shared = np.any(table.shared_address >= 0, axis=(1, 2))
    used = ops[(ops["access"] >= 0) & (ops["active"] != 0)]
    used = used[on_shared[used["access"]]]
    placements, executed = np.unique(used[["pc", "access", "shared_offset"]], return_counts=True)
    for place, count in zip(placements, executed.tolist(), strict=True):
        static, row = program.statics[place["pc"]], int(place["access"])
        taking_part = np.flatnonzero(table.lane_mask[row])
        yield SourceAccess(
            label=table.label[row], line=static.line, file=static.file, operation=table.operation[row],
            shared=_moved(table.shared_address[row, taking_part], int(place["shared_offset"])),
            offsets=table.global_offset[row, taking_part], lane_mask=table.lane_mask[row, taking_part],
            warp=item.role.first_warp + taking_part,
            executions=np.full(len(taking_part), count * item.num_ctas, np.int64),
        )


def _moved(addresses: np.ndarray, offset: int) -> np.ndarray:
    """Addresses moved by an op's offset; -1, a lane without one, stays."""
    wide = addresses.astype(np.int64)
    return np.where(wide >= 0, wide + offset, wide)


def _joined(parts: list[SourceAccess]) -> SourceAccess:
    first = parts[0]
    columns = ("shared", "offsets", "lane_mask", "warp", "executions")
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in columns}
    return SourceAccess(first.label, first.line, first.file, first.operation, **arrays)
