"""micro/shared_access: LDS, STS or ldmatrix over and over, by width and conflict degree: what the data stage takes.

Measured (mio.csv, stream, four warps on each sub-partition, cycles per access and warp, without conflict and with eight
ways): LDS 16.6 and 128.6, LDS.128 64.5 and 512.0, ldmatrix.x1 16.6 and 128.5, .x2 32.4 and 256.3, .x4 64.4 and 511.2,
STS 16.3 and 128.0, STS.128 64.2 and 511.7.

Parameters. instruction: LDS, LDSM.16.M88 or STS, with a width. ways: lanes of a phase that meet in the same banks.
warps: number of warps in the CTA. repeats: rounds of the loop.
"""

import numpy as np
from common.accesses import instruction_width, shared_words

import gpusim as gs

SIZES: dict[str, int] = {}
INSTRUCTIONS = ("LDS", "LDS.64", "LDS.128", "LDSM.16.M88", "LDSM.16.M88.2", "LDSM.16.M88.4", "STS", "STS.64", "STS.128")
UNROLLED, ROW_BYTES, BYTES_APART = 16, 128, 4096


def problem():
    return {}


def flops():
    return 0.0


def reference(inputs):
    return {}


def lane_addresses(lane_bytes, ways):
    """Of a phase's lanes, as many as ``ways`` meet in the same banks, in rows of their own; phases lie apart."""
    per_phase = ROW_BYTES // lane_bytes
    phase, lane = np.divmod(np.arange(32), per_phase)
    row, place = np.divmod(lane, max(1, per_phase // ways))
    return ROW_BYTES * (phase * per_phase + row) + lane_bytes * place


@gs.kernel
def shared_access(ctx, *, instruction="LDS", ways=1, warps=16, repeats=64):
    if instruction not in INSTRUCTIONS:
        raise gs.UserError("micro/shared_access repeats one access to shared memory", got=f"'{instruction}'",
                           suggestion=", ".join(INSTRUCTIONS))
    ctx.launch((1, 1), warps=warps)
    ctx.smem_array("words", gs.u8, UNROLLED * BYTES_APART)
    width, operation = instruction_width(instruction)
    lanes = np.tile(lane_addresses(16 if operation.startswith("LDSM") else 4 * width, ways), (warps, 1))
    row = ctx.recorder.access_row("accesses", lambda: [
        shared_words(instruction, lanes + BYTES_APART * n) for n in range(UNROLLED)])
    registers = ctx.recorder.registers
    address, mixed = registers.vector(), registers.vector()
    values = [registers.vector(width) for _ in range(UNROLLED)]
    if operation.startswith("STS"):
        lines = [gs.Line(instruction, (0, 0), (address, value), n) for n, value in enumerate(values)]
    else:
        lines = [gs.Line(instruction, value, (address,), n) for n, value in enumerate(values)]
        lines += [gs.Line("LOP3.LUT", mixed, (mixed, value)) for value in values]
    code = gs.Code(tuple(lines))
    for _ in ctx.range(repeats, name="main_loop"):
        ctx.code(code, gs.Instance(row))
