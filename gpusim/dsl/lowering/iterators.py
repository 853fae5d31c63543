"""Models what a compiler makes of CUTLASS 2.x's iterators: pointers, predicate bits, stage counters, their set-up.
Leaves out which lanes address what (gpusim.dsl.iterators) and the accesses themselves.

Instructions per warp, read from the 44 loops of gpusim/data/hardware/h200/main_loops.md (CUTLASS 4, sm_90a):

| what | instructions |
| --- | --- |
| a piece of a tile in global memory | 3: its bit of the mask becomes a predicate; the first needs 1 |
| ... in another row than the piece before | 2: 64-bit add to the pointer; neighbours in a row share it |
| next tile, per operand | 4, K-major 5: on, K-major from the last row; mask cleared behind the last tile |
| shared memory written by cp.async, per operand | 2: address of the stage |
| ... by st.shared | 1 if K-major, else 0: [R+UR] adds it |
| next stage to read and to write, uniform | 17 multistage (11: no operand K-major), 13 two stages; SIMT 13 and 7 |
| ... of a third operand (metadata of a sparse one) | 5 |
| dead loads before the copies of a k step | 3 |
| before the loop, per operand | 85, and 5 per piece: thread map, layouts, predicates |
| epilogue | 117, and 3 per store: predicate and pointer; what reads parameters stands with the programs |

With the loop's own 3 (counter, test, branch) the loops of the TensorOp and SIMT kernels come out within 2.6 %, but for
64x64x64 (4 % too long, sliced-K 8 %) and congruous operands 64 elements wide (9 % too short).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpusim.dsl.registers import Group, Registers
from gpusim.dsl.statements import Line

__all__ = ["PREDICATES_PER_WORD", "SETUP_OPS", "TilePointer", "chain", "dead_loads", "early_exit", "next_stage",
           "prefetching", "setup", "stage_step"]

SETUP_OPS = ("SHF.R.S32.HI", "LEA.HI", "LOP3.LUT", "IMAD.IADD", "IMAD.SHL.U32", "LOP3.LUT", "IMAD", "ISETP.LT.AND",
             "SEL", "IADD3")
"""A stretch of a thread map: threadIdx to coordinates, bounds, offsets."""
OPERAND_SETUP, PIECE_SETUP, EPILOGUE_SETUP = 85, 5, 117
DEAD_LOADS = 3
OPERAND_STAGE = 5
UNIFORM_OPS = ("UIADD3", "UISETP.NE.AND", "USEL", "UIADD3", "UMOV")


PREFETCH, PREFETCH_SINCE, PREFETCH_BYTES = ".LTC128B", 75, 2
"""CUTLASS_ENABLE_L2_PREFETCH: loads of 2 bytes or more bring whole lines into L2 from sm_75 on."""


def prefetching(mnemonic: str, access_bytes: int, compute_capability: int) -> str:
    """A load from global memory as CUTLASS spells it: LDG.E.LTC128B.128, LDGSTS.E.LTC128B."""
    if compute_capability < PREFETCH_SINCE or access_bytes < PREFETCH_BYTES or PREFETCH in mnemonic:
        return mnemonic
    name, load, rest = mnemonic.partition(".E")
    return f"{name}{load}{PREFETCH}{rest}"


EARLY_EXIT = ("IMAD.MOV.U32", "SHF.L.U32", "SHF.L.U32", "LOP3.LUT", "SHF.R.S32.HI", "IMAD.IADD", "ISETP.GE.AND",
              "ISETP.GE.OR")
"""What a CTA does that a swizzled grid gives no tile: these, a ULDC, the 5 launch values that any code begins with, and
EXIT (CUTLASS 4, sm_90a)."""
PREDICATES_PER_WORD = 16  # of a mask, four in every byte


def early_exit(registers: Registers, shift: Group | None = None, parameter: int | None = None) -> list[Line]:
    """blockIdx to a tile, by the bits that a grid is swizzled by (``shift``), and its comparison with the number of
    tiles, which stands in the kernel's parameters from byte ``parameter`` on."""
    return [Line("ULDC", registers.uniform(), parameter=parameter),
            *chain(registers, EARLY_EXIT, shift or registers.vector())]


def chain(registers: Registers, mnemonics: Sequence[str], source: Group) -> list[Line]:
    """Each instruction takes the one before's result; comparisons write a predicate, which the next one reads."""
    lines = []
    for mnemonic in mnemonics:
        dst = registers.predicate() if mnemonic.startswith("ISETP") else registers.vector()
        lines.append(Line(mnemonic, dst, (source,)))
        source = dst
    return lines


def setup(registers: Registers, count: int, results: Sequence[Group]) -> list[Line]:
    """About ``count`` instructions from threadIdx to values that stay in registers; independent stretches of them."""
    thread = registers.vector()
    lines = [Line("S2R", thread)]
    sources = []
    while len(lines) + len(results) < count:
        length = min(len(SETUP_OPS), count - len(lines) - len(results))
        lines += chain(registers, SETUP_OPS[:length], thread)
        sources.append(lines[-1].dst)
    for number, result in enumerate(results):
        source = sources[number % len(sources)] if sources else thread
        lines.append(Line("IMAD.IADD", result, (source,)))
    return lines


def dead_loads() -> list[Line]:
    """ptxas puts these in front of a block's first LDGSTS; the guard is never true."""
    return [Line("LDS", active=False)] * DEAD_LOADS


