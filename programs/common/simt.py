"""Models CUTLASS 2.x's SIMT GEMM: thread maps, skewed tiles, lanes in an interleaved grid, FFMA order, epilogue.
Leaves out the main loop. Elements take 32 or 64 bits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import gpusim as gs
from common.epilogue import Epilogue, EpilogueTile, Push
from common.fragment_loads import FragmentLoads
from common.output_op import PLAIN, LinearCombination
from common.staging import TileCopy
from gpusim import (
    LANES,
    BlockCoordinate,
    Code,
    Context,
    GlobalIterator,
    GmemTensor,
    Group,
    KRange,
    Line,
    Pieces,
    SharedAccess,
    SmemArray,
    read_key,
)
from gpusim.cute.cutlass2 import (
    ColumnMajorInterleaved,
    OutputTileShape,
    PitchLinearThreadMap,
    RowMajorInterleaved,
    optimal_thread_map,
    stripmined,
    transposed,
)

__all__ = ["SimtOperand", "SimtShape", "simt_epilogue", "simt_type"]

VECTOR_BITS = 128
INTERLEAVED_ABOVE = 4  # rows and columns of a thread
PIPELINED_STAGES = 2
STORES = ("scalar", "vector")
UNITS = {32: gs.f32, 64: gs.f64}
"""What an array of elements in shared memory is counted in."""


def simt_type(name: str) -> str:
    """The name of a type that FFMA or DFMA multiplies. Raises UserError for others."""
    if name not in ("f32", "f64"):
        raise gs.UserError("a SIMT GEMM has elements of f32 or f64", got=f"'{name}'",
                           suggestion="igemm_dp4a for s8, complex_gemm for complex numbers")
    return name


@dataclass(frozen=True)
class SimtShape:
    """Warps of a threadblock tile, lanes of a warp tile by their order, elements of a lane, ``bits`` each."""

    tile: tuple[int, int, int]
    warp: tuple[int, int, int]
    bits: int = 32
    lane_layout: type[RowMajorInterleaved] | type[ColumnMajorInterleaved] = RowMajorInterleaved

    def __post_init__(self) -> None:
        if any(t % w for t, w in zip(self.tile, self.warp, strict=True)) or self.tile[2] != self.warp[2]:
            raise gs.UserError("warp tiles must divide the threadblock tile and have its k", got=self.warp)
        if any(w % (lanes * self.vector) for w, lanes in zip(self.warp, self.lanes, strict=False)):
            m, n = (lanes * self.vector for lanes in self.lanes)
            raise gs.UserError(f"a lane owns whole vectors of {self.vector} elements",
                               got=f"warp tile {self.warp[:2]}", suggestion=f"multiples of {m} x {n}")

    @property
    def vector(self) -> int:
        """Elements of a 16-byte access."""
        return VECTOR_BITS // self.bits

    @property
    def width(self) -> int:
        """Registers of an element."""
        return self.bits // 32

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
        interleave = 2 if min(self.thread_tile) > INTERLEAVED_ABOVE else 1
        row, column = self.lane_layout.packed(self.lanes, interleave).inverse(np.arange(LANES))
        return row, column

    def thread_places(self, axis: int) -> np.ndarray:
        """(threads,) first element along m (0) or n (1) of what a thread computes, in the threadblock tile."""
        warp = np.arange(self.warps[0] * self.warps[1])
        place = warp % self.warps[0] if axis == 0 else warp // self.warps[0]
        return (place[:, None] * self.warp[axis] + self.lane_places()[axis] * self.vector).reshape(-1)


@dataclass(eq=False)
class SimtOperand:
    """Operand "A" or "B", kept with M or N contiguous in two stages; a K-major tensor is transposed on the way, into
    rows padded against bank conflicts. ``padding``: elements, -1: as many as CUTLASS has."""

    ctx: Context
    name: str
    tensor: GmemTensor
    coord: BlockCoordinate
    shape: SimtShape
    stages: int
    k: KRange
    padding: int = -1
    array: SmemArray = field(init=False)
    copies: TileCopy = field(init=False)
    read_stage: Group = field(init=False)
    buffers: tuple[tuple[int, ...], tuple[int, ...]] = field(init=False)  # registers of a fragment, twice
    _lane: Group = field(init=False)
    _loads: FragmentLoads[int] = field(init=False)

    def __post_init__(self) -> None:
        registers = self.ctx.recorder.registers
        elements = self.pitch * self.shape.tile[2] * self.stages
        self.array = self.ctx.smem_array(f"s{self.name}", UNITS[self.shape.bits], elements)
        self.read_stage, self._lane = registers.uniform(), registers.vector()
        self.copies = self._copies()
        self.buffers = self._registers(), self._registers()
        self._loads = FragmentLoads(self.ctx, self.stage_bytes, self._fragment_access, self._load_code)

    def _copies(self) -> TileCopy:
        rows, k = self._thread_places()
        source = GlobalIterator(self.ctx, self.tensor, (self.extent, self.shape.tile[2]), (self.coord, None),
                                Pieces(rows, k, 1), self.k)
        return TileCopy(self.ctx, source, self.array, self._bytes(rows, k), self.stage_bytes)

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
        """Elements of a row in shared memory; the padding must keep vectors aligned."""
        padding = self._padding if self.k_major else 0
        if padding % self.shape.vector:
            raise gs.UserError("the padding of a transposed tile must be whole vectors", place=self.tensor.name,
                               got=f"{padding} elements",
                               suggestion=f"a multiple of {self.shape.vector}, or tile k of 8")
        return self.extent + padding

    @property
    def _padding(self) -> int:
        """MmaPipelined's stores of a transposed tile touch all banks; MmaMultistage has kK / 32, which is mostly none
        (default_mma_core_simt.h, default_mma_core_sm80.h)."""
        if self.padding >= 0:
            return self.padding
        depth = self.shape.tile[2]
        return LANES // depth // self.shape.width if self.stages == PIPELINED_STAGES else depth // LANES

    @property
    def stage_bytes(self) -> int:
        return self.pitch * self.shape.tile[2] * self.shape.bits // 8

    def _bytes(self, rows: np.ndarray, k: np.ndarray) -> np.ndarray:
        return (k * self.pitch + rows) * self.shape.bits // 8

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
        vector, width = self.shape.vector, self.shape.width
        starts = [self.ctx.recorder.registers.vector(vector * width)[0]
                  for _ in range(self.shape.thread_tile[self.axis] // vector)]
        return tuple(start + width * n for start in starts for n in range(vector))

    def setup(self) -> list[Line]:
        return self.copies.source.setup([*self.copies.addresses, self._lane])

    def load(self, step: int, stage: int, buffer: int) -> None:
        """LDS.128 of a thread's elements at k ``step``."""
        self._loads.load(step, stage, buffer)

    def _load_code(self, step: int, buffer: int) -> Code:
        vectors = self.buffers[buffer][:: self.shape.vector]
        return Code(tuple(Line("LDS.128", (register, VECTOR_BITS // 32), (self._lane, self.read_stage), piece,
                               read_key(self.array.number)) for piece, register in enumerate(vectors)))

    def _fragment_access(self, step: int) -> SharedAccess:
        vector = self.shape.vector
        vectors = np.arange(self.shape.thread_tile[self.axis] // vector)
        rows = vectors[:, None] * self.shape.lanes[self.axis] * vector + self.shape.thread_places(self.axis)
        addresses = self._bytes(rows, np.full_like(rows, step))
        return SharedAccess(self.ctx, self.array, addresses, "LDS128", VECTOR_BITS // 8)


def _in_order(thread_map: PitchLinearThreadMap) -> np.ndarray:
    """(pieces, threads, 2), strided mode outermost."""
    return thread_map.accesses().reshape(thread_map.threads, -1, 2).transpose(1, 0, 2)


def simt_epilogue(ctx: Context, destination: GmemTensor, coords: tuple[BlockCoordinate, BlockCoordinate],
                  shape: SimtShape, accumulators: tuple[int, ...], over: SmemArray,
                  op: LinearCombination = PLAIN, source: GmemTensor | None = None,
                  accumulator_type: gs.DType = gs.f32, stores: str = "scalar", padding: int = -1) -> Epilogue:
    """One row of every thread tile a step, stored to D one element at a time.

    ``source``: tensor C where ``op`` reads it. ``stores``: to shared memory, scalar (CUTLASS's default) or vector.
    ``padding``: elements of a row there, -1: as CUTLASS has it.
    """
    if stores not in STORES:
        raise gs.UserError("accumulators are stored to shared memory one by one or in vectors", got=f"'{stores}'",
                           suggestion=" or ".join(STORES))
    (lane_rows, _), rows = shape.lanes, shape.thread_tile[0]
    shape_of_step = OutputTileShape(shape.tile[1], 1, lane_rows, shape.warps[0])
    count = OutputTileShape(1, shape.vector, rows // shape.vector, 1, rows)
    thread_map = optimal_thread_map(shape_of_step, count, shape.threads, 1, destination.dtype.bits)
    together = shape.vector if stores == "vector" else 1
    pitch = shape.tile[1] + (padding if padding >= 0 else 4 * shape.vector + (together == 1))
    tile = EpilogueTile(thread_map, rows, shape.warps[0] * lane_rows, pitch, accumulator_type,
                        lambda step: _push_row(shape, accumulators, step, together))
    return Epilogue(ctx, destination, shape.tile[:2], coords, tile, over, op, source)


def _push_row(shape: SimtShape, accumulators: tuple[int, ...], step: int, together: int) -> Push:
    """A row of the thread tile, ``together`` elements per store."""
    columns_of_thread, vector = shape.thread_tile[1], shape.vector
    warp = np.arange(shape.warps[0] * shape.warps[1]) % shape.warps[0]
    row = (warp[:, None] * shape.lanes[0] + shape.lane_places()[0]).reshape(-1)
    chosen = range(0, columns_of_thread, together)
    columns = np.stack([shape.thread_places(1) + n // vector * shape.lanes[1] * vector + n % vector for n in chosen])
    registers = [(accumulators[step * columns_of_thread + n], shape.width * together) for n in chosen]
    return Push(np.broadcast_to(row, columns.shape), columns, registers)
