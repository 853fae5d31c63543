"""Models the program as the compiled code sees it: op rows of 64 bytes, back to back, and the accesses they name.
Leaves out names, source lines and most of registers: the engine looks at how many an instruction reads from where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.arch.instructions import Kind, Pipe
from gpusim.engine.fetch import constant_reads, launch_constants, pieces_of
from gpusim.engine.flags import FlagState, flag_jumps, flag_ops, new_flags
from gpusim.engine.image_accesses import access_rows
from gpusim.engine.operands import DEFERRED, asynchronous_operands, check_units
from gpusim.engine.register_banks import bank_reads
from gpusim.engine.state import QUEUE
from gpusim.program import NO_ACCESS, PREDICATE_BASE, UNIFORM_BASE, Program, RoleProgram

__all__ = ["IMAGE_OP", "ProgramImage", "image_of"]

IMAGE_OP = np.dtype([
    ("global_offset", "<i8"), ("shared_offset", "<i4"), ("pc", "<i4"), ("access", "<i4"), ("operand", "<i4"),
    ("interval", "<u2"), ("latency", "<u2"), ("read_release", "<u2"),
    ("stall", "u1"), ("wait_mask", "u1"), ("write_barrier", "u1"),
    ("read_barrier", "u1"), ("kind", "u1"), ("pipe", "u1"), ("flags", "u1"), ("queue", "i1"), ("operand_cycles", "u1"),
    ("path_cycles", "u1"),
    ("lead_cycles", "u1"), ("hold_cycles", "u1"), ("registers", "u1"), ("places", "u1"),
    ("kept", "u1"), ("address_cycles", "u1"), ("data_turns", "u1"), ("data_lead", "u1"), ("cached", "u1"),
    ("wide", "u1"), ("second_pass", "u1"), ("triple", "u1"), ("vector", "u1"), ("fetches", "u1"), ("reads", "u1"),
    ("even", "u1"), ("odd", "u1"), ("piece", "<u2"), ("unit", "u1"), ("constant", "u1"),
], align=True)
"""flags: 1 active, 2 the warp's next instruction is elsewhere (a taken branch), 4 yield, 8 variable latency,
16 a miss in L2 brings the whole line, 32 waits until the SM's writes have been performed, 64 depends on a flag: then
operand is the row of its FLAG_OP or, of a branch, how many rows it jumps; 128 waits for the barrier at which its warp
has arrived.
queue: 0 for shared-memory instructions and cp.async, 1 for other global ones, -1 for what needs none. They share one
queue; the number says which throttle it is. An instruction that is predicated off passes through it all the same, and
so does a fence of a CTA, which takes address_cycles of it and nothing else.
read_release: until registers that it reads may be overwritten, of variable latency outside that queue.
operand_cycles: how long its addresses and data take to the load/store unit; path_cycles: until the next one's can
follow; lead_cycles: until all but the last register are there, when a shared access can start; hold_cycles: how long
reading them keeps the dispatcher from its own; registers: how many it reads; places: what it takes of the unit's
buffer; kept: registers that it stores; address_cycles,
data_turns: of the paths that all sub-partitions share, for addresses and what is stored; data_lead: until the first of
these has been read. cached: a load that L1 keeps. wide: reads its registers in two passes. second_pass: cycles that
its warp waits for the second one. triple:
reads three registers; vector: one or two, in one pass, 2 if it writes predicates only. fetches: a tensor instruction
with a new A; reads: its kind, see gpusim.engine.register_reads; even, odd: registers that it takes from either bank.
piece: of the code, see gpusim.engine.fetch. unit: whose room it needs to issue, a pipe or QUEUE. constant: line that
it reads, see gpusim.engine.fetch. stall: the compiler's count, and what the hardware adds to it: while operands are
read, and a cycle behind a yield that counts one (instructions.csv: chains with a NOP of that kind take 17 cycles, not
16)."""

ACTIVE, TAKEN, YIELD, VARIABLE, WHOLE_LINE, FENCE, FLAG, BLOCKS = 1, 2, 4, 8, 16, 32, 64, 128
WAITS, GOES_ON = "UMOV", "R2UR"
"""Behind a deferred BAR arithmetic of fixed latency goes on, and all else waits: loads and stores, special registers,
constants, branches, NOPs, the XU; of the uniform datapath UMOV waits, R2UR does not (deferred.csv)."""
WHOLE_LINE_HINT = "LTC128B"  # PTX: .L2::128B
WIDE, CLOCK = "IMAD.WIDE", "CS2R"  # 64-bit sums; what reads the clock
FENCE_MNEMONIC, CTA_SCOPE = "MEMBAR", "CTA"  # within a CTA everything is in order anyway
PAST_L1 = ("STRONG.GPU", "STRONG.SYS", "BYPASS")  # PTX: .cg, .relaxed.gpu, .volatile, cp.async.cg
ADDRESS_REGISTERS = {Kind.shared_load: 1, Kind.shared_store: 1, Kind.ldmatrix: 1, Kind.stmatrix: 1,
                     Kind.shuffle: 1, Kind.mbarrier: 1, Kind.async_copy: 3,
                     Kind.global_load: 2, Kind.global_store: 2, Kind.atomic: 2}
"""A shared address is one register per lane, a global one two, cp.async sends both."""
QUEUES = {0: (Kind.shared_load, Kind.shared_store, Kind.ldmatrix, Kind.stmatrix, Kind.shuffle, Kind.async_copy,
              Kind.commit, Kind.mbarrier),
          1: (Kind.global_load, Kind.global_store, Kind.atomic)}
REGISTER_BYTES = 128  # one 32-bit register of all lanes
STORES = (Kind.shared_store, Kind.stmatrix, Kind.global_store, Kind.atomic)


@dataclass(frozen=True)
class ProgramImage:
    """R roles over all classes, C CTAs, T tensors."""

    ops: np.ndarray  # IMAGE_OP
    accesses: np.ndarray  # IMAGE_ACCESS
    requests: np.ndarray  # IMAGE_REQUEST
    role_first_op: np.ndarray  # (R,) i8
    role_end_op: np.ndarray  # (R,) i8
    class_warp_role: np.ndarray  # (classes, warps per CTA) i4: role of each warp
    role_first_warp: np.ndarray  # (R,) i4
    role_num_warps: np.ndarray  # (R,) i4
    cta_class: np.ndarray
    cta_bases: np.ndarray
    num_statics: int
    num_pieces: int  # of the code
    constant_lines: int
    warps_per_cta: int
    flags: FlagState
    flag_name: str  # of their tensor
    mbarrier_arrivals: np.ndarray  # (M,) i8: that complete a phase
    mbarrier_names: tuple[str, ...]


def image_of(program: Program, spec: GpuSpec) -> ProgramImage:
    """Flatten a program for a GPU. Raises UserError for a mnemonic the GPU does not have."""
    table = spec.instruction_table.arrays([static.mnemonic for static in program.statics])
    check_units(program, table, spec)
    hints = np.array([WHOLE_LINE * (WHOLE_LINE_HINT in static.mnemonic) + FENCE * _is_fence(static.mnemonic)
                      for static in program.statics], np.int64)
    stops = (table["kind"] == Kind.barrier) & [static.mnemonic != DEFERRED for static in program.statics]
    fenced = _waits_for_barrier(program, table)
    wide, clocks = (np.array([static.mnemonic.startswith(name) for static in program.statics], bool)
                    for name in (WIDE, CLOCK))
    reads = np.array([spec.tensor_reads.index(spec.reads_beside(static.mnemonic)) for static in program.statics],
                     np.uint8)
    roles = [role for cta in program.classes for role in cta.roles]
    accesses, requests, access_first = access_rows(roles, spec)
    ops = [_ops(role, table, hints, stops, fenced, wide, clocks, reads, first, spec)
           for role, first in zip(roles, access_first, strict=True)]
    for role, part in zip(roles, ops, strict=True):
        asynchronous_operands(part, role, program, spec)
    flags = _flags(program, roles, ops)
    _mark_cached(program, table, ops)
    ends = np.cumsum([len(part) for part in ops]).astype(np.int64)
    rows = np.concatenate(ops)
    rows["piece"], rows["unit"] = pieces_of(rows["pc"], spec), _units(rows)
    rows["constant"] = _constants(program, rows, spec)
    return ProgramImage(
        ops=rows,
        accesses=accesses,
        requests=requests,
        role_first_op=ends - np.array([len(part) for part in ops]),
        role_end_op=ends,
        class_warp_role=_warp_roles(program),
        role_first_warp=np.array([role.first_warp for role in roles], np.int32),
        role_num_warps=np.array([role.num_warps for role in roles], np.int32),
        cta_class=program.cta_class.astype(np.int32),
        cta_bases=np.ascontiguousarray(program.cta_bases, np.int64),
        num_statics=len(program.statics),
        num_pieces=int(rows["piece"].max()) + 1,
        constant_lines=launch_constants([static.constant for static in program.statics],
                                        program.launch.parameter_bytes, spec),
        warps_per_cta=program.warps_per_cta,
        flags=flags,
        flag_name=program.flags.name,
        mbarrier_arrivals=np.array([barrier.arrivals for barrier in program.mbarriers], np.int64),
        mbarrier_names=tuple(barrier.name for barrier in program.mbarriers),
    )


def _units(rows: np.ndarray) -> np.ndarray:
    """Whose room instructions need to issue: none of those that are predicated off, but for the queue."""
    has_pipe = (rows["flags"] & ACTIVE > 0) & (rows["pipe"] != Pipe.lsu)
    return np.where(rows["queue"] >= 0, QUEUE, np.where(has_pipe, rows["pipe"], Pipe.none))


def _constants(program: Program, rows: np.ndarray, spec: GpuSpec) -> np.ndarray:
    places = np.array([static.constant for static in program.statics])[rows["pc"]]
    indexed = (rows["kind"] == Kind.constant_load) & (rows["flags"] & VARIABLE > 0)
    return constant_reads(np.where(rows["flags"] & ACTIVE, places, -1), indexed, rows["pc"], spec)


def _waits_for_barrier(program: Program, table: np.ndarray) -> np.ndarray:
    names = [static.mnemonic for static in program.statics]
    fixed = (table["kind"] == Kind.mma) | (table["kind"] == Kind.alu) & (table["variable_latency"] == 0)
    waits, goes_on = ([name.startswith(prefix) for name in names] for prefix in (WAITS, GOES_ON))
    return ~(fixed | goes_on) | waits


def _is_fence(mnemonic: str) -> bool:
    return mnemonic.startswith(FENCE_MNEMONIC) and CTA_SCOPE not in mnemonic.split(".")


def _ops(
    role: RoleProgram, table: np.ndarray, hints: np.ndarray, stops: np.ndarray, fenced: np.ndarray, wide: np.ndarray,
    clocks: np.ndarray, reads: np.ndarray, access_first: int, spec: GpuSpec,
) -> np.ndarray:
    source, cost = role.ops, table[role.ops["pc"]]
    image = np.zeros(len(source), IMAGE_OP)
    image["queue"] = -1
    for name in ("global_offset", "shared_offset", "pc", "operand", "stall", "wait_mask", "write_barrier",
                 "read_barrier"):
        image[name] = source[name]
    image["kind"], image["pipe"] = cost["kind"], cost["pipe"]
    for name, column in (("interval", "issue_interval"), ("latency", "latency"), ("read_release", "read_release")):
        image[name] = cost[column]
    image["access"] = np.where(source["access"] == NO_ACCESS, -1, access_first + source["access"] * role.num_warps)
    following = np.append(source["pc"][1:], source["pc"][-1] + 1)
    taken = (cost["kind"] == Kind.branch) & (following != source["pc"] + 1) & (source["active"] > 0)
    blocks = fenced[source["pc"]] | np.append(False, stops[source["pc"]][:-1])
    image["flags"] = (ACTIVE * (source["active"] > 0) + TAKEN * taken + YIELD * (source["yield_"] > 0)
                      + VARIABLE * cost["variable_latency"] + hints[source["pc"]] + BLOCKS * blocks)
    for queue, kinds in QUEUES.items():
        image["queue"][np.isin(cost["kind"], kinds)] = queue
    fences = (cost["kind"] == Kind.membar) & (image["flags"] & FENCE == 0)
    image["queue"][fences] = 0
    image["stall"] += (source["stall"] == 1) & (source["yield_"] > 0)
    cycles = REGISTER_BYTES / spec.mio.operand_bytes_per_cycle
    registers = np.where(source["active"] > 0, _operand_registers(source, cost["kind"], role), 0).astype(np.int64)
    image["operand_cycles"] = np.ceil(registers * cycles)
    image["path_cycles"] = np.maximum(image["operand_cycles"], spec.mio.address_interval_cycles)
    copies = (cost["kind"] == Kind.async_copy) & (source["active"] > 0)
    image["registers"] = np.maximum(registers, 1)
    data = np.maximum(registers - _address_registers(cost["kind"]), 0)
    image["places"] = np.where(copies, spec.mio.copy_buffer_entries, 1)
    image["kept"] = data
    image["hold_cycles"] = -(-registers // spec.mio.registers_per_read) * spec.mio.register_read_cycles
    image["address_cycles"] = np.where(copies, spec.mio.copy_address_cycles, spec.mio.address_cycles)
    image["address_cycles"][fences] = cost["issue_interval"][fences]
    image["data_turns"] = turns = _data_turns(cost["kind"], data, spec)
    image["data_lead"] = np.maximum(np.ceil((registers - turns + 1) * cycles) - 1, 0)
    image["lead_cycles"] = np.ceil(np.maximum(registers - 1.0, 0.0) * cycles)
    image["reads"] = reads[source["pc"]]
    image["even"], image["odd"] = bank_reads(source, cost["banked"]).T
    _slow_reads(image, source, wide[source["pc"]], clocks[source["pc"]], spec)
    return image


def _slow_reads(
    image: np.ndarray, source: np.ndarray, wide: np.ndarray, clocks: np.ndarray, spec: GpuSpec
) -> None:
    """Mark what reads three registers, IMAD.WIDE, and tensor instructions whose A operand is not in the reuse cache
    (operand_reads.csv, operand_streams.csv). Stall counts run from the last pass over an instruction's registers; what
    reads the clock behind it does so at once, and keeps the next one waiting (access_reads.csv, STG)."""
    active = source["active"] > 0
    vectors = np.where(source["src_start"] < PREDICATE_BASE, source["src_count"], 0).sum(1)
    image["wide"] = wide & active
    arithmetic = active & np.isin(image["pipe"], (Pipe.alu, Pipe.fma))
    image["triple"] = arithmetic & (vectors >= 3)
    sets_predicates = (source["dst_start"] >= PREDICATE_BASE) & (source["dst_start"] < UNIFORM_BASE)
    image["vector"] = (arithmetic & (vectors > 0) & (vectors < 3) & ~wide) * (1 + sets_predicates)
    before_clock = image["wide"] * np.append(clocks[1:], False)
    held = image["wide"] - before_clock + np.append(np.uint8(0), before_clock[:-1])
    image["second_pass"] = np.uint8(spec.issue.wide_pass_cycles) * held
    image["stall"] += image["second_pass"]
    tensor = image["kind"] == Kind.mma
    multiplicands = source["src_start"][:, 0]
    previous, rows = multiplicands.copy(), np.flatnonzero(tensor)
    previous[rows[1:]] = multiplicands[rows[:-1]]
    image["fetches"] = active & tensor & (multiplicands != previous)


def _flags(program: Program, roles: list[RoleProgram], ops: list[np.ndarray]) -> FlagState:
    """Mark the ops that depend on flags; the flags' state at the start."""
    table, numbers = flag_ops(program, roles)
    for role, image, number in zip(roles, ops, numbers, strict=True):
        jumps = flag_jumps(role, number, image["kind"] == Kind.branch)
        marked = (number >= 0) | (jumps != 0)
        image["operand"][marked] = np.where(jumps != 0, jumps, number)[marked]
        image["flags"][jumps != 0] &= ~np.uint8(TAKEN)
        image["flags"][marked] |= FLAG
    parts = iter(numbers)
    return new_flags(program, table, [[next(parts) for _ in cta.roles] for cta in program.classes])


