"""micro/pointer_chase: one thread follows a ring of pointers: latency of a load from L1, L2 or DRAM.

Measured (memory.csv, cycles per hop): from L1 32.9 (ring of 64 KiB), from L2 280.0 (4 MiB), from DRAM 668.9.

Sizes. ring: bytes that the ring takes; the first time round finds L1 cold. Parameters. past_l1: loads are ld.global.cg.
stride: bytes between neighbouring places of the ring, which is followed in a shuffled order. hops: number of loads,
each of which waits for the one before.
"""

import numpy as np
from common.accesses import global_words

import gpusim as gs

SIZES = {"ring": 4 << 20}
UNROLLED = 8


def problem(ring):
    return {"p": gs.tensor("p", gs.u8, (1, ring))}


def flops(ring):
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def pointer_chase(ctx, p, *, past_l1=True, stride=4096, hops=1024):
    places = p.shape[1] // stride
    if hops % UNROLLED or places < 1:
        raise gs.UserError(f"hops come in rounds of {UNROLLED}, in a ring of at least one stride", got=f"{hops} hops")
    ctx.launch((1, 1), warps=1)
    ctx.local_tile(p, p.shape, (None, None))
    pointer = ctx.recorder.registers.vector(2)
    load = "LDG.E.64.STRONG.GPU" if past_l1 else "LDG.E.64"
    row = ctx.recorder.access_row("hop", lambda: [global_words(load, np.zeros((1, 32), np.int64), lanes=1)])
    hop = gs.Code((gs.Line(load, pointer, (pointer,), 0),))
    order = np.resize(np.random.default_rng(1).permutation(places) * stride, hops)
    for first in ctx.range(hops // UNROLLED, name="main_loop"):
        for offset in order[UNROLLED * first:UNROLLED * (first + 1)]:
            ctx.code(hop, gs.Instance(row, global_offset=int(offset)))
