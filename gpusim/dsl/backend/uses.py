"""Models when the registers of an instruction are needed again: by whom a result is awaited, an operand overwritten.
Leaves out cycles: positions count instructions along the shortest path through the blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpusim.dsl.backend.instruction import Instruction, late_reads

__all__ = ["Dues", "Edges", "dues_of_blocks"]

Edges = frozenset[tuple[int, int]]
"""(block, block that may follow it)"""

_Positions = dict[int, int]


@dataclass(frozen=True)
class Dues:
    """Per row of one block: the position, counted from the block's first row, at which ``result`` is first read or
    overwritten and at which one of the late-read operands is first overwritten; None: never."""

    result: list[int | None]
    operands: list[int | None]


@dataclass
class _Horizon:
    """For each register unit, the position of its first touch and of its first write from some point on."""

    touch: _Positions
    write: _Positions

    def moved(self, rows: int) -> _Horizon:
        return _Horizon({u: p + rows for u, p in self.touch.items()}, {u: p + rows for u, p in self.write.items()})

    def merge(self, other: _Horizon) -> bool:
        return any([_lower(self.touch, other.touch), _lower(self.write, other.write)])


def _lower(positions: _Positions, other: Mapping[int, int]) -> bool:
    changed = False
    for unit, position in other.items():
        if position < positions.get(unit, position + 1):
            positions[unit], changed = position, True
    return changed


def dues_of_blocks(codes: Sequence[Sequence[Instruction]], edges: Edges) -> list[Dues]:
    """Dues of every block in the flow graph ``edges``."""
    exits = [_Horizon({}, {}) for _ in codes]
    entries = [_entry(code) for code in codes]
    while _propagate(codes, edges, entries, exits):
        pass
    return [_scan(code, horizon) for code, horizon in zip(codes, exits, strict=True)]


def _entry(code: Sequence[Instruction]) -> _Horizon:
    horizon = _Horizon({}, {})
    for row in reversed(range(len(code))):
        _note(horizon, code[row], row)
    return horizon


def _note(horizon: _Horizon, instruction: Instruction, row: int) -> None:
    for unit in (*instruction.reads, *instruction.writes):
        horizon.touch[unit] = row
    for unit in instruction.writes:
        horizon.write[unit] = row


def _propagate(codes: Sequence[Sequence[Instruction]], edges: Edges, entries: list[_Horizon],
               exits: list[_Horizon]) -> bool:
    changed = False
    for block, follower in sorted(edges, reverse=True):
        seen_from_block = entries[follower].moved(len(codes[block]))
        if exits[block].merge(seen_from_block):
            entries[block].merge(seen_from_block)
            changed = True
    return changed


def _scan(code: Sequence[Instruction], exit_horizon: _Horizon) -> Dues:
    horizon = _Horizon(dict(exit_horizon.touch), dict(exit_horizon.write))
    dues = Dues([None] * len(code), [None] * len(code))
    for row in reversed(range(len(code))):
        dues.result[row] = _first(horizon.touch, code[row].writes)
        dues.operands[row] = _first(horizon.write, late_reads(code[row]))
        _note(horizon, code[row], row)
    return dues


def _first(positions: Mapping[int, int], units: Iterable[int]) -> int | None:
    return min((positions[unit] for unit in units if unit in positions), default=None)
