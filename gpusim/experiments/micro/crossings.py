"""Models copy_l1.csv, predicated.csv, copy_source.csv: cp.async and what is predicated off, alone and beside loads.
Leaves out chains of loads under such copies, whose warps stop each other (kind "under" of copy_l1.csv), and DRAM."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe, cycles_between
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["crossing_probes"]

REPEATS, COPIES, LANES = 64, 8, 32
STREAM_SHARED_BYTES, OFF_SHARED_BYTES, PLACE_BYTES, OFF_SOURCE_BYTES = 198656, 221184, 6144, 1 << 24
REGISTERS = 40
ITERATIONS, HOT_BYTES, BESIDE_SHARED_BYTES, BESIDE_SOURCE_BYTES = 1024, 2048, 163840, 1 << 28
CYCLES, SINK = TensorPointer("cyc", "i64", (8,), True), TensorPointer("sink", "u32", (2048,), True)


def crossing_probes() -> Iterator[Probe]:
    """A probe per row: cycles per copy, or per turn of the loop, of the SM."""
    for row in pd.read_csv(HARDWARE / "h200/copy_l1.csv").query("kind == 'stream'").to_dict("records"):
        yield _stream(row)
    for row in pd.read_csv(HARDWARE / "h200/predicated.csv").to_dict("records"):
        yield _off(row)
    for row in pd.read_csv(HARDWARE / "h200/copy_source.csv").query("source == 'L2' and ctas == 1").to_dict("records"):
        yield _beside(row)


def _probe(mechanism: str, what: str, row: dict[str, Any], kernel: CompiledKernel, launch: SassLaunch) -> Probe:
    return Probe(mechanism, what, "throughput", row["cycles"], partial(replay, kernel=kernel, launch=launch),
                 partial(cycles_between, pcs=kernel.clock_pcs, per=REPEATS * COPIES * row["warps"]))


def _stream(row: dict[str, Any]) -> Probe:
    width, row_bytes, pitch, warps, loads = (
        int(row[name]) for name in ("bytes", "row_bytes", "pitch", "warps", "loads_or_pause"))
    chunks, hits = row_bytes // width, row["data_in"] == "L1"
    step, wrap = (0, 1) if hits else (row_bytes, pitch // row_bytes)
    source = TensorPointer("g", "u8", ((warps * COPIES * LANES // chunks + 1) * pitch,))
    numbers = (pitch, *(int(row[name]) for name in ("row_step", "chunk_step", "copy_step")), step, wrap, PLACE_BYTES,
               REPEATS)
    parameters: tuple[Scalar | TensorPointer, ...] = (*map(Scalar, numbers), source, CYCLES, SINK)
    through = row["kind_of_copy"]
    kernel = CompiledKernel("copy_l1", f"streamILi{width}ELi{chunks}ELi{int(through == 'ca')}ELi{loads}E")
    launch = SassLaunch((1, 1, 1), (LANES * warps, 1, 1), parameters, STREAM_SHARED_BYTES, REGISTERS)
    what = f"{width} B {row['layout']}, rows of {row_bytes} B in {row['data_in']}, {warps} warps, {loads} loads"
    return _probe(f"cp.async.{through}, places apart", what, row, kernel, launch)


def _off(row: dict[str, Any]) -> Probe:
    loads, off, copies, width = (int(row[name]) for name in ("loads", "loads_switched", "copies", "copy_bytes"))
    parameters = (Scalar(int(row["ways"])), Scalar(int(row["switched_on"])), Scalar(int(row["copies_on"])),
                  Scalar(REPEATS), TensorPointer("g", "u8", (OFF_SOURCE_BYTES,)), CYCLES, SINK)
    kernel = CompiledKernel("predicated", f"offILi{loads}ELi{off}ELi{copies}ELi{width}E")
    launch = SassLaunch((1, 1, 1), (LANES * int(row["warps"]), 1, 1), parameters, OFF_SHARED_BYTES, REGISTERS)
    state = {0: "off", 1: "on"}
    what = f"{loads} LDS of {row['ways']} ways, {off} {state[row['switched_on']]}, {copies} copies of {width} B " \
           f"{state[row['copies_on']]}, {row['warps']} warps"
    return _probe("predicated off", what, row, kernel, launch)


def _beside(row: dict[str, Any]) -> Probe:
    loads, copies, row_bytes, warps = (int(row[name]) for name in ("loads", "copies", "row_bytes", "warps"))
    parameters = (TensorPointer("g", "u8", (BESIDE_SOURCE_BYTES,)), TensorPointer("out", "i32", (1 << 14,), True),
                  Scalar(int(row["ways"])), Scalar(HOT_BYTES), Scalar(int(row["barrier"])))
    kernel = CompiledKernel("copy_source", f"mixedILi{loads}ELi{copies}ELi{row_bytes}E")
    launch = SassLaunch((1, 1, 1), (LANES * warps, 1, 1), parameters, BESIDE_SHARED_BYTES, REGISTERS)
    what = f"{loads} LDSM4 of {row['ways']} ways, {copies} copies of {row_bytes} B rows, {warps} warps"
    return Probe(f"cp.async and ldmatrix, {'a barrier' if row['barrier'] else 'no barrier'}", what, "throughput",
                 row["cycles"], partial(replay, kernel=kernel, launch=launch),
                 partial(cycles_between, pcs=kernel.clock_pcs, per=ITERATIONS))
