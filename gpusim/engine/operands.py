"""Models the operands of asynchronous instructions as the compiled code sees them: mbarriers, bulk copies, wgmma, BAR.
Leaves out what they do (gpusim.engine.mbarriers, gpusim.engine.bulk, gpusim.engine.warpgroup)."""

from __future__ import annotations

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.arch.instructions import Kind, Pipe, wgmma_columns
from gpusim.errors import UserError
from gpusim.program import MBarrierAction, Program, RoleProgram

__all__ = [
    "ARRIVE_ONLY",
    "DEFERRED",
    "FENCES",
    "FLUSH",
    "PLAIN",
    "STORE",
    "VIEW",
    "WAVES_SHIFT",
    "asynchronous_operands",
    "check_units",
]

PLAIN, FENCES = -1, -2
"""Operands of an instruction of these kinds that only takes its time; of WARPGROUP.ARRIVE."""
FLUSH, STORE = -2, -3
"""Operands of bulk instructions: closes a bulk group; writes to global memory."""
VIEW = 1
"""Operand of a fence behind which the asynchronous proxy sees what its warp has stored."""
ARRIVE_ONLY = 1 << 24
"""Bit in the operand of a BAR; bits 8.. are warps."""
DEFERRED = "BAR.SYNC.DEFER_BLOCKING"  # the warp goes on up to the next instruction that is not arithmetic
ARRIVALS_SHIFT, INDEX_MASK = 16, 0xFF
THREADS_PER_WARP, BARRIER_BITS = 32, 8
K_BYTES = 32
"""Of a row of A or B in one wgmma, whatever the type."""
FROM_REGISTERS, WAVES_SHIFT = 2, 8
REAL_MBARRIER = ("SYNCS.ARRIVE", "SYNCS.PHASECHK", "ARRIVES")
"""The others initialise a barrier or make it invalid."""
COPIES = ("UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED")


def check_units(program: Program, table: np.ndarray, spec: GpuSpec) -> None:
    """Raises UserError where the program needs a unit that the GPU does not have."""
    lacking = {"warpgroup MMA": (Kind.wgmma, spec.wgmma), "bulk copies": (Kind.bulk_copy, spec.tma)}
    for name, (kind, unit) in lacking.items():
        if unit is None and (table["kind"] == kind).any():
            raise UserError(f"{spec.name} has no unit for {name}", place=program.name, suggestion="use an sm_90 GPU")
    if program.mbarriers and spec.mbarrier is None:
        raise UserError(f"no timing of mbarriers is known for {spec.name}", place=program.name,
                        got=f"{len(program.mbarriers)} mbarriers", suggestion="use an sm_90 GPU")


def asynchronous_operands(
    image: np.ndarray, role: RoleProgram, program: Program, spec: GpuSpec
) -> None:
    """Fill in the rows of IMAGE_OP of such instructions; all others stay as they are."""
    names = [static.mnemonic for static in program.statics]
    _barriers(image, names)
    _mbarriers(image, role, program, names)
    _bulk(image, program, names)
    _cluster_barrier(image, role, program, names)
    image["operand"][np.array([name.startswith("FENCE.VIEW.ASYNC") for name in names])[image["pc"]]] = VIEW
    if spec.wgmma is not None:
        _wgmma(image, names, spec)


def _barriers(image: np.ndarray, names: list[str]) -> None:
    here, packed = image["kind"] == Kind.barrier, image["operand"]
    only = np.array([name.startswith("BAR.ARV") for name in names])[image["pc"]]
    warps = (packed >> BARRIER_BITS) // THREADS_PER_WARP
    image["operand"] = np.where(here, packed & 15 | warps << BARRIER_BITS | only * ARRIVE_ONLY, packed)


def _mbarriers(image: np.ndarray, role: RoleProgram, program: Program, names: list[str]) -> None:
    here = image["kind"] == Kind.mbarrier
    real = np.array([name.startswith(REAL_MBARRIER) for name in names])[image["pc"]]
    arrivals = role.ops["shared_offset"] << ARRIVALS_SHIFT
    asynchronous = (image["operand"] >> BARRIER_BITS & 15) == MBarrierAction.arrive_async
    arrivals[asynchronous] = THREADS_PER_WARP << ARRIVALS_SHIFT
    known = here & real & bool(program.mbarriers)
    _check_remote(role.ops[known], role, program)
    _check_mbarriers(image["operand"][known] & INDEX_MASK, program)
    image["operand"] = np.where(known, image["operand"] | arrivals, np.where(here, PLAIN, image["operand"]))
    image["access"][here & ~known] = -1


