"""Models the bulk rows of memory.csv: one thread copies in bulk, waits for each copy, or keeps a ring of stages full.
Leaves out the emulator: which branches are taken follows from how many copies and stages there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.experiments.micro.compiled import CompiledKernel
from gpusim.experiments.micro.loops import exit_pc, function_of, one_tensor_program
from gpusim.experiments.micro.probe import Probe, cta_bytes_per_cycle, cycles_between
from gpusim.program import MBarrier, MBarrierAction, Program, RoleProgram, pack_mbarrier
from gpusim.program.access_builder import Access, BulkRows, build_access_table
from gpusim.sass.optable import instruction_rows
from gpusim.sass.parser import INSTRUCTION_BYTES
from gpusim.sass.scopes import loops

__all__ = ["bulk_probe"]

MIB = 1 << 20
ROUND_TRIPS = 32
CTA_BYTES, WRAP_BYTES, TOTAL_BYTES = 4 * MIB, 16 * MIB, 128 * MIB
"""What a CTA moved on silicon, from one of few places; and what all CTAs move here, at most."""
REGISTERS = 40
WAIT, EXPECT, COPY = "SYNCS.PHASECHK", "SYNCS.ARRIVE", "UBLKCP"
_GRID = re.compile(r"(\d+)ctas_(\d+)B_x(\d+)stages")


@dataclass(frozen=True)
class _Ring:
    """``copies`` of ``size_bytes``; copy i uses stage i modulo ``stages`` once the one before it there has landed."""

    copies: int
    size_bytes: int
    stages: int
    waits_at_once: bool = False

    @property
    def iterations(self) -> int:
        return self.copies if self.waits_at_once else self.copies + self.stages

    def awaited(self, iteration: int) -> int:
        """The copy that an iteration waits for; negative: none."""
        return iteration if self.waits_at_once else iteration - self.stages


def bulk_probe(row: dict[str, Any]) -> Probe:
    """The probe of one row."""
    if row["what"] == "bulk1d_roundtrip_l2":
        return _round_trip(int(row["param"].removesuffix("B")), float(row["value"]))
    match = _GRID.fullmatch(row["param"])
    assert match is not None
    ctas, size_bytes, stages = (int(number) for number in match.groups())
    copies = min(CTA_BYTES, TOTAL_BYTES // ctas) // size_bytes // 4 * 4
    ring = _Ring(copies, size_bytes, stages)
    build = partial(_program, kernel=CompiledKernel("bulk", "bulk_bw"), ring=ring, ctas=ctas)
    measured = float(row["value"].split(";")[1].removesuffix("B/clk/cta"))
    return Probe("bandwidth: l2 bulk1d", f"{ctas} CTAs, {size_bytes} bytes, {stages} stages", "bandwidth", measured,
                 build, partial(cta_bytes_per_cycle, cta_bytes=copies * size_bytes), "B/cycle/CTA", recorded_sm=None)


def _round_trip(size_bytes: int, measured: float) -> Probe:
    kernel = CompiledKernel("bulk", "bulk_lat")
    build = partial(_program, kernel=kernel, ring=_Ring(ROUND_TRIPS, size_bytes, 1, True), ctas=1)
    return Probe("bulk1d roundtrip", f"{size_bytes} bytes", "latency", measured, build,
                 partial(cycles_between, pcs=kernel.clock_pcs, per=ROUND_TRIPS))


def _program(spec: GpuSpec, *, kernel: CompiledKernel, ring: _Ring, ctas: int) -> Program:
    role = _role(kernel, ring)
    moved = ring.copies * ring.size_bytes
    starts = np.arange(ctas, dtype=np.int64) % (WRAP_BYTES // CTA_BYTES) * moved
    made = one_tensor_program(kernel, (role,), np.zeros(ctas), starts, int(starts.max()) + moved,
                              shared_bytes=ring.stages * ring.size_bytes, registers=REGISTERS)
    barriers = tuple(MBarrier(f"full[{stage}]", 1) for stage in range(ring.stages))
    return replace(made, mbarriers=barriers)


def _role(kernel: CompiledKernel, ring: _Ring) -> RoleProgram:
    """One warp; its elected lane copies ring.size_bytes at a time from consecutive places."""
    function = function_of(kernel)
    trail = list(_walk(kernel, ring))
    order = np.array([kernel.clock_pcs[0], *(pc for pc, _ in trail), kernel.clock_pcs[-1], exit_pc(kernel)])
    ops = instruction_rows(function)[order]
    for row, (pc, iteration) in enumerate(trail, start=1):
        name, copy = function.instructions[pc].mnemonic, ring.awaited(iteration)
        if name.startswith(WAIT):
            parity = copy // ring.stages % 2
            ops["operand"][row] = pack_mbarrier(copy % ring.stages, MBarrierAction.wait, parity)
        elif name.startswith(EXPECT):
            ops["operand"][row] = pack_mbarrier(iteration % ring.stages, MBarrierAction.expect_tx)
            ops["global_offset"][row] = ring.size_bytes
        elif name.startswith(COPY):
            ops["operand"][row], ops["access"][row] = iteration % ring.stages, 0
            ops["global_offset"][row] = iteration * ring.size_bytes
    return RoleProgram("all", 0, 1, ops, build_access_table([_copy(ring.size_bytes)]))


def _copy(size_bytes: int) -> Access:
    rows = BulkRows(np.zeros((1, 1), np.int64), np.full((1, 1), size_bytes), np.array([size_bytes]))
    return Access("TMALDG", "cp.async.bulk", 16, None, None, 0, np.array([1], np.uint32), np.zeros(1, np.uint32), rows)


def _walk(kernel: CompiledKernel, ring: _Ring) -> Iterator[tuple[int, int]]:
    """(instruction, iteration) through the loop with the copies: a wait is jumped over before the ring is full, a copy
    behind the last one; the retry of a wait and further lanes are never needed."""
    instructions = function_of(kernel).instructions
    names = [instruction.mnemonic for instruction in instructions]
    body = next(loop for loop in loops(function_of(kernel)) if all(any(
        name.startswith(part) for name in names[loop.first : loop.last + 1]) for part in (WAIT, COPY)))
    last_part = WAIT if ring.waits_at_once else COPY
    pc, iteration = body.first, 0
    while True:
        yield pc, iteration
        target = body.first if pc == body.last else pc + 1
        if instructions[pc].base == "BRA" and pc != body.last:
            jump = instructions[pc].operands[-1].value // INSTRUCTION_BYTES
            target = _next(names, pc, jump, ring, iteration) if jump <= body.last else target
        iteration += any(name.startswith(last_part) for name in names[pc : max(pc + 1, target)])
        if pc == body.last and iteration >= ring.iterations:
            return
        pc = target


def _next(names: list[str], pc: int, jump: int, ring: _Ring, iteration: int) -> int:
    """Where the branch at ``pc`` goes."""
    skipped = names[pc + 1 : jump]
    no_wait = any(name.startswith(WAIT) for name in skipped) and ring.awaited(iteration) < 0
    no_copy = any(name.startswith(COPY) for name in skipped) and iteration >= ring.copies
    return jump if no_wait or no_copy else pc + 1
