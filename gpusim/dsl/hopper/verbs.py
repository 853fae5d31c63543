"""Models the verbs that Hopper adds to a kernel's ctx: operands, bulk tiles, pipelines, wgmma and its groups, stores.
Leaves out what the statements look like (the modules beside this one)."""

from __future__ import annotations

from typing import Any

from gpusim.arch import GpuSpec
from gpusim.arch.atoms.warpgroup import BulkAtom, require_hopper
from gpusim.cute.gmma import GmmaLayout
from gpusim.dsl.clusters import ClusterShape
from gpusim.dsl.dtypes import DType
from gpusim.dsl.hopper.bulk import BULK_GROUP, bulk_copy
from gpusim.dsl.hopper.mma import (
    Accumulators,
    OperandFragment,
    WarpgroupMma,
    accumulators,
    closing,
    gemm_accesses,
    gemm_code,
    operand_fragment,
    register_code,
)
from gpusim.dsl.hopper.operands import BulkTile, OperandTile, SmemOperand, require_tma
from gpusim.dsl.hopper.order import OrderedSequence
from gpusim.dsl.hopper.pipeline import Pipeline
from gpusim.dsl.hopper.stores import load_code, pack_lines, store_accesses, store_code, subtile_registers
from gpusim.dsl.launch import BlockCoordinate, Grid
from gpusim.dsl.moves import Mover
from gpusim.dsl.recorder import Recorder
from gpusim.dsl.registers import Group
from gpusim.dsl.shared import SharedMemory
from gpusim.dsl.statements import Code, Instance, Line
from gpusim.dsl.tensors import GmemTensor
from gpusim.dsl.tiled import LANES
from gpusim.errors import UserError
from gpusim.program import MBarrier, MBarrierAction, pack_mbarrier

__all__ = ["HopperVerbs"]

NAMED_BARRIERS, REGISTER_UNIT = 16, 8
BARRIER_BYTES = 8
COUNT_SHIFT = 8
MULTICAST = "SM90_TMA_LOAD_MULTICAST"
ONCE = Instance()
Coord = tuple[BlockCoordinate | None, BlockCoordinate | None]


