"""Models CUTLASS 2.x's sparse main loop: A holds two of every four k, metadata E that say which go along with it.
Leaves out other sparsities than 2:4 of 16-bit types, and split-K.

Source: cutlass/gemm/threadblock/mma_sparse_multistage.h, default_mma_core_sparse_sm80.h,
gemm/warp/mma_tensor_op_tile_iterator_sparse.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import gpusim as gs
from common.fragment_loads import FragmentLoads
from common.metadata import GROUP_ROWS, WORD_K
from common.operand import TensorOpOperand
from common.staging import StagedOperand, TileCopy
from common.tensor_op_loop import TensorOpLoop
from gpusim import (
    LANES,
    Access,
    BlockCoordinate,
    Code,
    Context,
    CopyAtom,
    GlobalIterator,
    GmemTensor,
    Group,
    KRange,
    Line,
    Pieces,
    SharedAccess,
    SmemArray,
    TiledMma,
    lane_bits,
    read_key,
)
from gpusim.cute.cutlass2 import stripmined

__all__ = ["SparseLoop"]

WORD_BYTES, VECTOR_WORDS = 4, 4
SINGLE_BUFFER = (64, 64)  # warp tiles from here on have one buffer for fragments of B


class MetadataIterator(GlobalIterator):
    """Words of E, copied by the first ``threads`` threads: E is tiny, not all warps are needed."""

    threads = 0

    def _accesses(self, operation: str, left: int, chosen: Sequence[int], lanes: np.ndarray,
                  shared: np.ndarray | None, zfill: bool, label: str) -> list[Access]:
        taking = lane_bits(np.arange(lanes.shape[1]) < self.threads)
        return [replace(access, lane_mask=access.lane_mask & taking, zfill_mask=access.zfill_mask & taking)
                for access in super()._accesses(operation, left, chosen, lanes, shared, zfill, label)]


@dataclass(eq=False)
class Metadata:
    """E (M, k / 32) of s32, contiguous along m, in stages: tiles as they are, read by ldmatrix, 32 rows a matrix.

    ``mma``: the sparse one; ``tile``: (m, k) of a threadblock. Raises UserError for tiles that do not divide.
    """

    ctx: Context
    tensor: GmemTensor
    coord: BlockCoordinate
    mma: TiledMma
    tile: tuple[int, int]
    stages: int
    k: KRange
    array: SmemArray = field(init=False)
    copies: TileCopy = field(init=False)
    read_stage: Group = field(init=False)
    buffers: tuple[Group, Group] = field(init=False)  # a register for every 32 rows of a warp
    k_major = False
    _place: Group = field(init=False)
    _loads: FragmentLoads[int] = field(init=False)

    def __post_init__(self) -> None:
        registers, (rows, k) = self.ctx.recorder.registers, self.tile
        if self.mma.warp_tile[0] % GROUP_ROWS or self.matrices not in (1, 2, 4) or self.mma.partitions > 1:
            raise gs.UserError("metadata of a warp are 1, 2 or 4 matrices for 32 rows each, of all of the tile's k",
                               got=f"{self.mma.warp_tile[0]} rows, {self.mma.partitions} warps that share k")
        self.array = self.ctx.smem_array("sE", gs.s32, rows * k // WORD_K * self.stages)
        self.copies = self._copies()
        self.read_stage, self._place = registers.uniform(), registers.vector()
        self.buffers = registers.vector(self.matrices), registers.vector(self.matrices)
        self._loads = FragmentLoads(self.ctx, self.stage_bytes, self._fragment_access, self._load_code)

    @property
    def matrices(self) -> int:
        """Of an ldmatrix, which brings the metadata of a k step."""
        return self.mma.warp_tile[0] // GROUP_ROWS

    @property
    def stage_bytes(self) -> int:
        return self.tile[0] * self.tile[1] // WORD_K * WORD_BYTES

    def _copies(self) -> TileCopy:
        shape = self.tile[0], self.tile[1] // WORD_K
        threads = min(shape[0] * shape[1] // VECTOR_WORDS, self.mma.num_threads)
        places = np.zeros((self.mma.num_threads, *stripmined(shape, threads, VECTOR_WORDS).accesses().shape[1:]), int)
        places[:threads] = stripmined(shape, threads, VECTOR_WORDS).accesses()
        places = places.reshape(self.mma.num_threads, -1, 2).transpose(1, 0, 2)
        rows, k = places[..., 0], places[..., 1]
        source = MetadataIterator(self.ctx, self.tensor, shape, (self.coord, None), Pieces(rows, k, VECTOR_WORDS),
                                  self.k)
        source.threads = threads
        return TileCopy(self.ctx, source, self.array, (k * shape[0] + rows) * WORD_BYTES, self.stage_bytes)

    def setup(self) -> list[Line]:
        return self.copies.source.setup([*self.copies.addresses, self._place])

    def load(self, step: int, stage: int, buffer: int) -> None:
        """The metadata of a warp's k step: lane l names 16 bytes, four rows of words, in the order of memory."""
        self._loads.load(step, stage, buffer)

    @property
    def _atom(self) -> CopyAtom:
        atom: CopyAtom = getattr(gs.copy, f"SM75_U32x{self.matrices}_LDSM_N")
        return atom

    def _fragment_access(self, step: int) -> SharedAccess:
        units = self.mma.warp_tile[0] // VECTOR_WORDS
        row = self.mma.warp_rows("A")[:, None] + np.arange(LANES) % units * VECTOR_WORDS
        addresses = (row + step * self.tile[0]) * WORD_BYTES
        return SharedAccess(self.ctx, self.array, addresses.reshape(1, -1), self._atom.operation,
                            VECTOR_WORDS * WORD_BYTES)

    def _load_code(self, step: int, buffer: int) -> Code:
        """Of any step: which one stands in the addresses."""
        return Code((Line(self._atom.mnemonic, self.buffers[buffer], (self._place, self.read_stage), 0,
                          read_key(self.array.number)),))