def next_stage(registers: Registers, results: Sequence[Group], *, stages: int, ldmatrix: bool,
               k_major: bool) -> list[Line]:
    """Stage counters in the uniform datapath: step, compare, wrap round, and the addresses that follow from them.

    ``ldmatrix``: fragments come through it; ``k_major``: some operand has k contiguous, whose addresses need an XOR.
    """
    count = (13 if ldmatrix else 7) if stages == 2 else 17 if ldmatrix and k_major else 11 if ldmatrix else 13
    count += OPERAND_STAGE * max(0, len(results) // 2 - 2)
    lines = [Line(UNIFORM_OPS[n % len(UNIFORM_OPS)], registers.uniform()) for n in range(count - len(results))]
    source = lines[-1].dst if lines else (0, 0)
    return lines + [Line("UIADD3", result, (result, source)) for result in results]


def stage_step(registers: Registers, addresses: Sequence[Group], stage: Group) -> tuple[list[Line], list[Group]]:
    """Shared-memory addresses of the present stage."""
    lines = [Line("VIADD", registers.vector(), (address, stage)) for address in addresses]
    return lines, [line.dst for line in lines]


@dataclass
class TilePointer:
    """Registers of one iterator over tiles in global memory: pointer, masks of 16 predicates each (``words``)."""

    registers: Registers
    words: int = 1
    pointer: Group = field(init=False)
    masks: list[Group] = field(init=False)
    base: Group = (0, 0)  # a pointer that was loaded from memory and that the other one is added to
    kept: int = 0  # instructions of the set-up whose results an earlier tile of a persistent CTA has left
    places: dict[int, tuple[Group, Group]] = field(default_factory=dict)  # per piece: its pointer, its predicate
    steps: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pointer = self.registers.vector(2)
        self.masks = [self.registers.vector() for _ in range(self.words)]

    @property
    def mask(self) -> Group:
        return self.masks[0]

    def setup(self, pieces: int, others: Sequence[Group]) -> list[Line]:
        """Before the loop; ``others``: more values kept in registers, such as shared-memory addresses."""
        return self._based(OPERAND_SETUP + PIECE_SETUP * pieces, others)

    def store_setup(self, others: Sequence[Group]) -> list[Line]:
        """Before an epilogue."""
        return self._based(EPILOGUE_SETUP, others)

    def _based(self, count: int, others: Sequence[Group]) -> list[Line]:
        low, high = (self.pointer[0], 1), (self.pointer[0] + 1, 1)
        lines = setup(self.registers, count - self.kept, [low, high, *self.masks, *others])
        if self.base[1]:
            start, _ = self.base
            lines += [Line("IADD3", low, (low, (start, 1))), Line("IADD3.X", high, (high, (start + 1, 1), low))]
        return lines

    def piece(self, piece: int, *, same_row: bool, is_last_row: bool = False) -> tuple[list[Line], Group, Group]:
        """Lines before the access of a piece; its pointer, its predicate. ``is_last_row``: of three or more."""
        predicate, mask = self.registers.predicate(), self.masks[piece // PREDICATES_PER_WORD]
        lines = [Line("LOP3.LUT", predicate, (mask,))]
        if piece % PREDICATES_PER_WORD:
            lines = chain(self.registers, ("LOP3.LUT", "SHF.R.U32.HI"), mask)
            lines.append(Line("ISETP.NE.U32.AND", predicate, (lines[-1].dst,)))
        pointer = self.places[piece - 1][0] if piece else self.pointer
        if piece and not same_row:
            added, pointer = self._moved() if is_last_row else self._added(pointer)
            lines += added
        self.places[piece] = pointer, predicate
        return lines, pointer, predicate

    def store(self, piece: int) -> tuple[list[Line], Group, Group]:
        """The same in an epilogue, where rows are compared with the bound instead of bits of a mask kept."""
        predicate, pointer = self.registers.predicate(), self.pointer
        lines = [Line("ISETP.LT.AND", predicate, (self.mask,))]
        if piece:
            known, _ = self.places.get(piece - 1, (self.pointer, predicate))  # or the first one that is stored
            added, pointer = self._added(known)
            lines += added
        self.places[piece] = pointer, predicate
        return lines, pointer, predicate

    def _added(self, pointer: Group) -> tuple[list[Line], Group]:
        pair = self.registers.vector(2)
        low, high = (pair[0], 1), (pair[0] + 1, 1)
        return [Line("IADD3", low, ((pointer[0], 1),)), Line("IADD3.X", high, ((pointer[0] + 1, 1), low))], pair

    def _moved(self) -> tuple[list[Line], Group]:
        """The tile's own pointer goes to its last row: what it pointed to must have been read."""
        high = (self.pointer[0] + 1, 1)
        return [Line("IMAD.WIDE.U32", self.pointer, (self.pointer,)), Line("IMAD.IADD", high, (high,))], self.pointer

    def _on(self, start: Group) -> list[Line]:
        """``start`` + stride of a tile, or of what is left of it behind the last row."""
        low, high = (self.pointer[0], 1), (self.pointer[0] + 1, 1)
        return [Line("IADD3", low, ((start[0], 1),)), Line("IADD3.X", high, ((start[0] + 1, 1), low))]

    def next_tile(self, *, k_major: bool = True) -> list[Line]:
        """Pointer and mask of the next tile."""
        if not self.steps:
            guard, high = self.registers.predicate(), (self.pointer[0] + 1, 1)
            last = max(self.places.items(), default=(0, (self.pointer, guard)))[1][0]
            moves = [Line("IMAD.MOV.U32", high, (high,))] if k_major else []
            self.steps = [*self._on(last if k_major else self.pointer), *moves,
                          Line("ISETP.NE.AND", guard, (self.mask,)),
                          *(Line("SEL", mask, (mask, guard)) for mask in self.masks)]
        return self.steps
