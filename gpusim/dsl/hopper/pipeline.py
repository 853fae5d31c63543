"""Models pipelines between roles: stages of shared memory behind pairs of mbarriers, CuTe's acquire, commit, wait,
release, tail. Leaves out waits that give up (try_wait).

A full barrier completes when the stage's data have arrived, an empty one when all its readers have released it. A
barrier's phase is even and odd in turns; who waits names the parity of the phase, and a producer's first waits name
the phase before the first, which has completed. In a cluster, who fills a stage by TMA may fill those of other CTAs
(multicast): consumers release it to all CTAs in their row and column of the cluster, one lane of a warpgroup for each
(cutlass/pipeline/sm90_pipeline.hpp, PipelineTmaAsync).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gpusim.arch.atoms.warpgroup import WARPS_PER_GROUP
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Code, Instance, Line
from gpusim.dsl.tiled import LANES
from gpusim.errors import UserError, did_you_mean
from gpusim.program import MBarrierAction, pack_mbarrier
from gpusim.program.access_builder import Access

if TYPE_CHECKING:
    from gpusim.dsl.hopper.verbs import HopperVerbs

__all__ = ["VIA", "Consumer", "Pipeline", "Producer", "Stage"]

VIA = ("tma", "cp_async")
TRYWAIT, EXPECT = "SYNCS.PHASECHK.TRANS64.TRYWAIT", "SYNCS.ARRIVE.TRANS64"
RELEASE, ASYNC_ARRIVE = "SYNCS.ARRIVE.TRANS64.RED.A1T0", "ARRIVES.LDGSTSBAR.64.TRANSCNT"


@dataclass(frozen=True)
class Pipeline:
    """``num_stages`` stages; barrier n of ``full`` and ``empty`` guards stage n."""

    ctx: HopperVerbs
    name: str
    num_stages: int
    via: str
    tx_bytes: int
    full: tuple[int, ...]
    empty: tuple[int, ...]
    is_shared: bool = False  # CTAs of a cluster fill each other's stages

    @classmethod
    def make(cls, ctx: HopperVerbs, name: str, num_stages: int, via: str, tx_bytes: int, producer_warps: int,
             consumer_warps: int, private: bool = False) -> Pipeline:
        """Raises UserError for a pipeline that cannot run."""
        if via not in VIA:
            raise UserError("a pipeline's data come by TMA or by cp.async", place=name, got=f"via='{via}'",
                            suggestion=did_you_mean(via, VIA))
        if num_stages < 1 or (via == "tma") != (tx_bytes > 0):
            raise UserError("a pipeline has one stage or more, and one by TMA counts the bytes of a stage", place=name,
                            got=f"{num_stages} stages of {tx_bytes} bytes")
        arrivals = 1 if via == "tma" else producer_warps * LANES
        full = tuple(ctx.mbarrier(f"{name}.full[{n}]", arrivals) for n in range(num_stages))
        cluster = ctx.grid.cluster
        is_shared = via == "tma" and cluster.size > 1 and not private
        if is_shared and consumer_warps % WARPS_PER_GROUP:
            raise UserError("in a cluster, whole warpgroups consume what TMA brings", place=name,
                            got=f"{consumer_warps} warps")
        groups, neighbours = consumer_warps // WARPS_PER_GROUP, cluster.m + cluster.n - 1
        released = groups * neighbours if is_shared else consumer_warps * LANES
        empty = tuple(ctx.mbarrier(f"{name}.empty[{n}]", released) for n in range(num_stages))
        return cls(ctx, name, num_stages, via, tx_bytes, full, empty, is_shared)

    def producer(self) -> Producer:
        """The role being recorded fills stages."""
        return self.ctx.recorder.kept(("producer", self.name), lambda: Producer(self))

    def consumer(self) -> Consumer:
        """The role being recorded reads stages."""
        return self.ctx.recorder.kept(("consumer", self.name), lambda: Consumer(self))


@dataclass(frozen=True)
class Stage:
    """A stage that a role holds: its number ``index``, and the ``barrier`` that counts what arrives in it."""

    of: Producer | Consumer
    index: int
    barrier: int

    def commit(self) -> None:
        """Of a producer: the stage is full when its copies have arrived. TMA's bytes say so themselves."""
        if not isinstance(self.of, Producer):
            raise UserError("a consumer releases its stages", place=self.of.pipeline.name, suggestion="release()")
        self.of.commit(self)

    def release(self) -> None:
        """Of a consumer: the stage may be filled again."""
        if not isinstance(self.of, Consumer):
            raise UserError("a producer commits its stages", place=self.of.pipeline.name, suggestion="commit()")
        self.of.release(self)


