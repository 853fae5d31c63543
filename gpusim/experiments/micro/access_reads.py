"""Models access_reads.csv: when the load/store unit has read the registers of the last of so many accesses of a kind.
Leaves out eight warps, which do not go in step, and pitches between none and many conflicts, which say the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, last_turn, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["LAUNCH", "ROWS", "access_read_probes"]

KINDS = ("STS of {} B {} apart", "LDS of {} B {} apart", "STG of {} B {} apart", "LDG of {} B {} apart",
         "cp.async of {} B {} apart", "cp.async of {} B, rows of {} B", "cp.async of {} B, rows of {} B, then LDS")
ROWS = ("warps != 8 and load_pitch != 32 and (pitch != 32 or kind == 5) and "
        "(loads > 0 or accesses == 1 or accesses % 4 == 0)")
LAUNCH = ["kind", "loads", "accesses", "bytes", "warps", "load_pitch", "pitch"]
LANES, SHARED_BYTES, REGISTERS, GLOBAL_BYTES = 32, 210 * 1024, 128, 1 << 22
CLOCKS, READ = 4, 2  # of a turn, and the one behind the address that is overwritten


def access_read_probes() -> Iterator[Probe]:
    """A probe per launch: cycles from the first access on until its address can be overwritten, the mean of warps."""
    table = pd.read_csv(HARDWARE / "h200/access_reads.csv").query(ROWS)
    for (kind, loads, accesses, width, warps, load_pitch, pitch), rows in table.groupby(LAUNCH, sort=False):
        kernel = CompiledKernel("access_reads", f"readsILi{kind}ELi{loads}ELi{accesses}ELi{width}E")
        parameters = (TensorPointer("out", "i64", (64,), True), TensorPointer("global", "u8", (GLOBAL_BYTES,), True),
                      Scalar(load_pitch), Scalar(pitch), Scalar(0))
        launch = SassLaunch((1, 1, 1), (warps * LANES, 1, 1), parameters, SHARED_BYTES, REGISTERS)
        behind = f" behind {loads} ldmatrix of rows {load_pitch} apart" if loads else ""
        what = f"{accesses} {KINDS[kind].format(width, pitch)} by {warps} warps{behind}"
        yield Probe("reads of registers", what, "latency", float(rows["overwritten"].mean()),
                    partial(replay, kernel=kernel, launch=launch),
                    partial(last_turn, pcs=kernel.clock_pcs, clocks=CLOCKS, mark=READ))
