"""Models store_merges.csv and half_sectors.csv: stores that come back, some later, to lines they have written in part.
Leaves out the fence behind them (gpusim.experiments.micro.fences), and what L2 gets, which tests compare."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gpusim.engine import EVENT_KINDS, SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["halves_launch", "merge_probes", "merging_launch"]

ISSUE = EVENT_KINDS.index("issue")
LANES, REGISTERS, WORD_BYTES, LINE_BYTES = 32, 24, 4, 128
SHARED_BYTES = 1024  # the driver's
OUT, CLOCKS = TensorPointer("out", "u8", (96 << 20,), True), TensorPointer("clocks", "u8", (4096,), True)


def merge_probes() -> Iterator[Probe]:
    """A probe per row: cycles per store of the SM, until the last one has issued."""
    for row in pd.read_csv(HARDWARE / "h200/store_merges.csv").to_dict("records"):
        shared = ", halves of lines by two warps" if row["sharing"] else ""
        what = (f"{row['stores']} stores by {row['warps']} warps, rows of {row['lanes_per_row'] * WORD_BYTES} B, again "
                f"{row['distance']} stores later, {row['pause']} cycles between{shared}")
        yield _probe("stores that come back to lines", what, row, *merging_launch(row))
    for row in pd.read_csv(HARDWARE / "h200/half_sectors.csv").to_dict("records"):
        what = (f"{row['stores']} stores by {row['warps']} warps, {row['bytes_per_lane']} B a lane, lines "
                f"{'apart' if row['apart'] else 'side by side'}, again {row['distance']} stores later")
        yield _probe("stores of half sectors and the others", what, row, *halves_launch(row))


def merging_launch(row: dict[str, Any]) -> tuple[CompiledKernel, SassLaunch]:
    """The program of a row: parts of so many rows of lines in turn, until the lines are full, then the next rows."""
    lanes, distance, sharing, pause = (row[name] for name in ("lanes_per_row", "distance", "sharing", "pause"))
    parts = LINE_BYTES // (1 + sharing) // (lanes * WORD_BYTES)
    kernel = CompiledKernel("store_merges", f"mergesILi{lanes}ELi{distance}ELi{sharing}ELi{pause // 4}E")
    return kernel, _launch(row, row["stores"] // (parts * distance))


def halves_launch(row: dict[str, Any]) -> tuple[CompiledKernel, SassLaunch]:
    """The same of one half of each sector, and then the other."""
    kernel = CompiledKernel("half_sectors", f"halvesILi{row['bytes_per_lane']}ELi{row['distance']}ELi{row['apart']}E")
    return kernel, _launch(row, row["stores"] // (2 * row["distance"]))


def _launch(row: dict[str, Any], blocks: int) -> SassLaunch:
    return SassLaunch((1, 1, 1), (LANES * row["warps"], 1, 1), (OUT, CLOCKS, Scalar(blocks)), SHARED_BYTES, REGISTERS)


def _probe(mechanism: str, what: str, row: dict[str, Any], kernel: CompiledKernel, launch: SassLaunch) -> Probe:
    stores = row["warps"] * row["stores"]
    return Probe(mechanism, what, "throughput", row["issue_cycles"] / stores,
                 partial(replay, kernel=kernel, launch=launch), partial(_issue, pcs=kernel.clock_pcs, stores=stores))


def _issue(result: SimulationResult, *, pcs: tuple[int, ...], stores: int) -> float:
    """From the first warp's first clock to the last one's second, which stands behind its stores."""
    issues = result.events[result.events["kind"] == ISSUE]
    begun, ended = (issues["start"][issues["pc"] == pc] for pc in sorted(pcs)[:2])
    return float(np.max(ended) - np.min(begun)) / stores
