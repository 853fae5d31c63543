"""Models how many vector registers a thread needs: the most that are live at once, over all ways through the blocks.
Leaves out assignment, so also moves and fragmentation; a fitted loss stands for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpusim.dsl.backend.instruction import Instruction
from gpusim.dsl.backend.uses import Edges
from gpusim.program import PREDICATE_BASE

__all__ = ["RegisterEstimate", "estimate_registers", "live_behind"]

LOST_REGISTERS, LOST_SHARE = 12, 0.087
"""What assignment loses to alignment, banks and long-lived temporaries: registers that ptxas reports minus registers
live at once is 19 at 77 live and 22 to 41 at 207 to 232 live, over the 20 kernels of h200/sass; a straight line."""

RESERVED_REGISTERS = 3
"""The stack pointer R1 and the two beyond the highest used one that ptxas reports for sm_90."""

MAX_REGISTERS = 255
"""The encoding's last register is RZ."""


@dataclass(frozen=True)
class RegisterEstimate:
    """``registers`` per thread as a launch would say it; ``live_peak`` vector registers live at once; ``spilled``:
    those beyond the encoding, which ptxas would keep in local memory or compute again."""

    registers: int
    live_peak: int
    spilled: int

    @property
    def note(self) -> str:
        """For Program.notes; empty when everything fits."""
        if not self.spilled:
            return ""
        return (f"{self.live_peak} vector registers are live at once, {self.spilled} more than a thread can have; "
                f"their spills and recomputation are not modelled")


def estimate_registers(codes: Sequence[Sequence[Instruction]], edges: Edges) -> RegisterEstimate:
    """Estimate for blocks in scheduled order."""
    _, peak = _live_ranges([[_vectors_of(instruction) for instruction in code] for code in codes], edges)
    needed = peak + LOST_REGISTERS + round(LOST_SHARE * peak)
    return RegisterEstimate(min(needed, MAX_REGISTERS), peak, max(0, peak + RESERVED_REGISTERS - MAX_REGISTERS))


def live_behind(codes: Sequence[Sequence[Instruction]], edges: Edges) -> list[set[int]]:
    """Vector registers that are read after each block before anything writes them."""
    exits, _ = _live_ranges([[_vectors_of(instruction) for instruction in code] for code in codes], edges)
    return exits


_Vectors = tuple[frozenset[int], frozenset[int]]


def _vectors_of(instruction: Instruction) -> _Vectors:
    return _only_vectors(instruction.reads), _only_vectors(instruction.writes)


def _only_vectors(units: Iterable[int]) -> frozenset[int]:
    return frozenset(unit for unit in units if unit < PREDICATE_BASE)


def _live_ranges(codes: Sequence[Sequence[_Vectors]], edges: Edges) -> tuple[list[set[int]], int]:
    """Registers live behind each block; the most that are live at once."""
    entries: list[set[int]] = [set() for _ in codes]
    exits: list[set[int]] = [set() for _ in codes]
    peak, settled = 0, False
    while not settled:
        settled = True
        for block in reversed(range(len(codes))):
            exits[block] = set().union(*(entries[after] for before, after in edges if before == block))
            live, highest = _walk_back(codes[block], set(exits[block]))
            settled, entries[block] = settled and live == entries[block], live
            peak = max(peak, highest)
    return exits, peak


def _walk_back(code: Sequence[_Vectors], live: set[int]) -> tuple[set[int], int]:
    highest = len(live)
    for reads, writes in reversed(code):
        highest = max(highest, len(live | writes))
        live -= writes
        live |= reads
        highest = max(highest, len(live))
    return live, highest
