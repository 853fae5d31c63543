"""Models memory.csv: pointer chases through L1, L2 and DRAM, and bandwidths by number of CTAs.
Leaves out bulk copies (gpusim.experiments.micro.bulk); runs fewer repetitions than the hardware: a steady state needs
no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gpusim.arch import GpuSpec, load_gpu
from gpusim.experiments.micro.bulk import bulk_probe
from gpusim.experiments.micro.chases import chase_probe
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel
from gpusim.experiments.micro.loops import body_after_clock, loop_around, looped_role, one_tensor_program, tail_pcs
from gpusim.experiments.micro.probe import OVERWRITTEN, Probe, cta_bytes_per_cycle, refused
from gpusim.program import Program
from gpusim.program.access_builder import Access

__all__ = ["memory_probes"]

KIB, MIB = 1 << 10, 1 << 20
BY_SM_RING_BYTES = MIB
CHUNK_BYTES, ACCESSES_PER_ITERATION = 16, 4
TOTAL_BYTES = 256 * MIB
"""What all CTAs of a bandwidth probe move together, at most."""
WRITTEN_BYTES = 4 * TOTAL_BYTES
"""The same of what is written past L2, which takes the last 60 MB without DRAM."""
FULL_MASK = 0xFFFF_FFFF

CHASES = {"ldg_l1_chase_cycles": ("chase_ca", "L1 latency"), "ldg_l2_chase_cycles": ("chase_cg", "L2 latency"),
          "ldg_l2_chase_cycles_by_sm": ("chase_cg", "L2 latency by SM"),
          "ldg_dram_chase_cycles": ("chase_cold", "DRAM latency")}
BANDWIDTHS = {"l2_read_cg": ("LDG128", 0), "l1_read_ca": ("LDG128", 1), "l2_cpasync": ("CPA16", 2),
              "l2_write": ("STG128", 3), "dram_read": ("LDG128", 0), "dram_write": ("STG128", 3)}
"""Memory operation, and template argument of the kernel ``bw``."""
REASONS = {"ldg_l2_lat_dist": "each sample holds a store and two clock reads"}
BULK = ("bulk1d_roundtrip_l2", "l2_bulk1d")
ELSEWHERE = ("cpasync16_roundtrip_l2",)

_GRID = re.compile(r"(\d+)ctas_x(\d+)thr_per(\d+)KB_wrap(\d+)KB")


def memory_probes() -> Iterator[Probe]:
    """A probe per row, but for those that gpusim.experiments.micro.copies has."""
    for row in pd.read_csv(HARDWARE / "h200/memory.csv", comment="#").to_dict("records"):
        if row["what"] in CHASES:
            yield _chase(row)
        elif row["what"] in BULK:
            yield bulk_probe(row)
        elif row["what"] in REASONS:
            yield _unbuilt(row, REASONS[row["what"]])
        elif row["what"] not in ELSEWHERE:
            yield _bandwidth(row)


def _unbuilt(row: dict[str, Any], reason: str) -> Probe:
    value = re.findall(r"[\d.]+", row["value"])
    measured = float(value[-1] if ";" in row["value"] else value[len(value) // 2])
    return refused(row["what"].removesuffix("_l2").replace("_", " "), row["param"], measured, reason)


def _chase(row: dict[str, Any]) -> Probe:
    part, mechanism = CHASES[row["what"]]
    number, sm = int(re.findall(r"\d+", row["param"])[0]), 0
    if row["what"] == "ldg_l2_chase_cycles_by_sm":
        sm, size = number, BY_SM_RING_BYTES
    else:
        size = number * {"KB": KIB, "MB": MIB, "GB": KIB * MIB}[row["param"][-2:]]
    what = row["param"] if "SM" not in mechanism else f"SM {sm}"
    return chase_probe(mechanism, what, float(row["value"]), part=part, ring_bytes=size, sm=sm)


def _bandwidth(row: dict[str, Any]) -> Probe:
    match = _GRID.fullmatch(row["param"])
    family = next((name for name in BANDWIDTHS if row["what"].startswith(name)), None)
    if match is None or family is None:
        return _unbuilt(row, "no program for this row")
    operation, mode = BANDWIDTHS[family]
    ctas, threads, per_cta, wrap = int(match[1]), int(match[2]), int(match[3]) * KIB, int(match[4]) * KIB
    is_cold = row["what"].startswith("dram") and ctas * per_cta > load_gpu("h200").l2.capacity_bytes
    iteration = threads * CHUNK_BYTES * ACCESSES_PER_ITERATION
    total = WRITTEN_BYTES if is_cold and operation.startswith("STG") else TOTAL_BYTES
    most = min(per_cta * (1 if is_cold else 64), total // ctas)
    whole = per_cta if most >= per_cta else iteration
    moved = max(iteration, most // whole * whole)
    build = partial(_bandwidth_program, kernel=CompiledKernel("memory", f"bwILi{mode}E"), operation=operation,
                    ctas=ctas, threads=threads, per_cta=per_cta, wrap=wrap, moved=moved)
    measured = float(row["value"].split(";")[1].removesuffix("B/clk/cta"))
    if operation == "CPA16":
        return refused(f"bandwidth: {row['what']}", f"{ctas} CTAs of {threads} threads", measured, OVERWRITTEN,
                       "B/cycle/CTA")
    read = partial(cta_bytes_per_cycle, cta_bytes=moved, writes=operation.startswith("STG"))
    return Probe(f"bandwidth: {row['what']}", f"{ctas} CTAs of {threads} threads", "bandwidth", measured, build, read,
                 "B/cycle/CTA", l2="cold" if is_cold else "warm", recorded_sm=None)


def _repeated(kernel: CompiledKernel, moved: int, per_pass: int, per_iteration: int) -> list[int]:
    """The loop over a CTA's bytes inside the loop that repeats it; ``moved``: a multiple of ``per_pass``."""
    body = body_after_clock(kernel)
    around, iterations = loop_around(kernel, body), per_pass // per_iteration
    once = [*range(around.start, body.start), *list(body) * iterations, *range(body.stop, around.stop)]
    return once * (moved // per_pass)


def _bandwidth_program(
    spec: GpuSpec, *, kernel: CompiledKernel, operation: str, ctas: int, threads: int, per_cta: int, wrap: int,
    moved: int,
) -> Program:
    """Every CTA moves ``moved`` bytes out of its ``per_cta``, all warps side by side, 16 bytes a lane."""
    lanes = np.arange(threads, dtype=np.int64).reshape(-1, 32) * CHUNK_BYTES
    warps, is_async = threads // 32, operation == "CPA16"
    access = Access(operation, operation, CHUNK_BYTES, lanes if is_async else None, lanes, 0,
                    np.full(warps, FULL_MASK, np.uint32), np.zeros(warps, np.uint32))
    pass_bytes = threads * CHUNK_BYTES
    steps = np.arange(min(moved, per_cta) // pass_bytes, dtype=np.int64)
    pcs = [*_repeated(kernel, moved, min(moved, per_cta), pass_bytes * ACCESSES_PER_ITERATION), *tail_pcs(kernel)]
    role = looped_role(kernel, pcs, access, steps * pass_bytes,
                       steps % ACCESSES_PER_ITERATION * pass_bytes if is_async else None)
    starts = np.arange(ctas, dtype=np.int64) * per_cta % wrap
    size = min(wrap, ctas * per_cta)
    shared = pass_bytes * ACCESSES_PER_ITERATION if is_async else 0
    return one_tensor_program(kernel, (role,), np.zeros(ctas), starts, size, shared_bytes=shared, registers=32,
                              is_output=operation.startswith("STG"))
