"""Models cutlass_replays.csv: CUTLASS 2.x kernels as compiled, whole launches beside the cycles of kernels_more.csv.
Leaves out kernels whose branches depend on data (flags of split-K, sums in f16) and what the recorder makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.engine import SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Struct, TensorPointer

__all__ = ["replay_probes"]

DTYPES = {"1": "u8", "2": "f16", "4": "f32"}
"""By bytes of an element: what an element means is nobody's business here."""


def replay_probes() -> Iterator[Probe]:
    """A probe per row: elapsed cycles from cold caches, as the profiler counts them."""
    rows = pd.read_csv(HARDWARE / "h200/cutlass_replays.csv")
    measured = pd.read_csv(HARDWARE / "h200/kernels_more.csv").set_index(["kernel", "M", "N", "K"]).cycles_elapsed
    for row in rows.to_dict("records"):
        yield _probe(row, float(measured[row["kernel"], row["M"], row["N"], row["K"]]))


def _probe(row: dict[str, Any], cycles: float) -> Probe:
    grid = (int(row["grid_x"]), int(row["grid_y"]), int(row["grid_z"]))
    launch = SassLaunch(grid, (int(row["threads"]), 1, 1), (Struct(bytes.fromhex(row["params"]), _tensors(row)),),
                        int(row["shared_bytes"]), int(row["registers"]))
    kernel = CompiledKernel("cutlass_replays", row["kernel"])
    return Probe("compiled CUTLASS kernels", f"{row['kernel']} {row['M']}x{row['N']}x{row['K']}", "throughput", cycles,
                 partial(replay, kernel=kernel, launch=launch), _cycles, l2="cold", recorded_sm=None, launched=True)


def _tensors(row: dict[str, Any]) -> tuple[TensorPointer, ...]:
    """A, B, C and D."""
    sizes = [part.split("x") for part in row["tensors"].split()]
    return tuple(TensorPointer(name, DTYPES[width], (int(elements),), name > "B")
                 for name, (elements, width) in zip("ABCD", sizes, strict=True))


def _cycles(result: SimulationResult) -> float:
    return float(result.cycles)
