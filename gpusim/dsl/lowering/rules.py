"""Models what a compiler adds to the statements of a kernel: the rules, and the decisions that depend on a whole role.
Leaves out the instructions themselves (the modules beside this one) and their schedule (gpusim.dsl.backend).

The rules are read from ptxas' output for gpusim/data/hardware/h200/src/gemm.cu (sm_90a, CUDA 13.0). Numbers are
instructions per warp; a *piece* is one cp.async of a thread, a *place* its (row, column) in the tile, shared by the
copies of two tensors that are cut in the same way.

In a loop over k:

| what | instructions |
| --- | --- |
| trip counter, its test, the branch | 3; 2 more for the predicate when a copy is guarded |
| stage counter that wraps round | 3 for the stage written, 3 for the stage read |
| dead loads `@!PT LDS RZ, [RZ]` before the first LDGSTS | 3 |
| copies, pointers in registers | per piece 2 (64-bit add), 2 more if over 5; per place 3 (shared-memory address) |
| copies, pointers recomputed | 4; per piece 4 (row, row x pitch + column, LEA, LEA.HI.X); per place 2 (column + k) |
| | and 3 (shared-memory address), under an XOR of the row number 2 more, of its high bits 3 more |
| the same, registers short | 3, per tensor 1, per size of a stage 1, all uniform; per piece 4; per place 2 and 3, |
| | under an XOR 3 and 4 or 5; at a second tensor 3 and 1 (stage to a vector register), padded 2 and 1 |
| ldmatrix, no XOR | per stage 1, per operand and two column blocks 3: the rest goes into the immediate |
| ldmatrix, XOR of the row number | per operand 1, per column block 2: row blocks go into the immediate |
| ldmatrix, XOR of its high bits | per operand 1, per row block after the first 1, per ldmatrix 2: an address for each |
| a lane's part of such an address that has no register | 1 (LDL) |
| a piece or a store of a partial tile | 1 (its predicate; not compared with compiled code) |

Outside:

| what | instructions |
| --- | --- |
| copies, all from threadIdx and blockIdx | per stage 10, per place 12 (under an XOR 1 or 2 more), per piece 8 |
| at most two guarded pieces a stage | once: per place 9, per piece 2; per stage 7, in it per piece 2: predicated |
| invariants before a loop | per place 10; per piece 10 (pointers in registers); per ldmatrix of its own address 3; |
| | per place 2 and per piece 4 after a prologue of one stage or of predicated copies |
| accumulators | CS2R, two registers at a time |
| epilogue | 18; row pointers: the first two 4 each, every further one 1 (IMAD.WIDE); F2FP and STG |

What they miss (instructions of a loop body, 120 kernels of that source compiled for the comparison): within 10 % except
where registers run out at 512 threads or a warp tile of 64 x 128, because ptxas then recomputes and spills more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim.arch import GpuSpec
from gpusim.arch.occupancy import occupancy
from gpusim.dsl.lowering.copies import shares_place
from gpusim.dsl.lowering.loads import COLUMNS_PER_ADDRESS
from gpusim.dsl.statements import AsyncCopy, BasicBlock, Code, LoadMatrix, Mma, Spec

__all__ = ["AddressPlan", "fit_registers", "plan_addresses", "registers_at_hand"]

SCRATCH_REGISTERS = 16
"""Counters, lane constants and temporaries of a main loop beside what is counted one by one."""
ITERATOR_SCRATCH, ASYNC_PIECE, STAGED_PIECE = 22, 1.75, 1
"""The same for a loop over CUTLASS's iterators, and per piece of cp.async or of loads; with fragments and the registers
that hold a tile between global and shared memory within 10 of what ptxas reports for the loops of main_loops.md."""
SCALAR_SCRATCH, ASYNC_SCALAR, BACK_SCALAR = 17, 5, 3
"""The same for a loop of FFMA: per 128 threads, for cp.async, less for each operand whose pointer is computed back from
the last row; with it the eight SIMT loops of main_loops.md and four more of 64x64 to 128x64 come out within 2."""
WORD_SCRATCH = 20
"""The same for a loop of IDP.4A: 16 to 26 in eleven kernels of CUTLASS 4.2 of 128x32 to 256x128 (nvcc 13.0)."""
WARPGROUP_SCRATCH = 26
"""The same beside a warpgroup's accumulators: CUTLASS's KernelTmaWarpSpecialized takes 154 registers with 128 of them
and 90 with 64, whatever its epilogue needs for a while."""
CTAS_AIMED_AT = 2
"""Per SM: pointers stay in registers only where so many CTAs still fit."""
MOST_OWN_POINTERS = 5
"""Pieces of an iteration that are advanced one by one."""
SLOT_REGISTERS = 3
"""What a copy saves that takes the registers of another one's addresses."""
RECOMPUTED_REGISTERS = 33
"""How many more registers a loop may need than a thread can have before ptxas spills lane parts of fragment addresses:
128x128x64 with an XOR of the row number needs 33 more and spills nothing (gemm.cu, nvcc 13.0), 128x128x64 and
128x256x64 with half an XOR need 65 and 49 and read 25 and 20 words back in a turn (32 and 16 by this rule)."""
OPERANDS = 2
UNIFORM_MARGIN = 32
"""ptxas counts on the uniform datapath where a loop needs more registers than a thread can have, or all but this many
of its share of an SM: of 380 variants of gemm.cu compiled for the comparison (nvcc 13.0; 64 to 512 threads, warps of
32x32 to 128x32, two to four stages), the margin may be 17 to 50."""
SQUEEZE = 0.08
"""ptxas saves up to this share of the registers where that lets one more CTA onto the SM."""


