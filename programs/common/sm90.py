"""Models the sm90 collectives of CUTLASS 3 and 4: KernelTmaWarpSpecialized and ...Cooperative, roles and main loop.
Leaves out the epilogue (common.sm90_epilogue), what a failed wait executes, and that C's first load waits for A's.

Source: cutlass/gemm/kernel/sm90_gemm_tma_warpspecialized{,_cooperative}.hpp, gemm/collective/
sm90_mma_tma_gmma_ss_warpspecialized.hpp, gemm/kernel/{sm90_tile_scheduler.hpp,tile_scheduler_params.h}. Instructions
that a schedule executes besides are counted in the code that nvcc 13 makes of both without clusters (see SCHEDULES).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpusim as gs
from common.sm90_epilogue import Sm90Epilogue, widest_swizzle

__all__ = ["SCHEDULES", "Schedule", "Sm90Gemm", "sm90_tiles"]

STORAGE_ALIGNMENT = 512
MOST_SMS_PER_GPC = 18
Coords = tuple[gs.BlockCoordinate, gs.BlockCoordinate]


@dataclass(frozen=True)
class Schedule:
    """``consumers``: warpgroups that multiply. ``own_staging``: the epilogue has shared memory of its own, not that of
    the main loop. ``persistent``: CTAs take tile after tile. ``registers`` of producers and consumers, (0, 0): nobody
    asks. Instructions: ``all_warps`` execute at the start, ``producer`` and ``consumer`` besides, a consumer before
    its first stored part (``epilogue``), anybody ``between`` tiles and to find that there is none (``end``); ``moves``:
    R2UR per stage, where the producer keeps its counters in vector registers. ``parameter_bytes`` that are read:
    lines of 64 bytes that the code names."""

    consumers: int
    own_staging: bool
    persistent: bool
    registers: tuple[int, int]
    all_warps: int
    producer: int
    consumer: int
    epilogue: int
    parameter_bytes: int
    between: int = 0
    end: int = 0
    moves: int = 0


SCHEDULES = {
    "warp_specialized": Schedule(1, False, False, (0, 0), all_warps=58, producer=40, consumer=4, epilogue=74,
                                 parameter_bytes=368),
    "cooperative": Schedule(2, True, True, (40, 232), all_warps=170, producer=80, consumer=50, epilogue=36,
                            parameter_bytes=688, between=120, end=30, moves=8),
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
    beta: float = 0.0
    cluster: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        bM, bN, _ = self.tile
        name = {"f16": "F16", "bf16": "BF16"}.get(self.input_type.name)
        if name is None:
            raise gs.UserError("the sm90 collectives here multiply f16 or bf16", got=self.input_type)
        atom = getattr(gs.mma, f"SM90_64x{bN}x16_F32{name}{name}F32_SS")
        self.mma: gs.WarpgroupMma = gs.tiled_mma(atom, tile=(bM, bN), warps=(4 * self.schedule.consumers, 1))

    @property
    def num_warps(self) -> int:
        return 4 + self.mma.num_warps

    def allocate(self) -> None:
        """Shared memory as the kernels' SharedStorage has it: one after another, or a union and barriers behind it."""
        self.epilogue = Sm90Epilogue(self.ctx, self.mma, self.schedule.epilogue, self.alpha, self.beta)
        if self.schedule.own_staging:
            self.ab = self._pipeline()
            self.epilogue.allocate_barriers()
            self.epilogue.allocate_staging(None)
            self.sA, self.sB = self._operands()
        else:
            self.sA, self.sB = self._operands()
            self.epilogue.allocate_staging(self.sA)
            self.ab = self._pipeline()
            self.epilogue.allocate_barriers()
            rest = -self.ctx.shared.used_bytes % STORAGE_ALIGNMENT
            self.ctx.smem_array("barriers of C and padding", gs.u8, rest - -self.ctx.shared.used_bytes % 128)

    def _operands(self) -> tuple[gs.SmemOperand, gs.SmemOperand]:
        (bM, bN, bK), stages = self.tile, self.num_stages
        extents = {"A": bM, "B": bN}
        made = [self.ctx.smem_operand(f"s{name}", self.input_type, (rows, bK, stages), major=major,
                                      swizzle=widest_swizzle(bK if major == "K" else rows))
                for (name, rows), major in zip(extents.items(), self.majors, strict=True)]
        return made[0], made[1]

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
        ctx.parameters(plan.parameter_bytes)
        with ctx.scope("prologue"):
            ctx.code(gs.setup_lines(ctx.recorder.registers, plan.all_warps, []))
            if role == "producer":
                ctx.init_barriers()
            if self.cluster == (1, 1):
                ctx.sync_threads()
            else:
                ctx.cluster_arrive()
                ctx.cluster_wait()
            more = plan.consumer if role == "consumer" else plan.producer if role.endswith("producer") else 0
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
        """The producer's part of a tile. CTAs along m of the cluster share B, those along n share A."""
        ctx = self.ctx
        for k_tile in ctx.range(gA.count, name="main_loop"):
            empty = producer.acquire_and_advance()
            if self.schedule.moves:
                ctx.code(ctx.recorder.kept(("moves",), lambda: [
                    gs.Line("R2UR", ctx.recorder.registers.uniform(), (producer.phase,))
                    for _ in range(self.schedule.moves)]))
            for tile, staged, axis in ((gA, self.sA, "n"), (gB, self.sB, "m")):
                atom, multicast = self._atom(axis)
                ctx.copy(atom, tile[..., k_tile], staged[..., empty.index], barrier=empty.barrier, multicast=multicast)
            empty.commit()

    def _atom(self, axis: str) -> tuple[Any, str | None]:
        """sm90_cluster_shape_to_tma_atom: of the operand that CTAs along an axis of the cluster share."""
        if self.cluster["mn".index(axis)] == 1:
            return gs.copy.SM90_TMA_LOAD, None
        return gs.copy.SM90_TMA_LOAD_MULTICAST, axis

    @gs.device_function
    def load_source(self, C: gs.GmemTensor, coords: Coords) -> None:
        """All tiles of C; where it takes the place of the main loop's stages, after those."""
        pipeline = self.epilogue.pipeline
        assert pipeline is not None
        for _ in self.visits():
            self.epilogue.load(pipeline.producer(), self.ctx.bulk_tile(C, self.tile[:2], coords))
        with self.ctx.scope("epilogue"):
            pipeline.producer().tail()

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


