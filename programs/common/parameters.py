"""Models what kernels of CUTLASS 2.x read of their parameters, where in their code, and the branches on it.
Leaves out the values: what uses them has them as immediates. Source: code of 46 kernels (CUTLASS 4.2, nvcc 13.0)."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim import Context, Line, early_exit_lines

__all__ = ["PARAMETER_BYTES", "factor_lines", "launch_lines", "output_lines", "source_branch"]

PARAMETER_BYTES = 368
"""Of cutlass::gemm::kernel::Gemm::Params (cuobjdump --dump-resource-usage)."""
TILES, SWIZZLE, OPERANDS, OUTPUT, K_SIZE = 0x10, 0x18, (0x40, 0x70), 0xC0, 0x150
"""Bytes of Params: grid_tiled_shape, swizzle_log_tile, params_A and params_B, params_D, gemm_k_size."""
VALUE, POINTER, ARRAY, NEXT_VALUE, NEXT = 0x120, 0x128, 0x138, 4, 8
"""Of the output operator's: alpha, alpha_ptr, alpha_ptr_array; beta's stand NEXT_VALUE and NEXT bytes behind."""
THROUGH_ARRAY, THROUGH_POINTER, WITH_SOURCE = 7, 3, 188
"""Instructions that load a factor from global memory, and a version of the epilogue that reads C (188 to 730), in front
of what runs."""


def launch_lines(ctx: Context) -> list[Line]:
    """What a CTA begins its first tile with: it finds that, ends where a swizzled grid has none, and finds its k."""
    if ctx.visit.number:
        return []
    registers = ctx.recorder.registers
    shift, k_size = registers.vector(), registers.vector()
    tile = early_exit_lines(registers, shift, TILES)
    return [Line("LDC", shift, parameter=SWIZZLE), *tile, Line("EXIT", sources=(tile[-1].dst,), active=False),
            *(Line("ULDC.64", registers.uniform(2), parameter=operand) for operand in OPERANDS),
            Line("LDC", k_size, parameter=K_SIZE), Line("IMAD", registers.vector(), (k_size,))]


def output_lines(ctx: Context) -> list[Line]:
    """Strides of D."""
    return [Line("ULDC.64", ctx.recorder.registers.uniform(2), parameter=OUTPUT)]


def factor_lines(ctx: Context, factors: Sequence[str]) -> list[Line]:
    """The output operator's constructor: a factor comes from an array of pointers, a pointer, or as it is."""
    registers = ctx.recorder.registers
    lines: list[Line] = []
    for number, _ in enumerate(factors):
        for start, skipped in ((ARRAY, THROUGH_ARRAY), (POINTER, THROUGH_POINTER)):
            pointer, low, high = registers.uniform(2), registers.predicate(), registers.predicate()
            lines += [Line("ULDC.64", pointer, parameter=start + NEXT * number),
                      Line("ISETP.NE.U32.AND", low, ((pointer[0], 1),)),
                      Line("ISETP.NE.AND.EX", high, ((pointer[0] + 1, 1), low)),
                      Line("BRA", sources=(high,), skips=skipped)]
        lines.append(Line("LDC", registers.vector(), parameter=VALUE + NEXT_VALUE * number))
    return lines


def source_branch(ctx: Context) -> list[Line]:
    """Past the version of an epilogue that reads C, where beta is 0."""
    needed = ctx.recorder.registers.predicate()
    return [Line("FSETP.NEU.AND", needed), Line("BRA", sources=(needed,), skips=WITH_SOURCE)]
