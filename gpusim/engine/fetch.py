"""Models when code and constants are in an SM: pieces of some lines, the next on its way when a warp enters one.
Leaves out evictions (loops of up to 24 KiB run at full rate, fetch_loops.csv) and code beyond what a launch preloads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from gpusim.arch import GpuSpec
from gpusim.arch.spec import Fetch
from gpusim.engine.state import NEVER

__all__ = ["ColdStart", "constant_lines", "enter_piece", "pieces_of"]


def pieces_of(pcs: np.ndarray, spec: GpuSpec) -> np.ndarray:
    """Piece of the code in which each op's instruction stands; ``pcs``: static instructions of all ops of all roles.

    Instructions stand in the order in which they are first executed. The first line is a piece of its own: the first
    waits of a kernel are 8 instructions behind its start, then 24 apart (prologue_stalls.csv).
    """
    _, first, static = np.unique(pcs, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[static]
    lines = place * spec.fetch.instruction_bytes // spec.fetch.line_bytes
    return (lines + spec.fetch.piece_lines - 1) // spec.fetch.piece_lines


def constant_lines(parameter_bytes: int, spec: GpuSpec) -> int:
    """Lines that so many bytes of parameters take."""
    line = spec.fetch.constant_line_bytes
    return -(-(spec.fetch.parameter_start_bytes % line + parameter_bytes) // line) if parameter_bytes else 0


@njit(cache=True, nogil=True)
def enter_piece(code, mach, piece, time):
    """A warp goes on in another piece at ``time`` or when it is there, which is what this returns."""
    there = code[piece]
    if there >= NEVER:
        there = code[piece] = time + mach.fetch_next
    if code[piece + 1] >= NEVER:
        code[piece + 1] = max(there, time) + mach.fetch_next
    return there


@dataclass(frozen=True)
class ColdStart:
    """What the first warps of an SM wait for together before their first instruction: its code, then constants.

    Kernels read their parameters here and there; here they read all lines as they start.
    """

    fetch: Fetch
    constant_lines: int

    def ends(self, code: np.ndarray, sm: np.void, piece: int, time: int) -> tuple[int, int]:
        """When a warp that comes at ``time`` has both. code: (F + 1,) i8, when the pieces are in the SM; sm: its record."""
        if code[piece] >= NEVER:
            code[piece] = time + self.fetch.first_cycles
        there = int(code[piece])
        if code[piece + 1] >= NEVER:
            code[piece + 1] = max(there, time) + self.fetch.next_cycles
        if sm["constants"] >= NEVER:
            sm["constants"] = there + self._constant_cycles()
        return there, int(sm["constants"])

    def _constant_cycles(self) -> int:
        if not self.constant_lines:
            return 0
        return self.fetch.first_constant_cycles + (self.constant_lines - 1) * self.fetch.constant_cycles
