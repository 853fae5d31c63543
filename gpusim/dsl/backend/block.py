"""Models what passes between the DSL's front end and its back end: basic blocks of virtual-register code, finished ops.
Leaves out how statements become instructions (gpusim.dsl) and every decision about order and control fields."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusim.dsl.backend.registers import RegisterEstimate

_SHAPE_FIELDS = ("pc", "dst_start", "dst_count", "src_start", "src_count")

__all__ = ["Block", "FinishedOps", "block_signature"]


@dataclass(frozen=True)
class Block:
    """A basic block in source order, ``repeats`` equal copies of it one after another (an unrolled loop).

    ``ops``: OP rows with pc, registers, access, offsets, operand and active set; control fields are ignored. Copies may
    differ in access, offsets, operand and active, never in pc or registers. Registers are virtual: as many as wanted.
    ``memory_key``: per row of ``ops`` (or of one copy); two memory ops of one copy with an equal key other than -1, at
    least one of them a write, keep their order. ``scope`` names the block in reports.
    """

    ops: np.ndarray
    scope: str = ""
    memory_key: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    repeats: int = 1

    @property
    def rows(self) -> int:
        """Rows of one copy."""
        return len(self.ops) // self.repeats

    @property
    def keys(self) -> np.ndarray:
        """(rows,) memory keys of one copy; -1 everywhere when none were given."""
        return self.memory_key[: self.rows] if len(self.memory_key) else np.full(self.rows, -1, np.int32)


@dataclass(frozen=True)
class FinishedOps:
    """``ops``: the blocks in execution order, scheduled, with control fields, NOPs included where 15 cycles of stall
    were too few. ``mnemonics``: the given ones, with "NOP" appended when that became necessary."""

    ops: np.ndarray
    register_estimate: RegisterEstimate
    mnemonics: tuple[str, ...]


def block_signature(block: Block) -> bytes:
    """Equal for blocks that must get equal schedules and control fields: same pcs, registers and memory conflicts."""
    first = block.ops[: block.rows]
    columns = [np.ascontiguousarray(first[name]).tobytes() for name in _SHAPE_FIELDS]
    return b"".join([*columns, _by_appearance(block.keys).tobytes()])


def _by_appearance(keys: np.ndarray) -> np.ndarray:
    """Memory keys renumbered 0, 1, .. in order of first appearance, so that another stage's block looks the same."""
    distinct, first_rows, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first_rows)).astype(np.int32)
    return np.where(distinct < 0, np.int32(-1), rank)[inverse].astype(np.int32)
