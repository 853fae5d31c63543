"""Models how busy the units of the recorded SM were over time: its issue slots, pipes, and who used its data stage.
Leaves out other SMs, and what was not recorded (see the configuration's timeline window)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpusim.arch import GpuSpec, Kind, Pipe
from gpusim.engine.result import SimulationResult
from gpusim.program import Program
from gpusim.report.timeline import events_of, span_of

__all__ = ["Strip", "Utilisation", "busy_by_bin", "utilisation"]

_BINS = 150
_NEGLIGIBLE_PCT = 0.5


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
    if (span := span_of(issues)) is None:
        return None
    edges = np.unique(np.linspace(*span, bins + 1).astype(np.int64))
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
    kinds = np.array([entry.kind for entry in entries])[shared["pc"]]
    stage = spec.shared.wavefronts_per_cycle * width
    for name, title, own in _stage_users(kinds):
        busy = busy_by_bin(shared["start"][own], shared["end"][own], edges)
        yield Strip(name, title, 100 * busy / stage)


def _stage_users(kinds: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """Who takes turns at the SM's data stage: names and titles of strips, and which events are theirs."""
    operands, arrivals = kinds == Kind.wgmma, np.isin(kinds, (Kind.async_copy, Kind.bulk_copy))
    loads = np.isin(kinds, (Kind.global_load, Kind.atomic))
    yield "shared", "shared memory accesses", ~(operands | arrivals | loads)
    yield "operands", "shared memory, wgmma operands", operands
    yield "copies", "shared memory, bulk and async copies", arrivals
    yield "l1", "L1 data, loads to registers", loads