def _mark_cached(program: Program, table: np.ndarray, ops: list[np.ndarray]) -> None:
    """Loads and cp.async.ca; not what other SMs may have written (.cg, volatile, polls), nor cp.async.cg."""
    passes_by = np.array([any(word in static.mnemonic for word in PAST_L1) for static in program.statics], bool)
    keeps = np.isin(table["kind"], (Kind.global_load, Kind.async_copy)) & ~passes_by
    for image in ops:
        image["cached"] = keeps[image["pc"]] & (image["flags"] & FLAG == 0)


def _data_turns(kinds: np.ndarray, data: np.ndarray, spec: GpuSpec) -> np.ndarray:
    """What is stored, ``data`` registers, and the upper half of an address of global memory (access_reads.csv)."""
    turns = np.ceil(data * REGISTER_BYTES / spec.mio.store_data_bytes_per_cycle).astype(np.int64)
    return turns + np.isin(kinds, (Kind.global_store, Kind.atomic)) * (data > 0)


def _address_registers(kinds: np.ndarray) -> np.ndarray:
    per_kind = np.zeros(len(Kind), np.uint8)
    for kind, registers in ADDRESS_REGISTERS.items():
        per_kind[kind] = registers
    return per_kind[kinds]


def _operand_registers(source: np.ndarray, kinds: np.ndarray, role: RoleProgram) -> np.ndarray:
    stores = np.isin(kinds, STORES) & (source["access"] != NO_ACCESS)
    widths = np.append(role.accesses.bytes_per_lane, 0)[source["access"]]
    data = np.where(kinds == Kind.stmatrix, _matrices(role)[source["access"]], (widths + 3) // 4)
    return _address_registers(kinds) + np.where(stores, data, 0)


def _matrices(role: RoleProgram) -> np.ndarray:
    """Of stmatrix, whose rows of 16 bytes a lane holds the addresses of, by access: a register each."""
    return np.array([int(name[-1]) if name.startswith("STSM") else 0 for name in (*role.accesses.operation, "")])


def _warp_roles(program: Program) -> np.ndarray:
    roles = np.full((len(program.classes), program.warps_per_cta), -1, np.int32)
    number = 0
    for row, cta in zip(roles, program.classes, strict=True):
        for role in cta.roles:
            row[role.first_warp : role.first_warp + role.num_warps] = number
            number += 1
    return roles
