"""Models what a line of a kernel asks of a warp: statements, their instances in an unrolled loop, blocks of them.
Leaves out the instructions they become (gpusim.dsl.lowering)."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusim.dsl.registers import Group
from gpusim.dsl.source import SourceLine

__all__ = ["AsyncCopy", "BasicBlock", "Clear", "Code", "Convert", "Instance", "Line", "LoadMatrix", "Mma", "Statement",
           "Store", "Sync"]


@dataclass(frozen=True)
class AsyncCopy:
    """cp.async of ``count`` pieces per thread. ``coordinates`` names the (thread, piece) -> element map: copies with
    equal coordinates share the arithmetic on them, equal ``stage_bytes`` the shared-memory address as well."""

    mnemonic: str
    source: str
    destination: str
    count: int
    coordinates: int
    stage_bytes: int
    xor: str  # "", "row" (of the row number), "shifted" (of higher bits of the row number)
    partial: bool = False  # each piece has a predicate of its own


@dataclass(frozen=True)
class LoadMatrix:
    """ldmatrix into register groups; ``part`` numbers the column block, ``new_stage``: the first from its stage."""

    mnemonic: str
    source: str
    registers: tuple[int, ...]
    width: int
    part: int
    new_stage: bool
    xor: str  # "", "row" (one address serves all rows), "shifted" (one address per row block)


@dataclass(frozen=True)
class Mma:
    """One warp-level MMA per (accumulator, a, b) triple of register groups, in issue order."""

    mnemonic: str
    triples: tuple[tuple[int, int, int], ...]
    c_a_b_widths: tuple[int, int, int]


@dataclass(frozen=True)
class Clear:
    registers: tuple[int, ...]
    width: int


@dataclass(frozen=True)
class Convert:
    """Pairs of accumulators packed into 16-bit halves: (destination, low source)."""

    mnemonic: str
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Store:
    """Global stores of one register each; ``rows`` numbers the tensor row pointer each one uses."""

    mnemonic: str
    tensor: str
    registers: tuple[int, ...]
    rows: tuple[int, ...]
    partial: bool = False  # each store has a predicate


@dataclass(frozen=True)
class Sync:
    """commit, wait, barrier: one instruction without registers."""

    mnemonic: str
    ends_stage: bool = False  # a commit: what follows belongs to another stage


@dataclass(frozen=True)
class Line:
    """One instruction; ``piece``: row of the access table after the instance's first, -1: touches no memory."""

    mnemonic: str
    dst: Group = (0, 0)
    sources: tuple[Group, ...] = ()
    piece: int = -1
    memory_key: int = -1
    active: bool = True  # False: guarded by a predicate that is never true
    immediate: int = 0  # 32 bits of a constant operand
    operand: bool = False  # takes the instance's instead
    parameter: int | None = None  # byte of the kernel's parameters that it reads
    skips: int = 0  # instructions behind a branch that it jumps over, and nobody runs


@dataclass(frozen=True)
class Code:
    """Instructions whose registers the front end has chosen: memory accesses of iterators and their arithmetic.

    Only the lines that touch memory follow the instance's ``active``: addresses are computed in any case.
    """

    lines: tuple[Line, ...]


Spec = AsyncCopy | LoadMatrix | Mma | Clear | Convert | Store | Sync | Code


@dataclass(frozen=True)
class Statement:
    spec: Spec
    line: SourceLine
    predicated: bool = False


@dataclass(frozen=True)
class Instance:
    """What differs between two executions of a statement."""

    access: int = -1  # first of the statement's consecutive rows of the access table
    shared_offset: int = 0
    global_offset: int = 0
    active: bool = True
    operand: int = 0


@dataclass
class BasicBlock:
    """Statements between two edges of the control flow; ``loop`` numbers the loop whose body it is, -1: none."""

    scope: str
    loop: int = -1
    statements: list[Statement] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, int, tuple[Statement, ...]]:
        return self.scope, self.loop, tuple(self.statements)
