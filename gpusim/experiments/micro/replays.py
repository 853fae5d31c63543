"""Models cutlass_replays.csv, cutlass_marks.csv and the hand-written rows of three other tables: kernels as compiled.
Leaves out kernels whose branches depend on data (flags of split-K, sums in f16) and what the recorder makes of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from gpusim.engine import EVENT_KINDS, SimulationResult
from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, Struct, TensorPointer

__all__ = ["blind_probes", "mark_probes", "replay_probes"]

ISSUE = EVENT_KINDS.index("issue")
DTYPES = {"1": "u8", "2": "f16", "4": "f32"}
"""By bytes of an element: what an element means is nobody's business here."""
CLOCK_BYTES = 32  # four clocks that every CTA of gemm_blind.cu stores; as a parameter, of gemm_fresh.cu as well
HAND_WRITTEN = {"kernels_blind": "gemm_blind", "kernels_fresh": "gemm_fresh", "kernels_third": "gemm_third"}
"""Tables of kernels that nothing was fitted to, and where their code is."""


def replay_probes() -> Iterator[Probe]:
    """A probe per row: elapsed cycles from cold caches, as the profiler counts them."""
    rows = pd.read_csv(HARDWARE / "h200/cutlass_replays.csv")
    measured = pd.read_csv(HARDWARE / "h200/kernels_more.csv").set_index(["kernel", "M", "N", "K"]).cycles_elapsed
    for row in rows.to_dict("records"):
        cycles = float(measured[row["kernel"], row["M"], row["N"], row["K"]])
        kernel = CompiledKernel("cutlass_replays", row["kernel"])
        yield _probe("compiled CUTLASS kernels", kernel, _launch(row), row, cycles)


def blind_probes() -> Iterator[Probe]:
    """The same for each hand-written row of HAND_WRITTEN."""
    for table, source in HAND_WRITTEN.items():
        for row in pd.read_csv(HARDWARE / f"h200/{table}.csv").query("source == 'hand'").to_dict("records"):
            kernel, launch = CompiledKernel(source, row["kernel"]), _hand_written(row)
            yield _probe("compiled hand-written kernels", kernel, launch, row, float(row["cycles_elapsed"]))


def mark_probes() -> Iterator[Probe]:
    """A probe per kernel: cycles of the main loop of one CTA, data in L2, between clocks in front of it and behind."""
    rows = pd.read_csv(HARDWARE / "h200/cutlass_marks.csv", dtype=str).query("ctas == '1'")
    for row in rows.to_dict("records"):
        kernel, launch = CompiledKernel("cutlass_marks", row["kernel"]), _launch(row)
        yield Probe("compiled CUTLASS main loops", f"{row['kernel']}, one CTA, K = {row['K']}", "throughput",
                    float(row["loop_cycles"]), partial(replay, kernel=kernel, launch=launch),
                    partial(_loop, pcs=kernel.clock_pcs))


def _launch(row: dict[str, Any]) -> SassLaunch:
    grid = (int(row["grid_x"]), int(row["grid_y"]), int(row["grid_z"]))
    return SassLaunch(grid, (int(row["threads"]), 1, 1), (Struct(bytes.fromhex(row["params"]), _tensors(row)),),
                      int(row["shared_bytes"]), int(row["registers"]))


def _loop(result: SimulationResult, *, pcs: tuple[int, ...]) -> float:
    """From the second to the third clock, the mean warp's."""
    issues = result.events[result.events["kind"] == ISSUE]
    _, begun, ended, _ = (issues["start"][issues["pc"] == pc].mean() for pc in sorted(pcs))
    return float(ended - begun)


def _hand_written(row: dict[str, Any]) -> SassLaunch:
    """``gemm(A, B, D, M, N, K, clocks)`` of gemm_blind.cu."""
    m, n, k = (int(row[name]) for name in "MNK")
    grid = (m // int(row["tile_m"]), n // int(row["tile_n"]), 1)
    tensors = (TensorPointer("A", "f16", (m, k)), TensorPointer("B", "f16", (n, k)),
               TensorPointer("D", "f16", (m, n), is_output=True))
    clocks = TensorPointer("clocks", "u8", (math.prod(grid) * CLOCK_BYTES,), is_output=True)
    return SassLaunch(grid, (int(row["threads"]), 1, 1), (*tensors, *map(Scalar, (m, n, k)), clocks),
                      int(row["smem_bytes"]), int(row["registers"]))


def _probe(mechanism: str, kernel: CompiledKernel, launch: SassLaunch, row: dict[str, Any], cycles: float) -> Probe:
    return Probe(mechanism, f"{row['kernel']} {row['M']}x{row['N']}x{row['K']}", "throughput", cycles,
                 partial(replay, kernel=kernel, launch=launch), _cycles, l2="cold", recorded_sm=None, launched=True)


def _tensors(row: dict[str, Any]) -> tuple[TensorPointer, ...]:
    """A, B, C and D."""
    sizes = [part.split("x") for part in row["tensors"].split()]
    return tuple(TensorPointer(name, DTYPES[width], (int(elements),), name > "B")
                 for name, (elements, width) in zip("ABCD", sizes, strict=True))


def _cycles(result: SimulationResult) -> float:
    return float(result.cycles)
