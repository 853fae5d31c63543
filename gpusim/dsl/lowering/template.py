"""Models the lowered code of a basic block as op rows, replicated over the block's executions in an unrolled loop.
Leaves out what the instructions are (gpusim.dsl.lowering.blocks) and control fields (gpusim.dsl.backend)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.dsl.backend import Block
from gpusim.dsl.lowering.emitter import NO_STATEMENT, Instruction
from gpusim.dsl.source import SourceLine
from gpusim.dsl.statements import BasicBlock
from gpusim.program import Static, empty_ops

__all__ = ["StaticTable", "Template"]

UNREACHED = "NOP"
"""Stands for any instruction that nobody runs."""


class StaticTable:
    """Static instructions of a program, numbered in order of appearance; equal ones of one block by occurrence.

    ``uniform_datapath`` False: a GPU before Turing, where every lane computes what is the same for all.
    ``parameter_start``: byte of the constant bank at which parameters begin. What nobody runs has numbers, too.
    """

    def __init__(self, file: str, *, uniform_datapath: bool = True, parameter_start: int = 0) -> None:
        self.file, self.uniform_datapath, self.parameter_start = file, uniform_datapath, parameter_start
        self.rows: list[Static] = []
        self._numbers: dict[tuple[str, SourceLine, str, int], int] = {}

    def pcs(self, instructions: Sequence[Instruction], scope: str) -> np.ndarray:
        seen: dict[tuple[str, SourceLine], int] = {}
        pcs = np.empty(len(instructions), np.int32)
        for row, instruction in enumerate(instructions):
            name = (self._spelled(instruction.mnemonic), instruction.line)
            occurrence = seen[name] = seen.get(name, -1) + 1
            pcs[row] = self._number(*name, scope, occurrence, instruction)
        return pcs

    def _spelled(self, mnemonic: str) -> str:
        """UIADD3 as IADD3, S2UR as S2R, where there is no uniform datapath."""
        return mnemonic if self.uniform_datapath else mnemonic.replace("S2UR", "S2R").removeprefix("U")

    def _number(self, mnemonic: str, line: SourceLine, scope: str, occurrence: int, instruction: Instruction) -> int:
        key = (mnemonic, line, scope, occurrence)
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            place = (line.line, scope, line.file or self.file)
            self.rows.append(Static(mnemonic, *place, self._constant(instruction.parameter)))
            self.rows += [Static(UNREACHED, *place)] * instruction.skips
        return self._numbers[key]

    def _constant(self, parameter: int | None) -> int:
        """Byte of the constant bank; -1 where nothing is read, or what other GPUs have elsewhere."""
        return -1 if parameter is None else max(-1, self.parameter_start + parameter)


@dataclass(frozen=True)
class Template:
    """Lowered code of one block; copies of it differ in what its statements' instances say."""

    instructions: list[Instruction]
    pcs: np.ndarray
    scope: str

    def block(self, copies: Sequence[BasicBlock]) -> Block:
        one = _rows(self.instructions, self.pcs)
        repeats = max(1, len(copies))
        ops = np.tile(one, (repeats, 1))
        statement = np.array([i.statement for i in self.instructions])
        if copies and len(self.instructions):
            _fill(ops, self.instructions, statement, _instances(copies))
        keys = np.array([i.memory_key for i in self.instructions], np.int32)
        return Block(ops.reshape(-1), self.scope, keys, repeats)


def _rows(instructions: Sequence[Instruction], pcs: np.ndarray) -> np.ndarray:
    rows = empty_ops(len(instructions))
    rows["pc"] = pcs
    for row, instruction in zip(rows, instructions, strict=True):
        row["dst_start"], row["dst_count"] = instruction.dst
        row["active"], row["operand"] = instruction.active, instruction.immediate
        for slot, (start, count) in enumerate(instruction.sources):
            row["src_start"][slot], row["src_count"][slot] = start, count
    return rows


def _instances(copies: Sequence[BasicBlock]) -> np.ndarray:
    """(copies, statements, 5): access, shared offset, global offset, active, operand."""
    return np.array([[(i.access, i.shared_offset, i.global_offset, i.active, i.operand) for i in block.instances]
                     for block in copies], np.int64)


def _fill(ops: np.ndarray, instructions: Sequence[Instruction], statement: np.ndarray, instances: np.ndarray) -> None:
    piece = np.array([i.piece for i in instructions])
    tied, touches = statement != NO_STATEMENT, piece >= 0
    ops["active"][:, tied] = instances[:, statement[tied], 3]
    ops["access"][:, touches] = instances[:, statement[touches], 0] + piece[touches]
    ops["shared_offset"][:, touches] = instances[:, statement[touches], 1]
    ops["global_offset"][:, touches] = instances[:, statement[touches], 2]
    carries = np.array([i.carries_operand for i in instructions])
    ops["operand"][:, carries] = instances[:, statement[carries], 4]
