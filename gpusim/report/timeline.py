"""Models what a recorded window shows about one CTA: issues and stalls of its warps, copies in flight, busy units.
Leaves out drawing (gpusim.report.timeline_figure) and the trace of all warps (gpusim.report.perfetto)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.arch import GpuSpec, Kind
from gpusim.engine.result import EVENT_KINDS, SimulationResult
from gpusim.errors import UserError
from gpusim.program import Program, RoleProgram

__all__ = ["ISSUE_CLASSES", "CopyGroup", "Timeline", "copy_groups", "copy_tags", "events_of", "issue_class", "timeline"]

ISSUE_CLASSES = ("MMA", "shared load", "asynchronous copy", "wait and barrier", "global memory", "other")
_NOWHERE = np.iinfo(np.int64).max
_CLASS_OF_KIND = {
    Kind.mma: 0, Kind.wgmma: 0, Kind.shared_load: 1, Kind.ldmatrix: 1, Kind.async_copy: 2, Kind.bulk_copy: 2,
    Kind.commit: 3, Kind.depbar: 3, Kind.barrier: 3, Kind.mbarrier: 3, Kind.wgmma_control: 3,
    Kind.global_load: 4, Kind.global_store: 4, Kind.atomic: 4, Kind.shared_store: 1, Kind.stmatrix: 1,
}


@dataclass(frozen=True)
class CopyGroup:
    """Copies of one CTA committed together: in flight from the first issue to the last arrival, cycles."""

    stage: int
    group: int
    start: int
    end: int


@dataclass(frozen=True)
class Timeline:
    """A window of one CTA. ``warps[w]`` has that warp's issue and state events; units have those of the whole SM."""

    cta: int
    sm: int
    start_cycle: int
    end_cycle: int
    issues: np.ndarray  # EVENT rows of the CTA
    issue_classes: np.ndarray  # index into ISSUE_CLASSES per row of `issues`
    states: np.ndarray  # EVENT rows of the CTA
    copies: tuple[CopyGroup, ...]
    num_stages: int
    tensor: np.ndarray  # EVENT rows of the SM
    shared: np.ndarray  # EVENT rows of the SM

    @property
    def warps(self) -> list[int]:
        return sorted(set(self.issues["warp"].tolist()) | set(self.states["warp"].tolist()))


def events_of(result: SimulationResult, kind: str) -> np.ndarray:
    """Events of one kind of EVENT_KINDS."""
    return result.events[result.events["kind"] == EVENT_KINDS.index(kind)]


def timeline(program: Program, result: SimulationResult, spec: GpuSpec, *, cta: int | None = None) -> Timeline:
    """The recorded window as ``cta`` sees it; by default the CTA that issued most in it.

    Raises UserError when nothing was recorded, or not that CTA.
    """
    issues = events_of(result, "issue")
    if not len(issues):
        raise UserError("no events were recorded", place="timeline", suggestion="choose a window in which the SM works")
    cta = int(np.bincount(issues["cta"]).argmax()) if cta is None else cta
    own = issues[issues["cta"] == cta]
    if not len(own):
        known = ", ".join(map(str, np.unique(issues["cta"])))
        raise UserError("that CTA is not in the recorded window", place="timeline", got=cta,
                        suggestion=f"known: {known}")
    states, copies = events_of(result, "state"), events_of(result, "copy")
    classes = np.array([issue_class(static.mnemonic, spec) for static in program.statics], np.int8)
    groups = copy_groups(program, copies[copies["cta"] == cta])
    shown = result.events[result.events["kind"] != EVENT_KINDS.index("copy")]
    return Timeline(
        cta=cta, sm=int(result.cta_sm[cta]), start_cycle=int(shown["start"].min()), end_cycle=int(shown["end"].max()),
        issues=own, issue_classes=classes[own["pc"]], states=states[states["cta"] == cta], copies=groups,
        num_stages=1 + max((copy.stage for copy in groups), default=-1),
        tensor=events_of(result, "mma"), shared=events_of(result, "shared"),
    )


def issue_class(mnemonic: str, spec: GpuSpec) -> int:
    """Index into ISSUE_CLASSES."""
    return _CLASS_OF_KIND.get(spec.instruction_table.lookup(mnemonic).kind, len(ISSUE_CLASSES) - 1)


def copy_groups(program: Program, copies: np.ndarray) -> tuple[CopyGroup, ...]:
    """Copy events of one CTA, joined by commit group."""
    group, stage = copy_tags(program, copies)
    found = []
    for number in np.unique(group).tolist():
        rows = group == number
        start, end = int(copies["start"][rows].min()), int(copies["end"][rows].max())
        found.append(CopyGroup(int(stage[rows][0]), number, start, end))
    return tuple(found)


def copy_tags(program: Program, copies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(E,) commit group of the CTA and (E,) stage of each copy event.

    Groups that write the same shared memory share a stage; stages count up with the address.
    """
    tags = np.zeros((2, len(copies)), np.int64)
    cta_class = program.cta_class[copies["cta"]]
    for number, kind in enumerate(program.classes):
        for role in kind.roles:
            warp = copies["warp"] - role.first_warp
            rows = np.flatnonzero((cta_class == number) & (warp >= 0) & (warp < role.num_warps))
            if len(rows):
                tags[:, rows] = _stages_by_op(program, role)[:, copies["op"][rows]]
    return tags[0], tags[1]


def _stages_by_op(program: Program, role: RoleProgram) -> np.ndarray:
    """(2, ops) commit group and stage of each row of the op table; only rows that copy matter."""
    is_commit = np.array([static.mnemonic.startswith("LDGDEPBAR") for static in program.statics])[role.ops["pc"]]
    group = np.cumsum(is_commit) - is_commit
    first_byte = np.full(int(group.max(initial=0)) + 1, _NOWHERE)
    rows, address = _copied_bytes(role)
    np.minimum.at(first_byte, group[rows], address)
    bases = np.unique(first_byte[first_byte != _NOWHERE])
    return np.stack([group, np.searchsorted(bases, first_byte)[group]])


def _copied_bytes(role: RoleProgram) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the op table that copy asynchronously, and the lowest shared address each of them writes."""
    table, ops = role.accesses, role.ops
    is_copy = np.array([name.startswith("CPA") for name in table.operation], bool)
    rows = np.flatnonzero((ops["access"] >= 0) & (ops["active"] != 0))
    rows = rows[is_copy[ops["access"][rows]]]
    lowest = np.where(table.shared_address >= 0, table.shared_address, _NOWHERE).min(axis=(1, 2))
    return rows, lowest[ops["access"][rows]] + ops["shared_offset"][rows]
