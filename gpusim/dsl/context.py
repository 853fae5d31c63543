"""Models the verbs of a kernel: what ``ctx`` can do. Each verb is one timed statement of every warp of its role.
Leaves out how a statement is lowered (gpusim.dsl.lowering) and what a kernel is (gpusim.dsl.kernel)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.arch.atoms import CopyAtom, MmaAtom, copy_atom, mma_atom
from gpusim.arch.atoms.warpgroup import BulkAtom
from gpusim.dsl.dtypes import DType, dtype_named
from gpusim.dsl.hopper.mma import Accumulators, OperandFragment, WarpgroupMma
from gpusim.dsl.hopper.operands import BulkTile, OperandTile
from gpusim.dsl.hopper.verbs import HopperVerbs
from gpusim.dsl.launch import BlockCoordinate, CtaPlace, Grid, Visit
from gpusim.dsl.moves import Mover
from gpusim.dsl.partitions import AnyTiledCopy, Partition, ThreadFragment, atom_of
from gpusim.dsl.raster import MAX_GRID_Z, raster_of
from gpusim.dsl.recorder import Recorder
from gpusim.dsl.shared import SharedMemory
from gpusim.dsl.source import calling_line
from gpusim.dsl.statements import Clear, Code, Convert, Instance, Line, Mma, Spec, Sync
from gpusim.dsl.tensors import Fragment, GmemTensor, SmemArray, SmemTensor, Tile
from gpusim.dsl.thread_copies import ThreadCopies
from gpusim.dsl.tiled import TiledCopy, TiledMma
from gpusim.errors import UserError, did_you_mean
from gpusim.program import FlagTable, MBarrier

__all__ = ["Context"]

PACK = {"f16": "F2FP.F16.F32.PACK_AB", "bf16": "F2FP.BF16.F32.PACK_AB"}
ONCE = Instance()
POINTER_BYTES, EXTENT_BYTES = 8, 4


class Context(HopperVerbs):
    """What a kernel sees of the CTA it is recorded for: launch, tensors, and the verbs of one warp role."""

    def __init__(self, spec: GpuSpec, tensors: tuple[GmemTensor, ...], residues: tuple[int, ...], *,
                 place: CtaPlace | None = None, source_file: str = "") -> None:
        self.spec, self.source_file = spec, source_file
        self.grid = Grid(tensors, place)
        self.shared = SharedMemory(spec.sm.shared_bytes_per_cta_max)
        self.roles: list[Recorder] = []
        names = [tensor.name for tensor in tensors]
        self.mover = Mover({name: row for row, name in enumerate(names)}, residues)
        self.threads = ThreadCopies(self.mover, self.shared)
        self.flags = FlagTable()
        self.barriers: list[MBarrier] = []
        self.reallocates_registers = False
        self.parameter_bytes = sum(POINTER_BYTES + EXTENT_BYTES * len(tensor.shape) for tensor in tensors)
        self._recorder: Recorder | None = None
        self._supported: set[str] = set()
        self._fragments: list[tuple[tuple[object, ...], tuple[tuple[int, ...], ...]]] = []
        """Of every fragment declared so far what it is and its registers; in a later tile, of the first tile's."""
        self._declared = 0

    # launch and tensors

    def launch(self, tiles: tuple[int, int], *, warps: int,
               raster: str = "m", slices: int = 1, raster_log: int = 0,
               own_tiles: str = "",
               alike: np.ndarray | None = None,
               cluster: tuple[int, int] = (1, 1)) -> tuple[BlockCoordinate, BlockCoordinate]:
        """One CTA of ``warps`` warps per tile and slice of k; returns its symbolic (m, n) coordinates. ``raster`` runs
        fastest; ``raster_log``: in bands of up to 2 ** raster_log tiles of n (CUTLASS's identity swizzle). CTAs of a
        slice are a class of their own, ``ctx.visit.slice``; so are those of a tile along the axes in ``own_tiles``
        (any of "mn"), ``ctx.visit.tile``; ``alike``: per tile along m, the one whose class it shares. ``cluster``: CTAs
        along m and n that run together, each rank of them (``ctx.cluster_rank``) a class of its own; the grid, then
        without any of the above, is rounded up to whole clusters."""
        shape = self.cluster_shape(cluster)
        if shape.size > 1:
            if raster != "m" or slices != 1 or raster_log or own_tiles:
                raise UserError("clusters go with the plain grid: along m first, one slice of k, no bands")
            self.grid.launch_clusters(tiles, warps, shape)
            return BlockCoordinate(0), BlockCoordinate(1)
        self.grid.launch(tiles, warps, raster, slices, raster_log, own=("m" in own_tiles, "n" in own_tiles),
                         alike=alike)
        return BlockCoordinate(0), BlockCoordinate(1)

    def launch_batches(self, tiles: tuple[int, int], batches: int, *, warps: int,
                       max_grid_z: int = MAX_GRID_Z) -> tuple[BlockCoordinate, BlockCoordinate]:
        """One CTA per tile and batch, of at most ``max_grid_z`` batches; further ones are later visits of the same CTAs
        (``ctx.visits()``). A tensor's matrix is ``tensor.batch()``."""
        self.grid.launch_batches(raster_of(tiles, depth=min(batches, max_grid_z)), batches, warps)
        return BlockCoordinate(0), BlockCoordinate(1)

    def persist(self, schedule: np.ndarray, tiles: Sequence[tuple[int, int]], *, warps: int,
                cluster: tuple[int, int] = (1, 1)) -> tuple[BlockCoordinate, BlockCoordinate]:
        """CTAs that visit tiles of several problems one after another (``ctx.visits()``): a ``schedule`` with the
        columns ``SCHEDULE_COLUMNS``, and the ``tiles`` of each problem along m and n. CTAs of a ``cluster`` follow each
        other by rank; tiles outside a problem fill it up."""
        shape = self.cluster_shape(cluster)
        self.grid.persist(schedule, tiles, warps, (len(schedule) // shape.n, shape.n, 1), shape)
        return BlockCoordinate(0), BlockCoordinate(1)

    def parameters(self, num_bytes: int) -> None:
        """The kernel reads so many bytes of its parameters, beyond a pointer and the extents of each tensor if more."""
        self.parameter_bytes = max(self.parameter_bytes, num_bytes)

    def visits(self) -> Iterator[Visit]:
        """The tiles of a CTA of this class, one after another: what is recorded meanwhile belongs to that tile. It is
        one loop of the compiled kernel, so that fragments of every tile have the registers of the first one's."""
        before = self._declared
        for visit in self.grid.visits():
            self.mover.visit, self._declared = self.grid.visit, before
            yield visit
        self.mover.visit = 0

    @property
    def visit(self) -> Visit:
        """What CTAs of this class know of the tile they compute at present."""
        return self.grid.present

    def flag_words(self, tensor: GmemTensor, words: np.ndarray) -> None:
        """Words of a tensor of s32 by which CTAs wait for each other: (C, slots), which one a CTA's flag is."""
        self.flags = FlagTable(tensor.name, self.grid.addresses()[self.mover.tensor_rows[tensor.name]], words)

    def local_tile(self, tensor: GmemTensor, tile: tuple[int, int], coord: tuple[object, object]) -> Tile:
        """The CTA's tile(s) of a tensor: a block coordinate selects one along that mode, None keeps all of them."""
        return self.grid.local_tile(tensor, tile, coord)

    def partial_tile(self, tensor: GmemTensor, tile: tuple[int, int],
                     coord: tuple[BlockCoordinate | None, BlockCoordinate | None]) -> Tile:
        """The CTA's tile(s) of a tensor that tiles need not divide: copies of them are predicated."""
        inside = self.grid.partial_tile(tensor, tile, coord)
        strides = tensor.bytes_of(tensor.strides[0]), tensor.bytes_of(tensor.strides[1])
        free = [mode for mode, place in enumerate(coord) if place is None]
        modes = tuple((-(-tensor.shape[mode] // tile[mode]), tile[mode] * strides[mode]) for mode in free)
        spans = tuple((tile[0] * (mode == 0), tile[1] * (mode == 1)) for mode in free)
        return Tile(tensor, tensor.dtype, tile, strides, modes, inside=inside, spans=spans)

    def smem(self, name: str, dtype: DType, shape: tuple[int, int, int], *, swizzle: str = "none",
             over: SmemTensor | None = None) -> SmemTensor:
        """A staged tile (rows, columns, stages) in shared memory; ``swizzle`` in bytes; ``over``: it takes the place of
        that tensor and of those behind it."""
        return self.shared.allocate(name, dtype, shape, swizzle, over)

    def smem_array(self, name: str, dtype: DType, elements: int, *, over: SmemArray | None = None) -> SmemArray:
        """Elements in shared memory in the order of a layout; ``over``: a union with the arrays from that one on."""
        return self.shared.array(name, dtype, elements, over)

    def fragment(self, mma: TiledMma, operand: str, *, buffers: int = 1) -> Fragment:
        """Registers for a warp's share of operand "A", "B" (one k step) or "C", ``buffers`` times."""
        if operand not in ("A", "B", "C"):
            raise UserError("an MMA has the operands A, B and C", got=f"'{operand}'")
        registers = mma.registers(operand)
        atoms = mma.atoms[0] * mma.atoms[1] if operand == "C" else mma.atoms[operand == "B"]
        dtype = {"A": mma.atom.dtype_a, "B": mma.atom.dtype_b, "C": mma.atom.dtype_c}[operand]
        what = operand, atoms, registers, buffers
        if self._declared == len(self._fragments) or self._fragments[self._declared][0] != what:
            del self._fragments[self._declared:]
            self._fragments.append((what, tuple(self._fragment_groups(operand, atoms, registers)
                                                for _ in range(buffers))))
        _, starts = self._fragments[self._declared]
        self._declared += 1
        return Fragment(f"r{operand}", dtype_named(dtype), operand, mma, starts, registers)

    def _fragment_groups(self, operand: str, atoms: int, registers: int) -> tuple[int, ...]:
        """Groups that one ldmatrix fills are neighbours."""
        together = 1 if operand == "C" else min(atoms, max(1, 4 // registers))
        starts: list[int] = []
        while len(starts) < atoms:
            first, _ = self.recorder.registers.vector(registers * together)
            starts.extend(first + registers * n for n in range(together))
        return tuple(starts)

    # structure

    @property
    def recorder(self) -> Recorder:
        """The role being recorded; all warps together when no role is open."""
        if self._recorder is None:
            self._recorder = Recorder("all", 0, self.grid.num_warps)
            self.roles.append(self._recorder)
        return self._recorder

    @contextmanager
    def role(self, name: str, *, warps: int) -> Iterator[Context]:
        """Statements inside belong to the next ``warps`` warps of the CTA."""
        first = sum(role.num_warps for role in self.roles)
        if first + warps > self.grid.num_warps:
            raise UserError("the roles of a CTA must fit into its warps",
                            got=f"{first + warps} of {self.grid.num_warps}")
        self._recorder = Recorder(name, first, warps)
        self.roles.append(self._recorder)
        yield self
        self._recorder = None

    def scope(self, name: str) -> AbstractContextManager[None]:
        """Name a phase for reports."""
        return self.recorder.scope(name)

    def range(self, count: int, *, name: str = "loop") -> Iterator[int]:
        """A loop of the kernel: unrolled into the table, its code is one body."""
        return self.recorder.iterations(count, name)

    # verbs

    def partition(self, how: AnyTiledCopy, tile: Tile) -> Partition:
        """A thread's part of a tile under a tiled copy, and the code that finds its address: CuTe's partition_S, _D."""
        self.require(atom_of(how))
        part, code = self.threads.partition(self.recorder, how, tile)
        self._add(code)
        return part

    def fragment_like(self, part: Partition) -> ThreadFragment:
        """Registers for a thread's part of a tile."""
        return self.threads.fragment_like(self.recorder, part)

    def copy(self, how: AnyTiledCopy | CopyAtom | BulkAtom,
             source: Tile | Fragment | Partition | ThreadFragment | BulkTile | OperandTile,
             destination: Tile | Fragment | Partition | ThreadFragment | BulkTile | OperandTile, *,
             pred: bool | None = None, barrier: int | None = None, multicast: str | None = None) -> None:
        """Move a tile: global to shared (cp.async), shared to a fragment (ldmatrix), a fragment to global (st); or a
        thread's part of one, between two partitions or a partition and registers.

        ``pred``: a condition the compiled kernel evaluates at run time; False: the copy is issued and does nothing.
        ``barrier``: the mbarrier that counts the bytes of a TMA load, which one lane of the role starts. ``multicast``:
        the axis of the cluster ("m" or "n") whose CTAs all need the tile: each loads its part and sends it to all.
        """
        if isinstance(how, BulkAtom):
            self._copy_bulk(how, source, destination, barrier, multicast)
            return
        self.require(how if isinstance(how, CopyAtom) else atom_of(how))
        if isinstance(source, Partition) or isinstance(destination, Partition):
            self._copy_part(source, destination, pred)
        elif isinstance(how, TiledCopy) and isinstance(source, Tile) and isinstance(destination, Tile):
            statement = self.mover.async_copy(self.recorder, how, source, destination, pred is not False)
            self._add(*statement, predicated=pred is not None)
        elif isinstance(how, CopyAtom) and isinstance(source, Tile) and isinstance(destination, Fragment):
            self._add(*self.mover.ldmatrix(self.recorder, how, source, destination))
        elif isinstance(how, CopyAtom) and isinstance(source, Fragment) and isinstance(destination, Tile):
            self._add(*self.mover.store(self.recorder, how, source, destination))
        else:
            kinds = ", ".join(type(x).__name__ for x in (how, source, destination))
            raise UserError("no copy between these", got=kinds,
                            suggestion="tiled copy: tile to tile, or partitions; copy atom: tile and fragment")

    def _copy_bulk(self, how: BulkAtom, source: object, destination: object, barrier: int | None,
                   multicast: str | None) -> None:
        tiles = (source, destination) if how.source == "global" else (destination, source)
        if not (isinstance(tiles[0], BulkTile) and isinstance(tiles[1], OperandTile)):
            raise UserError(f"{how.name} copies between ctx.bulk_tile and a stage of ctx.smem_operand",
                            got=", ".join(type(tile).__name__ for tile in tiles))
        self.bulk(how, tiles[0], tiles[1], barrier, multicast)

    def _copy_part(self, source: object, destination: object, pred: bool | None) -> None:
        sides = [ThreadFragment.of(side) if isinstance(side, Fragment) else side for side in (source, destination)]
        for code, instance in self.threads.copy(self.recorder, *sides, active=pred is not False):
            self._add(code, instance, predicated=pred is not None)

    def gemm(self, mma: TiledMma | WarpgroupMma, accumulators: Fragment | Accumulators,
             a: Fragment | OperandTile | OperandFragment, b: Fragment | OperandTile, *,
             accumulate: bool = True) -> None:
        """accumulators += a * b for one k step, over n up and down in turns, so that the last b is used again.

        With a warpgroup's MMA, for all k of a stage, asynchronously; not ``accumulate``: accumulators = a * b.
        """
        if isinstance(mma, WarpgroupMma):
            if not (isinstance(accumulators, Accumulators) and isinstance(b, OperandTile)
                    and isinstance(a, OperandTile | OperandFragment)):
                raise UserError("wgmma takes ctx.accumulators and stages of ctx.smem_operand", got=mma.atom.name)
            self.warpgroup_gemm(mma, accumulators, a, b, accumulate=accumulate)
            return
        if not (isinstance(accumulators, Fragment) and isinstance(a, Fragment) and isinstance(b, Fragment)):
            raise UserError("mma.sync takes fragments", got=mma.atom.name, suggestion="ctx.fragment")
        self.require(mma.atom)
        columns = mma.atoms[1]
        order = [(i, j if i % 2 == 0 else columns - 1 - j) for i in range(mma.atoms[0]) for j in range(columns)]
        c, left, right = accumulators.groups, a.groups, b.groups
        triples = tuple((c[i * columns + j], left[i], right[j]) for i, j in order)
        widths = (accumulators.registers, a.registers, b.registers)
        self._add(Mma(mma.atom.mnemonic, triples, widths))

    def clear(self, fragment: Fragment | ThreadFragment) -> None:
        """Zeros: accumulators, or registers that a predicated load may leave as they are."""
        if isinstance(fragment, ThreadFragment):
            self._add(Clear(tuple(start for start, _ in fragment.groups), fragment.groups[0][1]))
        else:
            self._add(Clear(fragment.groups, fragment.registers))

    def convert(self, fragment: Fragment, dtype: DType) -> Fragment:
        """A fragment of f32 accumulators rounded to a 16-bit type, two to a register."""
        if dtype.name not in PACK or fragment.dtype.name != "f32":
            raise UserError("accumulators convert from f32 to a 16-bit type", got=f"{fragment.dtype} to {dtype}",
                            suggestion=did_you_mean(dtype.name, PACK))
        packed = self.recorder.registers.vector
        starts = tuple(packed(fragment.registers // 2)[0] for _ in fragment.groups)
        pairs = tuple((to + n, low + 2 * n) for to, low in zip(starts, fragment.groups, strict=True)
                      for n in range(fragment.registers // 2))
        self._add(Convert(PACK[dtype.name], pairs))
        return Fragment(fragment.name, dtype, fragment.operand, fragment.mma, (starts,), fragment.registers // 2)

    def cp_async_commit_group(self) -> None:
        self._add(Sync("LDGDEPBAR", ends_stage=True))

    def cp_async_wait_group(self, pending: int) -> None:
        """Wait until at most ``pending`` of this thread's committed groups are in flight."""
        if pending < 0:
            raise UserError("cp_async_wait_group takes the number of groups that may stay in flight", got=pending)
        self._add(Sync("DEPBAR.LE"), Instance(operand=pending))

    def sync_threads(self) -> None:
        self._add(Sync("BAR.SYNC.DEFER_BLOCKING"))

    def mma(self, mnemonic: str, triples: tuple[tuple[int, int, int], ...], widths: tuple[int, int, int]) -> None:
        """One instruction per (accumulator, a, b) triple of registers, in this order; ``widths`` in registers."""
        self._add(Mma(mnemonic, triples, widths))

    def code(self, code: Code | list[Line], instance: Instance = ONCE) -> None:
        """Instructions on registers of the caller's choice: what iterators and output operators are made of."""
        self._add(code if isinstance(code, Code) else Code(tuple(code)), instance)

    def require(self, atom: CopyAtom | MmaAtom) -> None:
        """Refuse an atom that the GPU does not execute."""
        if atom.name not in self._supported:
            mma_atom(atom.name, self.spec) if isinstance(atom, MmaAtom) else copy_atom(atom.name, self.spec)
            self._supported.add(atom.name)

    def _add(self, spec: Spec, instance: Instance = ONCE, *, predicated: bool = False) -> None:
        self.recorder.add(spec, calling_line(self.source_file, 3), instance, predicated=predicated)

