"""Models how often a whole launch executes each instruction and each memory access: op tables times CTAs.
Leaves out time; control flow in an op table is fixed, so these counts need no simulation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gpusim.program import AccessTable, Program, RoleProgram

__all__ = ["RoleCount", "access_executions", "role_of", "roles", "static_executions"]


@dataclass(frozen=True)
class RoleCount:
    """A role of warps, and how many CTAs of the launch have it."""

    role: RoleProgram
    num_ctas: int


def roles(program: Program) -> Iterator[RoleCount]:
    """Every role of every CTA class that occurs in the launch."""
    ctas = np.bincount(program.cta_class, minlength=len(program.classes))
    for cta_class, count in zip(program.classes, ctas.tolist(), strict=True):
        for role in cta_class.roles:
            if count:
                yield RoleCount(role, count)


def role_of(program: Program, cta: int, warp: int) -> RoleProgram:
    """The role that a warp of a CTA has."""
    candidates = program.classes[int(program.cta_class[cta])].roles
    return next(role for role in candidates if role.first_warp <= warp < role.first_warp + role.num_warps)


def static_executions(program: Program, *, active_only: bool = False) -> np.ndarray:
    """(P,) warp instructions of the whole launch per static instruction.

    ``active_only`` leaves out those that are predicated off for the whole warp: they take an issue slot, but no pipe.
    """
    total = np.zeros(len(program.statics), np.int64)
    for item in roles(program):
        ops = item.role.ops[item.role.ops["active"] != 0] if active_only else item.role.ops
        executed = np.bincount(ops["pc"], minlength=len(total))
        total += executed * item.role.num_warps * item.num_ctas
    return total


def access_executions(program: Program) -> pd.DataFrame:
    """One row per role, access and static instruction: what it costs each time, and ``executions`` per warp and launch.

    Costs are sums over the warps of the role: ``requests`` (warps with an active lane), ``wavefronts``,
    ``wavefronts_ideal``, ``bank_conflicts``, ``lines`` and ``sectors`` of global memory, ``bytes_used`` by active
    lanes or a bulk copy.
    """
    frames = [_role_accesses(program, item) for item in roles(program)]
    columns = [frame for frame in frames if len(frame)]
    return pd.concat(columns, ignore_index=True) if columns else frames[0]


def _role_accesses(program: Program, item: RoleCount) -> pd.DataFrame:
    ops, table = item.role.ops, item.role.accesses
    used = ops[(ops["access"] >= 0) & (ops["active"] != 0)]
    key = used["pc"].astype(np.int64) * max(len(table), 1) + used["access"]
    pairs, executed = np.unique(key, return_counts=True)
    pcs, rows = np.divmod(pairs, max(len(table), 1))
    statics = [program.statics[pc] for pc in pcs]
    frame = pd.DataFrame(
        {
            "label": [table.label[row] for row in rows],
            "operation": [table.operation[row] for row in rows],
            "file": [static.file for static in statics],
            "line": [static.line for static in statics],
            "tensor": table.tensor[rows],
            "bytes_per_lane": table.bytes_per_lane[rows],
            "shared": (table.shared_address[rows] >= 0).any(axis=(1, 2)),
            "executions": executed * item.num_ctas,
        }
    )
    return frame.assign(**{name: costs[rows] for name, costs in _costs(table).items()})


def _costs(table: AccessTable) -> dict[str, np.ndarray]:
    """(A,) sums over warps of what one execution of each access costs."""
    lanes = np.bitwise_count(table.lane_mask).sum(axis=1, dtype=np.int64)
    return {
        "requests": (table.lane_mask != 0).sum(axis=1),
        "bytes_used": lanes * table.bytes_per_lane + table.bulk_bytes.sum(axis=1, dtype=np.int64),
        "wavefronts": table.wavefronts.sum(axis=1, dtype=np.int64),
        "wavefronts_ideal": table.ideal_wavefronts.sum(axis=1, dtype=np.int64),
        "bank_conflicts": table.bank_conflicts.sum(axis=1, dtype=np.float64),
        "lines": table.request_count.sum(axis=1, dtype=np.int64),
        "sectors": _sectors(table),
    }


def _sectors(table: AccessTable) -> np.ndarray:
    """(A,) 32-byte sectors of global memory, summed over warps."""
    per_line = np.bitwise_count(table.requests["sector_mask"]).astype(np.int64)
    running = np.concatenate([[0], np.cumsum(per_line)])
    return (running[table.request_first + table.request_count] - running[table.request_first]).sum(axis=1)
