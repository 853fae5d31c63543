"""Models which registers are used again: a result that its block needs for a while takes the lowest one that is free.
Leaves out fragments, accumulators and what lives on behind the block; those keep registers of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

from gpusim.arch import Kind
from gpusim.dsl.backend.instruction import Instruction
from gpusim.dsl.backend.registers import live_behind
from gpusim.dsl.backend.schedule import room_for_registers
from gpusim.dsl.backend.uses import Edges
from gpusim.program import PREDICATE_BASE

__all__ = ["with_reused_registers"]

FIRST_SHARED = -(1 << 20)
"""Registers that temporaries share are numbered from here, below those of the op table."""


def with_reused_registers(codes: Sequence[Sequence[Instruction]], edges: Edges) -> list[list[Instruction]]:
    """The blocks in scheduled order; temporaries read and write the register they share, besides their own.

    So what overwrites the address of a copy waits until the load/store unit has read it, as in compiled code. Only
    where registers are overdrawn (rule 7 of the schedule): in those loops of h200/sass the first arithmetic behind
    copies writes one of their address registers, and waits 30 to 60 cycles for it; in the others few do.
    """
    behind = live_behind(codes, edges)
    return [_share(code, lives_on) if room_for_registers(code) == "overdrawn" else list(code)
            for code, lives_on in zip(codes, behind, strict=True)]


def _share(code: Sequence[Instruction], lives_on: set[int]) -> list[Instruction]:
    last_reads, short = _lifetimes(code, lives_on)
    free: list[int] = []
    holds: dict[int, int] = {}
    named, shared = 0, []
    for row, instruction in enumerate(code):
        reads = [holds[unit] for unit in instruction.reads if unit in holds]
        for unit in last_reads[row]:
            if unit in holds:
                heappush(free, holds.pop(unit))
        writes = []
        for unit in instruction.writes:
            holds.pop(unit, None)
            if (row, unit) in short:
                named += not free
                holds[unit] = heappop(free) if free else FIRST_SHARED + named
                writes.append(holds[unit])
        shared.append(replace(instruction, reads=(*instruction.reads, *reads), writes=(*instruction.writes, *writes)))
    return shared


def _lifetimes(code: Sequence[Instruction], lives_on: set[int]) -> tuple[list[list[int]], set[tuple[int, int]]]:
    """Per row, the vector registers read there for the last time; and (row, register) of arithmetic whose results are
    read in the block and not behind it."""
    read_last: list[list[int]] = [[] for _ in code]
    short: set[tuple[int, int]] = set()
    needed: dict[int, bool] = dict.fromkeys(lives_on, False)  # registers read later: whether in the block only
    for row in reversed(range(len(code))):
        instruction = code[row]
        for unit in instruction.writes:
            if needed.pop(unit, False) and instruction.kind == Kind.alu and unit < PREDICATE_BASE:
                short.add((row, unit))
        for unit in instruction.reads:
            if unit not in needed:
                needed[unit] = True
                read_last[row].append(unit)
    return read_last, short
