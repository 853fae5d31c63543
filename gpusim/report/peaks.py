"""Models how many floating-point operations a cycle the tensor pipes could deliver, from the GPU's instruction table.
Leaves out what a program achieves (gpusim.report.metrics) and clocks that drop under load."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpusim.arch import GpuSpec
from gpusim.program import Program
from gpusim.report.executions import static_executions

__all__ = [
    "main_math", "main_mma", "math_peak_flops_per_cycle", "mma_flops", "mma_name",
    "mma_peak_flops_per_cycle", "tensor_peak_flops_per_cycle",
]

_WARPS_PER_WARPGROUP = 4
_MMA = re.compile(r"^(?P<type>[A-Z])(?P<group>G?)MMA\.(?:SP\.)?"
                  r"(?:(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)|(?P<digits>\d{3,6}))(?=\.|$)")
_WARPGROUP = re.compile(r"^[A-Z]GMMA\.")
_FMA_FLOPS = {"FFMA": 64, "DFMA": 64, "HFMA2": 128}
"""Operations of one warp's instruction, where no tensor core does them."""
_DIGITS = re.compile(r"^(?P<m>16|8)(?P<n>8)(?P<k>\d+)$")


def mma_flops(mnemonic: str) -> int:
    """Multiply and add operations of one warp's MMA instruction: ``HMMA.16816.F32`` 4096; a sparse one counts the zeros
    that it skips. 0: not an MMA.

    A warpgroup MMA (``HGMMA.64x256x16.F32``) is issued by four warps, each counts a quarter.
    """
    match = _MMA.match(mnemonic)
    shape = (_DIGITS.match(match["digits"]) if match["digits"] else match) if match else None
    if match is None or shape is None:
        return 0
    flops = 2 * int(shape["m"]) * int(shape["n"]) * int(shape["k"])
    return flops // _WARPS_PER_WARPGROUP if match["group"] else flops


def main_mma(program: Program) -> str | None:
    """The MMA mnemonic that does most of the program's arithmetic, None without one."""
    return _most_work(program, mma_flops)


def mma_name(mnemonic: str) -> str:
    """What CUDA calls an MMA mnemonic."""
    return "wgmma" if _WARPGROUP.match(mnemonic) else "mma.sync"


def main_math(program: Program) -> str | None:
    """The mnemonic that does most of the program's arithmetic, an MMA if it has one; None for a copy."""
    return main_mma(program) or _most_work(program, _fma_flops)


def math_peak_flops_per_cycle(program: Program, spec: GpuSpec) -> float | None:
    """Operations per SM cycle of the whole GPU when every pipe always issues the program's main arithmetic."""
    mnemonic = main_math(program)
    return None if mnemonic is None else _flops_per_cycle(mnemonic, spec)


def _fma_flops(mnemonic: str) -> int:
    return _FMA_FLOPS.get(mnemonic.split(".")[0], 0)


def _most_work(program: Program, flops_of: Callable[[str], int]) -> str | None:
    work: dict[str, int] = {}
    for static, count in zip(program.statics, static_executions(program).tolist(), strict=True):
        flops = flops_of(static.mnemonic) * count
        if flops:
            work[static.mnemonic] = work.get(static.mnemonic, 0) + flops
    return max(work, key=work.__getitem__) if work else None


def mma_peak_flops_per_cycle(program: Program, spec: GpuSpec) -> float | None:
    """Operations per SM cycle of the whole GPU when every tensor pipe always issues the program's MMA instruction."""
    mnemonic = main_mma(program)
    return None if mnemonic is None else _flops_per_cycle(mnemonic, spec)


def tensor_peak_flops_per_cycle(program: Program, spec: GpuSpec) -> float | None:
    """The same for the fastest warpgroup MMA (wgmma) the GPU's table has for that operand type, if it has one."""
    mnemonic = main_mma(program)
    if mnemonic is None:
        return None
    warpgroup = [name for name in spec.instruction_table.patterns if _WARPGROUP.match(name) and mma_flops(name)]
    alike = [name for name in warpgroup if _operand_type(name) == _operand_type(mnemonic)]
    return max(_flops_per_cycle(name, spec) for name in [mnemonic, *alike])


def _operand_type(mnemonic: str) -> tuple[str, bool]:
    """HMMA and HGMMA share a rate for f16 and bf16 but not for tf32."""
    return mnemonic[0], "TF32" in mnemonic.split(".")


def _flops_per_cycle(mnemonic: str, spec: GpuSpec) -> float:
    interval_cycles = spec.pipe_cycles(mnemonic)
    flops = mma_flops(mnemonic) or _fma_flops(mnemonic)
    return flops * spec.sm.sub_partitions * spec.sm.count / interval_cycles
