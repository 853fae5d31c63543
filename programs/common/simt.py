"""Models CUTLASS 2.x's SIMT GEMM: thread maps, skewed tiles, lanes in an interleaved grid, FFMA order, epilogue.
Leaves out the main loop, and element types other than f32."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import gpusim as gs
from common.epilogue import Epilogue, Push
from common.staging import TileCopy
from gpusim.cute.cutlass2 import (
    OutputTileShape,
    PitchLinearThreadMap,
    RowMajorInterleaved,
    optimal_thread_map,
    stripmined,
    transposed,
)
from gpusim.dsl import Context, GmemTensor, SmemArray
from gpusim.dsl.iterators import GlobalIterator, KRange, Pieces, SharedAccess
from gpusim.dsl.launch import BlockCoordinate
from gpusim.dsl.lowering.loads import read_key
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Code, Line
from gpusim.dsl.tiled import LANES

__all__ = ["SimtOperand", "SimtShape", "ffma_triples", "simt_epilogue"]

WORD_BYTES = 4
VECTOR = 4  # floats of a 16-byte access
EPILOGUE_PADDING = 4 * VECTOR + 1  # floats per row; stores are scalar


@dataclass(frozen=True)
class SimtShape:
    """Warps of a threadblock tile, lanes of a warp tile, elements of a lane."""

    tile: tuple[int, int, int]
    warp: tuple[int, int, int]

    def __post_init__(self) -> None:
        if any(t % w for t, w in zip(self.tile, self.warp, strict=True)) or self.tile[2] != self.warp[2]:
            raise gs.UserError("warp tiles must divide the threadblock tile and have its k", got=self.warp)
        if any(w % (lanes * VECTOR) for w, lanes in zip(self.warp, self.lanes, strict=False)):
            raise gs.UserError(f"a lane owns whole vectors of {VECTOR} floats", got=f"warp tile {self.warp[:2]}",
                               suggestion=f"multiples of {self.lanes[0] * VECTOR} x {self.lanes[1] * VECTOR}")

    @property
    def warps(self) -> tuple[int, int]:
        return self.tile[0] // self.warp[0], self.tile[1] // self.warp[1]

    @property
    def threads(self) -> int:
        return self.warps[0] * self.warps[1] * LANES

    @property
    def lanes(self) -> tuple[int, int]:
        rows = 8 if self.warp[0] > self.warp[1] else 4
        return rows, LANES // rows

    @property
    def thread_tile(self) -> tuple[int, int]:
        return self.warp[0] // self.lanes[0], self.warp[1] // self.lanes[1]

    def lane_places(self) -> tuple[np.ndarray, np.ndarray]:
        """(32,) row and column of each lane in the grid of lanes: interleaved by 2 where both thread tiles exceed 4."""
        interleave = 2 if min(self.thread_tile) > VECTOR else 1
        row, column = RowMajorInterleaved.packed(self.lanes, interleave).inverse(np.arange(LANES))
        return row, column

    def thread_places(self, axis: int) -> np.ndarray:
        """(threads,) first element along m (0) or n (1) of what a thread computes, in the threadblock tile."""
        warp = np.arange(self.warps[0] * self.warps[1])
        place = warp % self.warps[0] if axis == 0 else warp // self.warps[0]
        return (place[:, None] * self.warp[axis] + self.lane_places()[axis] * VECTOR).reshape(-1)


@dataclass(eq=False)
class SimtOperand:
    """Operand "A" or "B", kept with M or N contiguous in two stages; a K-major tensor is transposed on the way, into
    rows padded against bank conflicts."""

    ctx: Context
    name: str
    tensor: GmemTensor
    coord: BlockCoordinate
    shape: SimtShape
    stages: int
    k: KRange
    array: SmemArray = field(init=False)
    copies: TileCopy = field(init=False)
    read_stage: Group = field(init=False)
    buffers: tuple[tuple[int, ...], tuple[int, ...]] = field(init=False)  # registers of a fragment, twice
    _lane: Group = field(init=False)
    _loads: dict[tuple[int, int], Code] = field(default_factory=dict)
    _reads: dict[int, SharedAccess] = field(default_factory=dict)

    def __post_init__(self) -> None:
        registers = self.ctx.recorder.registers
        self.array = self.ctx.smem_array(f"s{self.name}", gs.f32, self.pitch * self.shape.tile[2] * self.stages)
        self.read_stage, self._lane = registers.uniform(), registers.vector()
        rows, k = self._thread_places()
        source = GlobalIterator(self.ctx, self.tensor, (self.extent, self.shape.tile[2]), (self.coord, None),
                                Pieces(rows, k, 1), self.k)
        self.copies = TileCopy(self.ctx, source, self.array, self._bytes(rows, k), self.stage_bytes)
        self.buffers = self._registers(), self._registers()

    @property
    def axis(self) -> int:
        return 0 if self.name == "A" else 1

    @property
    def extent(self) -> int:
        return self.shape.tile[self.axis]

    @property
    def k_major(self) -> bool:
        return self.tensor.strides[1] == 1

    @property
    def pitch(self) -> int:
        """Floats of a row in shared memory; the padding must keep vectors aligned."""
        padding = LANES // self.shape.tile[2] if self.k_major else 0
        if padding % VECTOR:
            raise gs.UserError("the padding of a transposed tile must be whole vectors", place=self.tensor.name,
                               got=f"tile k {self.shape.tile[2]}", suggestion="tile k of 8")
        return self.extent + padding

    @property
    def stage_bytes(self) -> int:
        return self.pitch * self.shape.tile[2] * WORD_BYTES

    def _bytes(self, rows: np.ndarray, k: np.ndarray) -> np.ndarray:
        return (k * self.pitch + rows) * WORD_BYTES

    def _thread_places(self) -> tuple[np.ndarray, np.ndarray]:
        """(pieces, threads) row and k of a thread's elements."""
        if not self.k_major:
            places = _in_order(stripmined((self.extent, self.shape.tile[2]), self.shape.threads))
            return places[..., 0], places[..., 1]
        loads = stripmined((self.shape.tile[2], self.extent), self.shape.threads)
        places = _in_order(loads)
        stores = transposed(loads).accesses().reshape(loads.threads, -1, 2).transpose(1, 0, 2)
        assert np.array_equal(np.sort(stores[..., 0], axis=0), np.sort(places[..., 1], axis=0))
        return places[..., 1], places[..., 0]

    def _registers(self) -> tuple[int, ...]:
        starts = [self.ctx.recorder.registers.vector(VECTOR)[0]
                  for _ in range(self.shape.thread_tile[self.axis] // VECTOR)]
        return tuple(start + n for start in starts for n in range(VECTOR))

    def setup(self) -> list[Line]:
        return self.copies.source.setup([*self.copies.addresses, self._lane])

    def load(self, step: int, stage: int, buffer: int) -> None:
        """LDS.128 of a thread's elements at k ``step``."""
        if step not in self._reads:
            self._reads[step] = self._fragment_access(step)
        if (step, buffer) not in self._loads:
            vectors = self.buffers[buffer][::VECTOR]
            self._loads[step, buffer] = Code(tuple(
                Line("LDS.128", (register, VECTOR), (self._lane, self.read_stage), piece, read_key(self.array.number))
                for piece, register in enumerate(vectors)))
        self.ctx.code(self._loads[step, buffer], self._reads[step].instance(stage * self.stage_bytes))

    def _fragment_access(self, step: int) -> SharedAccess:
        vectors = np.arange(self.shape.thread_tile[self.axis] // VECTOR)
        rows = vectors[:, None] * self.shape.lanes[self.axis] * VECTOR + self.shape.thread_places(self.axis)
        addresses = self._bytes(rows, np.full_like(rows, step))
        return SharedAccess(self.ctx, self.array, addresses, "LDS128", VECTOR * WORD_BYTES)


def _in_order(thread_map: PitchLinearThreadMap) -> np.ndarray:
    """(pieces, threads, 2), strided mode outermost."""
    return thread_map.accesses().reshape(thread_map.threads, -1, 2).transpose(1, 0, 2)


def ffma_triples(accumulators: tuple[int, ...], a: tuple[int, ...],
                 b: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """n by n, over m up and down in turns, so that the last a is used again."""
    rows, columns = len(a), len(b)
    order = [(m if n % 2 == 0 else rows - 1 - m, n) for n in range(columns) for m in range(rows)]
    return tuple((accumulators[m * columns + n], a[m], b[n]) for m, n in order)


def simt_epilogue(ctx: Context, destination: GmemTensor, coords: tuple[BlockCoordinate, BlockCoordinate],
                  shape: SimtShape, accumulators: tuple[int, ...], over: SmemArray) -> Epilogue:
    """One row of every thread tile a step, stored one element at a time."""
    (lane_rows, _), rows = shape.lanes, shape.thread_tile[0]
    tile = OutputTileShape(shape.tile[1], 1, lane_rows, shape.warps[0])
    count = OutputTileShape(1, VECTOR, rows // VECTOR, 1, rows)
    thread_map = optimal_thread_map(tile, count, shape.threads, 1, destination.dtype.bits)
    return Epilogue(ctx, destination, shape.tile[:2], coords, thread_map, rows, shape.warps[0] * lane_rows,
                    shape.tile[1] + EPILOGUE_PADDING, gs.f32, lambda step: _push_row(shape, accumulators, step), over)


def _push_row(shape: SimtShape, accumulators: tuple[int, ...], step: int) -> Push:
    columns_of_thread = shape.thread_tile[1]
    warp = np.arange(shape.warps[0] * shape.warps[1]) % shape.warps[0]
    row = (warp[:, None] * shape.lanes[0] + shape.lane_places()[0]).reshape(-1)
    vectors = [n // VECTOR * shape.lanes[1] * VECTOR + n % VECTOR for n in range(columns_of_thread)]
    columns = np.stack([shape.thread_places(1) + offset for offset in vectors])
    registers = accumulators[step * columns_of_thread : (step + 1) * columns_of_thread]
    return Push(np.broadcast_to(row, columns.shape), columns, [(register, 1) for register in registers])
