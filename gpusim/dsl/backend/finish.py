"""Models the compiler behind the DSL: order inside blocks, control fields, register estimate, for all copies at once.
Leaves out statements and addresses (gpusim.dsl); loops come unrolled, and the order of blocks stands."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from gpusim.arch import InstructionTable
from gpusim.dsl.backend.block import Block, FinishedOps, block_signature
from gpusim.dsl.backend.control import MAX_STALL_CYCLES, ControlFields, control_fields
from gpusim.dsl.backend.copy_order import copy_order
from gpusim.dsl.backend.graph import dependence_graph
from gpusim.dsl.backend.instruction import Instruction, decode
from gpusim.dsl.backend.registers import MAX_REGISTERS, RegisterEstimate, estimate_registers, missing_registers
from gpusim.dsl.backend.reuse import shares_registers, with_reused_registers
from gpusim.dsl.backend.reuse_cache import reuse_flags
from gpusim.dsl.backend.schedule import list_schedule
from gpusim.dsl.backend.spacing import spaced
from gpusim.dsl.backend.uses import Edges
from gpusim.errors import UserError, did_you_mean
from gpusim.program import OP, empty_ops

__all__ = ["Schedule", "finish"]

Schedule = Literal["source", "list"]

NOP = "NOP"


def finish(blocks: Sequence[Block], mnemonics: Sequence[str], table: InstructionTable,
           max_registers: int = MAX_REGISTERS, *, schedule: Schedule = "list",
           known: dict[Hashable, Any] | None = None) -> FinishedOps:
    """Schedules each distinct block once, sets control fields that hold on every way through the blocks, and lays the
    copies out in execution order. ``known`` keeps what has been compiled, for further roles with the same table and the
    same (growing) mnemonics: many classes of CTAs differ in trip counts only.

    ``mnemonics[pc]`` names the instruction of an op. ``max_registers``: per thread, what ptxas may assign.
    ``schedule="source"`` keeps the order of the statements. Raises UserError for a mnemonic the GPU does not know or
    another word for the schedule.
    """
    if schedule not in ("source", "list"):
        raise UserError("no such schedule", got=f"'{schedule}'", suggestion=did_you_mean(schedule, ("source", "list")))
    blocks = [block for block in blocks if len(block.ops)]
    distinct, which = _distinct(blocks)
    edges, found = _edges(blocks, which), {} if known is None else known
    key = (tuple(block_signature(block) for block in distinct), edges, max_registers, schedule)
    if key not in found:
        found[key] = _compile(distinct, edges, mnemonics, table, max_registers, schedule)
    layouts, estimate = found[key]
    parts = [layouts[number].lay_out(block) for number, block in zip(which, blocks, strict=True)]
    ops = np.concatenate(parts) if parts else np.zeros(0, OP)
    return FinishedOps(ops, estimate, _with_nop(mnemonics, ops))


def _compile(distinct: Sequence[Block], edges: Edges, mnemonics: Sequence[str], table: InstructionTable,
             max_registers: int, schedule: Schedule) -> tuple[list[_Layout], RegisterEstimate]:
    """Order and control fields of every distinct block; registers that are alive at once."""
    codes = [spaced(decode(block.ops[: block.rows], mnemonics, table)) for block in distinct]
    banked = table.arrays(mnemonics)["banked"]
    if schedule == "source":
        orders, named = [list(range(len(code))) for code in codes], with_reused_registers(codes, edges, max_registers)
    else:
        orders, named = _scheduled(codes, [block.keys for block in distinct], edges, max_registers)
    layouts = [_Layout(order, fields, reuse_flags(block.ops[order], banked), mnemonics) for block, order, fields in
               zip(distinct, orders, control_fields(named, edges), strict=True)]
    return layouts, estimate_registers(_in_order(codes, orders), edges)


def _scheduled(codes: Sequence[Sequence[Instruction]], keys: Sequence[np.ndarray], edges: Edges,
               max_registers: int) -> tuple[list[list[int]], list[list[Instruction]]]:
    """Issue order of every block, and its instructions in that order with the registers that they share.

    Blocks are ordered as if there were registers without end; those that lack some, or whose copies can go in turn,
    once more; then registers are assigned, and what overwrites the address of an access moves away from it, in a last
    round over the blocks that share registers.
    """
    graphs = [dependence_graph(code, key) for code, key in zip(codes, keys, strict=True)]
    endless = [list_schedule(code, graph) for code, graph in zip(codes, graphs, strict=True)]
    missing = missing_registers(_in_order(codes, endless), edges, max_registers)
    turns = [copy_order(code, graph) for code, graph in zip(codes, graphs, strict=True)]
    orders = [list_schedule(code, graph, lacks, turn) if lacks or turn != "chain" else order
              for code, graph, order, lacks, turn in zip(codes, graphs, endless, missing, turns, strict=True)]
    named = with_reused_registers(_in_order(codes, orders), edges, max_registers)
    last = [list_schedule(code, dependence_graph(code, key[order]), lacks, turn) if shares_registers(code)
            else list(range(len(code)))
            for code, key, order, lacks, turn in zip(named, keys, orders, missing, turns, strict=True)]
    return [[order[row] for row in rows] for order, rows in zip(orders, last, strict=True)], _in_order(named, last)


def _in_order(codes: Sequence[Sequence[Instruction]], orders: Sequence[Sequence[int]]) -> list[list[Instruction]]:
    return [[code[row] for row in order] for code, order in zip(codes, orders, strict=True)]


def _distinct(blocks: Sequence[Block]) -> tuple[list[Block], list[int]]:
    """One block of each signature, and which of them each block is."""
    numbers: dict[bytes, int] = {}
    distinct: list[Block] = []
    which = []
    for block in blocks:
        number = numbers.setdefault(block_signature(block), len(distinct))
        if number == len(distinct):
            distinct.append(block)
        which.append(number)
    return distinct, which


def _edges(blocks: Sequence[Block], which: Sequence[int]) -> Edges:
    repeated = {(number, number) for number, block in zip(which, blocks, strict=True) if block.repeats > 1}
    return frozenset(pairwise(which)) | repeated


class _Layout:
    """Rows of one finished copy: which source row stands where, and its control fields."""

    def __init__(self, order: Sequence[int], fields: ControlFields, reuse: np.ndarray,
                 mnemonics: Sequence[str]) -> None:
        self.template, self.is_nop = _template(fields, _nop_pc(mnemonics))
        self.template["reuse"][~self.is_nop] = reuse
        self.order = np.asarray(order, np.intp)

    def lay_out(self, block: Block) -> np.ndarray:
        """(repeats * rows of a finished copy,) OP rows."""
        copies = np.tile(self.template, (block.repeats, 1))
        gathered = block.ops.reshape(block.repeats, block.rows)[:, self.order]
        for name in _SOURCE_FIELDS:
            copies[name][:, ~self.is_nop] = gathered[name]
        return copies.reshape(-1)


_CONTROL_FIELDS = ("stall", "yield_", "wait_mask", "write_barrier", "read_barrier", "reuse")
_SOURCE_FIELDS = tuple(name for name in OP.names or () if name not in _CONTROL_FIELDS)


def _template(fields: ControlFields, nop_pc: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one copy with control fields only, NOPs where a gap exceeds one stall count; and which rows are NOPs."""
    gaps = np.asarray(fields.gap_cycles)
    extra = (gaps - 1) // MAX_STALL_CYCLES
    start = np.cumsum(1 + extra) - 1 - extra
    rows = empty_ops(int((1 + extra).sum()))
    is_nop = np.ones(len(rows), bool)
    is_nop[start] = False
    rows["pc"] = nop_pc
    rows["stall"] = MAX_STALL_CYCLES
    rows["stall"][start + extra] = gaps - extra * MAX_STALL_CYCLES
    rows["yield_"][start] = fields.yields
    rows["yield_"][is_nop] = 1  # as ptxas does
    rows["wait_mask"][start] = fields.wait_mask
    rows["write_barrier"][start] = fields.barriers.write
    rows["read_barrier"][start] = fields.barriers.read
    return rows, is_nop


def _nop_pc(mnemonics: Sequence[str]) -> int:
    return list(mnemonics).index(NOP) if NOP in mnemonics else len(mnemonics)


def _with_nop(mnemonics: Sequence[str], ops: np.ndarray) -> tuple[str, ...]:
    used = len(ops) and int(ops["pc"].max()) >= len(mnemonics)
    return (*mnemonics, NOP) if used else tuple(mnemonics)


