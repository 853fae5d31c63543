"""Models instructions.csv, register_release.csv, branch.csv, branch_loss.csv: single instructions, and ends of loops.
Leaves out nothing: that stores meet others of their lines shows in rows of register_release.csv."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe, Quantity, cycles_between
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["instruction_probes"]

REPEATS, UNROLLED, MOST_REPEATS, MOST_SUMS, RELEASE_REPEATS = 16, 64, 1024, 1 << 18, 256
SUBPARTITIONS = 4
LANES, SHARED_BYTES, RELEASE_SHARED_BYTES, REGISTERS = 32, 32768, 16384, 64
STORES = ("sts32", "sts64", "sts128", "stg32", "stg128")
"""Template arguments of register_release.cu."""
STRUCTS = {"atoms_add": "Op_atoms", "fence_cta": "Op_fence", "fence_async": "Op_fenceasync", "f2f_pair": "Op_f2f"}
"""Struct of instructions.cu by the name in the table, where it is not Op_NAME."""
SPECIAL_REGISTER = "s2r_smid_loop"
CYCLES, SINK = TensorPointer("cyc", "i64", (1,), True), TensorPointer("sink", "u32", (2048,), True)
LOOPS = ("ffma", "imad", "ffma one chain")
Parameter = Scalar | TensorPointer


def instruction_probes() -> Iterator[Probe]:
    """A probe per row."""
    for row in _rows("instructions"):
        yield _special_register(row) if row["op"] == SPECIAL_REGISTER else _instruction(row)
    for row in _rows("branch"):
        repeats = min(MOST_REPEATS, MOST_SUMS // (row["sums"] * row["warps"]))
        yield _probe("taken branch", f"loop of {row['sums']} IMAD, {row['warps']} warps", row["cycles"], row["warps"],
                     CompiledKernel("branch", f"loopILi{row['sums']}E"),
                     (Scalar(repeats), Scalar(1), CYCLES, SINK), repeats)
    for row in _rows("branch_loss"):
        repeats = max(1, min(MOST_REPEATS, MOST_SUMS // (row["n"] * row["warps"])))
        yield _probe("loops at full rate", f"{row['n']} {row['what']}, {row['warps']} warps",
                     row["cycles_per_iteration"], row["warps"],
                     CompiledKernel("branch_loss", f"loopILi{row['n']}ELi{LOOPS.index(row['what'])}E"),
                     (Scalar(repeats), CYCLES, SINK), repeats)
    for row in _rows("register_release"):
        yield _probe("write-after-read wait", f"{row['instruction']}, {row['warps']} warps", row["cycles"],
                     row["warps"], CompiledKernel("register_release", f"loopILi{STORES.index(row['instruction'])}E"),
                     (Scalar(RELEASE_REPEATS), Scalar(0), TensorPointer("p", "u8", (1 << 20,), True), CYCLES),
                     RELEASE_REPEATS, shared_bytes=RELEASE_SHARED_BYTES)


def _rows(table: str) -> list[dict[str, Any]]:
    return pd.read_csv(HARDWARE / f"h200/{table}.csv").to_dict("records")


def _probe(
    mechanism: str, what: str, measured: float, warps: int, kernel: CompiledKernel, parameters: tuple[Parameter, ...],
    per: int, *, shared_bytes: int = 0, quantity: Quantity = "throughput", chases: bool = False,
) -> Probe:
    launch = SassLaunch((1, 1, 1), (LANES * warps, 1, 1), parameters, shared_bytes, REGISTERS)
    return Probe(mechanism, what, quantity, measured,
                 partial(replay, kernel=kernel, launch=launch, chases_shared=chases),
                 partial(cycles_between, pcs=kernel.clock_pcs, per=per))


def _instruction(row: dict[str, Any]) -> Probe:
    name = STRUCTS.get(row["op"], f"Op_{row['op']}")
    kernel = CompiledKernel("instructions", f"{len(name)}{name}Li{row['ilp']}E")
    parameters = (Scalar(int(row["subpartitions"])), Scalar(REPEATS), CYCLES, SINK)
    alone = row["warps"] == row["ilp"] == 1
    where = "" if row["subpartitions"] == SUBPARTITIONS else ", one sub-partition"
    return _probe(f"instruction: {'latency' if alone else 'throughput'}",
                  f"{row['op']}, {row['warps']} warps, ILP {row['ilp']}{where}", row["cyc_per_inst_per_warp"],
                  row["warps"], kernel, parameters, REPEATS * UNROLLED, shared_bytes=SHARED_BYTES,
                  quantity="latency" if alone else "throughput", chases=True)


def _special_register(row: dict[str, Any]) -> Probe:
    return _probe("instruction: loop with S2R", f"SR_VIRTUALSMID, {row['warps']} warps", row["cyc_per_inst_per_warp"],
                  row["warps"], CompiledKernel("instructions", "4smid"), (Scalar(MOST_REPEATS), CYCLES, SINK),
                  MOST_REPEATS)
