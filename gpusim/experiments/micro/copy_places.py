"""Models copy_places.csv: when the load/store unit has read the address of the last of so many LDS behind ldmatrix and
copies. Leaves out several warps, which start a few cycles apart by what their code finds in the instruction cache."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from gpusim.experiments.micro.compiled import HARDWARE, CompiledKernel, last_turn, replay
from gpusim.experiments.micro.probe import Probe
from gpusim.sass import SassLaunch, Scalar, TensorPointer

__all__ = ["ROWS", "copy_place_probes"]

ROWS = "warps == 1 and (loads > 0 and ways == 8 or loads == 0 and off > 0 and row < 128)"
CUBINS = {3: "copy_places_kept", 0: "copy_places_without"}
"""By the LDS that are predicated off in front of the copies."""
LANES, SHARED_BYTES, REGISTERS, GLOBAL_BYTES = 32, 210 * 1024, 128, 1 << 22
CLOCKS, READ = 3, 2  # of a turn, and the one behind the address that is overwritten


def copy_place_probes() -> Iterator[Probe]:
    """A probe per row: cycles from the warp's first clock until the address of its last LDS can be overwritten."""
    for row in pd.read_csv(HARDWARE / "h200/copy_places.csv").query(ROWS).itertuples():
        kernel = CompiledKernel(CUBINS[row.off], f"placesILi{row.loads}ELi{row.copies}ELi{row.accesses}E")
        parameters = (TensorPointer("out", "i64", (64,), True), TensorPointer("global", "u8", (GLOBAL_BYTES,)),
                      Scalar(row.ways), Scalar(row.row), Scalar(0))
        launch = SassLaunch((1, 1, 1), (LANES, 1, 1), parameters, SHARED_BYTES, REGISTERS)
        behind = f"{row.loads} ldmatrix of 8 ways, {row.off} LDS off, " if row.loads else ""
        what = f"{row.accesses} LDS behind {behind}{row.copies} cp.async of rows of {row.row} B"
        yield Probe("places of the buffer", what, "latency", float(row.overwritten),
                    partial(replay, kernel=kernel, launch=launch),
                    partial(last_turn, pcs=kernel.clock_pcs, clocks=CLOCKS, mark=READ))
