"""Models what happens to each stage of a pipeline over time: copies in flight, data waiting to be read, being read.
Leaves out pipelines that store to shared memory themselves, and why a stage waits (gpusim.report.timeline)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.engine.result import SimulationResult
from gpusim.program import Program, RoleProgram
from gpusim.report.executions import role_of
from gpusim.report.timeline import copy_groups, events_of
from gpusim.report.timeline_copies import NO_ROW, REGISTERS, awaited_stages, role_copies

__all__ = ["STAGE_STATES", "Span", "StageUse", "stage_use"]

STAGE_STATES = ("filling", "full", "being read")
ROW_BYTES = 128


@dataclass(frozen=True)
class Span:
    """A stage is in one of STAGE_STATES during [start, end), cycles."""

    stage: int
    state: str
    start: int
    end: int


@dataclass(frozen=True)
class StageUse:
    """The pipeline of one CTA in the recorded window."""

    cta: int
    num_stages: int
    spans: tuple[Span, ...]

    def in_state(self, state: str, edges: np.ndarray) -> np.ndarray:
        """(edges,) how many stages are in ``state`` at each cycle."""
        count = np.zeros(len(edges), np.int64)
        for span in self.spans:
            count += (span.state == state) & (span.start <= edges) & (edges < span.end)
        return count


def stage_use(program: Program, result: SimulationResult, cta: int) -> StageUse | None:
    """The stages of ``cta``; None without asynchronous copies in the window.

    A stage fills from the first copy's issue to the last one's arrival, is read from the first to the last wavefront
    of a load before the next fill, and is full in between. Before its first and after its last event in the window it
    is full where a read has to follow or a fill came last, and unknown (no span) otherwise.
    """
    copies = events_of(result, "copy")
    fills = [group for group in copy_groups(program, copies[copies["cta"] == cta]) if group.stage != REGISTERS]
    if not fills:
        return None
    reads = _reads(program, result, cta)
    issues = events_of(result, "issue")
    window = int(issues["start"].min()), int(issues["end"].max())
    spans: list[Span] = []
    for stage in sorted({fill.stage for fill in fills} | reads.keys()):
        own = sorted((fill.start, fill.end) for fill in fills if fill.stage == stage)
        spans += _stage_spans(stage, own, reads.get(stage, np.zeros((0, 2), np.int64)), window)
    return StageUse(cta, 1 + max(span.stage for span in spans), tuple(spans))


def _stage_spans(stage: int, fills: list[tuple[int, int]], reads: np.ndarray, window: tuple[int, int]) -> list[Span]:
    """Fills of one stage, and between them what its readers do."""
    spans = [Span(stage, "filling", *fill) for fill in fills]
    filled = [window[0], *(end for _, end in fills)]
    refilled = [*(start for start, _ in fills), window[1]]
    for number, (full_from, full_to) in enumerate(zip(filled, refilled, strict=True)):
        inside = reads[(reads[:, 0] >= full_from) & (reads[:, 0] < full_to)]
        first, last = (int(inside[:, 0].min()), int(inside[:, 1].max())) if len(inside) else (full_to, full_to)
        if len(inside):
            spans.append(Span(stage, "being read", first, last))
        is_filled = len(inside) or (number and full_to == window[1])
        if is_filled and full_from < first:
            spans.append(Span(stage, "full", full_from, first))
    return spans


def _reads(program: Program, result: SimulationResult, cta: int) -> dict[int, np.ndarray]:
    """(N, 2) start and end of each load of a stage by the CTA's warps, or of each wgmma on it."""
    shared = events_of(result, "shared")
    loads = np.array([static.mnemonic.startswith("LDS") for static in program.statics])
    shared = shared[(shared["cta"] == cta) & loads[shared["pc"]]]
    stages = _stage_of_rows(program, cta)
    found = _wgmma_reads(program, result, cta)
    for event in shared:
        role = role_of(program, cta, int(event["warp"]))
        row = _first_row(role, int(event["op"]), int(event["warp"]) - role.first_warp)
        if row in stages:
            found.setdefault(stages[row], []).append((int(event["start"]), int(event["end"])))
    return {stage: np.array(times, np.int64) for stage, times in found.items()}


def _wgmma_reads(program: Program, result: SimulationResult, cta: int) -> dict[int, list[tuple[int, int]]]:
    """Start and end of each MMA of a warp that has waited for a stage of bulk loads."""
    mma = events_of(result, "mma")
    found: dict[int, list[tuple[int, int]]] = {}
    awaited = {id(role): awaited_stages(program, role) for role in program.classes[int(program.cta_class[cta])].roles}
    for event in mma[mma["cta"] == cta]:
        stage = int(awaited[id(role_of(program, cta, int(event["warp"])))][event["op"]])
        if stage != NO_ROW:
            found.setdefault(stage, []).append((int(event["start"]), int(event["end"])))
    return found


def _stage_of_rows(program: Program, cta: int) -> dict[int, int]:
    """Stage of every 128-byte row of shared memory that copies of the CTA write."""
    stages: dict[int, int] = {}
    for role in program.classes[int(program.cta_class[cta])].roles:
        tags, table, ops = role_copies(program, role), role.accesses, role.ops
        is_copy = np.array([name.startswith("CPA") for name in table.operation] + [False], bool)
        for op in np.flatnonzero(is_copy[ops["access"]] & (ops["access"] >= 0) & (ops["active"] != 0)).tolist():
            address = table.shared_address[ops["access"][op]]
            written = (address[address >= 0] + int(ops["shared_offset"][op])) // ROW_BYTES
            stages.update(dict.fromkeys(np.unique(written).tolist(), int(tags.stage[op])))
    return stages


def _first_row(role: RoleProgram, op: int, warp: int) -> int:
    """128-byte row that an access's first lane touches, -1 for an instruction without an address."""
    row = int(role.ops["access"][op])
    if row < 0:
        return -1
    address = role.accesses.shared_address[row, warp]
    address = address[address >= 0]
    return (int(address[0]) + int(role.ops["shared_offset"][op])) // ROW_BYTES if len(address) else -1
