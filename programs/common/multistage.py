"""Models MmaMultistage of CUTLASS 2.x: cp.async over a ring of stages, fragments one k step ahead, interleaved copies.
Leaves out operands and instructions, which a MainLoop brings along, and the epilogue.

Source: cutlass/gemm/threadblock/mma_multistage.h (prologue, gmem_wait, mac_loop_iter, gemm_iters), and for convolutions
cutlass/conv/threadblock/implicit_gemm_multistage.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import gpusim as gs
from common.parameters import PARAMETER_BYTES, launch_lines
from common.staging import StagedOperand, next_stage_code
from common.tensor_op import interleaved_pieces
from gpusim import Context, KRange, dead_load_lines

__all__ = ["CLEARS", "MainLoop", "multistage", "require_multistage"]

CLEARS = ("none", "zfill", "clear_last_stage")
"""SharedMemoryClearOption: what becomes of shared memory where a tile leaves the problem. none: it stays; zfill: zeros;
clear_last_stage: as none, but the stage that no copy of the prologue fills is cleared once by ordinary stores."""


class MainLoop(Protocol):
    """What a main loop works on: its operands, a range of k, and the instructions of a k step."""

    k: KRange
    ldmatrix: bool  # fragments come through it

    @property
    def k_steps(self) -> int:
        """Of a warp, in a tile."""

    @property
    def operands(self) -> Sequence[StagedOperand]:
        """A, B, and what else is staged beside them, in the order of their copies."""

    def fetch(self, step: int, stage: int, buffer: int) -> None:
        """Fragments of a k step into one of two register buffers."""

    def multiply(self, buffer: int) -> None:
        """Accumulators += A * B of a k step."""

    def clear(self) -> None:
        """Accumulators = 0."""


def require_multistage(num_stages: int, clear: str, *, instead: str) -> None:
    """Refuse what MmaMultistage is not made for; ``instead``: the program for two stages."""
    if num_stages < 3:
        raise gs.UserError("MmaMultistage has at least 3 stages", got=f"num_stages={num_stages}",
                           suggestion=f"{instead} for 2 stages")
    if clear not in CLEARS:
        raise gs.UserError("shared memory outside the problem is left as it is or cleared", got=f"'{clear}'",
                           suggestion=f"clear={', '.join(CLEARS)}")


@gs.device_function
def multistage(ctx: Context, loop: MainLoop, num_stages: int, clear: str, *, first_group_ahead: bool = False) -> None:
    """Prologue, main loop and the wait for the last copies, each in its scope. ``first_group_ahead``: the first copies
    of a tile go beside the last k step of the one before, and all before the products of their step, as
    ImplicitGemmMultistage has it."""
    ctx.parameters(PARAMETER_BYTES)
    with ctx.scope("prologue"):
        _fill(ctx, loop, num_stages)
        if clear == "clear_last_stage":
            for operand in loop.operands:
                operand.copies.clear_stage(num_stages - 1)
        ctx.cp_async_wait_group(num_stages - 2)
        ctx.sync_threads()
        loop.fetch(0, 0, 0)
        if first_group_ahead:
            _copy_group(ctx, loop, num_stages - 1, num_stages - 1, 0, zfill=clear == "zfill")
    _main_loop(ctx, loop, num_stages, zfill=clear == "zfill", ahead=first_group_ahead)
    with ctx.scope("epilogue"):
        ctx.cp_async_commit_group()
        ctx.cp_async_wait_group(0)
        ctx.sync_threads()


def _fill(ctx: Context, loop: MainLoop, num_stages: int) -> None:
    """All stages but one; what lies outside is zero there in any case."""
    ctx.code([*launch_lines(ctx), *(line for operand in loop.operands for line in operand.setup())])
    loop.clear()
    for stage in range(num_stages - 1):
        ctx.code(dead_load_lines())
        for operand in loop.operands:
            operand.copies.copy_async(stage, stage, range(len(operand.copies)), zfill=True)
            ctx.code(operand.copies.next_tile())
        ctx.cp_async_commit_group()


def _main_loop(ctx: Context, loop: MainLoop, num_stages: int, *, zfill: bool, ahead: bool) -> None:
    """``ahead``: a k step takes the copies of the next one along, the last step those of the next tile's first."""
    operands = loop.operands
    stage_code = next_stage_code(ctx, operands, stages=num_stages, ldmatrix=loop.ldmatrix)
    read, write, buffer = 0, num_stages - 1, 0
    for k_tile in ctx.range(loop.k.tiles, name="main_loop"):
        for step in range(loop.k_steps):
            loop.fetch((step + 1) % loop.k_steps, read, 1 - buffer)
            later, group = divmod(step + ahead, loop.k_steps)
            if ahead:
                _copy_group(ctx, loop, k_tile + num_stages - 1 + later, write, group, zfill=zfill)
            loop.multiply(buffer)
            if not ahead and step < loop.k_steps - 1:
                _copy_group(ctx, loop, k_tile + num_stages - 1, write, group, zfill=zfill)
            if step == loop.k_steps - 2:
                if not ahead:
                    _copy_group(ctx, loop, k_tile + num_stages - 1, write, step + 1, zfill=zfill, follows=True)
                ctx.cp_async_commit_group()
                ctx.cp_async_wait_group(num_stages - 2)
                ctx.sync_threads()
                ctx.code([*(line for operand in operands for line in operand.copies.next_tile()), *stage_code])
                read, write = (read + 1) % num_stages, (write + 1) % num_stages
            buffer = 1 - buffer


def _copy_group(ctx: Context, loop: MainLoop, k_tile: int, stage: int, step: int, *, zfill: bool,
                follows: bool = False) -> None:
    """The copies of a tile that are a k step's; ``follows``: right behind those of the step before."""
    groups = [interleaved_pieces(len(operand.copies), step, loop.k_steps) for operand in loop.operands]
    if any(groups) and not follows:
        ctx.code(dead_load_lines())
    for operand, pieces in zip(loop.operands, groups, strict=True):
        if pieces:
            operand.copies.copy_async(k_tile, stage, pieces, zfill=zfill)