@dataclass
class _Participant:
    """Stage and phase of one role; ``address``: uniform register with the address of the present stage's barrier.

    ``waiting_lanes``: one elected lane waits for what TMA may overwrite, as in CUTLASS; whole warps for all else.
    """

    pipeline: Pipeline
    count: int = 0
    stage: Group = field(init=False)
    phase: Group = field(init=False)
    address: Group = field(init=False)

    def __post_init__(self) -> None:
        registers = self.pipeline.ctx.recorder.registers
        self.stage, self.phase, self.address = registers.uniform(), registers.vector(), registers.uniform()

    @property
    def waiting_lanes(self) -> int:
        return LANES

    def _wait(self, barriers: tuple[int, ...], parity: int) -> int:
        """Wait for the present stage's barrier; its number. A step to the next one follows."""
        pipeline, number = self.pipeline, self.count % self.pipeline.num_stages
        code = self._kept("wait", lambda: wait_code(self))
        operand = pack_mbarrier(barriers[number], MBarrierAction.wait, parity)
        pipeline.ctx.code(code, Instance(shared_offset=self.waiting_lanes, operand=operand))
        self.count += 1
        return number

    def _step(self) -> None:
        self.pipeline.ctx.code(self._kept("step", lambda: step_code(self)))

    def _round(self) -> int:
        """How often the stages have come round."""
        return self.count // self.pipeline.num_stages

    def _kept(self, what: str, make: Callable[[], Code]) -> Code:
        return self.pipeline.ctx.recorder.kept((type(self).__name__, self.pipeline.name, what), make)


class Producer(_Participant):
    """Fills stages."""

    @property
    def waiting_lanes(self) -> int:
        return 1 if self.pipeline.via == "tma" else LANES

    def acquire_and_advance(self) -> Stage:
        """Wait until the next stage is empty; with TMA, its barrier now expects the stage's bytes."""
        pipeline = self.pipeline
        number = self._wait(pipeline.empty, 1 - self._round() % 2)
        stage = Stage(self, number, pipeline.full[number])
        if pipeline.via == "tma":
            operand = pack_mbarrier(stage.barrier, MBarrierAction.expect_tx)
            pipeline.ctx.code(self._kept("expect", lambda: expect_code(self)), Instance(
                shared_offset=1, global_offset=pipeline.tx_bytes, operand=operand))
        self._step()
        return stage

    def commit(self, stage: Stage) -> None:
        if self.pipeline.via == "cp_async":
            operand = pack_mbarrier(stage.barrier, MBarrierAction.arrive_async)
            self.pipeline.ctx.code(self._kept("commit", lambda: Code((
                Line(ASYNC_ARRIVE, (0, 0), (self.address,), 0, operand=True),))),
                Instance(shared_offset=LANES, operand=operand))

    def tail(self) -> None:
        """Wait until every stage that was filled has been released, so that nobody signals a CTA that is gone."""
        for _ in range(self.pipeline.num_stages):
            self._wait(self.pipeline.empty, 1 - self._round() % 2)
            self._step()


class Consumer(_Participant):
    """Reads stages; ``released``: its counter of stages let go."""

    def __post_init__(self) -> None:
        super().__post_init__()
        registers = self.pipeline.ctx.recorder.registers
        self.released, self.release_address = registers.uniform(), registers.uniform()

    def wait_and_advance(self) -> Stage:
        """Wait until the next stage is full."""
        number = self._wait(self.pipeline.full, self._round() % 2)
        self._step()
        return Stage(self, number, self.pipeline.full[number])

    def advance(self, stages: int) -> None:
        """Go past so many stages, which another consumer reads: CuTe's PipelineState::advance."""
        self.pipeline.ctx.code(self._kept("advance", lambda: advance_code(self)))
        self.count += stages

    def release(self, stage: Stage) -> None:
        ctx = self.pipeline.ctx
        operand, access = pack_mbarrier(self.pipeline.empty[stage.index], MBarrierAction.arrive), -1
        if self.pipeline.is_shared:
            access = ctx.recorder.access_row(("release",), lambda: [release_access(
                ctx.grid.cluster.neighbours(ctx.grid.rank), ctx.recorder.num_warps)])
        ctx.code(self._kept("release", lambda: release_code(self)),
                 Instance(access, shared_offset=LANES, operand=operand))


