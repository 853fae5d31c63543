"""micro/register_release: a memory access, then the sum that overwrites its address: how long it waits for the reads.

Measured by Huerta et al. on an RTX A6000 (published/ga102_memory.csv, war, cycles from access to sum; simulated on
rtx3090): LDS 9.0, LDG.E 11.0, STS 12.0, STS.64 14.0, STS.128 18.0, STG.E 14.0, STG.E.128 20.0. What compiled loops of
this kind take on an H200 is in register_release.csv, which gpusim validate --micro replays.

Parameters. instruction: LDS, LDSM.16.M88, LDG.E, STS or STG.E, with a width. warps: number of warps in the CTA.
repeats: rounds of the loop. unrolled: accesses in a round.
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
def register_release(ctx, p, *, instruction="STS", warps=1, repeats=32, unrolled=8):
    ctx.launch((1, 1), warps=warps)
    ctx.local_tile(p, p.shape, (None, None))
    ctx.smem_array("words", gs.u8, LANE_BYTES * 32 * warps)
    width, operation = instruction_width(instruction)
    is_global = operation.startswith(("LDG", "STG"))
    lane_bytes = LANE_BYTES if operation.startswith(("LDSM", "STSM")) else 4 * width
    lanes = lane_bytes * np.arange(32 * warps).reshape(warps, 32)
    row = ctx.recorder.access_row("access", lambda: [(global_words if is_global else shared_words)(instruction, lanes)])
    registers = ctx.recorder.registers
    address, step = registers.vector(2 if is_global else 1), registers.vector()
    values = [registers.vector(width) for _ in range(unrolled)]
    stores = operation.startswith("ST")
    code = gs.Code(tuple(line for value in values for line in (
        gs.Line(instruction, (0, 0) if stores else value, (address, value) if stores else (address,), 0),
        gs.Line("IADD3", address, (address, step)))))
    for _ in ctx.range(repeats, name="main_loop"):
        ctx.code(code, gs.Instance(row))
