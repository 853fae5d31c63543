"""Models the sm90 collectives of CUTLASS 3 and 4: KernelTmaWarpSpecialized and ...Cooperative, main loop and epilogue.
Leaves out clusters, a tensor C (beta is 0, though the code for it is there), and what a failed wait executes.

Source: cutlass/gemm/kernel/sm90_gemm_tma_warpspecialized{,_cooperative}.hpp, gemm/collective/
sm90_mma_tma_gmma_ss_warpspecialized.hpp, epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp and its builder.
Instructions that a schedule executes besides are counted in the code that nvcc 13 makes of both (see SCHEDULES).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import gpusim as gs

__all__ = ["SCHEDULES", "Schedule", "Sm90Gemm", "sm90_tiles"]

EPILOGUE_BARRIER, STORES_IN_FLIGHT = 1, 1
EPILOGUE_STAGES, EPILOGUE_COLUMNS = 4, 32
STORAGE_ALIGNMENT = 512
CONSTANTS = 10
"""Registers: alpha, beta, and a part of C."""
Coords = tuple[gs.BlockCoordinate, gs.BlockCoordinate]


@dataclass(frozen=True)
class Schedule:
    """``consumers``: warpgroups that multiply. ``own_staging``: the epilogue has shared memory of its own, not that of
    the main loop. ``persistent``: CTAs take tile after tile. ``registers`` of producers and consumers, (0, 0): nobody
    asks. Instructions: ``all_warps`` execute at the start, ``producer`` and ``consumer`` besides, a consumer before
    its first stored part (``epilogue``), anybody ``between`` tiles and to find that there is none (``end``); ``moves``:
    R2UR per stage, where the producer keeps its counters in vector registers."""

    consumers: int
    own_staging: bool
    persistent: bool
    registers: tuple[int, int]
    all_warps: int
    producer: int
    consumer: int
    epilogue: int
    between: int = 0
    end: int = 0
    moves: int = 0


SCHEDULES = {
    "warp_specialized": Schedule(1, False, False, (0, 0), all_warps=58, producer=40, consumer=4, epilogue=74),
    "cooperative": Schedule(2, True, True, (40, 232), all_warps=170, producer=80, consumer=50, epilogue=36, between=120,
                            end=30, moves=8),
}


@dataclass(eq=False)
class Sm90Gemm:
    """One kernel: its shared memory, pipeline and roles. ``majors`` of A and B: K or MN."""

    ctx: gs.Context
    schedule: Schedule
    tile: tuple[int, int, int]
    num_stages: int
    majors: tuple[str, str]
    input_type: gs.DType
    alpha: float

    def __post_init__(self) -> None:
        bM, bN, _ = self.tile
        name = {"f16": "F16", "bf16": "BF16"}.get(self.input_type.name)
        if name is None:
            raise gs.UserError("the sm90 collectives here multiply f16 or bf16", got=self.input_type)
        atom = getattr(gs.mma, f"SM90_64x{bN}x16_F32{name}{name}F32_SS")
        self.mma: gs.WarpgroupMma = gs.tiled_mma(atom, tile=(bM, bN), warps=(4 * self.schedule.consumers, 1))
        self.columns = int(np.gcd(EPILOGUE_COLUMNS, bN))
        parts = self.mma.blocks * (bN // self.columns)
        self.epilogue_stages = max(min(parts, EPILOGUE_STAGES), min(parts, 2) + 1)

    @property
    def num_warps(self) -> int:
        return 4 + self.mma.num_warps

    def allocate(self) -> None:
        """Shared memory as the kernels' SharedStorage has it: one after another, or a union and barriers behind it."""
        if self.schedule.own_staging:
            self.ab = self._pipeline()
            self.sD = self._staging(None)
            self.sA, self.sB = self._operands()
        else:
            self.sA, self.sB = self._operands()
            self.sD = self._staging(self.sA)
            self.ab = self._pipeline()
            rest = -self.ctx.shared.used_bytes % STORAGE_ALIGNMENT
            self.ctx.smem_array("barriers of C and padding", gs.u8, rest - -self.ctx.shared.used_bytes % 128)

    def _operands(self) -> tuple[gs.SmemOperand, gs.SmemOperand]:
        (bM, bN, bK), stages = self.tile, self.num_stages
        extents = {"A": bM, "B": bN}
        made = [self.ctx.smem_operand(f"s{name}", self.input_type, (rows, bK, stages), major=major,
                                      swizzle=_widest(bK if major == "K" else rows))
                for (name, rows), major in zip(extents.items(), self.majors, strict=True)]
        return made[0], made[1]

    def _staging(self, over: gs.SmemOperand | None) -> gs.SmemOperand:
        shape = (self.mma.pass_rows, self.columns, self.epilogue_stages)
        return self.ctx.smem_operand("sD", gs.f16, shape, swizzle=_widest(self.columns), over=over)

    def _pipeline(self) -> gs.Pipeline:
        (bM, bN, bK), element = self.tile, self.input_type.bytes
        return self.ctx.pipeline("ab", num_stages=self.num_stages, via="tma", tx_bytes=(bM + bN) * bK * element,
                                 consumer_warps=self.mma.num_warps)

    def tiles(self, A: gs.GmemTensor, B: gs.GmemTensor, coords: Coords) -> tuple[gs.BulkTile, gs.BulkTile]:
        """The CTA's tiles of the operands, to be selected along k."""
        bM, bN, bK = self.tile
        return (self.ctx.bulk_tile(A, (bM, bK), (coords[0], None)), self.ctx.bulk_tile(B, (bN, bK), (coords[1], None)))

    # roles

    @gs.device_function
    def begin(self, role: str) -> None:
        """What every warp does until roles part: decide its role, find its first tile; the first one makes barriers."""
        ctx, plan = self.ctx, self.schedule
        with ctx.scope("prologue"):
            ctx.code(gs.setup_lines(ctx.recorder.registers, plan.all_warps, []))
            if role == "producer":
                ctx.init_barriers()
            ctx.sync_threads()
            more = {"producer": plan.producer, "consumer": plan.consumer}.get(role, 0)
            if more:
                ctx.code(gs.setup_lines(ctx.recorder.registers, more, []))
            if plan.registers[0]:
                ctx.set_max_registers(plan.registers[role == "consumer"])

    @gs.device_function
    def visits(self) -> Iterator[None]:
        """The CTA's tiles, one after another, as its persistent scheduler finds them."""
        for number, _ in enumerate(self.ctx.visits()):
            if number:
                self._schedule("next tile", self.schedule.between)
            yield
        self._schedule("end", self.schedule.end)

    def _schedule(self, what: str, instructions: int) -> None:
        if not instructions:
            return
        with self.ctx.scope("scheduler"):
            self.ctx.code(self.ctx.recorder.kept((what,), lambda: gs.setup_lines(
                self.ctx.recorder.registers, instructions, [])))

    @gs.device_function
    def load(self, producer: gs.Producer, gA: gs.BulkTile, gB: gs.BulkTile) -> None:
        """The producer's part of a tile."""
        ctx = self.ctx
        for k_tile in ctx.range(gA.count, name="main_loop"):
            empty = producer.acquire_and_advance()
            if self.schedule.moves:
                ctx.code(ctx.recorder.kept(("moves",), lambda: [
                    gs.Line("R2UR", ctx.recorder.registers.uniform(), (producer.phase,))
                    for _ in range(self.schedule.moves)]))
            ctx.copy(gs.copy.SM90_TMA_LOAD, gA[..., k_tile], self.sA[..., empty.index], barrier=empty.barrier)
            ctx.copy(gs.copy.SM90_TMA_LOAD, gB[..., k_tile], self.sB[..., empty.index], barrier=empty.barrier)
            empty.commit()

    @gs.device_function
    def multiply(self, consumer: gs.Consumer, accumulators: gs.Accumulators, k_tiles: int) -> None:
        """The consumers' part of a tile: one group of wgmma stays in flight while the next stage is awaited."""
        ctx = self.ctx
        with ctx.scope("mma_prologue"):
            held = self._multiply_stage(consumer, accumulators, accumulate=False)
        for _ in ctx.range(k_tiles - 1, name="main_loop"):
            full = self._multiply_stage(consumer, accumulators, accumulate=True)
            ctx.warpgroup_wait(1)
            held.release()
            held = full
        with ctx.scope("mma_tail"):
            ctx.warpgroup_wait(0)
            held.release()

    def _multiply_stage(self, consumer: gs.Consumer, accumulators: gs.Accumulators, *, accumulate: bool) -> gs.Stage:
        ctx = self.ctx
        full = consumer.wait_and_advance()
        ctx.warpgroup_arrive()
        ctx.gemm(self.mma, accumulators, self.sA[..., full.index], self.sB[..., full.index], accumulate=accumulate)
        ctx.warpgroup_commit()
        return full

    @gs.device_function
    def store(self, accumulators: gs.Accumulators, gD: gs.BulkTile) -> None:
        """D = alpha * accumulators + beta * C, part by part: registers, stmatrix, TMA."""
        ctx, mma, columns = self.ctx, self.mma, self.columns
        with ctx.scope("epilogue"):
            constants = ctx.recorder.kept(("constants",), lambda: ctx.recorder.registers.vector(CONSTANTS))
            ctx.code(ctx.recorder.kept(("epilogue setup",), lambda: [
                *gs.setup_lines(ctx.recorder.registers, self.schedule.epilogue, []),
                *_constant_lines(constants, self.alpha)]))
            parts = [(n, m) for n in range(self.tile[1] // columns) for m in range(mma.blocks)]
            for number, (n, m) in enumerate(parts):
                part = self.sD[..., number % self.epilogue_stages]
                packed = self._apply(accumulators, m, n * columns, constants)
                ctx.store_matrix(mma, packed, part)
                ctx.fence_async()
                ctx.named_barrier(EPILOGUE_BARRIER, warps=mma.num_warps)
                ctx.copy(gs.copy.SM90_TMA_STORE, part, gD.part((mma.pass_rows, columns), m, n))
                ctx.bulk_commit()
                ctx.bulk_wait(STORES_IN_FLIGHT)
                ctx.code([gs.Line("BSYNC")])
                ctx.named_barrier(EPILOGUE_BARRIER, warps=mma.num_warps)

    @gs.device_function
    def drain(self) -> None:
        """The last stores have read shared memory."""
        with self.ctx.scope("epilogue"):
            self.ctx.bulk_wait(0)

    def _apply(self, accumulators: gs.Accumulators, block: int, column: int, constants: gs.Group) -> gs.Group:
        """LinearCombination as compiled for a C that may be there: a skipped load leaves zeros, to be scaled too."""
        code = self.ctx.recorder.kept(("apply", block, column), lambda: _apply_lines(
            self.ctx, accumulators, block, column, self.columns, constants))
        self.ctx.code(code[0])
        return code[1]


def _constant_lines(constants: gs.Group, alpha: float) -> list[gs.Line]:
    """alpha and beta, and the registers that a load of C would fill."""
    bits = int(np.float32(alpha).view(np.uint32))
    first = constants[0]
    return [gs.Line("MOV", (first, 1), immediate=bits - (bits >> 31 << 32)), gs.Line("MOV", (first + 1, 1)),
            *(gs.Line("CS2R", (first + 2 + 2 * n, 2)) for n in range(4))]


def _apply_lines(ctx: gs.Context, accumulators: gs.Accumulators, block: int, column: int, columns: int,
                 constants: gs.Group) -> tuple[list[gs.Line], gs.Group]:
    start, count = gs.subtile_registers(accumulators, block, column, columns)
    registers, alpha, beta = ctx.recorder.registers, (constants[0], 1), (constants[0] + 1, 1)
    lines = [gs.Line("BRA", (0, 0), (registers.predicate(),))]  # past the wait for C
    values = []
    for n in range(count):
        value, widened = (start + n, 1), registers.vector()
        source = (constants[0] + 2 + n // 2 % 8, 1)
        lines += [gs.Line(f"HADD2.F32.H{n % 2}_H{n % 2}", widened, (source,)), gs.Line("FMUL", value, (value, alpha)),
                  gs.Line("FFMA", value, (widened, beta, value))]
        values.append(value)
    more, packed = gs.pack_lines(registers, values)
    return [*lines, *more], packed


def _widest(elements: int) -> str:
    """CUTLASS's ss_smem_selector: the widest swizzle whose blocks make up the contiguous mode of 16-bit elements."""
    return next((name for name, width in (("128B", 64), ("64B", 32), ("32B", 16)) if elements % width == 0), "none")


def sm90_tiles(tiles: tuple[int, int], ctas: int) -> np.ndarray:
    """PersistentTileSchedulerSm90 for clusters of one CTA and no swizzle: a ``schedule`` of gs.Context.persist. Along m
    first where there are more tiles along n, else along n."""
    number = np.arange(tiles[0] * tiles[1])
    along_m = tiles[1] > tiles[0]
    m, n = (number % tiles[0], number // tiles[0]) if along_m else (number // tiles[1], number % tiles[1])
    ctas = min(ctas, len(number))
    visits = -(-len(number) // ctas)
    schedule = np.full((visits * ctas, 5), -1, np.int64)
    schedule[: len(number)] = np.stack([0 * number, m, n, 0 * number, 0 * number], axis=1)
    return schedule.reshape(visits, ctas, 5).swapaxes(0, 1)
