"""Models when code and constants are in an SM: pieces of some lines, the next on its way when a warp enters one.
Leaves out evictions (loops of up to 24 KiB run at full rate, fetch_loops.csv) and code beyond what GPCs preload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numba import njit

from gpusim.arch import GpuSpec
from gpusim.arch.spec import Fetch
from gpusim.engine.gpc import SMS_PER_TPC, gpcs_of, places_in_gpcs
from gpusim.engine.state import NEVER

__all__ = ["ColdStart", "await_constant", "constant_cycles", "constant_lines", "constant_reads", "enter_piece",
           "first_code_cycles", "launch_constants", "pieces_of", "unread_constants"]

MOST_LINES = 255  # what an op's row has room for


def pieces_of(pcs: np.ndarray, spec: GpuSpec) -> np.ndarray:
    """Piece of the code in which each op's instruction stands; ``pcs``: static instructions of all ops of all roles.

    Instructions stand in the order in which they are first executed, with what nobody runs between them where their
    numbers have it. The first line is a piece of its own: the first waits of a kernel are 8 instructions behind its
    start, then 24 apart (kernel_stalls.csv).
    """
    run, first, static = np.unique(pcs, return_index=True, return_inverse=True)
    never_run = run - np.arange(len(run))  # that have smaller numbers
    place = (np.argsort(np.argsort(first)) + never_run)[static]
    lines = place * spec.fetch.instruction_bytes // spec.fetch.line_bytes
    return (lines + spec.fetch.piece_lines - 1) // spec.fetch.piece_lines


def constant_lines(parameter_bytes: int, spec: GpuSpec) -> int:
    """Lines that so many bytes of parameters take, for code that does not say what it reads where."""
    line = spec.fetch.constant_line_bytes
    return -(-(spec.fetch.parameter_start_bytes % line + parameter_bytes) // line) if parameter_bytes else 0


def launch_constants(named: Iterable[int], parameter_bytes: int, spec: GpuSpec) -> int:
    """Lines of constants that a kernel reads as it starts: the first one, and those of its parameters in which its code
    names no byte. ``named``: bytes of the constant bank, negative ones are none."""
    line = spec.fetch.constant_line_bytes
    found = {byte // line for byte in named if byte >= 0}
    first = spec.fetch.parameter_start_bytes // line
    return bool(found) + len(set(range(first, first + constant_lines(parameter_bytes, spec))) - found)


def constant_cycles(ctas: int, warps_per_cta: int, spec: GpuSpec) -> int:
    """Cycles until an SM has a further line of constants, when the SMs that so many CTAs fill start together.

    Each sub-partition asks a cache that the SMs of a GPC share, and which answers one after the other: 59 cycles if few
    ask, 116 if all of a full chip do (fetch_cold.csv; 132 CTAs of one warp do not fill it).
    """
    busy = min(ctas, spec.sm.count) / len(np.unique(gpcs_of(spec)))
    asking = busy * min(warps_per_cta, spec.sm.sub_partitions)
    return max(spec.fetch.constant_cycles, round(asking * spec.fetch.constant_interval_cycles))


def constant_reads(places: np.ndarray, indexed: np.ndarray, pcs: np.ndarray, spec: GpuSpec) -> np.ndarray:
    """(N,) i8: number of the line of constants that each op reads, from 1 on in the order of the code; 0 for none.

    places: (N,) i8, byte of the constant bank, -1 for none; indexed: (N,) b1, by LDC, whose cache is another one: a
    line that ULDC has read is new to it, and the other way round (pipes.csv: clocks around both). Those from
    MOST_LINES on, more than 8 KiB, count as one.
    """
    lines = np.where(places >= 0, 2 * (places // spec.fetch.constant_line_bytes) + indexed, -1)
    found, number = np.unique(lines, return_inverse=True)
    first = np.full(len(found), pcs.max(initial=0) + 1)
    np.minimum.at(first, number, pcs)
    order = np.argsort(np.argsort(np.where(found < 0, -1, first)))
    return np.minimum(order + (found[0] >= 0), MOST_LINES)[number]


def unread_constants(sms: int, reads: np.ndarray) -> np.ndarray:
    """(S, K) i8: when SMs have the lines of ``reads`` (see `constant_reads`), NEVER: not asked for.

    Each launch has constants of its own. The line that is read first is there: a launch waits for it as it starts.
    """
    lines = np.full((sms, int(reads.max(initial=0)) + 1), NEVER)
    lines[:, :2] = 0
    return lines


@njit(cache=True, nogil=True, forceinline=True)
def await_constant(constants, line, latency, time):
    """A warp of an SM reads a line of constants at ``time``; returns when the SM has it. constants: (K,) i8."""
    if constants[line] >= NEVER:
        constants[line] = time + latency
    return max(time, constants[line])


@njit(cache=True, nogil=True)
def enter_piece(code, mach, piece, time):
    """A warp could go on in another piece at ``time``; returns when it does."""
    if code[piece] >= NEVER:
        code[piece] = time + mach.fetch_next
    entered = code[piece] + mach.fetch_late if code[piece] > time else time
    if code[piece + 1] >= NEVER:
        code[piece + 1] = entered + mach.fetch_next
    return entered


def first_code_cycles(spec: GpuSpec) -> np.ndarray:
    """(S,) i8: from the start of the first CTA of each SM to its first instruction.

    The TPCs of a GPC, of two SMs, get their first code one after the other, in the order in which CTAs fill them.
    """
    tpc, second = np.divmod(places_in_gpcs(gpcs_of(spec)), SMS_PER_TPC)
    return spec.fetch.first_cycles + tpc * spec.fetch.tpc_interval_cycles + second * spec.fetch.sm_interval_cycles


@dataclass(frozen=True)
class ColdStart:
    """What the CTAs that come to an SM first wait for: the first instruction's code, then constants.

    Kernels read their parameters here and there: the first line as they start, others where their code names them
    (`constant_reads`), and what no code names as they start, too. CTAs that come later find the beginning of the code
    there, whatever class they are of: it is the same in all.
    """

    fetch: Fetch
    constant_lines: int
    constant_cycles: int  # of each line but the first
    waits: np.ndarray  # (S,) i8, see first_code_cycles

    def ends(self, code: np.ndarray, sm: np.void, number: int, piece: int, time: int) -> tuple[int, int]:
        """When a warp that comes at ``time`` to SM ``number`` has either. code: (F + 1,) i8, when it has each piece;
        sm: SM."""
        if sm["begun"] >= NEVER:
            sm["begun"] = time
        if sm["begun"] != time:
            return time, time
        there = time + int(self.waits[number])
        code[piece], code[piece + 1] = there, min(int(code[piece + 1]), there + self.fetch.next_cycles)
        return there, there + self._constant_cycles()

    def _constant_cycles(self) -> int:
        if not self.constant_lines:
            return 0
        return self.fetch.first_constant_cycles + (self.constant_lines - 1) * self.constant_cycles