@dataclass(eq=False)
class SparseLoop(TensorOpLoop):
    """A threadblock tile of A (M x K / 2), B (N x K) and metadata ``E``. Fragments of B, twice as big as A's, have one
    buffer where a warp's tile is large: they are loaded behind the MMAs that read them."""

    E: GmemTensor | None = None
    e: Metadata = field(init=False)
    _later: tuple[int, int] | None = None  # k step and stage of B's next fragments
    _has_b: bool = False

    def __post_init__(self) -> None:
        ctx, (m, n), (tile_m, tile_n), k = self.ctx, self.coords, self.mma.tile, self.k
        atom = self.mma.atom
        held = replace(self.mma, atom=getattr(gs.mma, atom.name.replace("SPARSE_16x8x32", "16x8x16")))
        assert self.E is not None
        self.a = TensorOpOperand(ctx, "A", self.A, m, held, (tile_m, self.tile_k // 2), self.stages, _part(k, 2),
                                 self.alignment)
        self.b = TensorOpOperand(ctx, "B", self.B, n, self.mma, (tile_n, self.tile_k), self.stages, k, self.alignment)
        self.e = Metadata(ctx, self.E, m, self.mma, (tile_m, self.tile_k), self.stages, _part(k, WORD_K))
        self.fragments = self.a.fragment(), self.b.fragment()
        self.accumulators = ctx.fragment(self.mma, "C")

    @property
    def operands(self) -> Sequence[StagedOperand]:  # type: ignore[override]
        return self.a, self.b, self.e

    @property
    def single_buffer(self) -> bool:
        """Whether fragments of B have one buffer."""
        return self.mma.warp_tile >= SINGLE_BUFFER and self.mma.warp_tile[1] >= SINGLE_BUFFER[1] \
            and self.mma.atom.dtype_c == "f32"

    def fetch(self, step: int, stage: int, buffer: int) -> None:
        a, b = self.fragments
        self.a.load(step, stage, a[buffer])
        self.e.load(step, stage, buffer)
        if self.single_buffer and self._has_b:
            self._later = step, stage
        else:
            self.b.load(step, stage, b[0 if self.single_buffer else buffer])
        self._has_b = True

    def multiply(self, buffer: int) -> None:
        """Over n up and down in turns; two atoms along m share a register of metadata, the selector says which."""
        a, b = self.fragments[0][buffer].groups, self.fragments[1][0 if self.single_buffer else buffer].groups
        atom, columns, c = self.mma.atom, len(b), self.accumulators
        order = [(i, j if i % 2 == 0 else columns - 1 - j) for i in range(len(a)) for j in range(columns)]
        lines = []
        for i, j in order:
            to = c.groups[i * columns + j], c.registers
            words = self.e.buffers[buffer][0] + i // 2, 1
            lines.append(Line(atom.mnemonic, to, ((a[i], 4), (b[j], 4), to, words), immediate=i % 2))
        self.ctx.require(atom)
        self.ctx.code(lines)
        if self._later is not None:
            self.b.load(*self._later, self.fragments[1][0])
            self._later = None


def _part(k: KRange, unit: int) -> KRange:
    """A range in units of several k."""
    return KRange(k.begin // unit, k.end // unit, k.tile // unit)
