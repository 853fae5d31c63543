"""Models the consumers of CUTLASS's sm90 collectives: the main loop of wgmma, and turns that consumers take.
Leaves out the epilogue (common.sm90_epilogue) and how roles begin (common.sm90).

Source: cutlass/gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp (mma, mma_tail), gemm/kernel/
sm90_gemm_tma_warpspecialized_pingpong.hpp. There each consumer is a warpgroup with tiles of its own, every other one of
the CTA's. One multiplies while the other stores: the next main loop begins when the one before has issued its last
wgmma, not when that is done; the next epilogue when TMA has read all of the tile before, as both use one staging
buffer. The stages of the other's tiles are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import gpusim as gs
from common.sm90 import Sm90Gemm

__all__ = ["Sm90Consumer"]


class Sm90Consumer:
    """One of those that take turns, or all warpgroups that share each tile; ``k_tiles`` of a tile."""

    def __init__(self, gemm: Sm90Gemm, number: int, k_tiles: int) -> None:
        self.gemm, self.number, self.k_tiles = gemm, number, k_tiles
        self.others = gemm.schedule.turns - 1

    @gs.device_function
    def begin(self) -> None:
        """Its first stages are behind those of the consumers in front of it. A CTA's only tile leaves it idle."""
        gemm = self.gemm
        has_tiles = gemm.has_tiles(self.number)
        gemm.begin("consumer" if has_tiles else "idle consumer")
        self.stages, self.accumulators = gemm.ab.consumer(), gemm.ctx.accumulators(gemm.mma)
        self.order = gemm.order.group(self.number) if gemm.order else None
        if has_tiles:
            self._pass_over(self.number)
            gemm.epilogue.pass_over(self.number)

    def visits(self) -> Iterator[None]:
        """Its tiles."""
        return self.gemm.visits(self.number, self.others + 1, consumer=True)

    @gs.device_function
    def multiply(self) -> None:
        """One group of wgmma stays in flight while the next stage is awaited."""
        ctx = self.gemm.ctx
        with self._turn():
            last = self._main_loop()
        with ctx.scope("mma_tail"):
            ctx.warpgroup_wait(0)
            last.release()
        self._pass_over(self.others)

    @gs.device_function
    def store(self, gD: gs.BulkTile) -> None:
        epilogue = self.gemm.epilogue
        with self._turn():
            epilogue.store(self.accumulators, gD)
            if self.others:
                epilogue.drain()
        epilogue.pass_over(self.others)

    @gs.device_function
    def finish(self) -> None:
        """Shared memory stays until the last stores have read it."""
        if not self.others:
            self.gemm.epilogue.drain()

    def _turn(self) -> AbstractContextManager[None]:
        return self.order.turn() if self.order else nullcontext()

    def _pass_over(self, tiles: int) -> None:
        if tiles:
            self.stages.advance(tiles * self.k_tiles)

    def _main_loop(self) -> gs.Stage:
        """The stage whose wgmmas are still in flight."""
        ctx = self.gemm.ctx
        with ctx.scope("mma_prologue"):
            held = self._multiply_stage(accumulate=False)
        for _ in ctx.range(self.k_tiles - 1, name="main_loop"):
            full = self._multiply_stage(accumulate=True)
            ctx.warpgroup_wait(1)
            held.release()
            held = full
        return held

    def _multiply_stage(self, *, accumulate: bool) -> gs.Stage:
        gemm, full = self.gemm, self.stages.wait_and_advance()
        gemm.ctx.warpgroup_arrive()
        gemm.ctx.gemm(gemm.mma, self.accumulators, gemm.sA[..., full.index], gemm.sB[..., full.index],
                      accumulate=accumulate)
        gemm.ctx.warpgroup_commit()
        return full
