"""Models CUTLASS 2.x's epilogue: accumulators through shared memory to rows, output operator, vector stores.
Leaves out the source tensor C: D = alpha * accumulator, with alpha = 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

import gpusim as gs
from gpusim.cute.cutlass2 import OutputTileShape, OutputTileThreadMap, optimal_thread_map
from gpusim.dsl import Context, Fragment, GmemTensor, SmemArray
from gpusim.dsl.iterators import GlobalIterator, Pieces, SharedAccess
from gpusim.dsl.launch import BlockCoordinate
from gpusim.dsl.lowering.loads import read_key
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Line
from gpusim.dsl.tiled import LANES, TiledMma

__all__ = ["Epilogue", "Push", "tensor_op_epilogue"]

VECTOR_BITS = 128
HALF_SWAP_COLUMNS, SWAPPED_ELEMENTS, SWAPPED_VECTOR = 32, 4, 8
"""In every other 32 columns the 16-byte halves of 8 elements change places: loads of both are conflict-free."""


@dataclass(frozen=True, eq=False)
class Push:
    """What a warp puts into the tile in one step: (pieces, threads) row and column, and the registers of each piece."""

    rows: np.ndarray
    columns: np.ndarray
    registers: Sequence[Group]


@dataclass(eq=False)
class Epilogue:
    """``steps`` times: barrier, push a slice of the accumulators, barrier, load rows, scale, convert, store.

    ``per_barrier`` steps pass between two barriers, each through a tile of its own. ``rows`` and ``pitch`` (elements)
    of a tile; ``swapped``: CUTLASS's mixed-precision order of the columns; ``partitions``: warps that share k have a
    tile each, whose sums are added.
    """

    ctx: Context
    destination: GmemTensor
    tile: tuple[int, int]
    coords: tuple[BlockCoordinate, BlockCoordinate]
    thread_map: OutputTileThreadMap
    steps: int
    rows: int
    pitch: int
    accumulator_type: gs.DType
    push: Callable[[int], Push]
    over: SmemArray
    per_barrier: int = 1
    swapped: bool = False
    partitions: int = 1
    array: SmemArray = field(init=False)
    output: GlobalIterator = field(init=False)
    alpha: Group = field(init=False)
    _loads: SharedAccess = field(init=False)
    _address: Group = field(init=False)

    def __post_init__(self) -> None:
        elements = self.rows * self.pitch * max(self.per_barrier, self.partitions)
        self.array = self.ctx.smem_array("sD", self.accumulator_type, elements, over=self.over)
        self.output = GlobalIterator(self.ctx, self.destination, self.tile, self.coords, self._output_pieces())
        self._loads = self._load_access()
        self._address = self.ctx.recorder.registers.vector()
        self.alpha = self.ctx.recorder.registers.vector()

    def run(self) -> None:
        self.ctx.code(self._setup())
        for first in range(0, self.steps, self.per_barrier):
            self.ctx.sync_threads()
            for part in range(self.per_barrier):
                self._push(first + part, part)
            self.ctx.sync_threads()
            for part in range(self.per_barrier):
                self._store(first + part, part)

    @property
    def _accesses(self) -> int:
        """Vectors a thread stores in a step."""
        its = self.thread_map.iterations
        return its.column * its.row * its.group * its.cluster

    @property
    def _loads_per_access(self) -> int:
        return max(1, self.thread_map.elements_per_access * self.accumulator_type.bits // VECTOR_BITS)

    def _output_pieces(self) -> Pieces:
        places = self.thread_map.accesses().transpose(1, 0, 2)
        steps = np.asarray(self.thread_map.step_rows(np.arange(self.steps)))
        rows = (steps[:, None, None] + places[..., 0]).reshape(-1, places.shape[1])
        return Pieces(rows, np.tile(places[..., 1], (self.steps, 1)), self.thread_map.elements_per_access)

    def _bytes(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if self.swapped:
            columns = columns ^ np.where(columns // HALF_SWAP_COLUMNS % 2, SWAPPED_ELEMENTS, 0)
        return (rows * self.pitch + columns) * self.accumulator_type.bytes

    def _load_access(self) -> SharedAccess:
        places = self.thread_map.accesses(compact=True).transpose(1, 0, 2)
        step = self.thread_map.elements_per_access // self._loads_per_access
        columns = places[:, None, :, 1] + step * np.arange(self._loads_per_access)[:, None]
        rows = np.broadcast_to(places[:, None, :, 0], columns.shape)
        addresses = self._bytes(rows, columns).reshape(-1, columns.shape[-1])
        bits = step * self.accumulator_type.bits
        return SharedAccess(self.ctx, self.array, addresses, f"LDS{bits}", bits // 8)

    def _setup(self) -> list[Line]:
        """Pointers, and alpha: 1 as 2 ** 0, for an op table has no constants; compiled code reads it from its bank."""
        zero = self.ctx.recorder.registers.vector()
        return [*self.output.pointer.store_setup([self._address]), Line("MOV", zero),
                Line("MUFU.EX2", self.alpha, (zero,)), *self._packed_alpha()]

    def _packed_alpha(self) -> list[Line]:
        if self.accumulator_type.bits == 32:
            return []
        return [Line("F2FP.F16.F32.PACK_AB", self.alpha, (self.alpha, self.alpha))]

    def _push(self, step: int, part: int) -> None:
        push = self.push(step)
        bits = 32 * push.registers[0][1]
        stores = SharedAccess(self.ctx, self.array, self._bytes(push.rows, push.columns), f"STS{bits}", bits // 8)
        mnemonic = "STS" if bits == 32 else f"STS.{bits}"
        self.ctx.code([Line(mnemonic, (0, 0), (self._address, group), piece, read_key(self.array.number))
                       for piece, group in enumerate(push.registers)], stores.instance(part * self._tile_bytes))

    @property
    def _tile_bytes(self) -> int:
        return self.rows * self.pitch * self.accumulator_type.bytes

    def _store(self, step: int, part: int) -> None:
        loaded = self._load(part)
        for other in range(1, self.partitions):
            self._add(loaded, self._load(other))
        results = [self._convert(group) for group in loaded]
        chosen = range(step * self._accesses, (step + 1) * self._accesses)
        bits = 32 * results[0][1]
        atom = gs.copy.UniversalCopy_128b if bits == VECTOR_BITS else getattr(gs.copy, f"UniversalCopy_{bits}b")
        atom = atom.bind("register", "global")
        self.ctx.code(self.output.store_lines(atom.mnemonic, chosen, results),
                      self.output.access(atom.operation, 0, chosen, label=f"st.global {self.destination.name}"))

    def _load(self, part: int) -> list[Group]:
        """Registers of the vectors of a step, one group each."""
        width = self._loads.bytes_per_lane // 4
        registers = self.ctx.recorder.registers
        groups = [registers.vector(width * self._loads_per_access) for _ in range(self._accesses)]
        targets = [(start + width * n, width) for start, _ in groups for n in range(self._loads_per_access)]
        mnemonic = "LDS" if width == 1 else f"LDS.{32 * width}"
        self.ctx.code([Line(mnemonic, target, (self._address,), piece, read_key(self.array.number))
                       for piece, target in enumerate(targets)], self._loads.instance(part * self._tile_bytes))
        return groups

    def _add(self, sums: Sequence[Group], others: Sequence[Group]) -> None:
        add = {"f32": "FADD", "f16": "HADD2"}.get(self.accumulator_type.name, "")
        if not add:
            raise gs.UserError("warps share k with floating-point sums only", got=self.accumulator_type)
        pairs = [(start + n, other + n) for (start, count), (other, _) in zip(sums, others, strict=True)
                 for n in range(count)]
        self.ctx.code([Line(add, (to, 1), ((to, 1), (other, 1))) for to, other in pairs])

    def _convert(self, loaded: Group) -> Group:
        """alpha * accumulators, rounded to the type of the output."""
        start, count = loaded
        registers = [(register, 1) for register in range(start, start + count)]
        multiply = "FMUL" if self.accumulator_type.bits == 32 else "HMUL2"
        lines = [Line("I2F", register, (register,)) for register in registers if self.accumulator_type.name == "s32"]
        lines += [Line(multiply, register, (register, self.alpha)) for register in registers]
        lines += [Line("F2I", register, (register,)) for register in registers if self.destination.dtype.name == "s32"]
        result = loaded
        if self.destination.dtype.bits < self.accumulator_type.bits:
            result = self.ctx.recorder.registers.vector(count // 2)
            pack = "F2FP.BF16.F32.PACK_AB" if self.destination.dtype.name == "bf16" else "F2FP.F16.F32.PACK_AB"
            lines += [Line(pack, (result[0] + n, 1), ((start + 2 * n + 1, 1), (start + 2 * n, 1)))
                      for n in range(count // 2)]
        self.ctx.code(lines)
        return result


def _require_conversion(accumulators: gs.DType, output: gs.DType) -> None:
    """Integers leave as they are or as f32, floats as f32 or half as wide."""
    known = {"s32": ("s32", "f32"), "f32": ("f32", "f16", "bf16"), "f16": ("f16",)}
    if output.name not in known[accumulators.name]:
        raise gs.UserError(f"an epilogue converts {accumulators} to {', '.join(known[accumulators.name])}", got=output)


def tensor_op_epilogue(ctx: Context, destination: GmemTensor, coords: tuple[BlockCoordinate, BlockCoordinate],
                       mma: TiledMma, accumulators: Fragment, over: SmemArray, per_barrier: int) -> Epilogue:
    """The epilogue of a tensor-core main loop: steps of 8 rows of every warp.

    ``per_barrier`` 0: as CUTLASS chooses, two where it has an epilogue for the types and their widest vectors; where
    warps share k always one.
    """
    _require_conversion(accumulators.dtype, destination.dtype)
    bits, (tile_m, tile_n), (warp_m, _) = accumulators.dtype.bits, mma.tile, mma.warp_tile
    thread_map = _widest_thread_map(mma, destination)
    padding = 64 // bits * 4
    swapped = bits == 32 and destination.dtype.name == "f16" and thread_map.elements_per_access == SWAPPED_VECTOR
    same = accumulators.dtype.name == destination.dtype.name == "f32" and thread_map.elements_per_access == 4
    steps = 1 if mma.partitions > 1 else per_barrier or (2 if swapped or same else 1)
    return Epilogue(ctx, destination, (tile_m, tile_n), coords, thread_map, warp_m // 8, 8 * mma.warps[0],
                    tile_n + padding, accumulators.dtype, lambda step: _push_rows(mma, accumulators, step), over,
                    steps, swapped, mma.partitions)


def _widest_thread_map(mma: TiledMma, destination: GmemTensor) -> OutputTileThreadMap:
    """Vectors of 16 bytes, or smaller ones where all threads together store more than a step of such."""
    tile_n, steps, bits = mma.tile[1], mma.warp_tile[0] // 8, destination.dtype.bits
    shape, count = OutputTileShape(tile_n, 8, mma.warps[0]), OutputTileShape(1, steps, tile=steps)
    elements = VECTOR_BITS // bits
    while elements > 1:
        thread_map = optimal_thread_map(shape, count, mma.num_threads, elements, bits)
        if min(thread_map.iterations.row, thread_map.iterations.column) > 0:
            return thread_map
        elements //= 2
    raise gs.UserError("the epilogue has more threads than elements to store in a step",
                       got=f"{mma.num_threads} threads", suggestion="fewer warps or a wider tile")


def _push_rows(mma: TiledMma, accumulators: Fragment, step: int) -> Push:
    """Rows step * 8 .. step * 8 + 7 of every warp: half an atom of 16 rows, two neighbouring columns a lane."""
    lane, warp_m = np.arange(LANES), mma.warp_tile[0]
    atom_m, atom_n, _ = mma.atom.shape_mnk
    halves, columns = atom_m // 8, mma.atoms[1]
    warp_rows = mma.warp_rows("A") // warp_m + mma.warp_partitions * mma.warps[0]
    row = (warp_rows * 8)[:, None] + lane // 4
    column = mma.warp_rows("B")[:, None] + lane % 4 * 2
    width = accumulators.registers // halves
    starts = accumulators.groups[step // halves * columns : (step // halves + 1) * columns]
    groups = [(start + step % halves * width, width) for start in starts]
    columns_of = [column + n * atom_n for n in range(columns)]
    return Push(np.stack([row.reshape(-1)] * columns), np.stack([c.reshape(-1) for c in columns_of]), groups)
