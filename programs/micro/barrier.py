"""micro/barrier: bar.sync over and over. H200: 12.3 cycles and 2 more per warp.

Measured (pipes.csv, bar_sync, cycles per barrier): 1 warp 14.3, 8 warps 28.3, 32 warps 76.3.

Parameters. warps: number of warps in the CTA. repeats: rounds of the loop. unrolled: barriers in a round.
"""

import gpusim as gs

SIZES: dict[str, int] = {}


def problem():
    return {}


def flops():
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def barrier(ctx, *, warps=8, repeats=64, unrolled=16):
    ctx.launch((1, 1), warps=warps)
    for _ in ctx.range(repeats, name="main_loop"):
        for _ in range(unrolled):
            ctx.sync_threads()