class HopperVerbs:
    """What Context inherits; everything here needs sm_90a."""

    spec: GpuSpec
    shared: SharedMemory
    grid: Grid
    mover: Mover
    barriers: list[MBarrier]  # of a CTA
    reallocates_registers: bool  # some role asks for another number of them

    @property
    def recorder(self) -> Recorder:
        raise NotImplementedError

    def code(self, code: Code | list[Line], instance: Instance = ONCE) -> None:
        raise NotImplementedError

    # memory

    def smem_operand(self, name: str, dtype: DType, shape: tuple[int, int, int], *, swizzle: str = "128B",
                     major: str = "K", over: Any = None) -> SmemOperand:
        """Staged tiles (rows, columns, stages) as TMA and wgmma have them: rows are m or n, columns k. ``swizzle``:
        128B, 64B, 32B or none; ``major``: the contiguous mode, K or MN; ``over``: in the place of that tensor."""
        require_hopper("a swizzled operand of wgmma", self.spec)
        layout = GmmaLayout((shape[0], shape[1]), dtype.bytes, swizzle, major)
        return self.shared.operand(name, dtype, layout, shape[2], over)

    def bulk_tile(self, tensor: GmemTensor, tile: tuple[int, int], coord: Coord) -> BulkTile:
        """The CTA's tile of a tensor for TMA: along a mode without block coordinate, an index selects tiles. Tiles
        need not divide the tensor: what lies outside arrives as zeros, and is not stored."""
        require_tma(tensor)
        inside = self.grid.partial_tile(tensor, tile, coord)
        free = [mode for mode, place in enumerate(coord) if place is None]
        return BulkTile(tensor, tile, inside, along=free[0] if free else None)

    def mbarrier(self, name: str, arrivals: int) -> int:
        """An mbarrier whose phases count so many arrivals; its number. It takes 8 bytes of shared memory."""
        require_hopper("an mbarrier that suspends who waits (try_wait)", self.spec)
        self.barriers.append(MBarrier(name, arrivals))
        return len(self.barriers) - 1

    def pipeline(self, name: str, *, num_stages: int, via: str = "tma", tx_bytes: int = 0,
                 producer_warps: int = 1, consumer_warps: int = 4, private: bool = False) -> Pipeline:
        """Stages that one role fills and another one reads. ``via`` tma: ``tx_bytes`` of a stage's copies complete it;
        cp_async: the copies of all threads of ``producer_warps``. ``consumer_warps`` release it, each lane once; in a
        cluster, to all CTAs that may send data to this one, where a pipeline by TMA is not ``private``."""
        self.shared.array(f"{name} barriers", DType("u8", 8), 2 * num_stages * BARRIER_BYTES, None)
        return Pipeline.make(self, name, num_stages, via, tx_bytes, producer_warps, consumer_warps, private)

    def ordered_sequence(self, name: str, *, depth: int, groups: int, warps: int) -> OrderedSequence:
        """``groups`` of ``warps`` warps each that take turns in ``depth`` things."""
        self.shared.array(f"{name} barriers", DType("u8", 8), depth * groups * BARRIER_BYTES, None)
        return OrderedSequence.make(self, name, depth, groups, warps)

    def init_barriers(self) -> None:
        """One warp initialises the CTA's mbarriers; a barrier of all threads must follow, or of all the cluster's."""
        registers = self.recorder.registers
        base, count = registers.uniform(), registers.uniform(2)
        lines = [Line("S2UR", base), Line("ULEA", base, (base,)), Line("ELECT", registers.predicate()),
                 *(Line(m, (count[0] + n, 1)) for n in range(2) for m in ("UIADD3", "USHF.L.U32")),
                 Line("FENCE.VIEW.ASYNC.S")]
        self.code(lines)
        for index in range(len(self.barriers)):
            nobody = pack_mbarrier(index, MBarrierAction.arrive)
            self.code(self.recorder.kept(("init",), lambda: Code((
                Line("SYNCS.EXCH.64", (0, 0), (base, count), 0, operand=True),))), Instance(operand=nobody))

    # clusters

    def cluster_shape(self, cluster: tuple[int, int]) -> ClusterShape:
        """CTAs along m and n. Raises UserError for a cluster that is too large, or that the GPU does not have."""
        shape = ClusterShape(*cluster)
        if shape.size > 1:
            require_hopper("a cluster of several CTAs", self.spec)
        return shape

    @property
    def cluster_rank(self) -> int:
        """Of CTAs of this class in their cluster: x + y * m, x along m, y along n."""
        return self.grid.rank

    def cluster_arrive(self) -> None:
        """barrier.cluster.arrive: each warp of the cluster arrives once, and goes on."""
        require_hopper("the barrier of a cluster", self.spec)
        self.code(self.recorder.kept(("cluster arrive",), lambda: Code((Line("UCGABAR_ARV"),))))

    def cluster_wait(self) -> None:
        """barrier.cluster.wait: until all warps of the cluster have arrived."""
        require_hopper("the barrier of a cluster", self.spec)
        self.code(self.recorder.kept(("cluster wait",), lambda: Code((Line("UCGABAR_WAIT"),))))

    # wgmma

    def accumulators(self, mma: WarpgroupMma) -> Accumulators:
        """Registers of a warpgroup for its part of the tile."""
        require_hopper(mma.atom.name, self.spec)
        return accumulators(self.recorder.registers, mma)

    def operand_fragment(self, mma: WarpgroupMma, k: int) -> OperandFragment:
        """Registers for A of an _RS atom, ``k`` elements long."""
        return operand_fragment(self.recorder.registers, mma, k)

    def load_operand(self, fragment: OperandFragment, shared: OperandTile) -> None:
        """ldmatrix of A, 64 rows a warpgroup, K-major."""
        if shared.of.layout.extent[1] * 4 != fragment.registers[1] * 16:
            raise UserError("a fragment holds all of its stage along k", place=shared.of.name,
                            got=f"{fragment.registers[1]} registers")
        self.load_matrix(fragment.mma, fragment.registers, shared)

    def warpgroup_gemm(self, mma: WarpgroupMma, into: Accumulators, a: OperandTile | OperandFragment, b: OperandTile, *,
                       accumulate: bool = True) -> None:
        """into += a * b over all k of a stage, or into = a * b. Asynchronous: operands and accumulators belong to the
        tensor cores until warpgroup_wait."""
        recorder = self.recorder
        if mma.num_warps != recorder.num_warps:
            raise UserError("a tiled MMA uses all warps of its role", got=f"{mma.num_warps} of {recorder.num_warps}")
        place = a.base_address if isinstance(a, OperandTile) else a
        row = recorder.access_row(("gmma", place, b.base_address, mma), lambda: gemm_accesses(
            mma, a, b, recorder.num_warps))
        stage = recorder.kept(("gemm stage",), recorder.registers.uniform)
        if isinstance(a, OperandTile):
            steps = a.of.layout.extent[1] // mma.atom.shape_mnk[2]
            code = recorder.kept(("gemm", into, a.of, b.of, accumulate), lambda: gemm_code(
                recorder, mma, into, steps, stage, accumulate=accumulate))
        else:
            code = recorder.kept(("gemm", into, a, b.of, accumulate), lambda: register_code(
                recorder, mma, into, a, stage, accumulate=accumulate))
        self._in_flight()[into] = None
        self.code(code, Instance(row))

    def warpgroup_arrive(self) -> None:
        """wgmma.fence: registers and shared memory written so far are there for the wgmmas that follow."""
        require_hopper("wgmma", self.spec)
        self.code(self.recorder.kept(("arrive",), lambda: Code((Line("WARPGROUP.ARRIVE"),))))

    def warpgroup_commit(self) -> None:
        """Close the group of the wgmmas since the last one. Raises UserError where none has just been issued."""
        if not self.recorder.amend(lambda spec: closing(spec) if isinstance(spec, Code) else None):
            raise UserError("a wgmma group is closed right behind its last wgmma", suggestion="gemm, then commit")

    def warpgroup_wait(self, pending: int) -> None:
        """Wait until at most ``pending`` groups are under way; with 0, accumulators may be read."""
        flying = self._in_flight()
        groups = tuple(each.whole for each in flying) if pending == 0 else ()
        if pending == 0:
            flying.clear()
        self.code(self.recorder.kept(("wait", pending, groups), lambda: wait_for_groups(pending, groups)))

    def _in_flight(self) -> dict[Accumulators, None]:
        """Accumulators that the role's wgmmas have not handed over."""
        empty: dict[Accumulators, None] = {}
        return self.recorder.kept(("in flight",), lambda: empty)

    # epilogue

    def pack(self, accumulators: Accumulators, block: int, column: int, columns: int) -> Group:
        """Neighbouring accumulators of some columns of a block, rounded to pairs of f16; their registers."""
        start, count = subtile_registers(accumulators, block, column, columns)
        key = ("pack", accumulators, block, column, columns)
        lines, packed = self.recorder.kept(key, lambda: pack_lines(
            self.recorder.registers, [(start + n, 1) for n in range(count)]))
        self.code(lines)
        return packed

    def load_matrix(self, mma: WarpgroupMma, registers: Group, shared: OperandTile) -> None:
        """ldmatrix of a staging tile, what store_matrix would put there: pairs of 16 bits, half as many as columns / 2.
        """
        recorder = self.recorder
        row = recorder.access_row(("ldsm", shared.of.name, mma), lambda: store_accesses(mma, shared, load=True))
        address = recorder.kept(("ldsm address", shared.of.name), recorder.registers.vector)
        code = recorder.kept(("ldsm", registers, shared.of.name), lambda: Code((
            Line("LEA", address), *load_code(registers, address).lines)))
        self.code(code, Instance(row, shared.stage * shared.of.stage_bytes))

    def store_matrix(self, mma: WarpgroupMma, packed: Group, shared: OperandTile) -> None:
        """stmatrix of packed pairs to a staging tile of as many rows as the warpgroups have in a block."""
        recorder = self.recorder
        row = recorder.access_row(("stsm", shared.of.name, mma), lambda: store_accesses(mma, shared))
        address = recorder.kept(("stsm address", shared.of.name), recorder.registers.vector)
        code = recorder.kept(("stsm", packed, shared.of.name), lambda: Code((
            Line("LEA", address), *store_code(packed, address).lines)))
        self.code(code, Instance(row, shared.stage * shared.of.stage_bytes))

    def fence_async(self) -> None:
        """fence.proxy.async: what this thread wrote to shared memory is there for TMA once others know of it."""
        written, seen = self.recorder.kept(("fence order",), self.recorder.registers.predicate), self._fenced()
        self.code(self.recorder.kept(("fence async",), lambda: Code((
            Line("MEMBAR.ALL.CTA", written), Line("FENCE.VIEW.ASYNC.S", seen, (written,))))))

    def _fenced(self) -> Group:
        """Stands for the scoreboard barrier of the last fence, which the next barrier waits for."""
        return self.recorder.kept(("fenced",), self.recorder.registers.predicate)

    def named_barrier(self, number: int, *, warps: int) -> None:
        """bar.sync of ``warps`` warps, at one of the barriers 1 to 15."""
        if not 1 <= number < NAMED_BARRIERS:
            raise UserError("a CTA has the named barriers 1 to 15", got=number)
        operand = number | warps * LANES << COUNT_SHIFT
        self.code(self.recorder.kept(("bar", operand), lambda: Code((
            Line("BAR.SYNC.DEFER_BLOCKING", (0, 0), (self._fenced(),), immediate=operand),))))

    def bulk_commit(self) -> None:
        """cp.async.bulk.commit_group: the bulk stores since the last one are a group."""
        self.code(self.recorder.kept(("bulk commit",), lambda: Code((Line("UTMACMDFLUSH", memory_key=BULK_GROUP),))))

    def bulk_wait(self, pending: int) -> None:
        """Wait until all but ``pending`` groups of bulk stores have read shared memory."""
        self.code(self.recorder.kept(("bulk wait", pending), lambda: Code((Line("DEPBAR.LE", immediate=pending),))))

    # registers

    def set_max_registers(self, registers: int) -> None:
        """setmaxnreg: this role's warps go on with so many registers each; the launch has all that a CTA can have."""
        require_hopper("setmaxnreg", self.spec)
        if not 24 <= registers <= 256 or registers % REGISTER_UNIT:
            raise UserError("setmaxnreg takes 24 to 256 registers, a multiple of 8", got=registers)
        self.reallocates_registers = True
        recorder = self.recorder
        granted = recorder.registers.predicate()
        grows = registers * self.grid.num_warps * LANES > self.spec.sm.registers
        lines = (Line("USETMAXREG.TRY_ALLOC.CTAPOOL", granted), Line("BRA", (0, 0), (granted,)))
        self.code(Code(lines if grows else (Line("USETMAXREG.DEALLOC.CTAPOOL"),)))

    def bulk(self, atom: BulkAtom, tile: BulkTile, shared: OperandTile, barrier: int | None,
             multicast: str | None = None) -> None:
        """Start a TMA load that ``barrier`` counts, or a TMA store. ``multicast``: see Context.copy."""
        require_hopper(atom.name, self.spec)
        if (barrier is None) != (atom.target == "global"):
            raise UserError("a TMA load names the barrier that counts its bytes, a store none",
                            got=f"barrier={barrier}")
        if (multicast is None) == (atom.name == MULTICAST):
            raise UserError(f"{MULTICAST}, and nothing else, names the axis of the cluster whose CTAs share the tile",
                            got=f"{atom.name} and multicast={multicast}")
        rank = self.grid.rank
        sharers = self.grid.cluster.sharers(rank, multicast) if multicast else ()
        code, instance = bulk_copy(self.recorder, self.mover, atom, tile, shared, -1 if barrier is None else barrier,
                                   sharers, sharers.index(rank) if sharers else 0)
        self.code(code, instance)


def wait_for_groups(pending: int, accumulators: tuple[Group, ...]) -> Code:
    """``accumulators``: what the instruction hands over: whoever reads it stays behind."""
    if not accumulators:
        return Code((Line("WARPGROUP.DEPBAR.LE", immediate=pending),))
    return Code(tuple(Line("WARPGROUP.DEPBAR.LE", group, (group,), immediate=pending) for group in accumulators))
