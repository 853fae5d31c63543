"""Models the programs of programs/micro: microbenchmarks written in the DSL, each beside the row it should reproduce.
Leaves out compiled microbenchmarks: what differs between the two is the lowering, not the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from gpusim.arch import GpuSpec
from gpusim.arch.paths import find_data
from gpusim.dsl.registry import load_program
from gpusim.engine import EVENT_KINDS, WARP_STATES, SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE
from gpusim.experiments.micro.probe import Probe, Quantity, Reader, cta_bytes_per_cycle
from gpusim.program import Program

__all__ = ["recorded_probes"]

MMA, ARITHMETIC, BARRIERS, LDMATRIX, SHARED, TRIPS, WGMMA = 16 * 32, 16 * 128, 64 * 16, 128 * 4, 64 * 16, 64, 64 * 8
"""Timed statements of a warp with the default parameters of each program (of mma_rate: per accumulator)."""
PIPES = {"FFMA": "ffma", "DFMA": "dfma", "IMAD": "imad", "MUFU.EX2": "mufu_ex2", "IDP.4A.S8.S8": "dp4a",
         "SHFL.BFLY": "shfl"}
ACCESSES = {"LDS": "lds32", "LDS.128": "lds128", "LDSM.16.M88": "ldsm1", "LDSM.16.M88.2": "ldsm2",
            "LDSM.16.M88.4": "ldsm4", "STS": "sts32", "STS.128": "sts128"}
"""Names of SASS instructions in pipes.csv and mio.csv."""
RELEASES = {"LDS": "LDS32", "LDG.E": "LDG32", "STS": "STS32", "STS.64": "STS64", "STS.128": "STS128", "STG.E": "STG32",
            "STG.E.128": "STG128"}
GA102 = "rtx3090"
"""What Huerta et al. measured, and where it is simulated: the same die."""
RINGS = {"L1": ("ldg_l1_chase_cycles", "64KB", 1 << 16, 128), "L2": ("ldg_l2_chase_cycles", "4MB", 1 << 22, 4096),
         "DRAM": ("ldg_dram_chase_cycles", "1GB", 1 << 26, 1 << 16)}
"""Rows of memory.csv, bytes of the ring that is simulated and of its stride."""
KIB, READ_PASSES, HOPS = 1 << 10, 4, 8
ISSUE, STATE, MEMBAR = EVENT_KINDS.index("issue"), EVENT_KINDS.index("state"), WARP_STATES.index("membar")
FIRST_TURN = 3  # of a chain; the ones before begin while others do


@dataclass(frozen=True)
class _Twin:
    """A program, and the row of a table that asked the same on silicon."""

    program: str
    quantity: Quantity
    table: str
    row: Mapping[str, object]
    column: str
    read: Reader
    sizes: Mapping[str, int] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    l2: str = "warm"
    gpu: str = ""
    recorded_sm: int | None = None

    @property
    def measured(self) -> float:
        """The last number of the row's column, which may name more than one with their units."""
        rows = pd.read_csv(HARDWARE / "h200" / self.table, comment="#")
        for column, value in self.row.items():
            rows = rows[rows[column] == value]
        return float(re.findall(r"\d+\.?\d*", str(rows[self.column].iloc[0]))[-1])


def _cta_cycles(result: SimulationResult, *, per: int) -> float:
    """Cycles of the only CTA per timed statement; what comes before and after the loop is a fraction of a percent."""
    return float(result.cta_end[0] - result.cta_start[0]) / per


