"""Models one operand of a CUTLASS 2.x tensor-core main loop: thread map, XOR layout, iterators, warp fragments.
Leaves out when each of them runs, which is the pipeline's business."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import gpusim as gs
from common.staging import TileCopy
from gpusim.arch.atoms import CopyAtom
from gpusim.cute.cutlass2 import PitchLinearThreadMap, TensorOpMultiplicand, congruous_crosswise, warp_raked
from gpusim.dsl import Context, Fragment, GmemTensor, SmemArray
from gpusim.dsl.iterators import GlobalIterator, KRange, Pieces, SharedAccess
from gpusim.dsl.launch import BlockCoordinate
from gpusim.dsl.lowering.loads import read_key
from gpusim.dsl.partition import ldmatrix_matrices
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Code, Line
from gpusim.dsl.tiled import LANES, TiledMma, ldmatrix_origins

__all__ = ["TensorOpOperand"]

VECTOR_BITS = 128
POINTERS = 2  # addresses in shared memory that a thread keeps for its stores


@dataclass(eq=False)
class TensorOpOperand:
    """Operand "A" (rows = M) or "B" (rows = N) with ``stages`` tiles of ``tile`` = (rows, k) in shared memory.

    K-major operands are crosswise and read by ldmatrix, the others congruous and read by ldmatrix.trans. Raises
    UserError for a transposed operand of other than 16 bits, for tiles that a thread map does not divide.
    """

    ctx: Context
    name: str
    tensor: GmemTensor
    coord: BlockCoordinate
    mma: TiledMma
    tile: tuple[int, int]
    stages: int
    k: KRange
    array: SmemArray = field(init=False)
    copies: TileCopy = field(init=False)
    read_stage: Group = field(init=False)
    _lanes: dict[int, Group] = field(default_factory=dict)  # where this lane's ldmatrix rows begin, per k step
    _loads: dict[tuple[int, ...], Code] = field(default_factory=dict)
    _reads: dict[int, SharedAccess] = field(default_factory=dict)

    def __post_init__(self) -> None:
        registers = self.ctx.recorder.registers
        self.array = self.ctx.smem_array(f"s{self.name}", self.tensor.dtype, self.tile[0] * self.tile[1] * self.stages)
        thread_map = self._thread_map()
        rows, k = self._thread_places(thread_map)
        pieces = Pieces(rows, k, thread_map.elements_per_access)
        source = GlobalIterator(self.ctx, self.tensor, self.tile, (self.coord, None), pieces, self.k)
        self.copies = TileCopy(self.ctx, source, self.array, self._layout_bytes(rows, k), self.stage_bytes, POINTERS)
        self.read_stage = registers.uniform()
        self._lanes = {step: registers.vector() for step in range(self.k_steps)}

    # layout

    @property
    def bits(self) -> int:
        return self.tensor.dtype.bits

    @property
    def k_major(self) -> bool:
        return self.tensor.strides[1] == 1

    @property
    def k_steps(self) -> int:
        """Warp MMAs of a tile along k, of one of the warps that share it."""
        return self.tile[1] // self.mma.partitions // self.mma.atom.shape_mnk[2]

    @property
    def layout(self) -> TensorOpMultiplicand:
        """Crosswise: the tiles of all stages side by side along k. Congruous: one below the other."""
        rows, k = self.tile
        if self.k_major:
            return TensorOpMultiplicand(self.bits, k, k * self.stages)
        if self.bits != 16:
            raise gs.UserError("ldmatrix.trans moves 16-bit elements, so other operands must be K-major",
                               place=self.tensor.name, got=self.tensor.dtype, suggestion="layouts tn")
        return TensorOpMultiplicand(self.bits, congruous_crosswise(self.bits, rows), rows)

    @property
    def stage_bytes(self) -> int:
        """Distance of two stages in shared memory."""
        return self.tile[1] * (1 if self.k_major else self.tile[0]) * self._line_factor * self.bits // 8

    @property
    def _line_factor(self) -> int:
        return self.layout.factor if self.k_major else 1

    def _layout_bytes(self, rows: np.ndarray, k: np.ndarray) -> np.ndarray:
        contiguous, strided = (k, rows) if self.k_major else (rows, k)
        return self.layout(contiguous, strided) * self.bits // 8

    def _thread_map(self) -> PitchLinearThreadMap:
        vector, threads = VECTOR_BITS // self.bits, self.mma.num_threads
        if self.k_major:
            lanes = self.tile[1] // vector
            return warp_raked(self.tile[::-1], threads, (lanes, LANES // lanes), vector)
        lanes = min(self.tile[0] // vector, 8)
        return warp_raked(self.tile, threads, (lanes, LANES // lanes), vector)

    def _thread_places(self, thread_map: PitchLinearThreadMap) -> tuple[np.ndarray, np.ndarray]:
        """(pieces, threads) row and k of a thread's vectors, strided mode outermost."""
        places = thread_map.accesses().reshape(thread_map.threads, -1, 2).transpose(1, 0, 2)
        contiguous, strided = places[..., 0], places[..., 1]
        return (strided, contiguous) if self.k_major else (contiguous, strided)

    # code

    def setup(self) -> list[Line]:
        """Before the loop."""
        return self.copies.source.setup([*self.copies.addresses, *self._lanes.values()])

    def load(self, step: int, stage: int, fragment: Fragment) -> None:
        """ldmatrix of the warp's share of k step ``step``."""
        if step not in self._reads:
            self._reads[step] = self._fragment_access(step)
        key = (step, *fragment.groups)
        if key not in self._loads:
            self._loads[key] = self._load_code(step, fragment)
        self.ctx.code(self._loads[key], self._reads[step].instance(stage * self.stage_bytes))

    @property
    def _load_atom(self) -> CopyAtom:
        return gs.copy.SM75_U32x4_LDSM_N if self.k_major else gs.copy.SM75_U16x8_LDSM_T

    def _load_code(self, step: int, fragment: Fragment) -> Code:
        self.ctx.require(self._load_atom)
        matrices, count = ldmatrix_matrices(self.mma, self.name)
        groups = fragment.groups[:: len(fragment.groups) // count]
        sources = (self._lanes[step], self.read_stage)
        return Code(tuple(Line(self._load_atom.mnemonic, (group, matrices), sources, piece, read_key(self.array.number))
                          for piece, group in enumerate(groups)))

    def _fragment_access(self, step: int) -> SharedAccess:
        """Lane l gives row l % 8 of matrix l // 8: a row of 16 bytes along the contiguous mode."""
        matrices, count = ldmatrix_matrices(self.mma, self.name)
        lane, origins = np.arange(LANES), np.array(ldmatrix_origins(self.mma, self.name, matrices))
        m, n, k = self.mma.atom.shape_mnk
        block = (n if self.name == "B" else m) * (matrices // self.mma.registers(self.name))
        within = lane % 8
        rows = origins[lane // 8, 0] + (within if self.k_major else 0)
        columns = step * k + origins[lane // 8, 1] + (0 if self.k_major else within)
        warp, share = self.mma.warp_rows(self.name), self.mma.warp_partitions * self.k_steps * k
        rows = np.arange(count)[:, None, None] * block + warp[None, :, None] + rows
        columns = np.broadcast_to(columns + share[:, None], rows.shape)
        addresses = self._layout_bytes(rows, columns).reshape(count, -1)
        return SharedAccess(self.ctx, self.array, addresses, self._load_atom.operation, 16)
