"""Models which results of a role's instructions are ever used, by one backward pass over its op table.
Leaves out lanes and predicates: a result counts as used when any lane may use it."""

from __future__ import annotations

import numpy as np

from gpusim.program import NO_ACCESS, PREDICATE_BASE, RoleProgram

__all__ = ["used_results"]


ALL_LANES = 0xFFFFFFFF


def used_results(role: RoleProgram) -> np.ndarray:
    """Per op (n,) bool: a later op reads a vector register of its destination before it is overwritten.

    A software pipeline loads one last fragment that no MMA uses; what such a load reads can be no hazard.
    A load in which not all lanes take part ends no older value's life.
    """
    ops, whole = role.ops, (role.accesses.lane_mask == ALL_LANES).all(axis=1).tolist()
    needed = bytearray(PREDICATE_BASE)
    used = np.zeros(len(ops), bool)
    fields = ("active", "access", "dst_start", "dst_count", "src_start", "src_count")
    columns = [ops[name].tolist() for name in fields]
    for i, (active, access, dst, dst_count, starts, counts) in enumerate(zip(*(c[::-1] for c in columns), strict=True)):
        if not active:
            continue
        if dst < PREDICATE_BASE:
            used[-1 - i] = 1 in needed[dst:dst + dst_count]
            if access == NO_ACCESS or whole[access]:
                needed[dst:dst + dst_count] = bytes(dst_count)
        for start, count in zip(starts, counts, strict=True):
            if start < PREDICATE_BASE:
                needed[start:start + count] = b"\1" * count
    return used