@dataclass(frozen=True)
class UniformCounters:
    """Which stage counters of a loop stand on the uniform datapath, the others in vector registers."""

    write_stage: bool = False
    read_stage: bool = False


@dataclass(frozen=True)
class AddressPlan:
    """``resident``: the global pointers of a loop's copies stay in registers and are advanced; ``registers_needed`` per
    thread for that, which is also the best estimate of what the compiled loop takes. ``shares_offset``: of the resident
    pointers only the first tensor's are advanced, the others have one uniform offset in common; ``in_series``: the
    addresses of copies take the same registers one after the other, because the launch cannot have what they need;
    ``recomputes``: there are addresses that a compiler could compute again, so that a loop can lack registers;
    ``squeezable``: ptxas saves some of a launch's registers for one more CTA, as it does but in loops of FFMA;
    ``uniform``: where a loop that is short of registers counts; ``kept_lanes``: how many lane parts of fragment
    addresses stay in registers, None: all."""

    resident: bool
    registers_needed: int
    shares_offset: bool
    in_series: bool = False
    recomputes: bool = True
    squeezable: bool = True
    uniform: UniformCounters = UniformCounters()
    kept_lanes: int | None = None


def plan_addresses(body: BasicBlock, threads: int, spec: GpuSpec) -> AddressPlan:
    """Whether the pointers of a loop body fit beside fragments and accumulators.

    Needed: fragments and accumulators, four registers per piece (pointer and shared-memory address in flight), two per
    place, one per ldmatrix with an address of its own, and SCRATCH_REGISTERS. Within 8 registers of what ptxas reports
    for 58 of the 60 kernels in gemm.cu, and the number of CTAs per SM that follows is right for all of them.
    Copies take turns where all that does not fit without the ldmatrix addresses, which a compiler computes again sooner
    (register_targets.csv).
    """
    specs = [statement.spec for statement in body.statements]
    accumulators = _warpgroup_registers(specs)
    if accumulators:
        return AddressPlan(True, accumulators + WARPGROUP_SCRATCH, False, recomputes=False, squeezable=False)
    if any(isinstance(spec, Code) for spec in specs):
        multiplies = any(isinstance(spec, Mma) for spec in specs)  # without, live ranges tell
        needed = _iterator_registers(specs, threads) if multiplies else 0
        return AddressPlan(True, needed, False, recomputes=False, squeezable=not _is_scalar(specs, "FFMA", "DFMA"))
    copies = [spec for spec in specs if isinstance(spec, AsyncCopy)]
    places: dict[int, int] = {}
    for copy in copies:
        places[copy.coordinates] = max(copy.count, places.get(copy.coordinates, 0))
    own = sum(len(spec.registers) for spec in specs if isinstance(spec, LoadMatrix) and spec.xor == "shifted")
    pieces = sum(copy.count for copy in copies)
    addresses = 4 * pieces + 2 * sum(places.values()) + own
    needed = _fragment_registers(specs) + addresses + SCRATCH_REGISTERS
    resident = needed <= _registers_for(CTAS_AIMED_AT, threads, spec)
    in_series = needed - own > registers_at_hand(needed, threads, spec)
    slotted = sum(copy.count for copy in copies if not shares_place(copy, copies)) if in_series else 0
    taken = needed - own - SLOT_REGISTERS * max(0, slotted - 1)
    uniform = UniformCounters() if resident else _uniform_counters(specs, taken, threads, spec)
    return AddressPlan(resident, needed, resident and pieces > MOST_OWN_POINTERS, in_series, uniform=uniform,
                       kept_lanes=_kept_lanes(own, needed, threads, spec) if own else None)


