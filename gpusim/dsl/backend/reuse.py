"""Models which registers are used again: a result that its block needs for a while takes one that is free.
Leaves out fragments, accumulators, what lives on behind the block, and blocks of FFMAs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from gpusim.arch import Kind
from gpusim.dsl.backend.instruction import Instruction, accumulates, late_reads
from gpusim.dsl.backend.registers import MAX_REGISTERS, live_behind, spare_registers
from gpusim.dsl.backend.uses import Edges
from gpusim.program import PREDICATE_BASE

__all__ = ["shares_registers", "with_reused_registers"]

FIRST_SHARED = -(1 << 20)
"""Registers that temporaries share are numbered from here, below those of the op table."""


def with_reused_registers(codes: Sequence[Sequence[Instruction]], edges: Edges,
                          max_registers: int = MAX_REGISTERS) -> list[list[Instruction]]:
    """The blocks in scheduled order; temporaries read and write the register they share, besides their own.

    A block has as many as it needs at once, and those to spare. A register that an access of memory has yet to read is
    taken last, the latest one first, and what overwrites it waits: for the address of a copy, often the last one, so
    one to ten times in each of the 20 loops of h200/sass. What begins an address behind a barrier takes that of the
    latest copy all the same: in 53 of the 56 loops of h200/src/gemm.cu with three stages or more (nvcc 13.0) arithmetic
    between the last copy and the barrier, mostly the VIADD that counts the stage to be read, waits for the address of a
    copy, in 37 for the last one's. The address of a single fragment load is not shared: there the first register of the
    fragment holds it (``LDSM R164, [R164]``); that of several is, often with a copy's (cutlass_loops.csv).
    """
    exits = live_behind(codes, edges)
    return [_share(code, lives_on, spare) if shares_registers(code) else list(code)
            for code, lives_on, spare in zip(codes, exits, spare_registers(codes, exits, max_registers), strict=True)]


def shares_registers(code: Sequence[Instruction]) -> bool:
    """Not where most are FFMAs that accumulate: there ptxas picks registers by bank; its loops were not looked at."""
    return 2 * sum(map(accumulates, code)) <= len(code)


def _share(code: Sequence[Instruction], lives_on: set[int], spare: int) -> list[Instruction]:
    last_reads, short = _lifetimes(code, lives_on)
    unused = deque(range(FIRST_SHARED, FIRST_SHARED + _most_at_once(code, last_reads, short) + spare))
    free: deque[int] = deque()
    late: list[int] = []
    holds: dict[int, int] = {}
    shared = []
    begins, copied, in_front = _begins_anew(code), set[int](), set[int]()
    for row, instruction in enumerate(code):
        if instruction.kind == Kind.barrier:
            in_front |= copied
        reads = [holds[unit] for unit in instruction.reads if unit in holds]
        if instruction.kind == Kind.async_copy:
            copied.update(reads)
        released = late if late_reads(instruction) else free
        released.extend(holds.pop(unit) for unit in last_reads[row] if unit in holds)
        writes = []
        for unit in instruction.writes:
            holds.pop(unit, None)
            if (row, unit) in short:
                holds[unit] = _taken(row in begins, late, in_front, free or unused)
                writes.append(holds[unit])
        shared.append(replace(instruction, reads=(*instruction.reads, *reads), writes=(*instruction.writes, *writes)))
    return shared


def _taken(begins: bool, late: list[int], in_front: set[int], ready: deque[int]) -> int:
    """The register that a result gets, out of those whose last readers are done and those they may still read."""
    copied = max((i for i, register in enumerate(late) if register in in_front), default=None) if begins else None
    if copied is not None:
        return late.pop(copied)
    return ready.popleft() if ready else late.pop()


def _most_at_once(code: Sequence[Instruction], last_reads: Sequence[Sequence[int]], short: set[tuple[int, int]]) -> int:
    live: set[int] = set()
    most = 0
    for row, instruction in enumerate(code):
        live.difference_update(last_reads[row], instruction.writes)
        live.update(unit for unit in instruction.writes if (row, unit) in short)
        most = max(most, len(live))
    return most


def _lifetimes(code: Sequence[Instruction], lives_on: set[int]) -> tuple[list[list[int]], set[tuple[int, int]]]:
    """Per row, the vector registers read there for the last time; and (row, register) of arithmetic whose results are
    read in the block and not behind it, and last by anything but a fragment load."""
    read_last: list[list[int]] = [[] for _ in code]
    short: set[tuple[int, int]] = set()
    needed: dict[int, bool] = dict.fromkeys(lives_on, False)  # registers read later: whether they are shared
    for row in reversed(range(len(code))):
        instruction = code[row]
        for unit in instruction.writes:
            if needed.pop(unit, False) and instruction.kind == Kind.alu and unit < PREDICATE_BASE:
                short.add((row, unit))
        for unit in instruction.reads:
            if unit not in needed:
                needed[unit] = instruction.kind != Kind.ldmatrix
                read_last[row].append(unit)
            elif instruction.kind == Kind.ldmatrix and unit not in lives_on:
                needed[unit] = True  # of several loads: none can hold it in its fragment until the last one
    return read_last, short


def _begins_anew(code: Sequence[Instruction]) -> set[int]:
    """Rows that read no vector register which the block has written before."""
    written: set[int] = set()
    rows = set()
    for row, instruction in enumerate(code):
        if written.isdisjoint(instruction.reads):
            rows.add(row)
        written.update(unit for unit in instruction.writes if unit < PREDICATE_BASE)
    return rows
