"""Models how many vector registers a thread needs: the most that are live at once, over all ways through the blocks.
Leaves out assignment, so also moves and fragmentation; a fitted loss stands for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpusim.arch import Kind
from gpusim.dsl.backend.instruction import Instruction
from gpusim.dsl.backend.uses import Edges
from gpusim.program import PREDICATE_BASE

__all__ = ["MAX_REGISTERS", "RegisterEstimate", "estimate_registers", "live_behind", "missing_registers",
           "spare_registers"]

LOST_REGISTERS, SCARCE_LOST_REGISTERS = 15, 22
"""What assignment loses to alignment, banks and long-lived temporaries, and RESERVED_REGISTERS: registers that ptxas
reports minus those occupied, the mean over 76 kernels of h200/kernels.csv and kernels_more.csv with tensor instructions
(3 to 43; they need 37 to 240, and the loss does not grow with it); and the loss with which six and five of eight
fragment loads wait in the loops of 128x128x32 and 256x128x32 with an XOR, as ptxas lets five and six (gemm.cu)."""

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
    exits, peak = _live_ranges([[_vectors_of(instruction) for instruction in code] for code in codes], edges)
    needed = max(_occupied_registers(codes, exits), default=0) + LOST_REGISTERS
    return RegisterEstimate(min(needed, MAX_REGISTERS), peak, max(0, peak + RESERVED_REGISTERS - MAX_REGISTERS))


def live_behind(codes: Sequence[Sequence[Instruction]], edges: Edges) -> list[set[int]]:
    """Vector registers that are read after each block before anything writes them."""
    exits, _ = _live_ranges([[_vectors_of(instruction) for instruction in code] for code in codes], edges)
    return exits


def missing_registers(codes: Sequence[Sequence[Instruction]], edges: Edges,
                      max_registers: int = MAX_REGISTERS) -> list[int]:
    """Per block in scheduled order, registers beyond those that a thread can have, with what assignment then loses."""
    occupied = _occupied_registers(codes, live_behind(codes, edges))
    return [max(0, number + SCARCE_LOST_REGISTERS - max_registers) for number in occupied]


def spare_registers(codes: Sequence[Sequence[Instruction]], exits: Sequence[set[int]],
                    max_registers: int = MAX_REGISTERS) -> list[int]:
    """Per block in scheduled order, registers that assignment takes beyond those occupied: what it loses on average, as
    far as there are so many. ``exits``: live_behind."""
    most = max_registers - RESERVED_REGISTERS
    return [max(0, min(LOST_REGISTERS - RESERVED_REGISTERS, most - occupied))
            for occupied in _occupied_registers(codes, exits)]


def _occupied_registers(codes: Sequence[Sequence[Instruction]], exits: Sequence[set[int]]) -> list[int]:
    """Per block in scheduled order, its sums and fragments, which keep their registers from end to end, and as many
    others as are live at once."""
    return [_occupied(code, set(behind)) for code, behind in zip(codes, exits, strict=True)]


def _occupied(code: Sequence[Instruction], behind: set[int]) -> int:
    tensor = frozenset(unit for one in code if one.kind == Kind.mma for unit in (*one.reads, *one.writes))
    others = [(reads - tensor, writes - tensor) for reads, writes in map(_vectors_of, code)]
    _, peak = _walk_back(others, behind - tensor)
    return len(_only_vectors(tensor)) + peak


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
