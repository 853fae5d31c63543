"""Models how busy the units of the recorded SM were over time: its issue slots, pipes, shared memory, incoming copies.
Leaves out other SMs, and what was not recorded (see the configuration's timeline window)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpusim.arch import GpuSpec, Pipe
from gpusim.arch.instructions import wgmma_columns
from gpusim.engine.image import image_of
from gpusim.engine.operands import WAVES_SHIFT
from gpusim.engine.result import SimulationResult
from gpusim.program import Program
from gpusim.report.executions import role_of
from gpusim.report.timeline import events_of

__all__ = ["Strip", "Utilisation", "busy_by_bin", "utilisation"]

_BINS = 150
WARPS_PER_GROUP = 4
_NEGLIGIBLE_PCT = 0.5
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Strip:
    """One unit: per cent of its peak in each bin. ``name``: as in gpusim.report.style.UNIT_COLORS."""

    name: str
    title: str
    busy_pct: np.ndarray  # (bins,)


@dataclass(frozen=True)
class Utilisation:
    """Bins of a window of one SM; ``edges`` are cycles since launch."""

    sm: int
    edges: np.ndarray  # (bins + 1,)
    strips: tuple[Strip, ...]


def utilisation(program: Program, result: SimulationResult, spec: GpuSpec, *, bins: int = _BINS) -> Utilisation | None:
    """Units that did something in the recorded window; None without one, or of no length."""
    issues = events_of(result, "issue")
    start, end = int(issues["start"].min(initial=_NEVER)), int(issues["end"].max(initial=0))
    if start >= end:
        return None
    edges = np.unique(np.linspace(start, end, bins + 1).astype(np.int64))
    sm = int(result.cta_sm[issues["cta"][0]])
    kept = [strip for strip in _strips(program, result, spec, edges) if strip.busy_pct.mean() >= _NEGLIGIBLE_PCT]
    return Utilisation(sm, edges, tuple(kept))


def busy_by_bin(start: np.ndarray, end: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(bins,) cycles that intervals [start, end) spend in each bin, overlapping ones added up."""
    return np.diff(_elapsed(np.sort(start), edges) - _elapsed(np.sort(end), edges))


def _elapsed(begun: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """For each edge, the cycles since every moment of ``begun`` that lies before it, added up."""
    before = np.searchsorted(begun, edges, side="right")
    return edges * before - np.append(0, np.cumsum(begun))[before]


def _strips(program: Program, result: SimulationResult, spec: GpuSpec, edges: np.ndarray) -> Iterator[Strip]:
    width = np.diff(edges)
    parts = spec.sm.sub_partitions
    issues, mma, shared = (events_of(result, kind) for kind in ("issue", "mma", "shared"))
    yield Strip("tensor", "tensor pipes", 100 * busy_by_bin(mma["start"], mma["end"], edges) / (parts * width))
    yield Strip("issue", "issue slots", 100 * busy_by_bin(issues["start"], issues["end"], edges) / (parts * width))
    entries = [spec.instruction_table.lookup(static.mnemonic) for static in program.statics]
    pipes = np.array([int(entry.pipe) for entry in entries])[issues["pc"]]
    interval = np.array([entry.issue_interval_cycles for entry in entries])[issues["pc"]]
    for pipe in (Pipe.fma, Pipe.alu, Pipe.fp16, Pipe.fp64, Pipe.xu, Pipe.lsu):
        own = pipes == pipe
        busy = busy_by_bin(issues["start"][own], issues["start"][own] + interval[own], edges)
        yield Strip(pipe.name, f"{pipe.name.upper()} pipes", 100 * busy / (parts * width))
    stage = spec.shared.wavefronts_per_cycle * width
    yield Strip("shared", "shared memory accesses", 100 * busy_by_bin(shared["start"], shared["end"], edges) / stage)
    yield Strip("operands", "shared memory, wgmma operands",
                100 * busy_by_bin(*_operand_reads(program, result, spec), edges) / stage)
    arrivals = _arrivals(program, result, spec)
    yield Strip("copies", "shared memory, copies arriving", 100 * busy_by_bin(*arrivals, edges) / stage)


def _operand_reads(program: Program, result: SimulationResult, spec: GpuSpec) -> tuple[np.ndarray, np.ndarray]:
    """When operands of wgmma are read: from the start of each instruction on; its four warps' events are one."""
    image, mma = image_of(program, spec), events_of(result, "mma")
    is_wgmma = np.array([wgmma_columns(static.mnemonic) > 0 for static in program.statics])
    events = mma[is_wgmma[mma["pc"]] & (mma["warp"] % WARPS_PER_GROUP == 0)]
    roles = image.class_warp_role[program.cta_class[events["cta"]], events["warp"]]
    ops = image.ops[image.role_first_op[roles] + events["op"]]
    return events["start"], events["start"] + (ops["operand"] >> WAVES_SHIFT)


def _arrivals(program: Program, result: SimulationResult, spec: GpuSpec) -> tuple[np.ndarray, np.ndarray]:
    """When copies write shared memory: one data-stage cycle per 128 bytes, up to the end of each copy event."""
    copies = events_of(result, "copy")
    cycles = np.zeros(len(copies), np.int64)
    for number, event in enumerate(copies):
        role = role_of(program, int(event["cta"]), int(event["warp"]))
        row, warp = role.ops["access"][event["op"]], int(event["warp"]) - role.first_warp
        table, bulk_bytes = role.accesses, int(role.accesses.bulk_bytes[row, warp])
        data_bytes = bulk_bytes or int(table.lane_mask[row, warp]).bit_count() * int(table.bytes_per_lane[row])
        goes_to_shared = bulk_bytes > 0 or bool((table.shared_address[row] >= 0).any())
        cycles[number] = -(-data_bytes // spec.shared.bytes_per_wavefront) if goes_to_shared else 0
    return copies["end"] - cycles, copies["end"]
