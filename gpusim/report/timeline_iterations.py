"""Models which iteration of the main loop an instruction belongs to, and when a CTA was in it.
Leaves out other loops, and how the cycles to record are chosen (gpusim.experiments.window)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusim.engine.result import EVENT_KINDS
from gpusim.program import Program, RoleProgram
from gpusim.report.executions import role_of

__all__ = ["MAIN_LOOP", "OUTSIDE", "IterationSpan", "iteration_cycles", "iteration_starts", "num_iterations",
           "role_iterations"]

MAIN_LOOP = "main_loop"
OUTSIDE = -1
"""Iteration of an instruction outside the main loop."""


def role_iterations(program: Program, role: RoleProgram) -> np.ndarray:
    """(ops,) iteration of the main loop by row of the op table.

    Most instructions of a loop run once in an iteration: the first of those starts one.
    """
    in_loop = np.array([static.scope.split("/")[0] == MAIN_LOOP for static in program.statics], bool)
    pcs = role.ops["pc"]
    rows = np.flatnonzero(in_loop[pcs])
    iteration = np.full(len(pcs), OUTSIDE, np.int64)
    if len(rows):
        executed = np.bincount(pcs[rows])
        usual = int(np.bincount(executed[executed > 0]).argmax())
        header = pcs[rows][executed[pcs[rows]] == usual][0]
        iteration[rows] = np.maximum(np.cumsum(pcs[rows] == header) - 1, 0)
    return iteration


def num_iterations(program: Program, cta: int) -> int:
    """Iterations of the main loop of a CTA: the most that one of its roles has."""
    roles = program.classes[int(program.cta_class[cta])].roles
    return 1 + max(int(role_iterations(program, role).max(initial=OUTSIDE)) for role in roles)


def iteration_starts(program: Program, cta: int, issues: np.ndarray) -> list[tuple[int, int, int]]:
    """(warp, iteration, cycle) of the issue of the first instruction of every iteration, of issues of one CTA."""
    found = []
    for warp in np.unique(issues["warp"]).tolist():
        iteration = role_iterations(program, role_of(program, cta, warp))
        begins = np.diff(iteration, prepend=OUTSIDE) > 0
        own = issues[issues["warp"] == warp]
        rows = own[begins[own["op"]]]
        found += [(warp, int(iteration[row["op"]]), int(row["start"])) for row in rows]
    return found


class IterationSpan(NamedTuple):
    """Cycles that hold iterations of all warps whole; the roles that begin the first of them and end the last."""

    start_cycle: int
    end_cycle: int
    first_role: str
    last_role: str


def iteration_cycles(program: Program, events: np.ndarray, cta: int, first: int, last: int) -> IterationSpan | None:
    """Cycles from the first issue of iteration ``first`` to the last issue of iteration ``last``, over all warps.

    Roles are not in the same iteration at the same time: a producer is ahead by up to the stages of its pipeline.
    None where the events do not hold those iterations whole: what comes before and after must be recorded too.
    """
    issues = events[(events["kind"] == EVENT_KINDS.index("issue")) & (events["cta"] == cta)]
    if not len(issues):
        return None
    roles = program.classes[int(program.cta_class[cta])].roles
    starts, ends = [], []
    for role in roles:
        rows = np.flatnonzero(_between(role_iterations(program, role), first, last))
        if not len(rows):
            continue
        for warp in range(role.first_warp, role.first_warp + role.num_warps):
            own = issues[issues["warp"] == warp]
            if not {int(rows[0]), int(rows[-1])} <= set(own["op"].tolist()):
                return None
            starts.append((int(own["start"][own["op"] == rows[0]][0]), role.name))
            ends.append((int(own["end"][own["op"] == rows[-1]][0]), role.name))
    if not starts:
        return None
    (start, first_role), (end, last_role) = min(starts), max(ends)
    return IterationSpan(start, end, first_role, last_role)


def _between(iteration: np.ndarray, first: int, last: int) -> np.ndarray:
    return (iteration >= first) & (iteration <= last)