def _cycles_of_late_rounds(result: SimulationResult, *, per: int) -> float:
    """Cycles of a round per timed statement, in the second half of the rounds: the loop is what comes most often."""
    issues = result.events[result.events["kind"] == ISSUE]
    pcs, counts = np.unique(issues["pc"], return_counts=True)
    starts = np.sort(issues["start"][issues["pc"] == pcs[counts.argmax()]])
    later = starts[len(starts) // 2:]
    return float(later[-1] - later[0]) / (len(later) - 1) / per


def _longer_gaps(result: SimulationResult) -> float:
    """Cycles between the first warp's issues where it waits; in between, the next access waits for the sum only."""
    issues = result.events[(result.events["kind"] == ISSUE) & (result.events["warp"] == 0)]
    gaps = np.diff(np.sort(issues["start"]))
    return float(np.median(gaps[gaps > gaps.mean()]))


def _turn_cycles(result: SimulationResult, *, ctas: int) -> float:
    """Cycles from one CTA's turn to the next one's, by what waits behind the fence of the first one."""
    fences = result.events[(result.events["kind"] == STATE) & (result.events["state"] == MEMBAR)
                           & (result.events["warp"] == 0)]
    behind = np.sort(fences["start"][fences["pc"] == fences["pc"].max()])
    return float(np.diff(behind)[FIRST_TURN:].mean()) / ctas


def _twins() -> Iterator[_Twin]:
    yield from _pipes()
    yield from _shared_memory()
    yield from _memory()
    yield from _flags()
    for n, warpgroups in ((64, 1), (128, 1), (256, 1), (256, 2)):
        yield _Twin("wgmma_rate", "throughput", "wgmma.csv",
                    {"what": "wgmma_ss", "n": n, "warpgroups": warpgroups, "swizzle": "128B", "per_group": 8},
                    "cycles_per_wgmma", partial(_cta_cycles, per=WGMMA),
                    parameters={"n": n, "warpgroups": warpgroups})


def _pipes() -> Iterator[_Twin]:
    column = "cyc_per_inst_per_warp"
    for warps, ilp in ((4, 1), (4, 4), (8, 4), (16, 4)):
        yield _Twin("mma_rate", "throughput", "pipes.csv",
                    {"op": "mma_m16n8k16_f16_f32", "warps": warps, "ilp": ilp}, column,
                    partial(_cta_cycles, per=MMA * ilp), parameters={"warps": warps, "ilp": ilp})
    for instruction, name in PIPES.items():
        for warps, ilp in ((1, 1), (8, 4)):
            yield _Twin("arithmetic", "latency" if ilp == 1 else "throughput", "pipes.csv",
                        {"op": name, "warps": warps, "ilp": ilp}, column, partial(_cta_cycles, per=ARITHMETIC),
                        parameters={"instruction": instruction, "warps": warps, "ilp": ilp})
    for warps in (1, 2, 4, 8, 16, 32):
        yield _Twin("barrier", "latency", "pipes.csv", {"op": "bar_sync", "warps": warps}, column,
                    partial(_cta_cycles, per=BARRIERS), parameters={"warps": warps})


def _shared_memory() -> Iterator[_Twin]:
    for swizzle, ways in (("none", 8), ("32B", 4), ("64B", 2), ("128B", 1)):
        yield _stream("ldmatrix_conflicts", "ldsm4", ways, 1, LDMATRIX, {"swizzle": swizzle})
    for instruction, name in ACCESSES.items():
        for ways in (1, 8):
            yield _stream("shared_access", name, ways, 4, SHARED, {"instruction": instruction, "ways": ways})
    for instruction, name in RELEASES.items():
        yield _Twin("register_release", "latency", "../published/ga102_memory.csv", {"kind": "war", "operation": name},
                    "cycles", _longer_gaps, parameters={"instruction": instruction}, gpu=GA102, recorded_sm=0)


def _stream(program: str, what: str, ways: int, warps: int, per: int, parameters: Mapping[str, object]) -> _Twin:
    row = {"kind": "stream", "what": what, "p1": f"ways={ways}", "p2": "subpartitions=4",
           "p3": f"warps_per_sub={warps}"}
    return _Twin(program, "throughput", "mio.csv", row, "cycles", partial(_cta_cycles, per=per), parameters=parameters)


def _memory() -> Iterator[_Twin]:
    for threads in (32, 128, 256, 512):
        yield _Twin("copy_round_trip", "latency", "memory.csv",
                    {"what": "cpasync16_roundtrip_l2", "param": f"{threads}threads"}, "value",
                    partial(_cta_cycles, per=TRIPS), sizes={"threads": threads})
    for level, (what, param, ring, stride) in RINGS.items():
        yield _Twin("pointer_chase", "latency", "memory.csv", {"what": what, "param": param}, "value",
                    partial(_cycles_of_late_rounds, per=HOPS), sizes={"ring": ring},
                    parameters={"past_l1": level != "L1", "stride": stride},
                    l2="cold" if level == "DRAM" else "warm", recorded_sm=0)
    for ctas in (1, 33, 66, 132):
        yield _Twin("read_bandwidth", "bandwidth", "memory.csv",
                    {"what": "l2_read_cg", "param": f"{ctas}ctas_x1024thr_per256KB_wrap16384KB"}, "value",
                    partial(cta_bytes_per_cycle, cta_bytes=256 * KIB * READ_PASSES), sizes={"ctas": ctas})


def _flags() -> Iterator[_Twin]:
    for stores in (0, 1, 4, 16, 64):
        for ctas in (2, 4, 8):
            yield _Twin("flag_chain", "latency", "flags.csv", {"kind": "chain", "stores": stores, "ctas": ctas},
                        "hop_cycles", partial(_turn_cycles, ctas=ctas), recorded_sm=0,
                        parameters={"ctas": ctas, "stores": stores})


def recorded_probes() -> Iterator[Probe]:
    """A probe per program and setting."""
    for twin in _twins():
        settings = ", ".join(f"{name} {value}" for name, value in {**twin.sizes, **twin.parameters}.items())
        yield Probe(f"DSL program {twin.program}", settings, twin.quantity, twin.measured,
                    partial(_record, program=twin.program, sizes=twin.sizes, parameters=twin.parameters),
                    twin.read, "B/cycle/CTA" if twin.quantity == "bandwidth" else "cycles", gpu=twin.gpu,
                    l2=twin.l2, recorded_sm=twin.recorded_sm)


def _record(
    spec: GpuSpec, *, program: str, sizes: Mapping[str, int], parameters: Mapping[str, object]
) -> Program:
    return load_program(find_data(f"programs/micro/{program}.py")).record(spec, sizes, **parameters)
