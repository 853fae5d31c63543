"""Models what a SASS instruction costs: its kind, pipe, issue interval and latency, looked up by mnemonic.
Leaves out which registers it names (gpusim.dsl, gpusim.sass) and what memory adds to its latency (gpusim.engine)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema

from gpusim.arch.section import Section
from gpusim.errors import UserError, did_you_mean

__all__ = ["INSTRUCTION", "InstructionEntry", "InstructionTable", "Kind", "Pipe", "ResultCycles", "TensorReads",
           "wgmma_columns"]

Cycles = Annotated[int, Field(ge=1, strict=True)]

Kind = IntEnum("Kind", [
    "alu", "mma", "shared_load", "shared_store", "ldmatrix", "stmatrix", "async_copy", "commit", "depbar", "barrier",
    "global_load", "global_store", "atomic", "constant_load", "special_register", "shuffle", "branch", "exit", "nop",
    "membar", "wgmma", "wgmma_control", "mbarrier", "bulk_copy", "cluster_barrier",
], start=0)
"""What the engine does with an instruction."""

Pipe = IntEnum("Pipe", [
    "none", "alu", "fma", "fp16", "fp16_mma", "fp64", "xu", "tensor", "lsu", "uniform", "cbu", "adu",
], start=0)
"""Nsight Compute's pipes of a sub-partition (fp64, lsu and adu are shared by an SM or by two sub-partitions; the issue
interval in the table is one sub-partition's share)."""

_WGMMA = re.compile(r"^[A-Z]GMMA\.(?:SP\.)?64x(\d+)x")


def wgmma_columns(mnemonic: str) -> int:
    """n of ``HGMMA.64xnx16.F32``; 0: no warpgroup MMA."""
    match = _WGMMA.match(mnemonic)
    return int(match[1]) if match else 0


INSTRUCTION = np.dtype([
    ("kind", "u1"), ("pipe", "u1"), ("variable_latency", "?"), ("issue_interval", "<u2"), ("latency", "<u2"),
    ("read_release", "<u2"), ("banked", "?"),
])
"""One row per mnemonic for compiled code; cycles."""


def _member(enum: type[IntEnum]) -> BeforeValidator:
    def convert(value: Any) -> Any:
        if isinstance(value, str) and value not in enum.__members__:
            raise ValueError(f"no such {enum.__name__.lower()}; {did_you_mean(value, enum.__members__)}")
        return enum[value] if isinstance(value, str) else value

    return BeforeValidator(convert)


def _names(enum: type[IntEnum]) -> WithJsonSchema:
    return WithJsonSchema({"enum": list(enum.__members__)})


Rest = Annotated[int, Field(ge=0, strict=True)]
Cost = Annotated[float, Field(ge=0)]


class TensorReads(Section):
    """What a tensor instruction and others lose to each other's reads of registers."""

    fetch_cycles: Rest = Field(default=0, description="Cycles it reads longer beside arithmetic when its A operand is "
                                                      "a new one.")
    triple_after_cycles: Rest = Field(default=0, description="Cycles from it to one that reads three registers.")
    vector_after_cycles: Rest = Field(default=0, description="Cycles from it to one that reads one or two registers.")
    after_triple_cycles: Rest = Field(default=0, description="Cycles from one that reads three registers to it.")
    vector_cost_cycles: Annotated[tuple[Cost, ...], Field(max_length=7)] = Field(
        default=(), description="By how much it gets longer for what reads one or two registers and is issued one, "
                                "two, ... cycles behind it.")
    predicate_cost_cycles: Annotated[tuple[Cost, ...], Field(max_length=7)] = Field(
        default=(), description="The same for what writes predicates and no register.")
    vector_turn_cost_cycles: Cost = Field(default=0, description="The same for the first place when the tensor "
                                                                 "instruction before it was another warp's.")
    register_cost_cycles: Cost = Field(default=0, description="By how much each register that the LSU or the XU reads "
                                                              "lengthens it.")
    first_read_cycles: Rest = Field(default=0, description="Cycles from it to the first register that the LSU reads.")
    stop_after_cycles: Rest = Field(default=0, description="Cycles from it to those in which no load's result is "
                                                           "written.")
    stop_cycles: Rest = Field(default=0, description="How many these are.")
    registers: Cycles = Field(default=1, description="Registers that the LSU gets at in each of its intervals.")


class ResultCycles(NamedTuple):
    """Cycles to a result, or at which it is there: for its own pipe, for others, and for what a predicate guards.

    The rule behind the numbers: a pipe forwards to itself soonest, to another pipe a cycle later, to the tensor pipe
    later still. ``pipe``: None where results of different pipes may have been left; all readers wait for the last one.
    """

    pipe: Pipe | None
    own: int
    others: int
    guarded: int

    def to(self, pipe: Pipe, operand_delay_cycles: int, *, guard: bool) -> int:
        """That for a reader on ``pipe``, which wants operands of other pipes so much later."""
        if guard:
            return self.guarded
        return self.own if pipe == self.pipe else max(self.own, self.others + operand_delay_cycles)

    def moved(self, cycles: int) -> ResultCycles:
        return ResultCycles(self.pipe, self.own + cycles, self.others + cycles, self.guarded + cycles)

    def joined(self, other: ResultCycles) -> ResultCycles:
        """The later one for every reader."""
        own, others, guarded = map(max, self[1:], other[1:])
        same = self.pipe == other.pipe
        return ResultCycles(self.pipe if same else None, own if same else others, others, guarded)


