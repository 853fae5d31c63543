"""Models bursts of copies and of stores to shared and global memory, and when an ldmatrix behind them has its data.
Leaves out bursts of up to four copies, which the chip ran before it had their code, and of twelve, which overlap, and
stores of 8 bytes a lane to shared memory, which would be a third more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, last_turn, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["COPIES", "GLOBAL_STORES", "LINES", "STORES", "STORE_ROWS", "Burst", "behind_probes"]

LANES, REGISTERS = 32, 128
STAGES_BYTES = 512  # four stages of a line each
MARKS, WARPS = 5, 4  # clocks of a turn; of a CTA, where no column says it

_Launch = dict[str, Any]
_Parameters = tuple[TensorPointer | Scalar, ...]


def _copies(launch: _Launch, mask: int) -> tuple[str, CompiledKernel, _Parameters]:
    shape = f"{launch['copies']} copies of rows of {launch['row_bytes']} B {launch['pitch']} apart"
    kernel = CompiledKernel("barrier_copies", f"meetILi{launch['copies']}ELi{launch['how']}E")
    return shape, kernel, (TensorPointer("g", "u8", (1 << 26,)), TensorPointer("out", "i64", (64,), True),
                           Scalar(mask), Scalar(int(launch["row_bytes"])), Scalar(int(launch["pitch"])))


def _lines(launch: _Launch, mask: int) -> tuple[str, CompiledKernel, _Parameters]:
    copies, loads, pitch = int(launch["copies"]), int(launch["loads"]), int(launch["pitch"])
    shape = f"{copies} copies of rows of {launch['row_bytes']} B, lines {pitch} B apart,"
    kernel = CompiledKernel("barrier_lines", f"meetILi{copies}ELi{launch['how']}ELi{loads}E")
    step = 4 * pitch if pitch < STAGES_BYTES else 4 * STAGES_BYTES
    return shape, kernel, (TensorPointer("g", "u8", (1 << 26,)), TensorPointer("out", "i64", (64,), True),
                           Scalar(mask), Scalar(int(launch["row_bytes"])), Scalar(pitch), Scalar(step))


def _stores(launch: _Launch, mask: int) -> tuple[str, CompiledKernel, _Parameters]:
    shape = f"{launch['stores']} stores of {launch['bytes']} B a lane {launch['pitch']} apart"
    kernel = CompiledKernel("store_meet", f"meetILi{launch['stores']}ELi{launch['bytes']}ELi{launch['how']}E")
    return shape, kernel, (TensorPointer("out", "i64", (128,), True), Scalar(mask), Scalar(int(launch["pitch"])),
                           Scalar(0))


def _global_stores(launch: _Launch, mask: int) -> tuple[str, CompiledKernel, _Parameters]:
    shape = f"{launch['stores']} stores to global memory of {launch['bytes']} B a lane {launch['pitch']} apart"
    kernel = CompiledKernel("global_meet", f"meetILi{launch['stores']}ELi{launch['bytes']}ELi{launch['how']}E")
    return shape, kernel, (TensorPointer("out", "i64", (128,), True), TensorPointer("global", "u8", (1 << 22,), True),
                           Scalar(mask), Scalar(int(launch["pitch"])), Scalar(0))


def _store_rows(launch: _Launch, mask: int) -> tuple[str, CompiledKernel, _Parameters]:
    width, row, half = launch["bytes"], int(launch["row_bytes"]), "upper" if launch["from_kib"] else "lower"
    shape = (f"{launch['stores']} stores to global memory of rows of {row} B, {width} B a lane, {launch['pause']} "
             f"multiplications, {half} half of the data array,")
    kernel = CompiledKernel("store_loads", f"behindILi{launch['stores']}ELi{width}ELi{launch['pause']}ELi1E")
    return shape, kernel, (TensorPointer("out", "i64", (128,), True), TensorPointer("global", "u8", (1 << 23,), True),
                           Scalar(mask), Scalar(row), Scalar(int(launch["from_kib"]) << 10), Scalar(0))


@dataclass(frozen=True)
class Burst:
    """A table of bursts by some warps, ``mask``, and an ldmatrix behind them; ``rows``: which of it are replayed."""

    table: str
    what: str
    rows: str
    launch: tuple[str, ...]
    mask: str
    start: Callable[[_Launch, int], tuple[str, CompiledKernel, _Parameters]]
    done: int
    """Number of the clock behind the load's data."""
    ways: dict[int, str]
    """What stands in front of the load, by template argument of the program."""
    shared_bytes: int = 170 * 1024
    begin: int = 0
    """Number of the clock from which cycles count: 0, in front of the accesses, 1, behind them (warps that come from
    different loops read the first one while they wait for each other)."""
    clocks: int = MARKS

    def probes(self) -> Iterator[Probe]:
        """A probe per launch: cycles until the data are there, the mean of all warps, from the first one's clock on."""
        table = pd.read_csv(HARDWARE / f"h200/{self.table}.csv", dtype={self.mask: str}).query(self.rows)
        for key, rows in table.groupby(list(self.launch), sort=False):
            launch = dict(zip(self.launch, key, strict=True))
            warps, mask = int(launch.get("warps", WARPS)), int(launch[self.mask], 16)
            shape, kernel, parameters = self.start(launch, mask)
            sass = SassLaunch((1, 1, 1), (warps * LANES, 1, 1), parameters, self.shared_bytes, REGISTERS)
            load = f"{launch['loads']} ldmatrix" if launch.get("loads", 1) > 1 else "ldmatrix"
            name = f"{shape} by {mask.bit_count()} of {warps} warps{self.ways[launch.get('how', 0)]}, {load}"
            begun = float(rows["issued"].min()) if self.begin else 0.0
            yield Probe(self.what, name, "latency", float(rows["done"].mean()) - begun,
                        partial(replay, kernel=kernel, launch=sass),
                        partial(last_turn, pcs=kernel.clock_pcs, clocks=self.clocks, mark=self.done, begin=self.begin))


