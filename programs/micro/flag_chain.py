"""micro/flag_chain: CTAs, one on each SM, that take turns under a semaphore: wait, store, fence, let the next one go.

Measured on an H200 (flags.csv, cycles from one CTA's turn to the next one's, of two CTAs of four warps): 972.0 without
stores, 1237.0, 1492.0, 2354.0 and 5432.0 with 1, 4, 16 and 64 stores of each thread.

Parameters. ctas: number of CTAs that take turns. stores: 16-byte stores of each thread in its turn. warps: number of
warps in a CTA. rounds: number of turns of each CTA.
"""

from functools import partial

import numpy as np
from common.accesses import global_words
from common.semaphore import Flag
from common.splitk import block_index

import gpusim as gs

SIZES: dict[str, int] = {}
THREAD_BYTES, MOST_CTAS, MOST_STORES, MOST_WARPS = 16, 132, 64, 4
CTA_BYTES = THREAD_BYTES * 32 * MOST_WARPS * MOST_STORES
ONE_PER_SM_BYTES = 200 << 10


def problem():
    return {"p": gs.tensor("p", gs.u8, (MOST_CTAS, CTA_BYTES)),
            "word": gs.tensor("word", gs.s32, (1,), scratch=True)}


def flops():
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def flag_chain(ctx, p, word, *, ctas=2, stores=1, warps=4, rounds=10):
    for name, value, most in (("ctas", ctas, MOST_CTAS), ("stores", stores, MOST_STORES), ("warps", warps, MOST_WARPS)):
        if value > most:
            raise gs.UserError(f"micro/flag_chain has room for {most} {name}", got=f"{name}={value}")
    ctx.launch((1, 1), warps=warps, slices=ctas)
    ctx.local_tile(p, p.shape, (None, None))
    ctx.smem_array("alone", gs.u8, ONE_PER_SM_BYTES)
    number, registers = ctx.visit.slice, ctx.recorder.registers
    ctx.flag_words(word, block_index(ctx, (1, 1)))
    turn, address, value = Flag(ctx, word), registers.vector(2), registers.vector(4)
    lanes = number * CTA_BYTES + THREAD_BYTES * np.arange(32 * warps).reshape(warps, 32)
    line = gs.Line("STG.E.128", (0, 0), (address, value), 0)
    rows = [ctx.recorder.access_row(("store", i), partial(_store, lanes + i * THREAD_BYTES * 32 * warps))
            for i in range(stores)]
    for i in range(rounds):
        with ctx.scope("turn"):
            mine = i * ctas + number
            turn.fetch(mine)
            turn.wait(mine)
            for row in rows:
                ctx.code([line], gs.Instance(row))
            turn.release(mine + 1)


def _store(offsets):
    return [global_words("STG.E.128", offsets)]