class InstructionEntry(Section):
    """Cost of the mnemonics that start with one of ``patterns`` (whole dot-separated parts)."""

    patterns: Annotated[tuple[str, ...], Field(min_length=1)] = Field(description="Leading parts of SASS mnemonics.")
    kind: Annotated[Kind, _member(Kind), _names(Kind)] = Field(description="What the engine does with it.")
    pipe: Annotated[Pipe, _member(Pipe), _names(Pipe)] = Field(description="Pipe that executes it.")
    issue_interval_cycles: Cycles = Field(description="Cycles one warp instruction keeps the pipe busy.")
    warp_interval_cycles: Cycles | None = Field(default=None, description="Cycles a compiler leaves before the same "
                                                "warp's next instruction on the pipe; the issue interval if not given.")
    latency_cycles: Cycles = Field(description="Cycles to a usable result; the least, where it varies.")
    latency_other_pipe_cycles: Cycles | None = Field(default=None, description="The same for a reader on another pipe.")
    latency_guard_cycles: Cycles | None = Field(default=None, description="The same for a predicate that guards.")
    operand_delay_cycles: Annotated[int, Field(strict=True)] = Field(
        default=0, description="Cycles by which results of other pipes have to be there earlier than for the alu.")
    variable_latency: bool = Field(default=False, description="Its result needs a scoreboard barrier.")
    banked: bool = Field(default=False, description="Banks of the register file give it a register a cycle each.")
    read_release_cycles: Cycles | None = Field(default=None, description="Cycles until the registers that it reads may "
                                               "be overwritten, where that needs one, too; the latency if not given.")
    reads: TensorReads | None = Field(default=None, description="Of a tensor instruction, where it is not as others.")
    arithmetic_lead_cycles: tuple[Cycles, ...] = Field(
        default=(1,), description="How long in front of the next tensor instruction a compiler puts arithmetic, the "
                                  "first place first.")

    @property
    def compiler_interval_cycles(self) -> int:
        """Cycles a compiler leaves before the same warp's next instruction on the pipe."""
        return self.warp_interval_cycles or self.issue_interval_cycles

    @property
    def release_cycles(self) -> int:
        """Cycles until the registers that it reads may be overwritten, of variable latency outside the memory queue."""
        return self.latency_cycles if self.read_release_cycles is None else self.read_release_cycles

    @property
    def result_cycles(self) -> ResultCycles:
        """Cycles between issues of this instruction and of readers of its result, as a compiler keeps them."""
        latency = self.latency_cycles
        return ResultCycles(self.pipe, latency, self.latency_other_pipe_cycles or latency,
                            self.latency_guard_cycles or latency)

    def latency_to_cycles(self, reader: InstructionEntry, *, guard: bool = False) -> int:
        """Those to one reader. ``guard``: the result is a predicate that guards it (``@P0``)."""
        return self.result_cycles.to(reader.pipe, reader.operand_delay_cycles, guard=guard)


class InstructionTable:
    """Entries by longest matching prefix: ``IMAD.MOV.U32`` finds ``IMAD.MOV`` before ``IMAD``."""

    def __init__(self, entries: Iterable[InstructionEntry], *, gpu: str = "") -> None:
        self.gpu = gpu
        self._by_pattern: dict[str, InstructionEntry] = {}
        for entry in entries:
            for pattern in entry.patterns:
                self._by_pattern.setdefault(pattern, entry)
        self._found: dict[str, InstructionEntry] = {}

    def __contains__(self, mnemonic: str) -> bool:
        return self._longest_prefix(mnemonic) is not None

    @property
    def patterns(self) -> tuple[str, ...]:
        return tuple(self._by_pattern)

    def lookup(self, mnemonic: str) -> InstructionEntry:
        """The entry of a mnemonic with modifiers. Raises UserError for one the GPU's table does not know."""
        entry = self._found.get(mnemonic) or self._longest_prefix(mnemonic)
        if entry is None:
            suggestion = did_you_mean(mnemonic.split(".")[0], {p.split(".")[0] for p in self._by_pattern})
            raise UserError("no such instruction in the GPU's instruction table", place=self.gpu, got=f"'{mnemonic}'",
                            suggestion=suggestion)
        self._found[mnemonic] = entry
        return entry

    def arrays(self, mnemonics: Sequence[str]) -> np.ndarray:
        """One INSTRUCTION row per mnemonic."""
        rows = np.zeros(len(mnemonics), INSTRUCTION)
        for row, mnemonic in zip(rows, mnemonics, strict=True):
            entry = self.lookup(mnemonic)
            row["kind"], row["pipe"], row["variable_latency"] = entry.kind, entry.pipe, entry.variable_latency
            row["issue_interval"], row["latency"] = entry.issue_interval_cycles, entry.latency_cycles
            row["read_release"], row["banked"] = entry.release_cycles, entry.banked
        return rows

    def _longest_prefix(self, mnemonic: str) -> InstructionEntry | None:
        parts = mnemonic.split(".")
        prefixes = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((self._by_pattern[prefix] for prefix in prefixes if prefix in self._by_pattern), None)
