"""Models copy_classes.csv and copy_pitch.csv: cp.async by the lines of shared memory that its rows go to.
Leaves out copies beside warps that load until others are done, fewer places than eight (round trips), and, of pitches,
single warps that load, distances equal to others modulo 512 bytes, and loads alone but for one of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe, cycles_between
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["CLASS_ROWS", "PITCH_ROWS", "write_probes"]

CLASS_ROWS = "loaders == 0 and slots == 8"
PITCH_ROWS = ("pitch in (128, 256, 512) and load_pitch == pitch and loading in (0, 15) and "
              "(copying == 15 or copying == 0 and pitch == 128)")
CLASS_ITERATIONS, PITCH_ITERATIONS, LANES, WARPS = 2048, 1024, 32, 4
CLASS_SHARED_BYTES, PITCH_SHARED_BYTES, SOURCE_BYTES, REGISTERS = 223 << 10, 226 << 10, 1 << 28, 64
SOURCE, OUT = TensorPointer("g", "u8", (SOURCE_BYTES,)), TensorPointer("out", "i32", (1 << 14,), True)


def write_probes() -> Iterator[Probe]:
    """A probe per row: cycles per copy of the SM, or per turn of the loop."""
    classes = pd.read_csv(HARDWARE / "h200/copy_classes.csv", dtype={"classes": str}).query(CLASS_ROWS)
    for row in classes.to_dict("records"):
        yield _classes(row)
    for row in pd.read_csv(HARDWARE / "h200/copy_pitch.csv").query(PITCH_ROWS).to_dict("records"):
        yield _pitch(row)


def _probe(
    mechanism: str, what: str, measured: float, kernel: CompiledKernel, warps: int, shared_bytes: int, per: int,
    numbers: list[int],
) -> Probe:
    launch = SassLaunch((1, 1, 1), (LANES * warps, 1, 1), (SOURCE, OUT, *map(Scalar, numbers)), shared_bytes, REGISTERS)
    return Probe(mechanism, what, "throughput", measured, partial(replay, kernel=kernel, launch=launch),
                 partial(cycles_between, pcs=kernel.clock_pcs, per=per))


def _classes(row: dict[str, Any]) -> Probe:
    copiers = int(row["copiers"])
    numbers = [int(row["row_bytes"]), int(row["classes"], 16), copiers, int(row["slots"]), 0, int(row["way"])]
    what = f"rows of {row['row_bytes']} B, lines {row['classes']} modulo 4, {copiers} warps"
    return _probe("cp.async by lines of shared memory", what, row["cycles_per_copy"],
                  CompiledKernel("copy_classes", "stream"), copiers, CLASS_SHARED_BYTES, CLASS_ITERATIONS * copiers,
                  numbers)


def _pitch(row: dict[str, Any]) -> Probe:
    columns = ("row_bytes", "pitch", "step", "load_pitch", "load_step", "copying", "loading")
    copies, loads = (int(row[name]) if row[who] else 0 for name, who in (("copies", "copying"), ("loads", "loading")))
    what = f"{copies} copies of rows of {row['row_bytes']} B, lines {row['pitch']} B apart, {loads} LDSM4"
    what += f" ({row['copies']} and {row['loads']} compiled)"
    return _probe("cp.async and ldmatrix of a tile by pitch", what, row["cycles"],
                  CompiledKernel("copy_pitch", f"mixedILi{row['loads']}ELi{row['copies']}E"), WARPS,
                  PITCH_SHARED_BYTES, PITCH_ITERATIONS, [int(row[name]) for name in columns])