def wait_code(of: _Participant) -> Code:
    registers = of.pipeline.ctx.recorder.registers
    parity, done = registers.vector(), registers.predicate()
    return Code((Line("ULEA", of.address, (of.stage,)), Line("SHF.L.U32", parity, (of.phase,)),
                 Line(TRYWAIT, done, (of.address, parity), 0, operand=True), Line("BRA", (0, 0), (done,))))


def expect_code(of: _Participant) -> Code:
    """The elected lane arrives; ptxas tests for it and loads the number of bytes each time."""
    registers = of.pipeline.ctx.recorder.registers
    elected, count, full = registers.predicate(), registers.vector(), registers.uniform()
    return Code((Line("ISETP.NE.AND", elected), Line("LDC", count, (elected,)), Line("UIADD3", full, (of.address,)),
                 Line(EXPECT, (0, 0), (full, count, elected), 0, operand=True)))


def step_code(of: _Participant) -> Code:
    """stage + 1 == stages ? 0 : stage + 1, and the phase turns over with it."""
    registers = of.pipeline.ctx.recorder.registers
    step, last, turn = registers.uniform(), registers.predicate(), registers.uniform()
    return Code((Line("UIADD3", step, (of.stage,)), Line("UISETP.NE.AND", last, (step,)),
                 Line("USEL", of.stage, (step, last)), Line("USEL", turn, (last,)),
                 Line("LOP3.LUT", of.phase, (of.phase, turn))))


def advance_code(of: _Participant) -> Code:
    """Of a number that only the kernel knows: whether the stages come round once, or several times, and how often that
    turns the phase over. ptxas makes 11 instructions of it for 8 stages, 12 for 6."""
    registers = of.pipeline.ctx.recorder.registers
    beyond, rounds, turn = registers.uniform(), registers.uniform(), registers.uniform()
    once, often = registers.predicate(), registers.predicate()
    return Code((Line("UIADD3", beyond, (of.stage,)), Line("USHF.R.U32.HI", rounds, (beyond,)),
                 Line("ULOP3.LUT", rounds, (rounds,)), Line("UISETP.GT.U32.AND", once, (beyond,)),
                 Line("UISETP.LT.U32.AND", once, (once,)), Line("UISETP.NE.U32.AND", often, (rounds,)),
                 Line("UISETP.GT.U32.AND", often, (often,)), Line("USEL", turn, (once,)),
                 Line("USEL", rounds, (often,)), Line("ULOP3.LUT", of.stage, (beyond,)),
                 Line("LOP3.LUT", of.phase, (of.phase, turn, rounds))))


def release_access(ranks: tuple[int, ...], warps: int) -> Access:
    """Which lanes of a warpgroup arrive at which CTAs: lane 8 c of warp w at rank c + 4 (w ^ c), so that warps share
    the work."""
    masks, lanes = np.zeros(warps, np.uint16), np.zeros(warps, np.uint32)
    for warp in range(warps):
        for column in range(WARPS_PER_GROUP):
            rank = column + WARPS_PER_GROUP * (warp % WARPS_PER_GROUP ^ column)
            if rank in ranks:
                masks[warp] |= 1 << rank
                lanes[warp] |= 1 << 8 * column
    return Access("MBAR", "release to the cluster", 0, None, None, -1, lanes, np.zeros(warps, np.uint32),
                  cta_mask=masks)


def release_code(of: Consumer) -> Code:
    registers = of.pipeline.ctx.recorder.registers
    last, address = registers.predicate(), of.release_address
    return Code((Line("ULEA", address, (of.released,)), Line("UIADD3", of.released, (of.released,)),
                 Line("UIADD3", address, (address,)), Line("UISETP.NE.AND", last, (of.released,)),
                 Line("UPRMT", address, (address,)), Line("USEL", of.released, (of.released, last)),
                 Line(RELEASE, (0, 0), (address,), 0, operand=True)))
