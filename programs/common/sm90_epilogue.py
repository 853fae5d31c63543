"""Models the sm90 epilogue of CUTLASS 3 and 4: D = alpha * accumulators + beta * C, part by part through shared memory.
Leaves out other operators, C and D of other types than f16, and C and D in buffers of their own.

Source: cutlass/epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp and its builder. A part of C comes by TMA into
the stage that the same part of D leaves from (ReuseSmemC); a stage is free when the store from it has read it, which is
known one store later. Code without C is as compiled for a beta of 0; what C adds is not counted in compiled code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

import gpusim as gs

__all__ = ["Sm90Epilogue", "widest_swizzle"]

BARRIER, STORES_IN_FLIGHT = 1, 1
MOST_STAGES, COLUMNS = 4, 32
CONSTANTS = 10
"""Registers: alpha, beta, and a part of C."""
C_REGISTERS = 2
"""First of C among them."""


@dataclass
class _Progress:
    """Of a role of consumers, over all tiles: ``parts`` that it has stored or passed over; stages of C ``held``."""

    parts: int = 0
    held: list[gs.Stage] = field(default_factory=list)


@dataclass(eq=False)
class Sm90Epilogue:
    """Of the accumulators of ``mma``; ``instructions`` that a consumer executes before its first part."""

    ctx: gs.Context
    mma: gs.WarpgroupMma
    instructions: int
    alpha: float
    beta: float
    pipeline: gs.Pipeline | None = None
    staging: gs.SmemOperand = field(init=False)

    def __post_init__(self) -> None:
        self.columns = int(np.gcd(COLUMNS, self.mma.tile[1]))
        parts = self.mma.blocks * (self.mma.tile[1] // self.columns)
        self.stages = max(min(parts, MOST_STAGES), min(parts, 2) + 1)

    @property
    def part_shape(self) -> tuple[int, int]:
        return self.mma.pass_rows, self.columns

    def allocate_staging(self, over: gs.SmemOperand | None) -> None:
        self.staging = self.ctx.smem_operand("sD", gs.f16, (*self.part_shape, self.stages),
                                             swizzle=widest_swizzle(self.columns), over=over)

    def allocate_barriers(self) -> None:
        """For the loads of C, where there is one; those of other CTAs have nothing to do with them."""
        if self.beta:
            part_bytes = self.part_shape[0] * self.part_shape[1] * gs.f16.bytes
            self.pipeline = self.ctx.pipeline("c", num_stages=self.stages, tx_bytes=part_bytes, private=True,
                                              consumer_warps=self.mma.num_warps)

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Along m first."""
        return ((m, n) for n in range(self.mma.tile[1] // self.columns) for m in range(self.mma.blocks))

    @gs.device_function
    def load(self, producer: gs.Producer, gC: gs.BulkTile) -> None:
        """The producer's part: a tile of C."""
        ctx = self.ctx
        with ctx.scope("epilogue"):
            for m, n in self._parts():
                empty = producer.acquire_and_advance()
                ctx.copy(gs.copy.SM90_TMA_LOAD, gC.part(self.part_shape, m, n), self.staging[..., empty.index],
                         barrier=empty.barrier)
                empty.commit()

    @gs.device_function
    def store(self, accumulators: gs.Accumulators, gD: gs.BulkTile) -> None:
        """The consumers' part: registers, stmatrix, TMA."""
        ctx, mma = self.ctx, self.mma
        with ctx.scope("epilogue"):
            constants = ctx.recorder.kept(("constants",), lambda: ctx.recorder.registers.vector(CONSTANTS))
            ctx.code(ctx.recorder.kept(("epilogue setup",), lambda: [
                *_setup_lines(ctx, self.instructions),
                *_constant_lines(constants, self.alpha, self.beta)]))
            for m, n in self._parts():
                part = self._next_stage(constants)
                packed = self._apply(accumulators, m, n * self.columns, constants)
                ctx.store_matrix(mma, packed, part)
                ctx.fence_async()
                ctx.named_barrier(BARRIER, warps=mma.num_warps)
                ctx.copy(gs.copy.SM90_TMA_STORE, part, gD.part(self.part_shape, m, n))
                ctx.bulk_commit()
                ctx.bulk_wait(STORES_IN_FLIGHT)
                ctx.code([gs.Line("BSYNC")])
                ctx.named_barrier(BARRIER, warps=mma.num_warps)
                self._release(STORES_IN_FLIGHT)

    @gs.device_function
    def pass_over(self, tiles: int) -> None:
        """Stages of tiles that other consumers store."""
        parts = tiles * len(list(self._parts()))
        self._progress().parts += parts
        if parts and self.pipeline is not None:
            self.pipeline.consumer().advance(parts)

    @gs.device_function
    def drain(self) -> None:
        """The last stores have read shared memory."""
        with self.ctx.scope("epilogue"):
            self.ctx.bulk_wait(0)
            self._release(0)

    @gs.device_function
    def _next_stage(self, constants: gs.Group) -> gs.OperandTile:
        """Where a part of D goes: with C, the stage that it comes from, now in registers."""
        progress = self._progress()
        progress.parts += 1
        if self.pipeline is None:
            return self.staging[..., (progress.parts - 1) % self.stages]
        full = self.pipeline.consumer().wait_and_advance()
        progress.held.append(full)
        part = self.staging[..., full.index]
        self.ctx.load_matrix(self.mma, (constants[0] + C_REGISTERS, self.columns // 4), part)
        return part

    @gs.device_function
    def _release(self, in_flight: int) -> None:
        """Stages whose stores have been read, all but the newest ``in_flight``."""
        held = self._progress().held
        while len(held) > in_flight:
            held.pop(0).release()

    def _progress(self) -> _Progress:
        return self.ctx.recorder.kept(("progress of the epilogue",), _Progress)

    def _apply(self, accumulators: gs.Accumulators, block: int, column: int, constants: gs.Group) -> gs.Group:
        """LinearCombination as compiled for a C that may be there: a skipped load leaves zeros, to be scaled too."""
        code = self.ctx.recorder.kept(("apply", block, column), lambda: _apply_lines(
            self.ctx, accumulators, block, column, self.columns, constants))
        self.ctx.code(code[0])
        return code[1]


def _setup_lines(ctx: gs.Context, count: int) -> list[gs.Line]:
    """What a consumer does before its first part, ``count`` instructions: which of alpha, beta and C are there, one
    test after the other. Compiled code takes 275 to 300 cycles for 49 to 77 of them (sampled in three kernels), as most
    wait for the one before."""
    registers, lines = ctx.recorder.registers, list[gs.Line]()
    for loads, uniform in ((True, False), (False, True), (False, True), (False, False), (False, False), (False, True)):
        value, flag, done = registers.vector(), registers.predicate(), registers.predicate()
        if loads:
            lines.append(gs.Line("LDC", value))
        if uniform:
            pointer, there, found = registers.uniform(), registers.uniform(), registers.uniform()
            lines += [gs.Line("R2UR", pointer, (value,)), gs.Line("UISETP.NE.AND", there, (pointer,)),
                      gs.Line("UISETP.NE.AND", found, (pointer, there)), gs.Line("PLOP3.LUT", flag, (found,))]
        else:
            lines += [gs.Line("ISETP.NE.AND", flag, (value,)), gs.Line("SEL", value, (flag,))]
        lines += [gs.Line("PLOP3.LUT", done, (flag,)), gs.Line("BRA", (0, 0), (done,))]
    return [*lines, *gs.setup_lines(registers, count - len(lines), [])]


def _constant_lines(constants: gs.Group, alpha: float, beta: float) -> list[gs.Line]:
    """alpha and beta, and the registers that a load of C would fill."""
    first = constants[0]
    return [gs.Line("MOV", (first, 1), immediate=_bits(alpha)), gs.Line("MOV", (first + 1, 1), immediate=_bits(beta)),
            *(gs.Line("CS2R", (first + C_REGISTERS + 2 * n, 2)) for n in range(4))]


def _bits(value: float) -> int:
    """Of an f32, as a signed number of 32 bits."""
    return int(np.float32(value).view(np.int32))


def _apply_lines(ctx: gs.Context, accumulators: gs.Accumulators, block: int, column: int, columns: int,
                 constants: gs.Group) -> tuple[list[gs.Line], gs.Group]:
    start, count = gs.subtile_registers(accumulators, block, column, columns)
    registers, alpha, beta = ctx.recorder.registers, (constants[0], 1), (constants[0] + 1, 1)
    lines = [gs.Line("BRA", (0, 0), (registers.predicate(),))]  # past the wait for C
    values = []
    for n in range(count):
        value, widened = (start + n, 1), registers.vector()
        source = (constants[0] + C_REGISTERS + n // 2 % 8, 1)
        lines += [gs.Line(f"HADD2.F32.H{n % 2}_H{n % 2}", widened, (source,)), gs.Line("FMUL", value, (value, alpha)),
                  gs.Line("FFMA", value, (widened, beta, value))]
        values.append(value)
    more, packed = gs.pack_lines(registers, values)
    return [*lines, *more], packed


def widest_swizzle(elements: int) -> str:
    """CUTLASS's ss_smem_selector: the widest swizzle whose blocks make up the contiguous mode of 16-bit elements."""
    return next((name for name, width in (("128B", 64), ("64B", 32), ("32B", 16)) if elements % width == 0), "none")
