"""Models one operand of a CUTLASS 2.x tensor-core main loop: its copies into stages, its warp fragments.
Leaves out the layout in shared memory (common.multiplicand), and when what runs, which is the pipeline's business."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from common.fragment_loads import FragmentLoads
from common.multiplicand import Multiplicand, StagedTile, multiplicand_of
from common.staging import TileCopy
from gpusim import (
    BlockCoordinate,
    Code,
    Context,
    Fragment,
    GlobalIterator,
    GmemTensor,
    Group,
    KRange,
    Line,
    Pieces,
    SharedAccess,
    SmemArray,
    TiledMma,
    global_iterator,
    read_key,
    widest_alignment,
)

__all__ = ["TensorOpOperand"]

LINE_BYTES = 128
POINTERS = 2  # addresses in shared memory that a thread keeps for its stores


@dataclass(eq=False)
class TensorOpOperand:
    """Operand "A" (rows = M) or "B" (rows = N) with ``stages`` tiles of ``tile`` = (rows, k) in shared memory.

    ``alignment``: elements of an access to global memory, 0: as many as the tensor allows. Raises UserError for types
    and orders without a layout, and for tiles that a thread map does not divide.
    """

    ctx: Context
    name: str
    tensor: GmemTensor
    coord: BlockCoordinate
    mma: TiledMma
    tile: tuple[int, int]
    stages: int
    k: KRange
    alignment: int = 0
    array: SmemArray = field(init=False)
    copies: TileCopy = field(init=False)
    read_stage: Group = field(init=False)
    shared: Multiplicand = field(init=False)
    _lanes: dict[int, Group] = field(default_factory=dict)  # where this lane's loads begin, per k step
    _first_address: Group = (0, 0)  # where they begin in the stage that is read, for the first k step
    _loads: FragmentLoads[tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        registers = self.ctx.recorder.registers
        self.shared = self._multiplicand(StagedTile(self.name, self.tensor.dtype, self.k_major, self.tile, self.stages,
                                                    self.mma))
        self.array = self.ctx.smem_array(f"s{self.name}", self.tensor.dtype, self.shared.size_elements)
        self.copies = self._copies()
        self.read_stage = registers.uniform()
        self._lanes = {step: registers.vector() for step in range(self.k_steps)}
        self._loads = FragmentLoads(self.ctx, self.stage_bytes, self._fragment_access, self._load_code)

    def _multiplicand(self, tile: StagedTile) -> Multiplicand:
        return multiplicand_of(tile)

    def _copies(self) -> TileCopy:
        """(pieces, threads) vectors, strided mode outermost."""
        thread_map = self.shared.thread_map()
        places = thread_map.accesses().reshape(thread_map.threads, -1, 2).transpose(1, 0, 2)
        rows, k = (places[..., 1], places[..., 0]) if self.k_major else (places[..., 0], places[..., 1])
        pieces = Pieces(rows, k, thread_map.elements_per_access)
        alignment = self.alignment or widest_alignment(self.tensor, pieces.elements)
        source = self._source(pieces, alignment)
        return TileCopy(self.ctx, source, self.array, self.shared.addresses(rows, k), self.stage_bytes, POINTERS)

    def _source(self, pieces: Pieces, alignment: int) -> GlobalIterator:
        """Tiles in global memory."""
        return global_iterator(self.ctx, self.tensor, self.tile, (self.coord, None), pieces, self.k, alignment)

    @property
    def k_major(self) -> bool:
        return self.tensor.strides[1] == 1

    @property
    def k_steps(self) -> int:
        """Warp MMAs of a tile along k, of one of the warps that share it."""
        return self.tile[1] // self.mma.partitions // self.mma.atom.shape_mnk[2]

    @property
    def stage_bytes(self) -> int:
        """Distance of two stages in shared memory."""
        return self.shared.stage_bytes

    @property
    def _sums_first_address(self) -> bool:
        row_bytes = self.tile[1] * self.tensor.dtype.bits // 8
        return self.k_major and row_bytes < LINE_BYTES and self.shared.atom.operation.startswith("LDSM")

    def fragment(self) -> Fragment:
        """Registers of two k steps; in the second, for odd ones, atoms of a load change places where they come so."""
        fragment = self.ctx.fragment(self.mma, self.name, buffers=2)
        if not self.shared.turned:
            return fragment
        even, odd = fragment.starts
        return replace(fragment, starts=(even, tuple(odd[n ^ 1] for n in range(len(odd)))))

    # code

    def setup(self) -> list[Line]:
        """Before the loop."""
        return self.copies.source.setup([*self.copies.addresses, *self._lanes.values()])

    def load(self, step: int, stage: int, fragment: Fragment) -> None:
        """The warp's share of k step ``step`` from shared memory."""
        self._loads.load(step, stage, fragment.groups)

    def _fragment_access(self, step: int) -> SharedAccess:
        return SharedAccess(self.ctx, self.array, self.shared.fragment_addresses(step), self.shared.atom.operation,
                            self.shared.load_bytes)

    def _load_code(self, step: int, groups: tuple[int, ...]) -> Code:
        atom = self.shared.atom
        self.ctx.require(atom)
        lines: list[Line] = []
        for piece, target in enumerate(self.shared.targets(groups)):
            before, sources = self._fragment_address(step, piece)
            lines += [*before, Line(atom.mnemonic, target, sources, piece, read_key(self.array.number))]
        return Code(tuple(lines))

    def _fragment_address(self, step: int, piece: int) -> tuple[list[Line], tuple[Group, ...]]:
        """Lines before a load, and its address: a lane's place and, as part of the instruction, the stage. Where two
        rows share a line, the loads that come first in a stage share a sum (``LEA R214, R202, UR10, 0x4``, CUTLASS 4
        for sm_90a; K-major rows of 128 bytes have none, or one for A and B)."""
        if step or not self._sums_first_address:
            return [], (self._lanes[step], self.read_stage)
        if not piece:
            self._first_address = self.ctx.recorder.registers.vector()
            return [Line("LEA", self._first_address, (self._lanes[0], self.read_stage))], (self._first_address,)
        return [], (self._first_address,)
