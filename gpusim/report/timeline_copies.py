"""Models which copies belong together, which stage they fill, and which instruction waits for them: from op tables.
Leaves out when they run (the events of a simulation), and who waits for bulk copies: mostly warps of another role."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusim.program import NO_BARRIER, MBarrierAction, MBarrierUse, Program, RoleProgram, unpack_mbarrier

__all__ = ["NO_ROW", "REGISTERS", "CopyTags", "awaited_stages", "copy_tags", "role_copies"]

REGISTERS = -1
"""Stage of a load that goes to registers."""
NO_ROW = -1
BULK_LOAD = "TMALDG"
_NOWHERE = np.iinfo(np.int64).max


class CopyTags(NamedTuple):
    """By row of an op table, or by copy event."""

    group: np.ndarray  # commit group, or batch of loads to registers between two waits, counted within a warp
    stage: np.ndarray  # stages count up with the shared address; REGISTERS
    needed_by: np.ndarray  # row of the op table that waits for it, NO_ROW


def copy_tags(program: Program, copies: np.ndarray) -> CopyTags:
    """(E,) tags of copy events."""
    tags = CopyTags(*(np.zeros(len(copies), np.int64) for _ in CopyTags._fields))
    cta_class = program.cta_class[copies["cta"]]
    for number, kind in enumerate(program.classes):
        for role in kind.roles:
            warp = copies["warp"] - role.first_warp
            events = np.flatnonzero((cta_class == number) & (warp >= 0) & (warp < role.num_warps))
            if len(events):
                for total, of_role in zip(tags, role_copies(program, role), strict=True):
                    total[events] = of_role[copies["op"][events]]
    return tags


def role_copies(program: Program, role: RoleProgram) -> CopyTags:
    """(ops,) tags of the rows of a role; they mean something where the row is a copy or a load."""
    names = [static.mnemonic for static in program.statics]
    is_commit, is_depbar = (
        np.array([name.startswith(stem) for name in names], bool)[role.ops["pc"]] for stem in ("LDGDEPBAR", "DEPBAR")
    )
    asynchronous = _asynchronous(role, is_commit, is_depbar)
    loads = _loads(role, is_depbar)
    to_shared = np.zeros(len(role.ops), bool)
    to_shared[_shared_rows(role)[0]] = True
    tags = CopyTags(*(np.where(to_shared, one, other) for one, other in zip(asynchronous, loads, strict=True)))
    return _with_bulk(program, role, tags)


def _with_bulk(program: Program, role: RoleProgram, tags: CopyTags) -> CopyTags:
    """Bulk loads: those behind one arrival that expects their bytes are a group, their mbarrier tells the stage.

    Groups count from 0, as those of cp.async do.
    """
    rows = _bulk_rows(role)
    stage_of = _bulk_stages(program)
    expects = [row for row, use in _mbarrier_uses(program, role) if use.action == MBarrierAction.expect_tx]
    tags.group[rows] = np.unique(np.searchsorted(expects, rows), return_inverse=True)[1]
    tags.stage[rows] = [stage_of[index] for index in role.ops["operand"][rows].tolist()]
    tags.needed_by[rows] = NO_ROW
    return tags


def awaited_stages(program: Program, role: RoleProgram) -> np.ndarray:
    """(ops,) stage of bulk loads that the role's last wait before an op was for, NO_ROW: none."""
    stage_of, stages = _bulk_stages(program), np.full(len(role.ops), NO_ROW, np.int64)
    for row, use in _mbarrier_uses(program, role):
        if use.action == MBarrierAction.wait and use.index in stage_of:
            stages[row:] = stage_of[use.index]
    return stages


def _mbarrier_uses(program: Program, role: RoleProgram) -> list[tuple[int, MBarrierUse]]:
    """(row, use) of the ops that arrive at or wait for an mbarrier."""
    if not program.mbarriers:
        return []
    acts = np.array([static.mnemonic.startswith(("SYNCS.ARRIVE", "SYNCS.PHASECHK")) for static in program.statics])
    rows = np.flatnonzero(acts[role.ops["pc"]]).tolist()
    return [(row, unpack_mbarrier(int(role.ops["operand"][row]))) for row in rows]


