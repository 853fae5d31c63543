"""Models the programs of programs/micro: microbenchmarks written in the DSL, each beside the row it should reproduce.
Leaves out compiled microbenchmarks: what differs between the two is the lowering, not the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from gpusim.arch import GpuSpec
from gpusim.arch.paths import find_data
from gpusim.dsl.registry import load_program
from gpusim.engine import SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE
from gpusim.experiments.micro.probe import Probe, Quantity
from gpusim.program import Program

__all__ = ["recorded_probes"]

MMA, BARRIERS, LDMATRIX, TRIPS = 16 * 32, 64 * 16, 128 * 4, 64
"""Timed statements of a warp with the default parameters of each program (of mma_rate: per accumulator)."""


@dataclass(frozen=True)
class _Twin:
    """A program, and the row of a table that asked the same on silicon."""

    program: str
    quantity: Quantity
    table: str
    row: Mapping[str, object]
    column: str
    per: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def measured(self) -> float:
        rows = pd.read_csv(HARDWARE / "h200" / self.table, comment="#")
        for column, value in self.row.items():
            rows = rows[rows[column] == value]
        return float(rows[self.column].iloc[0])


def _twins() -> Iterator[_Twin]:
    for warps, ilp in ((4, 1), (4, 4), (8, 4), (16, 4)):
        yield _Twin("mma_rate", "throughput", "pipes.csv",
                    {"op": "mma_m16n8k16_f16_f32", "warps": warps, "ilp": ilp}, "cyc_per_inst_per_warp", MMA * ilp,
                    parameters={"warps": warps, "ilp": ilp})
    for warps in (1, 2, 4, 8, 16, 32):
        yield _Twin("barrier", "latency", "pipes.csv", {"op": "bar_sync", "warps": warps}, "cyc_per_inst_per_warp",
                    BARRIERS, parameters={"warps": warps})
    for swizzle, ways in (("none", 8), ("32B", 4), ("64B", 2), ("128B", 1)):
        row = {"kind": "stream", "what": "ldsm4", "p1": f"ways={ways}", "p2": "subpartitions=4",
               "p3": "warps_per_sub=1"}
        yield _Twin("ldmatrix_conflicts", "throughput", "mio.csv", row, "cycles", LDMATRIX,
                    parameters={"swizzle": swizzle})
    for threads in (32, 128, 256, 512):
        yield _Twin("copy_round_trip", "latency", "memory.csv",
                    {"what": "cpasync16_roundtrip_l2", "param": f"{threads}threads"}, "value", TRIPS,
                    sizes={"threads": threads})


def recorded_probes() -> Iterator[Probe]:
    """A probe per program and setting."""
    for twin in _twins():
        settings = ", ".join(f"{name} {value}" for name, value in {**twin.sizes, **twin.parameters}.items())
        yield Probe(f"DSL program {twin.program}", settings, twin.quantity, twin.measured,
                    partial(_record, program=twin.program, sizes=twin.sizes, parameters=twin.parameters),
                    partial(_cta_cycles, per=twin.per), recorded_sm=None)


def _record(
    spec: GpuSpec, *, program: str, sizes: Mapping[str, int], parameters: Mapping[str, object]
) -> Program:
    return load_program(find_data(f"programs/micro/{program}.py")).record(spec, sizes, **parameters)


def _cta_cycles(result: SimulationResult, *, per: int) -> float:
    """Cycles of the only CTA per timed statement; what comes before and after the loop is a fraction of a percent."""
    return float(result.cta_end[0] - result.cta_start[0]) / per
