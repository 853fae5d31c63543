"""micro/read_bandwidth: every CTA reads a stretch of memory past L1, 16 bytes a thread: bandwidth by number of CTAs.

Measured (memory.csv, l2_read_cg, bytes per cycle and CTA): 1 CTA 115.2, 33 CTAs 102.3, 66 CTAs 62.7, 132 CTAs 34.6; in
all, SMs get 640 bytes a cycle and GPC, 5,186 from all slices of L2.

Sizes. ctas: number of CTAs, one per SM while there are as many. kib: what a CTA reads, in pieces of 64 KiB. Parameters.
rows: pieces of 64 KiB that a CTA reads, kib / 64 of them. passes: times that a CTA reads its stretch.
"""

import numpy as np
from common.accesses import global_words

import gpusim as gs

SIZES = {"ctas": 132, "kib": 256}
LOAD, WARPS, BYTES, LOADS = "LDG.E.128.STRONG.GPU", 32, 16, 4
ROW_BYTES = 32 * WARPS * BYTES * LOADS  # what a CTA has under way


def problem(ctas, kib):
    return {"p": gs.tensor("p", gs.u8, (ctas * kib * 1024 // ROW_BYTES, ROW_BYTES))}


def flops(ctas, kib):
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def read_bandwidth(ctx, p, *, rows=4, passes=4):
    if p.shape[0] % rows:
        raise gs.UserError(f"CTAs read whole stretches of {rows} x 64 KiB", got=f"{p.shape[0]} x 64 KiB",
                           suggestion="rows=kib / 64")
    m, _ = ctx.launch((p.shape[0] // rows, 1), warps=WARPS)
    ctx.local_tile(p, (rows, ROW_BYTES), (m, None))
    threads = BYTES * np.arange(32 * WARPS).reshape(WARPS, 32)
    row = ctx.recorder.access_row("loads", lambda: [
        global_words(LOAD, threads + ROW_BYTES // LOADS * n) for n in range(LOADS)])
    registers = ctx.recorder.registers
    address, mixed = registers.vector(2), registers.vector()
    values = [registers.vector(4) for _ in range(LOADS)]
    lines = [gs.Line(LOAD, value, (address,), n) for n, value in enumerate(values)]
    lines += [gs.Line("LOP3.LUT", mixed, (mixed, value)) for value in values]
    code = gs.Code(tuple(lines))
    for number in ctx.range(passes * rows, name="main_loop"):
        ctx.code(code, gs.Instance(row, global_offset=ROW_BYTES * (number % rows)))
