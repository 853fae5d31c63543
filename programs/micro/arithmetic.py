"""micro/arithmetic: one instruction without memory, over and over, in `ilp` chains per warp: a pipe's latency and rate.

Measured (pipes.csv, cycles per instruction and warp; 1 warp with ILP 1, 8 warps with ILP 4): FFMA 4.2 and 2.2, DFMA 8.1
and 4.1, IMAD 4.2 and 4.1, MUFU.EX2 17.1 and 16.1, IDP.4A 4.2 and 4.1, SHFL.BFLY 24.1 and 8.1.

Parameters. instruction: its name in SASS, FADD, FFMA, DFMA, HFMA2, IMAD, LOP3.LUT, MUFU.EX2, IDP.4A.S8.S8, SHFL.BFLY
and others. warps: number of warps in the CTA. ilp: chains that a warp's instructions take in turn. repeats: rounds of
the loop. unrolled: instructions in a round.
"""

import gpusim as gs

SIZES: dict[str, int] = {}
OPERANDS = {"FADD": 2, "FFMA": 3, "DFMA": 3, "HFMA2": 3, "IADD3": 3, "IMAD": 3, "LOP3": 3, "MUFU": 1, "IDP": 3,
            "SHFL": 1}


def problem():
    return {}


def flops():
    return 0.0


def reference(inputs):
    return {}


@gs.kernel
def arithmetic(ctx, *, instruction="FFMA", warps=1, ilp=1, repeats=16, unrolled=128):
    base = instruction.partition(".")[0]
    if base not in OPERANDS:
        raise gs.UserError("micro/arithmetic repeats one instruction without memory", got=f"'{instruction}'",
                           suggestion=", ".join(OPERANDS))
    ctx.launch((1, 1), warps=warps)
    chains = [ctx.recorder.registers.vector(2 if base == "DFMA" else 1) for _ in range(ilp)]
    for _ in ctx.range(repeats, name="main_loop"):
        ctx.code([gs.Line(instruction, chain, (chain,) * OPERANDS[base])
                  for chain in (chains[n % ilp] for n in range(unrolled))])