COPY_WAYS = {0: "", 1: ", a barrier", 4: ", a commit, a barrier", 6: ", a commit"}
COPIES = Burst(
    "barrier_copies", "loads behind copies", "6 <= copies <= 8",
    ("how", "copies", "copying", "warps", "row_bytes", "pitch"), "copying", _copies, 3, COPY_WAYS)
LINES = Burst(
    "barrier_lines", "loads behind copies by lines", "6 <= copies <= 8",
    ("how", "copies", "loads", "copying", "warps", "row_bytes", "pitch"), "copying", _lines, 3, COPY_WAYS, 220 * 1024)
STORE_LAUNCH = ("how", "stores", "bytes", "storing", "warps", "pitch")
STORE_WAYS = {0: "", 1: ", a barrier", 2: ", their address overwritten", 3: ", their address overwritten, a barrier",
              4: ", a barrier, a store to shared memory, a barrier"}
STORES = Burst("store_meet", "loads behind stores", "bytes != 8", STORE_LAUNCH, "storing", _stores, 4, STORE_WAYS)
GLOBAL_STORES = Burst("global_meet", "loads behind global stores", "stores > 0", STORE_LAUNCH, "storing",
                      _global_stores, 4, STORE_WAYS, begin=1)
STORE_ROWS = Burst("store_loads", "loads behind rows of global stores", "stores > 0",
                   ("stores", "bytes", "storing", "row_bytes", "from_kib", "pause"), "storing", _store_rows, 3,
                   {0: ""}, 220 * 1024, 1, 4)


def behind_probes() -> Iterator[Probe]:
    """Probes of the five tables."""
    yield from COPIES.probes()
    yield from LINES.probes()
    yield from STORES.probes()
    yield from GLOBAL_STORES.probes()
    yield from STORE_ROWS.probes()
