"""Models pipes.csv: one instruction, repeated, dependent or not, on some warps of one SM; and bar.sync.
Leaves out e4m3, which the compiler emulates."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe, cycles_between
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["pipe_probes"]

REPEATS, UNROLLED = 16, 128
BARRIER_REPEATS, BARRIERS_UNROLLED = 64, 16
SHARED_BYTES, REGISTERS = 32768, 64
CYCLES, SINK = TensorPointer("cyc", "i64", (1,), True), TensorPointer("sink", "u32", (2048,), True)

KERNELS = {
    "iadd3_lop3_pair": "iadd", "mufu_ex2": "mufu", "sts32_tput": "sts32", "sts64_tput": "sts64",
    "sts128_tput": "sts128", "sts32_lds32_roundtrip": "stlds", "mma_m16n8k8_f16_f32": "h1688f32",
    "mma_m16n8k16_f16_f32": "h16816f32", "mma_m16n8k16_f16_f16": "h16816f16", "mma_m16n8k16_bf16_f32": "b16816f32",
    "mma_m16n8k8_tf32_f32": "t1688f32", "mma_m16n8k4_tf32_f32": "t1684f32", "mma_m16n8k32_s8_s32": "i16832",
    "mma_m16n8k256_b1_s32": "b168256",
}
"""Struct of pipes.cu by the name in the table, where they differ."""
EMULATED = "mma_m16n8k32_e4m3_f32"
GROUPS = {"mma": "mma", "mufu": "mufu", "shfl": "shfl", "lds": "shared loads", "ldsm": "ldmatrix",
          "sts": "shared stores", "bar": "bar.sync"}


def pipe_probes() -> Iterator[Probe]:
    """A probe per usable row."""
    for row in pd.read_csv(HARDWARE / "h200/pipes.csv").to_dict("records"):
        if row["op"] != EMULATED:
            yield _barrier(row) if row["op"] == "bar_sync" else _instruction(row)


def _instruction(row: dict[str, Any]) -> Probe:
    kernel = CompiledKernel("pipes", f"Op_{KERNELS.get(row['op'], row['op'])}Li{row['ilp']}E")
    launch = SassLaunch((1, 1, 1), (32 * row["warps"], 1, 1), (Scalar(REPEATS), CYCLES, SINK), SHARED_BYTES, REGISTERS)
    return Probe(
        _mechanism(row), f"{row['op']}, {row['warps']} warps, ILP {row['ilp']}",
        "latency" if row["ilp"] == row["warps"] == 1 else "throughput", row["cyc_per_inst_per_warp"],
        partial(replay, kernel=kernel, launch=launch, chases_shared=True),
        partial(cycles_between, pcs=kernel.clock_pcs, per=REPEATS * UNROLLED),
    )


def _barrier(row: dict[str, Any]) -> Probe:
    kernel = CompiledKernel("pipes", "barlat")
    launch = SassLaunch((1, 1, 1), (32 * row["warps"], 1, 1), (Scalar(BARRIER_REPEATS), CYCLES), 0, REGISTERS)
    return Probe("bar.sync", f"bar.sync, {row['warps']} warps", "latency", row["cyc_per_inst_per_warp"],
                 partial(replay, kernel=kernel, launch=launch),
                 partial(cycles_between, pcs=kernel.clock_pcs, per=BARRIER_REPEATS * BARRIERS_UNROLLED))


def _mechanism(row: dict[str, Any]) -> str:
    found = max((prefix for prefix in GROUPS if str(row["op"]).startswith(prefix)), key=len, default="")
    kind = "latency" if row["ilp"] == 1 and row["warps"] == 1 else "throughput"
    return f"{GROUPS.get(found, 'arithmetic')}: {kind}"