def sm90_tiles(tiles: tuple[int, int], sms: int, cluster: tuple[int, int] = (1, 1)) -> np.ndarray:
    """PersistentTileSchedulerSm90 without swizzle: a ``schedule`` of gs.Context.persist. Clusters take
    clusters of tiles in turn, along m first where there are more tiles along n, else along n; tiles outside the problem
    fill them up."""
    size = cluster[0] * cluster[1]
    clusters = -(-tiles[0] // cluster[0]), -(-tiles[1] // cluster[1])
    number = np.arange(clusters[0] * clusters[1])
    along_m = clusters[1] * cluster[1] > clusters[0] * cluster[0]
    m, n = ((number % clusters[0], number // clusters[0]) if along_m else
            (number // clusters[1], number % clusters[1]))
    rank = np.arange(size)
    places = np.stack([m[:, None] * cluster[0] + rank % cluster[0],
                       n[:, None] * cluster[1] + rank // cluster[0]], axis=2)
    resident = min(_most_ctas(sms, size) // size, len(number))
    visits = -(-len(number) // resident)
    schedule = np.full((visits * resident, size, 5), -1, np.int64)
    schedule[: len(number)] = 0
    schedule[: len(number), :, 1:3] = places
    return schedule.reshape(visits, resident, size, 5).transpose(1, 2, 0, 3).reshape(resident * size, visits, 5)


def _most_ctas(sms: int, size: int) -> int:
    """PersistentTileSchedulerSm90Params::get_max_cta_occupancy: whole clusters in GPCs of 18 SMs and in the rest."""
    if size == 1:
        return sms
    gpcs, left = divmod(sms, MOST_SMS_PER_GPC)
    return max(size, sum(count * (room - room % size) for count, room in ((gpcs, MOST_SMS_PER_GPC), (1, left))))
