"""Models MmaPipelined of CUTLASS 2.x: two stages, ld.global through registers to st.shared, fragments one step ahead.
Leaves out operands and instructions, which a MainLoop brings along, and the epilogue.

Source: cutlass/gemm/threadblock/mma_pipelined.h.
"""

from __future__ import annotations

import gpusim as gs
from common.multistage import MainLoop
from common.parameters import PARAMETER_BYTES, launch_lines
from common.staging import next_stage_code
from gpusim import Context

__all__ = ["STAGES", "pipelined"]

STAGES = 2


@gs.device_function
def pipelined(ctx: Context, loop: MainLoop) -> None:
    """Prologue and main loop, each in its scope."""
    ctx.parameters(PARAMETER_BYTES)
    a, b = loop.operands
    stage_code = next_stage_code(ctx, loop.operands, stages=STAGES, ldmatrix=loop.ldmatrix)
    with ctx.scope("prologue"):
        ctx.code([*launch_lines(ctx), *a.setup(), *b.setup()])
        a.copies.load(0)
        b.copies.load(0)
        loop.clear()
        a.copies.store(0)
        b.copies.store(0)
        ctx.sync_threads()
        loop.fetch(0, 0, 0)

    read, buffer = 0, 0
    for k_tile in ctx.range(loop.k.tiles, name="main_loop"):
        for step in range(loop.k_steps):
            if step == loop.k_steps - 1:
                a.copies.store(1 - read)
                b.copies.store(1 - read)
                ctx.sync_threads()
                ctx.code(stage_code)
                read = 1 - read
            loop.fetch((step + 1) % loop.k_steps, read, 1 - buffer)
            if step == 0:
                a.copies.load(k_tile + 1)
                b.copies.load(k_tile + 1)
            loop.multiply(buffer)
            buffer = 1 - buffer
