"""micro/register_release: a memory access, then the sum that overwrites its address, in a loop: the write-after-read wait.

Measured (register_release.csv, cycles per round): 1 warp with MEAS.

Parameters. instruction: STS, LDS, LDSM.16.M88, LDG.E.STRONG.GPU or STG.E, with a width. warps: number of warps in the
CTA. repeats: rounds of the loop.
"""

import numpy as np
from common.accesses import global_words, instruction_width, shared_words

import gpusim as gs

SIZES: dict[str, int] = {}
LANE_BYTES, MOST_WARPS = 16, 32


def problem():
    return {"p": gs.tensor("p", gs.u8, (1, LANE_BYTES * 32 * MOST_WARPS))}


def flops():
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def register_release(ctx, p, *, instruction="STS", warps=1, repeats=256):
    ctx.launch((1, 1), warps=warps)
    ctx.local_tile(p, p.shape, (None, None))
    ctx.smem_array("words", gs.u8, LANE_BYTES * 32 * warps)
    width, operation = instruction_width(instruction)
    is_global = operation.startswith(("LDG", "STG"))
    lanes = LANE_BYTES * np.arange(32 * warps).reshape(warps, 32)
    row = ctx.recorder.access_row("access", lambda: [(global_words if is_global else shared_words)(instruction, lanes)])
    registers = ctx.recorder.registers
    address, value, step = registers.vector(2 if is_global else 1), registers.vector(width), registers.vector()
    if operation.startswith("ST"):
        access = gs.Line(instruction, (0, 0), (address, value), 0)
    else:
        access = gs.Line(instruction, value, (address,), 0)
    code = gs.Code((access, gs.Line("IADD3", address, (address, step))))
    for _ in ctx.range(repeats, name="main_loop"):
        ctx.code(code, gs.Instance(row))
