"""Models CUTLASS 2.x's epilogue: accumulators through shared memory to rows, output operator, vector stores.
Leaves out when each kernel calls it. A source tensor C is read through an iterator like that of the output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

import gpusim as gs
from common.conversion import Vector
from common.output_op import PLAIN, LinearCombination
from common.output_stream import OutputStream, require_source
from common.split_vectors import SplitThreadMap
from gpusim import (
    BlockCoordinate,
    Context,
    GlobalIterator,
    GmemTensor,
    Group,
    Line,
    Pieces,
    SharedAccess,
    SmemArray,
    read_key,
)
from gpusim.cute.cutlass2 import OutputTileThreadMap

__all__ = ["VECTOR_BITS", "Epilogue", "EpilogueTile", "Push", "require_source"]

VECTOR_BITS = 128


@dataclass(frozen=True, eq=False)
class Push:
    """What a warp puts into the tile in one step: (pieces, threads) row and column, and the registers of each piece."""

    rows: np.ndarray
    columns: np.ndarray
    registers: Sequence[Group]


@dataclass(frozen=True, eq=False)
class EpilogueTile:
    """The tile of ``rows`` x ``pitch`` accumulators in shared memory that one of ``steps`` slices passes through.

    ``order``: where CUTLASS puts a column; ``partitions``: warps that share k have a tile each, whose sums are added;
    ``spare``: further tiles that it allocates and leaves unused.
    """

    thread_map: OutputTileThreadMap | SplitThreadMap
    steps: int
    rows: int
    pitch: int
    dtype: gs.DType
    push: Callable[[int], Push]
    order: Callable[[np.ndarray], np.ndarray] = lambda columns: columns
    partitions: int = 1
    spare: int = 0

    @property
    def size_bytes(self) -> int:
        return self.rows * self.pitch * self.dtype.bytes

    def bytes(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return (rows * self.pitch + self.order(columns)) * self.dtype.bytes


@dataclass(eq=False)
class Epilogue:
    """Steps of: load C, barrier, push a slice of the accumulators, barrier, load rows, output operator, store.

    ``over``: the arrays of the main loop, whose place the tile takes; ``tile``, ``coords``: of the CTA in the output;
    ``channels``: vectors of factors, where ``op`` has them.
    """

    ctx: Context
    destination: GmemTensor
    tile: tuple[int, int]
    coords: tuple[BlockCoordinate, BlockCoordinate]
    shape: EpilogueTile
    over: SmemArray
    op: LinearCombination = PLAIN
    source: GmemTensor | None = None
    channels: Mapping[str, GmemTensor] = field(default_factory=dict)
    array: SmemArray = field(init=False)
    stream: OutputStream = field(init=False)
    _loads: SharedAccess = field(init=False)
    _address: Group = field(init=False)

    def __post_init__(self) -> None:
        shape = self.shape
        elements = shape.rows * shape.pitch * (shape.partitions + shape.spare)
        self.array = self.ctx.smem_array("sD", shape.dtype, elements, over=self.over)
        self.stream = OutputStream(self.ctx, self.destination, self.tile, self.coords, self._pieces(), self._vectors,
                                   shape.dtype, self.op, self.source, self.channels)
        self._loads = self._load_access()
        self._address = self.ctx.recorder.registers.vector()

    @property
    def output(self) -> GlobalIterator:
        """Walks D."""
        return self.stream.output

    @property
    def input(self) -> GlobalIterator | None:
        """Walks C, where the operator reads it."""
        return self.stream.input

    def run(self) -> None:
        self.set_up()
        self.run_steps(range(self.shape.steps))

    def set_up(self) -> None:
        """Pointers and constants, which depend on no data."""
        self.ctx.code(self.stream.setup([self._address]))

    def run_steps(self, steps: Iterable[int]) -> None:
        for step in steps:
            self.stream.load_source(step)
            self.ctx.sync_threads()
            self._push(step)
            self.ctx.sync_threads()
            self._store(step)

    @property
    def _vectors(self) -> int:
        """Vectors a thread stores in a step."""
        its = self.shape.thread_map.iterations
        return its.column * its.row * its.group * its.cluster

    @property
    def _elements(self) -> int:
        return self.shape.thread_map.elements_per_access

    @property
    def _loads_per_vector(self) -> int:
        return max(1, self._elements * self.shape.dtype.bits // VECTOR_BITS)

    def _pieces(self) -> Pieces:
        thread_map = self.shape.thread_map
        places = thread_map.accesses().transpose(1, 0, 2)
        steps = np.asarray(thread_map.step_rows(np.arange(self.shape.steps)))
        rows = (steps[:, None, None] + places[..., 0]).reshape(-1, places.shape[1])
        return Pieces(rows, np.tile(places[..., 1], (self.shape.steps, 1)), self._elements)

    def _store(self, step: int) -> None:
        loaded = self._load(0)
        for other in range(1, self.shape.partitions):
            self._add(loaded, self._load(other))
        self.stream.store(step, loaded)

    def _push(self, step: int) -> None:
        push = self.shape.push(step)
        bits = 32 * push.registers[0][1]
        stores = SharedAccess(self.ctx, self.array, self.shape.bytes(push.rows, push.columns), f"STS{bits}", bits // 8)
        mnemonic = "STS" if bits == 32 else f"STS.{bits}"
        self.ctx.code([Line(mnemonic, (0, 0), (self._address, group), piece, read_key(self.array.number))
                       for piece, group in enumerate(push.registers)], stores.instance())

    def _load_access(self) -> SharedAccess:
        places = self.shape.thread_map.accesses(compact=True).transpose(1, 0, 2)
        step = self._elements // self._loads_per_vector
        columns = places[:, None, :, 1] + step * np.arange(self._loads_per_vector)[:, None]
        rows = np.broadcast_to(places[:, None, :, 0], columns.shape)
        addresses = self.shape.bytes(rows, columns).reshape(-1, columns.shape[-1])
        bits = step * self.shape.dtype.bits
        return SharedAccess(self.ctx, self.array, addresses, f"LDS{bits}", bits // 8)

    def _load(self, partition: int) -> list[Vector]:
        """The vectors of a step, in the tile of one set of warps."""
        width = self._loads.bytes_per_lane // 4
        size = max(1, self._elements * self.shape.dtype.bits // 32)
        groups = [self.ctx.recorder.registers.vector(size) for _ in range(self._vectors)]
        targets = [(start + width * n, width) for start, _ in groups for n in range(self._loads_per_vector)]
        mnemonic = "LDS" if width == 1 else f"LDS.{32 * width}"
        self.ctx.code([Line(mnemonic, target, (self._address,), piece, read_key(self.array.number))
                       for piece, target in enumerate(targets)],
                      self._loads.instance(partition * self.shape.size_bytes))
        return [Vector(start, self._elements, self.shape.dtype) for start, _ in groups]

    def _add(self, sums: Sequence[Vector], others: Sequence[Vector]) -> None:
        add = {"f32": "FADD", "f16": "HADD2", "f64": "DADD"}.get(self.shape.dtype.name, "")
        if not add:
            raise gs.UserError("warps share k with floating-point sums only", got=self.shape.dtype)
        self.ctx.code([Line(add, to, (to, other)) for total, more in zip(sums, others, strict=True)
                       for to, other in zip(total.registers, more.registers, strict=True)])
