"""Models the sm90 collectives of CUTLASS 3 and 4: shared memory of a kernel, how roles begin, what producers load.
Leaves out consumers (common.sm90_consumer), what a failed wait executes, and that C's first load waits for A's.

Source: cutlass/gemm/kernel/sm90_gemm_tma_warpspecialized{,_cooperative,_pingpong}.hpp, gemm/collective/
sm90_mma_tma_gmma_ss_warpspecialized.hpp. Instructions besides: common.sm90_schedule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gpusim as gs
from common.sm90_epilogue import Sm90Epilogue, widest_swizzle
from common.sm90_schedule import Schedule

__all__ = ["Sm90Gemm"]

STORAGE_ALIGNMENT = 512
ORDERED = 2
"""What consumers that take turns do in turn: multiply and store."""
Coords = tuple[gs.BlockCoordinate, gs.BlockCoordinate]


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
        self.mma: gs.WarpgroupMma = gs.tiled_mma(atom, tile=(bM, bN), warps=(self.schedule.warps_per_tile, 1))
        self.order: gs.OrderedSequence | None = None

    @property
    def num_warps(self) -> int:
        return 4 + self.schedule.turns * self.mma.num_warps

    def allocate(self) -> None:
        """Shared memory as the kernels' SharedStorage has it: one after another, or a union and barriers behind it."""
        self.epilogue = Sm90Epilogue(self.ctx, self.mma, self.schedule.epilogue, self.alpha, self.beta)
        if self.schedule.own_staging:
            self.ab = self._pipeline()
            self.epilogue.allocate_barriers()
            self._allocate_order()
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

    def _allocate_order(self) -> None:
        """math_wg_order_barrier."""
        if self.schedule.takes_turns:
            self.order = self.ctx.ordered_sequence("order", depth=ORDERED, groups=self.schedule.turns,
                                                   warps=self.mma.num_warps)

    def tiles(self, A: gs.GmemTensor, B: gs.GmemTensor, coords: Coords) -> tuple[gs.BulkTile, gs.BulkTile]:
        """The CTA's tiles of the operands, to be selected along k."""
        bM, bN, bK = self.tile
        return (self.ctx.bulk_tile(A, (bM, bK), (coords[0], None)), self.ctx.bulk_tile(B, (bN, bK), (coords[1], None)))

    # roles

    @gs.device_function
    def begin(self, role: str) -> None:
        """What every warp does until roles part: decide its role, find its first tile; the first one makes barriers.
        An "idle consumer" has no tile."""
        ctx, plan = self.ctx, self.schedule
        ctx.parameters(plan.parameter_bytes)
        with ctx.scope("prologue"):
            ctx.code(gs.setup_lines(ctx.recorder.registers, self._alike(role), []))
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
                ctx.set_max_registers(plan.registers[role.endswith("consumer")])

    def _alike(self, role: str) -> int:
        """Instructions that do not depend on the role, but on whether it has a tile."""
        plan = self.schedule
        return (plan.all_warps + plan.in_cluster * (self.cluster != (1, 1))
                + plan.first_tile * (role != "idle consumer"))

    @gs.device_function
    def visits(self, first: int = 0, step: int = 1, *, consumer: bool = False) -> Iterator[None]:
        """The CTA's tiles from ``first`` on, or one of every ``step``, as its persistent scheduler finds them."""
        plan = self.schedule
        for number, _ in enumerate(self.ctx.visits()):
            if number % step == first:
                if number >= step:
                    self._schedule("next tile", plan.between[consumer])
                yield
        if self.has_tiles(first):
            self._schedule("end", plan.end[consumer])

    def has_tiles(self, first: int) -> bool:
        """Whether the CTA has more tiles than those that come before number ``first``."""
        return sum(1 for _ in self.ctx.visits()) > first

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