def _bulk_stages(program: Program) -> dict[int, int]:
    """Stage by mbarrier that bulk loads complete: they count up with its number."""
    roles = [role for kind in program.classes for role in kind.roles]
    indices = np.unique(np.concatenate([role.ops["operand"][_bulk_rows(role)] for role in roles]))
    return {int(index): stage for stage, index in enumerate(indices)}


def _bulk_rows(role: RoleProgram) -> np.ndarray:
    """Rows of the op table that load in bulk."""
    is_load = np.array([name == BULK_LOAD for name in role.accesses.operation] + [False], bool)
    return np.flatnonzero(is_load[role.ops["access"]] & (role.ops["access"] >= 0) & (role.ops["active"] != 0))


def _asynchronous(role: RoleProgram, is_commit: np.ndarray, is_depbar: np.ndarray) -> CopyTags:
    """cp.async: groups end at a commit; groups that write the same shared memory share a stage."""
    group = np.cumsum(is_commit) - is_commit
    first_byte = np.full(int(group.max(initial=0)) + 1, _NOWHERE)
    rows, address = _shared_rows(role)
    np.minimum.at(first_byte, group[rows], address)
    bases = np.unique(first_byte[first_byte != _NOWHERE])
    stage = np.searchsorted(bases, first_byte)[group]
    return CopyTags(group, stage, _group_waits(role, is_commit, is_depbar)[group])


def _group_waits(role: RoleProgram, is_commit: np.ndarray, is_depbar: np.ndarray) -> np.ndarray:
    """(groups,) the first row after which a group is known to have arrived."""
    ops, committed = role.ops, np.cumsum(is_commit)
    board = int(ops["write_barrier"][is_commit][0]) if is_commit.any() else NO_BARRIER
    waits_for_all = (ops["wait_mask"] >> board & 1).astype(bool) & (board != NO_BARRIER)
    waits = waits_for_all | is_depbar & (ops["operand"] >> 16 == board)
    pending = np.where(waits_for_all, 0, ops["operand"] & 0xFFFF)
    arrived = np.maximum.accumulate(np.where(waits, committed - pending, 0))
    rows = np.searchsorted(arrived, np.arange(1, int(committed[-1]) + 2))
    return np.where(rows < len(ops), rows, NO_ROW)


def _loads(role: RoleProgram, is_depbar: np.ndarray) -> CopyTags:
    """Loads to registers: each waits for its scoreboard barrier, and a batch ends where one of them is awaited."""
    ops, count = role.ops, len(role.ops)
    needed_by = np.full(count, NO_ROW, np.int64)
    for board in np.unique(ops["write_barrier"][ops["write_barrier"] != NO_BARRIER]).tolist():
        masked = (ops["wait_mask"] >> board & 1).astype(bool)
        waits = np.flatnonzero(masked | is_depbar & (ops["operand"] >> 16 == board))
        rows = np.flatnonzero(ops["write_barrier"] == board)
        following = np.searchsorted(waits, rows, side="right")
        needed_by[rows] = np.append(waits, NO_ROW)[following]
    loads = _register_rows(role)
    awaited = np.unique(needed_by[loads])
    batch = np.zeros(count, np.int64)
    batch[loads] = np.unique(np.searchsorted(awaited, loads), return_inverse=True)[1]
    return CopyTags(batch, np.full(count, REGISTERS, np.int64), needed_by)


def _register_rows(role: RoleProgram) -> np.ndarray:
    """Rows that touch global memory alone and write a register by way of a scoreboard barrier."""
    ops, table = role.ops, role.accesses
    used = (ops["access"] >= 0) & (ops["active"] != 0) & (ops["write_barrier"] != NO_BARRIER)
    rows = np.flatnonzero(used)
    is_global = (table.tensor >= 0) & (table.shared_address < 0).all(axis=(1, 2))
    return rows[is_global[ops["access"][rows]]]


def _shared_rows(role: RoleProgram) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the op table that copy asynchronously, and the lowest shared address each of them writes."""
    table, ops = role.accesses, role.ops
    is_copy = np.array([name.startswith("CPA") for name in table.operation], bool)
    rows = np.flatnonzero((ops["access"] >= 0) & (ops["active"] != 0))
    rows = rows[is_copy[ops["access"][rows]]] if len(table) else rows[:0]
    address = table.shared_address.astype(np.int64)
    lowest = np.where(address >= 0, address, _NOWHERE).min(axis=(1, 2), initial=_NOWHERE)
    return rows, lowest[ops["access"][rows]] + ops["shared_offset"][rows]