def _kept_lanes(own: int, needed: int, threads: int, spec: GpuSpec) -> int:
    """Lane parts of ``own`` fragment addresses, and of both operands' rows, that are not spilled."""
    spilled = needed - registers_at_hand(needed, threads, spec) - RECOMPUTED_REGISTERS
    return OPERANDS + own - min(own, max(0, spilled))


def _uniform_counters(specs: Sequence[Spec], needed: int, threads: int, spec: GpuSpec) -> UniformCounters:
    """Of a loop that computes its addresses again: on the uniform datapath where registers are short, but for the stage
    read where fragment loads have addresses of their own and multiply it several times."""
    scarce = needed >= min(spec.sm.registers // threads - UNIFORM_MARGIN, spec.sm.max_registers_per_thread)
    loads = [one for one in specs if isinstance(one, LoadMatrix)]
    multiplied = any(one.xor == "shifted" for one in loads) and len({one.part for one in loads}) <= COLUMNS_PER_ADDRESS
    return UniformCounters(write_stage=scarce, read_stage=scarce and not multiplied)


def _warpgroup_registers(specs: Sequence[Spec]) -> int:
    """Accumulators of a body's wgmmas."""
    groups = {line.dst for spec in specs if isinstance(spec, Code) for line in spec.lines
              if line.mnemonic.startswith("HGMMA")}
    return sum(count for _, count in groups)


def _iterator_registers(specs: Sequence[Spec], threads: int) -> int:
    """Registers of a loop over iterators."""
    lines = [line for spec in specs if isinstance(spec, Code) for line in spec.lines]
    copied = sum(line.mnemonic.startswith("LDGSTS") for line in lines)
    staged = [line.dst[1] for line in lines if line.mnemonic.startswith("LDG.")]
    addresses = ITERATOR_SCRATCH + round(ASYNC_PIECE * copied + STAGED_PIECE * len(staged))
    if _is_scalar(specs, "IDP"):
        addresses = WORD_SCRATCH
    elif all(spec.c_a_b_widths == (1, 1, 1) for spec in specs if isinstance(spec, Mma)):
        back = sum(line.mnemonic == "IMAD.WIDE.U32" for line in lines)
        addresses = SCALAR_SCRATCH * threads // 128 - 1 + (ASYNC_SCALAR - BACK_SCALAR * back if copied else 0)
    return _fragment_registers(specs) + sum(staged) + addresses


def _is_scalar(specs: Sequence[Spec], *bases: str) -> bool:
    """Whether a body multiplies, and with such instructions only."""
    multiplied = [spec.mnemonic.startswith(bases) for spec in specs if isinstance(spec, Mma)]
    return bool(multiplied) and all(multiplied)


def _fragment_registers(specs: Sequence[Spec]) -> int:
    """Registers of all operands of a body's MMAs."""
    groups = {(start, width) for spec in specs if isinstance(spec, Mma)
              for triple in spec.triples for start, width in zip(triple, spec.c_a_b_widths, strict=True)}
    return sum(width for _, width in groups)


def _ctas(registers: int, threads: int, spec: GpuSpec) -> int:
    """CTAs that fit into the register file of an SM."""
    return occupancy(spec, threads, registers, 0).limits["registers"]


def _registers_for(ctas: int, threads: int, spec: GpuSpec) -> int:
    """The most registers per thread with which ``ctas`` CTAs fit; 0 where none do."""
    unit, most = spec.sm.register_allocation_unit // spec.sm.threads_per_warp, spec.sm.max_registers_per_thread
    steps = (most, *range(most // unit * unit, 0, -unit))
    return next((step for step in steps if _ctas(step, threads, spec) >= ctas), 0)


def registers_at_hand(needed: int, threads: int, spec: GpuSpec) -> int:
    """The most registers per thread with which as many CTAs fit as with those of a launch whose code needs ``needed``.
    """
    return _registers_for(_ctas(fit_registers(needed, threads, spec), threads, spec), threads, spec)


def fit_registers(needed: int, threads: int, spec: GpuSpec, *, squeezable: bool = True) -> int:
    """Registers per thread of a launch whose code needs ``needed``: at most what one CTA can have, and fewer where
    SQUEEZE buys another CTA."""
    needed = min(needed + needed % 2, _registers_for(1, threads, spec))
    if not squeezable:
        return needed
    next_step = _registers_for(_ctas(needed, threads, spec) + 1, threads, spec)
    return next_step if needed <= next_step * (1 + SQUEEZE) else needed
