"""Models wgmma.csv, wgmma_more.csv, wgmma_groups.csv: groups of warpgroup MMAs, A from registers or shared memory.
Leaves out nothing: registers that the compiler could not spare serialise some rows, and the disassembly says so."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe, cycles_between
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["warpgroup_probes"]

REPEATS, SHARED_BYTES, REGISTERS = 64, 49152, 168
TURNS, TURNS_SHARED_BYTES = 100, 131072
SWIZZLE_MODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
"""Bits 62 and 63 of a matrix descriptor."""
CYCLES, SINK = TensorPointer("cyc", "i64", (1,), True), TensorPointer("out", "f32", (1024,), True)


def warpgroup_probes() -> Iterator[Probe]:
    """A probe per row."""
    for table in ("wgmma", "wgmma_more"):
        for row in pd.read_csv(HARDWARE / f"h200/{table}.csv").to_dict("records"):
            yield _probe(row, table)
    for row in pd.read_csv(HARDWARE / "h200/wgmma_groups.csv").to_dict("records"):
        yield _turns(row)


def _probe(row: dict[str, Any], table: str) -> Probe:
    kernel = CompiledKernel(table, f"k{row['what'].removeprefix('wgmma_')}{row['n']}i")
    parameters = (Scalar(REPEATS), Scalar(row["per_group"]), Scalar(SWIZZLE_MODES[row["swizzle"]]), CYCLES, SINK)
    launch = SassLaunch((1, 1, 1), (128 * row["warpgroups"], 1, 1), parameters, SHARED_BYTES, REGISTERS)
    what = f"n {row['n']}, {row['warpgroups']} warpgroups, {row['per_group']} a group, swizzle {row['swizzle']}"
    return Probe(row["what"].replace("_", " "), what, "throughput", row["cycles_per_wgmma"],
                 partial(replay, kernel=kernel, launch=launch),
                 partial(cycles_between, pcs=kernel.clock_pcs, per=REPEATS * row["per_group"]))


def _turns(row: dict[str, Any]) -> Probe:
    shape = tuple(row[name] for name in ("n", "count", "accumulators", "warpgroups", "pending", "delay"))
    kernel = CompiledKernel("wgmma_groups", "k" + "".join(f"ILi{n}E" if not i else f"Li{n}E" for i, n in
                                                         enumerate(shape)))
    parameters = (TensorPointer("out", "u32", (1024,), True), Scalar(TURNS), Scalar(0), SINK)
    launch = SassLaunch((1, 1, 1), (128 * row["warpgroups"], 1, 1), parameters, TURNS_SHARED_BYTES, REGISTERS)
    what = (f"{row['count']} of n {row['n']}, {row['accumulators']} sums, {row['warpgroups']} warpgroups, "
            f"{row['pending']} groups pending, {row['delay']} loads")
    return Probe("wgmma groups", what, "throughput", row["cycles_per_turn"],
                 partial(replay, kernel=kernel, launch=launch),
                 partial(cycles_between, pcs=kernel.clock_pcs, per=TURNS))
