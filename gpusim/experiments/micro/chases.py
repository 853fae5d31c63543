"""Models pointer chases: one thread follows a shuffled ring of pointers through L1, L2 or DRAM.
Leaves out TLBs: a ring of any size takes as long as its level of the hierarchy."""

from __future__ import annotations

from functools import partial

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.engine import simulate
from gpusim.experiments.micro.compiled import CompiledKernel
from gpusim.experiments.micro.loops import body_after_clock, looped_role, one_tensor_program
from gpusim.experiments.micro.probe import Probe, cycles_between
from gpusim.program import Program
from gpusim.program.access_builder import Access

__all__ = ["chase_probe"]

STRIDES_BYTES = {"chase_ca": 128, "chase_cg": 4096, "chase_cold": 65536}
"""By kernel of memory.cu: through L1, past L1, and past L1 once from a cold L2."""
MAX_HOPS = 1024
SEED = 1


def chase_probe(
    mechanism: str, what: str, measured: float, *, part: str, ring_bytes: int, sm: int = 0, gpu: str = ""
) -> Probe:
    """Cycles per hop of kernel ``part`` on one SM."""
    stride, kernel = STRIDES_BYTES[part], CompiledKernel("memory", part)
    hops = _whole_bodies(kernel, min(MAX_HOPS, ring_bytes // stride))
    build = partial(_chase_program, kernel=kernel, stride_bytes=stride, ring=ring_bytes // stride, hops=hops, sm=sm,
                    passes=1 if part == "chase_cold" else 2)
    return Probe(mechanism, what, "latency", measured, build, partial(cycles_between, pcs=kernel.clock_pcs, per=hops),
                 gpu=gpu, l2="cold" if part == "chase_cold" else "warm", recorded_sm=sm)


def _accesses_of_body(kernel: CompiledKernel) -> int:
    return int((looped_role(kernel, body_after_clock(kernel), _chase_access(), np.zeros(1)).ops["access"] >= 0).sum())


def _whole_bodies(kernel: CompiledKernel, hops: int) -> int:
    per_body = _accesses_of_body(kernel)
    return max(1, hops // per_body) * per_body


def _chase_access() -> Access:
    offset = np.full((1, 32), -1, np.int64)
    offset[0, 0] = 0
    return Access("LDG64", "pointer chase", 8, None, offset, 0, np.array([1], np.uint32), np.zeros(1, np.uint32))


def _chase_program(
    spec: GpuSpec, *, kernel: CompiledKernel, stride_bytes: int, ring: int, hops: int, sm: int, passes: int
) -> Program:
    """One thread follows ``hops`` pointers of a shuffled ring; the last pass stands between the clock reads.

    One CTA per SM is launched, as on silicon; those on other SMs than ``sm`` leave at once.
    """
    order = np.random.default_rng(SEED).permutation(ring)[:hops] * stride_bytes
    body = list(body_after_clock(kernel)) * (hops // _accesses_of_body(kernel))
    first, last = kernel.clock_pcs[0], kernel.clock_pcs[-1]
    chaser = looped_role(kernel, [*body * (passes - 1), first, *body, last], _chase_access(), order)
    idle = looped_role(kernel, [], _chase_access(), order)
    is_idle = np.ones(spec.sm.count, np.int32)
    starts, size = np.zeros(spec.sm.count, np.int64), ring * stride_bytes
    placed = simulate(one_tensor_program(kernel, (idle,), 0 * is_idle, starts, size), spec).cta_sm
    is_idle[placed == sm] = 0
    return one_tensor_program(kernel, (chaser, idle), is_idle, starts, size)