def _check_remote(ops: np.ndarray, role: RoleProgram, program: Program) -> None:
    """Raises UserError where something else than an arrival names mbarriers of other CTAs."""
    names_ctas = np.append(role.accesses.cta_mask.any(axis=1), False)[ops["access"]]
    if (names_ctas & ((ops["operand"] >> BARRIER_BITS & 15) != MBarrierAction.arrive)).any():
        raise UserError("nothing but an arrival reaches mbarriers of other CTAs", place=program.name)


def _check_mbarriers(indices: np.ndarray, program: Program) -> None:
    """Raises UserError for an mbarrier that the program does not have."""
    if len(indices) and indices.max() >= len(program.mbarriers):
        raise UserError("an op names an mbarrier that the program does not have", place=program.name,
                        got=f"mbarrier {indices.max()} of {len(program.mbarriers)}")


def _bulk(image: np.ndarray, program: Program, names: list[str]) -> None:
    here = image["kind"] == Kind.bulk_copy
    copies = np.array([name.startswith(COPIES) for name in names])[image["pc"]] & (image["access"] >= 0)
    flushes = np.array([name.startswith("UTMACMDFLUSH") for name in names])[image["pc"]]
    operand = np.where(image["operand"] < 0, STORE, image["operand"])
    operand = np.where(copies, operand, np.where(flushes, FLUSH, PLAIN))
    _check_mbarriers(operand[here & copies & (operand >= 0)], program)
    image["operand"] = np.where(here, operand, image["operand"])


def _cluster_barrier(image: np.ndarray, role: RoleProgram, program: Program, names: list[str]) -> None:
    """Which half of the barrier; without clusters, nothing. Raises UserError for ranks that the cluster lacks."""
    here, size = image["kind"] == Kind.cluster_barrier, program.launch.cluster_size
    waits = np.array([name.startswith("UCGABAR_WAIT") for name in names])[image["pc"]]
    image["operand"] = np.where(here, waits if size > 1 else PLAIN, image["operand"])
    masks = role.accesses.cta_mask
    if (masks >> size if size > 1 else masks).any():
        raise UserError("an op names CTAs that its cluster does not have", place=program.name,
                        got=f"mask {int(masks.max()):#x} in a cluster of {size}")


def _wgmma(image: np.ndarray, names: list[str], spec: GpuSpec) -> None:
    """interval: cycles in the pipe; latency: from there to results; operand, bits 8..: wavefronts of its operands.

    An instruction passes two stages, operands in shared memory and arithmetic, a block of columns at a time; the pipe
    is as fast as the slower one.
    """
    unit, here = spec.wgmma, image["kind"] == Kind.wgmma
    assert unit is not None
    columns = np.array([wgmma_columns(name) for name in names])[image["pc"]]
    registers = (image["operand"] & FROM_REGISTERS) > 0
    rows = np.where(registers, 0, unit.operand_rows)
    waves, first = (-(-(rows + n) * K_BYTES // spec.shared.bytes_per_wavefront)
                    for n in (columns, np.minimum(columns, unit.block_columns)))
    arithmetic = -(-columns // unit.columns_per_cycle)
    cycles = np.maximum(np.maximum(arithmetic, waves), np.where(registers, unit.register_interval_cycles, 0))
    image["interval"] = np.where(here, cycles, image["interval"])
    image["latency"] = np.where(here, unit.latency_cycles + first + arithmetic - cycles, image["latency"])
    image["operand"] = np.where(here, image["operand"] & 3 | waves << WAVES_SHIFT, image["operand"])
    image["access"] = np.where(here, -1, image["access"])  # it says where the operands are, which costs nothing
    image["pipe"] = np.where(here, Pipe.none, image["pipe"])  # the warp does not wait for it
    waits = np.array([name.startswith("WARPGROUP.DEPBAR") for name in names])[image["pc"]]
    control = image["kind"] == Kind.wgmma_control
    fences = np.array([name.startswith("WARPGROUP.ARRIVE") for name in names])[image["pc"]]
    image["operand"] = np.where(control & ~waits, np.where(fences, FENCES, PLAIN), image["operand"])
