"""Models copies between memories and a thread's registers under a tiled copy: LDG, STG, LDS, STS, LDSM, STSM, LDGSTS.
Leaves out what a thread owns (gpusim.dsl.partitions), and the calibrated main-loop copies of whole tiles
(gpusim.dsl.moves).

Address code is counted by rules, read from kernels that nvcc 13 compiled for sm_90a: a copy of 32 x 128 floats and two
transposes of 32 x 32, with and without bounds, and the CuTe hgemm of programs/hgemm_cute.py:

| what | instructions |
| --- | --- |
| a partition in shared memory, from threadIdx | 5, 20 for fragments of an MMA; 3 per further register |
| ... in global memory | 10, and 2 for the bounds of a partial tile |
| shared address that immediates reach | 0: a constant distance from a register, for all threads |
| ... that an XOR keeps out of reach | 1 |
| ... of a block chosen in a loop | 1 per register |
| ... of a stage chosen in a loop | 2 per register |
| global address in another row than the piece before | 1 |
| ... of a partial tile | 9: row x pitch + column in 64 bits, anew under each predicate |
| ... of a tile chosen by an index | 2, its further rows 1 as in a whole one (not compared with compiled code) |
| predicate of a piece of a partial tile | 1 |

They miss stage counters, branches around guarded stores and what ptxas then computes twice: hgemm's loop comes out 9 %
short (118 of 130 instructions), copy and transposes 10, 5 and 18 % (of 229, 144, 189).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpusim.arch.atoms import CopyAtom
from gpusim.dsl.lowering.copies import write_key
from gpusim.dsl.lowering.iterators import chain, setup
from gpusim.dsl.lowering.loads import read_key
from gpusim.dsl.moves import Mover, split
from gpusim.dsl.partitions import Addresses, AnyTiledCopy, Partition, ThreadFragment, thread_places
from gpusim.dsl.recorder import Recorder
from gpusim.dsl.registers import Group, Registers
from gpusim.dsl.shared import SharedMemory
from gpusim.dsl.statements import Code, Instance, Line
from gpusim.dsl.tensors import LINE_BYTES, SmemTensor, Tile
from gpusim.dsl.tiled import LANES, TiledCopy
from gpusim.errors import UserError
from gpusim.program.access_builder import Access

__all__ = ["ThreadCopies"]

SHARED_SETUP, FRAGMENT_SETUP, PATTERN_SETUP, GLOBAL_SETUP, BOUNDS_SETUP = 5, 20, 3, 10, 2
GUARDED_ROW = ("SHF.R.S32.HI", "IMAD", "LDC.64", "IMAD.MOV.U32", "IMAD.WIDE.U32", "IMAD", "IMAD.IADD")
"""... LEA, LEA.HI.X: the pointer to a row."""
VERBS = {"CPA": "cp.async", "LDG": "ld.global", "STG": "st.global", "LDSM": "ldmatrix", "STSM": "stmatrix"}
"""How reports name accesses, by operation; others go by the operation itself."""
Copied = tuple[Code, Instance]
Sources = tuple[Group, ...]


@dataclass(frozen=True, eq=False)
class Placed:
    """A partition at one place: what of its offset the op carries, what is left for the lanes, their addresses."""

    part: Partition
    moved: int
    left: int
    addresses: np.ndarray
    patterns: tuple[bytes, ...]

    def code(self, in_loop: bool) -> tuple[object, ...]:
        """What the address code depends on: in a loop it is the same for all places."""
        if not (in_loop and self.part.moves):
            return self.patterns
        return tuple(self.patterns.index(pattern) for pattern in self.patterns)


@dataclass
class ThreadCopies:
    """Makes the statements of one CTA class."""

    mover: Mover
    shared: SharedMemory
    _codes: dict[object, Code] = field(default_factory=dict)
    _kept: list[Addresses] = field(default_factory=list)  # what an id in a key stands for stays alive

    def partition(self, recorder: Recorder, copy: AnyTiledCopy, tile: Tile) -> tuple[Partition, Code]:
        """A thread's part of a tile, and the code that finds where it begins."""
        rows, columns, elements = thread_places(copy, tile)
        if rows.shape[1] != recorder.num_warps * LANES:
            raise UserError(f"a tiled copy uses all threads of its role, {recorder.num_warps * LANES} here",
                            got=rows.shape[1])
        registers = recorder.registers
        pointer = (0, 0) if isinstance(tile.of, SmemTensor) else registers.vector(2)
        bounds = registers.vector() if tile.inside else (0, 0)
        part = Partition(copy, tile, rows, columns, elements, Addresses(pointer, bounds),
                         any(extent > 1 for extent, _ in tile.modes) or bool(tile.spans))
        self._kept.append(part.addresses)
        return part, self._set_up(recorder, part)

    def _set_up(self, recorder: Recorder, part: Partition) -> Code:
        registers = recorder.registers
        if isinstance(part.tile.of, SmemTensor):
            left = part.tile.offset % part.tile.of.period_bytes
            patterns = {pattern: registers.vector() for pattern in _patterns(part.bytes_at(left))}
            part.addresses.patterns.update(patterns)
            begin = SHARED_SETUP if isinstance(part.copy, TiledCopy) else FRAGMENT_SETUP
            count = begin + PATTERN_SETUP * (len(patterns) - 1)
            return Code(tuple(setup(registers, count, list(patterns.values()))))
        low, _ = part.addresses.pointer
        results, count = [(low, 1), (low + 1, 1)], GLOBAL_SETUP
        if part.tile.inside:
            results, count = [*results, part.addresses.bounds], count + BOUNDS_SETUP
        return Code(tuple(setup(registers, count, results)))

    def fragment_like(self, recorder: Recorder, part: Partition) -> ThreadFragment:
        """Registers for what a thread moves of a partition, one group per instruction."""
        width = max(1, part.atom.bits_per_thread // 32)
        first, _ = recorder.registers.vector(width * len(part))
        return ThreadFragment(tuple((first + width * piece, width) for piece in range(len(part))))

    def copy(self, recorder: Recorder, source: object, destination: object, *, active: bool) -> list[Copied]:
        """Load, store, or both; cp.async where the atom is one. Raises UserError where the sides do not fit, and where
        an active copy leaves its tensors."""
        _require_inside([side for side in (source, destination) if isinstance(side, Partition)], active)
        if isinstance(source, Partition) and isinstance(destination, Partition):
            copied = self._between(recorder, source, destination)
        elif isinstance(source, Partition) and isinstance(destination, ThreadFragment):
            copied = [self._load(recorder, source, _regrouped(destination, source))]
        elif isinstance(source, ThreadFragment) and isinstance(destination, Partition):
            copied = [self._store(recorder, _regrouped(source, destination), destination)]
        else:
            kinds = f"{type(source).__name__} to {type(destination).__name__}"
            raise UserError("a partition is copied to another one or to and from registers", got=kinds,
                            suggestion="partition the tile: ctx.partition(copy, tile)")
        return [(code, replace(instance, active=active and instance.active)) for code, instance in copied]

    def _between(self, recorder: Recorder, source: Partition, destination: Partition) -> list[Copied]:
        if len(source) != len(destination):
            raise UserError("both sides of a copy have as many instructions",
                            got=f"{len(source)} and {len(destination)}")
        if source.atom.operation.startswith("CPA"):
            return [self._asynchronous(recorder, source, destination)]
        registers = self.fragment_like(recorder, source)
        return [self._load(recorder, source, registers), self._store(recorder, registers, destination)]

    def _load(self, recorder: Recorder, part: Partition, to: ThreadFragment) -> Copied:
        atom = part.atom.bind("shared" if part.in_shared else "global", "register")

        def lines(piece: int, sources: Sources) -> Line:
            return Line(atom.mnemonic, to.groups[piece], sources, piece, self._key(part))

        return self._statement(recorder, atom, (part,), to.groups, lines)

    def _store(self, recorder: Recorder, data: ThreadFragment, part: Partition) -> Copied:
        atom = part.atom.bind("register", "shared" if part.in_shared else "global")
        if not part.in_shared:
            self.mover.outputs.add(part.tile.of.name)

        def lines(piece: int, sources: Sources) -> Line:
            return Line(atom.mnemonic, (0, 0), (*sources, data.groups[piece]), piece, self._key(part))

        return self._statement(recorder, atom, (part,), data.groups, lines)

    def _asynchronous(self, recorder: Recorder, source: Partition, destination: Partition) -> Copied:
        if source.in_shared or not destination.in_shared:
            raise UserError("cp.async copies from global to shared memory",
                            got=f"{source.tile.of.name} to {destination.tile.of.name}")
        key = write_key(self.shared.number(destination.tile.of.name))

        def lines(piece: int, sources: Sources) -> Line:
            return Line(source.atom.mnemonic, (0, 0), sources, piece, key)

        return self._statement(recorder, source.atom, (destination, source), (), lines)

    def _key(self, part: Partition) -> int:
        """Memory key of reads and ordinary writes."""
        return read_key(self.shared.number(part.tile.of.name)) if part.in_shared else -1

    def _statement(self, recorder: Recorder, atom: CopyAtom, parts: tuple[Partition, ...], groups: tuple[Group, ...],
                   line: Callable[[int, Sources], Line]) -> Copied:
        """Addresses of all pieces on every side, then their instructions."""
        placed = [self._placed(part) for part in parts]
        in_loop = recorder.in_loop
        sides_code = [(id(p.part.addresses), *p.code(in_loop)) for p in placed]
        name = (recorder.name, atom.mnemonic, groups, in_loop, *sides_code)
        if name not in self._codes:
            sides = [self._sources(recorder, p, in_loop) for p in placed]
            before = [found for lines, _ in sides for found in lines]
            pieces = zip(*(sources for _, sources in sides), strict=True)
            after = [line(piece, tuple(group for side in sources for group in side))
                     for piece, sources in enumerate(pieces)]
            self._codes[name] = Code((*before, *after))
        return self._codes[name], self._instance(recorder, atom, placed)

    def _placed(self, part: Partition) -> Placed:
        tensor = part.tile.of
        if isinstance(tensor, SmemTensor):
            moved, left = split(part.tile.offset, tensor.period_bytes)
            addresses = part.bytes_at(left)
            return Placed(part, moved, left, addresses, _patterns(addresses))
        moved, left = split(part.tile.offset + self.mover.residue(tensor.name), LINE_BYTES)
        return Placed(part, moved, left, part.bytes_at(left), ())

    def _instance(self, recorder: Recorder, atom: CopyAtom, placed: list[Placed]) -> Instance:
        key = ("thread", atom.operation, *((id(p.part.addresses), p.left, p.part.tile.inside) for p in placed))
        row = recorder.access_row(key, lambda: self._accesses(atom, placed))
        shared = sum(p.moved for p in placed if p.part.in_shared)
        active = "ZFILL" in atom.mnemonic or all(p.part.in_shared or bool(p.part.inside.any()) for p in placed)
        return Instance(row, shared, sum(p.moved for p in placed if not p.part.in_shared), active)

    def _accesses(self, atom: CopyAtom, placed: list[Placed]) -> list[Access]:
        """``zfill``: what lies outside the tensor arrives as zeros."""
        sides = {p.part.in_shared: p for p in placed}
        shared, outer = sides.get(True), sides.get(False)
        part = (outer or placed[0]).part
        inside = part.inside if outer else np.full(part.rows.shape, True)
        zfill = "ZFILL" in atom.mnemonic
        warps, tensor = (-1, LANES), self.mover.row(part.tile.of.name) if outer else -1
        names = " -> ".join(p.part.tile.of.name for p in reversed(placed))
        verb = next((verb for prefix, verb in VERBS.items() if atom.operation.startswith(prefix)), atom.operation)
        return [Access(atom.operation, f"{verb} {names}", part.width_bytes,
                       shared.addresses[row].reshape(warps) if shared else None,
                       outer.addresses[row].reshape(warps) if outer else None, tensor,
                       _lane_masks(inside[row] | zfill), _lane_masks(~inside[row] & zfill)) for row in range(len(part))]

    def _sources(self, recorder: Recorder, placed: Placed, in_loop: bool) -> tuple[list[Line], list[Sources]]:
        """Address code of one side, and the registers each piece's instruction reads."""
        if placed.part.in_shared:
            return _shared_sources(recorder, placed, in_loop)
        return _global_sources(recorder, placed.part)


def _shared_sources(recorder: Recorder, placed: Placed, in_loop: bool) -> tuple[list[Line], list[Sources]]:
    lines: list[Line] = []
    known, found = placed.part.addresses.patterns, {}
    tensor, first = placed.part.tile.of, next(iter(known.values()))
    assert isinstance(tensor, SmemTensor)
    moved = ("LOP3.LUT" if tensor.swizzle.bits else "VIADD",)
    by_loop = (("IMAD",) * (tensor.shape[2] > 1) + moved) * (in_loop and placed.part.moves)
    for pattern in dict.fromkeys(placed.patterns):
        found[pattern] = known.get(pattern, first)
        if ops := by_loop or moved * (pattern not in known):
            lines += chain(recorder.registers, ops, found[pattern])
            found[pattern] = lines[-1].dst
    return lines, [(found[pattern],) for pattern in placed.patterns]


def _global_sources(recorder: Recorder, part: Partition) -> tuple[list[Line], list[Sources]]:
    lines: list[Line] = []
    sources: list[Sources] = []
    registers, pointer = recorder.registers, part.addresses.pointer
    if part.moves:
        pointer = _sum(registers, pointer, lines)
    for piece in range(len(part)):
        guards: Sources = ()
        if part.tile.inside:
            guards = (registers.predicate(),)
            lines.append(Line("ISETP.LT.AND", guards[0], (part.addresses.bounds,)))
        if not part.same_row(piece) and part.tile.inside and not part.moves:
            lines += chain(registers, GUARDED_ROW, (pointer[0], 1))
            pointer = _sum(registers, part.addresses.pointer, lines, ("LEA", "LEA.HI.X"))
        elif piece and not part.same_row(piece):
            lines.append(Line("IMAD.WIDE", registers.vector(2), (pointer,)))
            pointer = lines[-1].dst
        sources.append((pointer, *guards))
    return lines, sources


def _sum(registers: Registers, pointer: Group, lines: list[Line], halves: tuple[str, str] = ("IADD3", "IADD3.X")
         ) -> Group:
    """A 64-bit sum with a pointer, low half first."""
    start, _ = pair = registers.vector(2)
    low, high = (start, 1), (start + 1, 1)
    lines += [Line(halves[0], low, ((pointer[0], 1),)), Line(halves[1], high, ((pointer[0] + 1, 1), low))]
    return pair


def _require_inside(parts: Sequence[Partition], active: bool) -> None:
    for part in parts:
        if active and part.tile.outside:
            raise UserError(f"a copy must stay inside {part.tile.of.name}", got=part.tile.outside,
                            suggestion="guard it with pred=")


def _regrouped(fragment: ThreadFragment, part: Partition) -> ThreadFragment:
    """The same registers in the groups that a partition's instructions take. Raises UserError where they do not fit."""
    width = max(1, part.atom.bits_per_thread // 32)
    flat = [register for start, count in fragment.groups for register in range(start, start + count)]
    groups = [tuple(flat[first : first + width]) for first in range(0, len(flat), width)]
    if len(groups) != len(part) or any(group != tuple(range(group[0], group[0] + width)) for group in groups):
        raise UserError("the registers of a copy must be those of its partition", place=part.tile.of.name,
                        got=f"{len(flat)} registers", suggestion=f"{len(part)} groups of {width}: ctx.fragment_like()")
    return ThreadFragment(tuple((group[0], width) for group in groups))


def _patterns(addresses: np.ndarray) -> tuple[bytes, ...]:
    """What each piece's addresses are over the threads, up to a constant."""
    return tuple((row - row[0]).tobytes() for row in addresses)


def _lane_masks(lanes: np.ndarray) -> np.ndarray:
    """(warps,) bits of (threads,) flags."""
    return np.packbits(lanes.reshape(-1, LANES), axis=1, bitorder="little").view(np.uint32)[:, 0]
