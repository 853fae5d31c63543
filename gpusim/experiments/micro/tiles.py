"""Models copy_tiles.csv: main loops that only copy tiles, or multiply a little beside, on a full chip.
Leaves out grids of more than a wave or two (4096x4096x2048, ten times as long to simulate), and cold caches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.engine import SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["TILE_ROWS", "tile_probes"]

TILE_ROWS = "M == 2048"
PADDED, PADDING, ELEMENT_BYTES, LANES, REGISTERS = 1, 8, 2, 32, 64  # swizzle 1 pads rows by eight elements
COPIES_ONLY = 6


def tile_probes() -> Iterator[Probe]:
    """A probe per row: cycles that a CTA lives on average."""
    for row in pd.read_csv(HARDWARE / "h200/copy_tiles.csv").query(TILE_ROWS).to_dict("records"):
        yield _probe(row)


def _probe(row: dict[str, Any]) -> Probe:
    tile_m, tile_n, tile_k, warp_m, warp_n, stages, swizzle = numbers = [int(n) for n in re.findall(
        r"\d+", str(row["kernel"]))]
    m, n, k, parts = (int(row[name]) for name in ("M", "N", "K", "parts"))
    arguments = "".join(f"Li{number}E" for number in [*numbers, parts])
    pitch = tile_k + (PADDING if swizzle == PADDED else 0)
    parameters = (_halves("A", m * k), _halves("B", n * k), _halves("D", m * n, True), Scalar(m), Scalar(n), Scalar(k),
                  TensorPointer("cyc", "i64", (4 * (m // tile_m) * (n // tile_n),), True),
                  TensorPointer("on", "u8", (1,)))
    launch = SassLaunch((m // tile_m, n // tile_n, 1), ((tile_m // warp_m) * (tile_n // warp_n) * LANES, 1, 1),
                        parameters, stages * (tile_m + tile_n) * pitch * ELEMENT_BYTES, REGISTERS)
    beside = "only copies" if parts == COPIES_ONLY else "two tensor instructions a k-step"
    what = f"{row['kernel']} {m}x{n}x{k}, {beside}"
    build = partial(replay, kernel=CompiledKernel("copy_tiles", f"gemmI{arguments}E"), launch=launch)
    return Probe("main loops that copy, full chip", what, "bandwidth", row["cta_cycles"], build, _mean_life,
                 recorded_sm=None)


def _halves(name: str, count: int, is_output: bool = False) -> TensorPointer:
    return TensorPointer(name, "f16", (count,), is_output)


def _mean_life(result: SimulationResult) -> float:
    return float((result.cta_end - result.cta_start).mean())
