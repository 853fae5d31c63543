"""Models published tables of mechanisms on other GPUs: mma.sync by shape and type, pointer chases by level.
Leaves out TFLOPS and GB/s, whose clock is not told, and chases through shared memory, which hold other instructions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.arch import GpuSpec
from gpusim.arch.atoms import mma_atom
from gpusim.arch.paths import find_data
from gpusim.dsl.registry import load_program
from gpusim.engine import SimulationResult
from gpusim.experiments.micro.chases import chase_probe
from gpusim.experiments.micro.compiled import HARDWARE
from gpusim.experiments.micro.probe import Probe
from gpusim.program import Program

__all__ = ["published_tables"]

REPEATS, UNROLLED = 16, 32
CHASES = {"L1": ("chase_ca", 64 << 10), "L2": ("chase_cg", 1 << 20), "DRAM": ("chase_cold", 1 << 30)}
"""Kernel and bytes of the ring by level."""


def published_tables() -> Iterator[Probe]:
    """A probe per row of both tables."""
    for row in pd.read_csv(HARDWARE / "published/mma.csv").to_dict("records"):
        yield _mma(row)
    for row in pd.read_csv(HARDWARE / "published/latency.csv").to_dict("records"):
        part, ring_bytes = CHASES[row["level"]]
        yield chase_probe("published latencies", f"{row['source']}, {row['level']}", row["cycles"], part=part,
                          ring_bytes=ring_bytes, gpu=row["gpu"])


def _mma(row: dict[str, Any]) -> Probe:
    """Cycles of a dependent instruction, or multiply-adds per cycle of an SM."""
    warps, ilp, latency = int(row["warps"]), int(row["ilp"]), row["kind"] == "latency"
    rows, columns, depth = mma_atom(row["atom"]).shape_mnk
    work = 0 if latency else warps * ilp * rows * columns * depth
    what = f"{row['source']}, {row['atom']}" + ("" if latency else f", {warps} warps, ILP {ilp}")
    return Probe(f"published mma.sync: {row['kind']}", what, "latency" if latency else "throughput", row["value"],
                 partial(_record, parameters={"warps": warps, "ilp": ilp, "atom": row["atom"]}),
                 partial(_per_iteration, work=work), "cycles" if latency else "FMA/cycle/SM", gpu=row["gpu"],
                 recorded_sm=None)


def _record(spec: GpuSpec, *, parameters: dict[str, Any]) -> Program:
    program = load_program(find_data("programs/micro/mma_rate.py"))
    return program.record(spec, {}, repeats=REPEATS, unrolled=UNROLLED, **parameters)


def _per_iteration(result: SimulationResult, *, work: int) -> float:
    """Cycles of an iteration of the loop, or ``work`` per cycle; what stands around it is a fraction of a percent."""
    cycles = float(result.cta_end[0] - result.cta_start[0]) / (REPEATS * UNROLLED)
    return work / cycles if work else cycles
