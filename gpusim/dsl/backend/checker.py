"""Models what the hardware guarantees about registers, given control fields: proves that no hazard is left uncovered.
Leaves out memory ordering (gpusim.verify) and waits longer than the stall counts: a wait can only add distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.arch import InstructionTable
from gpusim.dsl.backend.scan import HAZARD_KINDS, Stream, scan_stream
from gpusim.dsl.backend.stream import dense_stream
from gpusim.program import PREDICATE_BASE, UNIFORM_BASE

__all__ = ["Hazard", "check_hazards"]


@dataclass(frozen=True)
class Hazard:
    """Row ``second`` reads or overwrites ``register`` before row ``first`` is surely done with it."""

    kind: str  # RAW, WAW, WAR
    first: int
    second: int
    register: int
    first_mnemonic: str
    second_mnemonic: str

    def __str__(self) -> str:
        return (f"{self.kind} hazard on {register_name(self.register)}: row {self.second} ({self.second_mnemonic}) "
                f"does not wait long enough for row {self.first} ({self.first_mnemonic})")


def register_name(unit: int) -> str:
    """R5, P3 or UR6 for a register number of the op table."""
    if unit < PREDICATE_BASE:
        return f"R{unit}"
    return f"P{unit - PREDICATE_BASE}" if unit < UNIFORM_BASE else f"UR{unit - UNIFORM_BASE}"


def check_hazards(ops: np.ndarray, mnemonics: Sequence[str], table: InstructionTable, *,
                  limit: int = 100) -> list[Hazard]:
    """The first ``limit`` register hazards of a role's op table that its control fields leave open; empty: proved safe.

    Issue times are bounded below by the sum of stall counts. A fixed-latency result may be read, and overwritten by a
    faster one, only when that distance covers its latency. Anything of variable latency is done only when its own
    barrier has been waited for, or that of a later instruction of the same in-order class. Instructions predicated off
    for the whole warp touch no register and prove nothing, but for copies behind active ones of their group. Raises
    UserError for a mnemonic the table does not know.
    """
    stream: Stream = dense_stream(ops, mnemonics, table)
    found = scan_stream(stream, limit)
    names = [mnemonics[pc] for pc in ops["pc"][found["first"]]], [mnemonics[pc] for pc in ops["pc"][found["second"]]]
    return [Hazard(HAZARD_KINDS[row["kind"]], int(row["first"]), int(row["second"]),
                   int(stream.unit_names[row["unit"]]), first, second)
            for row, first, second in zip(found, *names, strict=True)]
