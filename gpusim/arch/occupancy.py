"""Models how many CTAs of a kernel an SM holds at once, which resource stops the next one, and what no SM holds.
Leaves out when CTAs are placed (gpusim.engine), and that clusters need all their CTAs on one GPC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusim.arch.spec import GpuSpec, Sm
from gpusim.errors import UserError

__all__ = ["LIMITERS", "Occupancy", "check_launch", "occupancy"]

LIMITERS = ("registers", "shared_mem", "warps", "blocks")
"""Nsight Compute's names; of several equally strict ones the first is reported."""


@dataclass(frozen=True)
class Occupancy:
    """CTAs per SM (-1: the driver refuses the launch), the limiting resource, the limit of each resource alone."""

    blocks_per_sm: int
    limiter: str
    limits: Mapping[str, int]
    warps_per_sm: int
    theoretical_pct: float  # resident warps in percent of the most an SM holds
    shared_bytes_per_cta: int  # of the SM's, with what the driver keeps
    refusal: UserError | None = None


def occupancy(spec: GpuSpec, threads_per_cta: int, registers_per_thread: int, shared_bytes: int) -> Occupancy:
    """Resident CTAs of an SM, as the driver's occupancy calculator answers; -1 where it refuses the launch.

    ``shared_bytes``: dynamic and static, without what the driver reserves. Raises UserError for numbers that no
    kernel has (no thread, no register, negative bytes). Rules: CUDA programming guide; equal to every row of
    ``hardware/h200/occupancy.csv``.
    """
    _check_arguments(threads_per_cta, registers_per_thread, shared_bytes)
    sm = spec.sm
    warps = -(-threads_per_cta // sm.threads_per_warp)
    allocated = _allocated_shared_bytes(sm, shared_bytes)
    limits = {
        "registers": _register_limit(sm, warps, registers_per_thread),
        "shared_mem": sm.shared_bytes // allocated,
        "warps": min(sm.max_warps, sm.max_threads // sm.threads_per_warp) // warps,
        "blocks": sm.max_ctas,
    }
    limiter = min(LIMITERS, key=lambda name: limits[name])
    limiter, refusal = _refusal(spec, threads_per_cta, registers_per_thread, shared_bytes, limits) or (limiter, None)
    resident = 0 if refusal else limits[limiter] * warps
    return Occupancy(-1 if refusal else limits[limiter], limiter, limits, resident,
                     100.0 * resident / sm.max_warps, allocated, refusal)


def check_launch(spec: GpuSpec, threads_per_cta: int, registers_per_thread: int, shared_bytes: int) -> Occupancy:
    """The occupancy of a launch that the driver accepts. Raises UserError naming the limit it breaks."""
    answer = occupancy(spec, threads_per_cta, registers_per_thread, shared_bytes)
    if answer.refusal is not None:
        raise answer.refusal
    return answer


def _check_arguments(threads: int, registers: int, shared_bytes: int) -> None:
    for name, value, least in (("threads_per_cta", threads, 1), ("registers_per_thread", registers, 1),
                               ("shared_bytes", shared_bytes, 0)):
        if value < least:
            raise UserError(f"{name} should be at least {least}", place="occupancy", got=value)


def _register_limit(sm: Sm, warps: int, registers: int) -> int:
    """Warps are spread over the parts of the register file, so every part holds a whole number of them."""
    per_warp = _round_up(registers * sm.threads_per_warp, sm.register_allocation_unit)
    unit = sm.warp_allocation_granularity
    warps_that_fit = sm.registers // unit // per_warp * unit
    return warps_that_fit // warps


def _allocated_shared_bytes(sm: Sm, shared_bytes: int) -> int:
    return max(_round_up(shared_bytes + sm.shared_reserved_bytes_per_cta, sm.shared_allocation_unit_bytes), 1)


def _refusal(spec: GpuSpec, threads: int, registers: int, shared_bytes: int,
             limits: Mapping[str, int]) -> tuple[str, UserError] | None:
    sm = spec.sm
    if threads > sm.max_threads_per_cta:
        return "warps", UserError(f"a CTA has at most {sm.max_threads_per_cta} threads", place=spec.name, got=threads,
                                  suggestion="use fewer warps per CTA")
    if registers > sm.max_registers_per_thread:
        return "registers", UserError(f"a thread has at most {sm.max_registers_per_thread} registers", place=spec.name,
                                      got=registers, suggestion="use a smaller tile per warp")
    if shared_bytes > sm.shared_bytes_per_cta_max:
        return "shared_mem", UserError(f"a CTA has at most {sm.shared_bytes_per_cta_max} bytes of shared memory",
                                       place=spec.name, got=shared_bytes,
                                       suggestion="use fewer stages or a smaller tile")
    if limits["registers"] == 0:
        return "registers", UserError(f"one CTA does not fit into the {sm.registers} registers of an SM",
                                      place=spec.name, got=f"{threads} threads of {registers} registers",
                                      suggestion="use fewer warps per CTA or fewer registers per thread")
    return None


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
