"""Models tiny launches written by hand: op rows in a mini-language, shared accesses of given wavefronts, global lines.
Leaves out registers and values: the engine looks at control fields, wavefronts and lines only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpusim.arch import GpuSpec, load_gpu
from gpusim.engine import EVENT_KINDS, RecordWindow, SimulationResult, simulate
from gpusim.program import (
    PREDICATE_BASE,
    CtaClass,
    Launch,
    MBarrier,
    MBarrierAction,
    Program,
    RoleProgram,
    Static,
    TensorInfo,
    empty_ops,
    pack_mbarrier,
)
from gpusim.program.access_builder import Access, BulkRows, build_access_table

LANES = np.arange(32)
ALL_LANES = 0xFFFFFFFF
LINE_BYTES = 128
TENSOR_BYTES = 1 << 18
TENSORS = {"A": 1 << 20, "D": 1 << 22}
"""Global memory of every tiny launch: A is read, D is written."""
FOREVER = 1 << 40
FULL_NAMES = {"LDGSTS": "LDGSTS.E.BYPASS.128"}
BULK = ("TMALDG", "TMASTG", "MBAR")


@dataclass(frozen=True)
class Row:
    """One op row. Rows with the same ``site`` are executions of one static instruction."""

    mnemonic: str
    stall: int = 1
    wait: tuple[int, ...] = ()
    write: int = 7
    read: int = 7
    access: str = ""
    operand: int = 0
    arrivals: int = 0
    bytes: int = 0
    yields: bool = False
    off: bool = False  # predicated off
    jumps: int = 0  # instructions between this and the next row, which nobody runs
    site: str = ""
    line: int = 0
    reads: tuple[int, ...] = ()  # registers; of a tensor instruction its A operand first
    reuse: int = 0  # bit n: the n-th of those stays in the reuse cache
    constant: int = -1  # byte of the constant bank that it reads
    sets: bool = False  # predicates, and no register


@dataclass(frozen=True)
class Memory:
    """One access of all warps of a role: what it costs is given, the addresses follow."""

    operation: str
    ways: tuple[int, ...] = (1,)  # shared side: conflict ways of each warp (the last one for the rest)
    lines: int = 0  # global side: 128-byte lines per warp
    first_line: int = 0
    shift_bytes: int = 0  # on the shared side
    warps: int = 64  # only so many first warps of the role take part
    outside_bytes: int = 0  # of a bulk copy: beyond the tensor
    ctas: int = 0  # of the cluster that a bulk load goes to or an arrival is for, a bit each

    @property
    def bytes_per_lane(self) -> int:
        digits = "".join(filter(str.isdigit, self.operation))
        if self.operation.startswith(("LDSM", "STSM", *BULK)):
            return 16
        return int(digits) if self.operation.startswith("CPA") else int(digits) // 8


Part = tuple[int, Sequence[Row]]
"""Warps that run the same rows."""


def row(text: str) -> Row:
    """``"LDS stall=2 write=0 access=a"``; words without a value (yields, off, jumps) are flags, ``wait=0,3`` a list."""
    mnemonic, *words = text.split()
    fields: dict[str, object] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name == "wait":
            fields[name] = tuple(int(board) for board in value.split(","))
        elif name in ("access", "site"):
            fields[name] = value
        else:
            fields[name] = int(value) if value else True
    return Row(mnemonic, **fields)  # type: ignore[arg-type]


def rows(text: str) -> list[Row]:
    """One row per non-empty line; source lines count from 1."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [replace(row(line), line=number) for number, line in enumerate(lines, 1)]


def loop(body: Sequence[Row], times: int, name: str = "loop") -> list[Row]:
    """The body unrolled: every execution names the same static instructions."""
    return [replace(part, site=f"{name}{i}") for _ in range(times) for i, part in enumerate(body)]


def depbar(board: int, allowed: int, **fields: int) -> Row:
    """DEPBAR.LE SB<board>, <allowed>: at most ``allowed`` newest groups may be under way."""
    return replace(Row("DEPBAR.LE", operand=board << 16 | allowed), **fields)  # type: ignore[arg-type]


def arrive(index: int, lanes: int = 32, **fields: object) -> Row:
    """Each warp arrives ``lanes`` times."""
    return Row("SYNCS.ARRIVE.TRANS64.RED.A1T0", operand=pack_mbarrier(index, MBarrierAction.arrive), arrivals=lanes,
               **fields)  # type: ignore[arg-type]


def expect(index: int, count: int, **fields: object) -> Row:
    """One arrival, and ``count`` bytes more to wait for."""
    return Row("SYNCS.ARRIVE.TRANS64", operand=pack_mbarrier(index, MBarrierAction.expect_tx), bytes=count,
               **fields)  # type: ignore[arg-type]


def follow(index: int, **fields: object) -> Row:
    """Each lane arrives when the warp's cp.async so far are complete."""
    return Row("ARRIVES.LDGSTSBAR.64", operand=pack_mbarrier(index, MBarrierAction.arrive_async),
               **fields)  # type: ignore[arg-type]


def wait(index: int, parity: int, board: int = 0, stall: int = 2, lanes: int = 32) -> list[Row]:
    """Until the phase with this parity is complete; the branch behind it never jumps."""
    operand = pack_mbarrier(index, MBarrierAction.wait, parity)
    return [Row("SYNCS.PHASECHK.TRANS64.TRYWAIT", operand=operand, arrivals=lanes, write=board, stall=stall),
            Row("BRA", wait=(board,), stall=5)]


def wgmma(columns: int, *, closes: bool = False, registers: bool = False, stall: int = 12) -> Row:
    return Row(f"HGMMA.64x{columns}x16.F32", operand=closes + 2 * registers, stall=stall)


def program(
    roles: Sequence[Part] | Sequence[Row],
    accesses: Mapping[str, Memory] | None = None,
    *,
    ctas: int = 1,
    other_classes: Sequence[Sequence[Row]] = (),
    cta_class: Iterable[int] | None = None,
    cta_bytes: int = 0,
    shared_bytes: int = 0,
    mbarriers: Sequence[int] = (),
    cluster: int = 1,
) -> Program:
    """A launch of ``ctas`` CTAs of roles (number of warps, rows), in clusters of ``cluster``; bare rows are one warp.

    ``mbarriers``: arrivals of each. ``other_classes`` are further CTA classes of one role with as many warps;
    ``cta_bytes`` separates the tiles of CTAs. EXIT is added where it is missing.
    """
    parts = _parts(roles)
    num_warps = sum(count for count, _ in parts)
    classes = [parts, *([(num_warps, other)] for other in other_classes)]
    statics: dict[str, Static] = {}
    built = tuple(CtaClass(f"class{i}", _roles(group, accesses or {}, statics, i)) for i, group in enumerate(classes))
    bases = np.array([[base + cta * cta_bytes for base in TENSORS.values()] for cta in range(ctas)], np.int64)
    return Program(
        name="tiny", statics=tuple(statics.values()), classes=built,
        launch=Launch((ctas, 1, 1), 32 * num_warps, 32, shared_bytes, (cluster, 1, 1)),
        cta_class=np.array([0] * ctas if cta_class is None else list(cta_class), np.int32), cta_bases=bases,
        cta_index=np.stack([np.arange(ctas), np.zeros(ctas), np.zeros(ctas)], axis=1).astype(np.int32),
        tensors=tuple(TensorInfo(name, "f32", (TENSOR_BYTES // 4,), (1,), base, TENSOR_BYTES, name == "D")
                      for name, base in TENSORS.items()),
        mbarriers=tuple(MBarrier(f"bar[{i}]", arrivals) for i, arrivals in enumerate(mbarriers)),
    )


def _parts(roles: Sequence[Part] | Sequence[Row]) -> list[Part]:
    bare = [row for row in roles if isinstance(row, Row)]
    return [(1, bare)] if bare else [part for part in roles if not isinstance(part, Row)]


def _roles(
    parts: Sequence[Part], accesses: Mapping[str, Memory], statics: dict[str, Static], number: int
) -> tuple[RoleProgram, ...]:
    made, first = [], 0
    for position, (count, body) in enumerate(parts):
        whole = list(body) if body and body[-1].mnemonic == "EXIT" else [*body, Row("EXIT")]
        table = build_access_table([_access(memory, first, count) for memory in accesses.values()], count)
        ops = _ops(whole, list(accesses), statics, f"{number}.{position}")
        made.append(RoleProgram(f"role{position}", first, count, ops, table))
        first += count
    return tuple(made)


def _ops(body: Sequence[Row], names: list[str], statics: dict[str, Static], prefix: str) -> np.ndarray:
    ops = empty_ops(len(body))
    for position, (op, part) in enumerate(zip(ops, body, strict=True)):
        site = f"{prefix}.{part.site or position}"
        if site not in statics:
            name = FULL_NAMES.get(part.mnemonic, part.mnemonic)
            statics[site] = Static(name, part.line, "body", "tiny.py", part.constant)
        for number in range(part.jumps):
            statics.setdefault(f"{site}.skipped {number}", Static("NOP"))
        op["pc"] = list(statics).index(site)
        op["stall"], op["write_barrier"], op["read_barrier"] = part.stall, part.write, part.read
        op["wait_mask"] = sum(1 << board for board in part.wait)
        op["operand"], op["yield_"], op["active"], op["reuse"] = part.operand, part.yields, not part.off, part.reuse
        op["shared_offset"], op["global_offset"] = part.arrivals, part.bytes
        op["access"] = names.index(part.access) if part.access else -1
        op["src_start"][:len(part.reads)], op["src_count"][:len(part.reads)] = part.reads, 1
        op["dst_start"], op["dst_count"] = (PREDICATE_BASE, 1) if part.sets else (0, 0)
    return ops


def _access(memory: Memory, first_warp: int, num_warps: int) -> Access:
    if memory.operation in BULK:
        return _bulk(memory, first_warp, num_warps)
    operation, width = memory.operation, memory.bytes_per_lane
    shared = global_offset = None
    if not operation.startswith(("LDG", "STG")):
        ways = [memory.ways[min(warp, len(memory.ways) - 1)] for warp in range(num_warps)]
        shared = np.stack([_shared_lanes(width, way) for way in ways]) + memory.shift_bytes
    if memory.lines:
        starts = memory.first_line + 32 * (first_warp + np.arange(num_warps))
        line = LANES * memory.lines // len(LANES)
        inside = (LANES - np.searchsorted(line, line)) * width % LINE_BYTES
        global_offset = (starts[:, None] + line) * LINE_BYTES + inside
    return Access(operation, operation.lower(), width, shared, global_offset,
                  tensor=-1 if not memory.lines else int(operation.startswith("STG")),
                  lane_mask=np.where(np.arange(num_warps) < memory.warps, ALL_LANES, 0).astype(np.uint32),
                  zfill_mask=np.zeros(num_warps, np.uint32))


def _bulk(memory: Memory, first_warp: int, num_warps: int) -> Access:
    """One elected lane per warp that takes part; of an mbarrier op all its lanes."""
    here = np.arange(num_warps) < memory.warps
    lanes = np.where(here, ALL_LANES if memory.operation == "MBAR" else 1, 0).astype(np.uint32)
    starts = (memory.first_line + 32 * (first_warp + np.arange(num_warps))) * LINE_BYTES
    inside = np.where(here, memory.lines * LINE_BYTES, 0)
    rows = BulkRows(starts[:, None], inside[:, None], inside + np.where(here, memory.outside_bytes, 0))
    return Access(memory.operation, memory.operation.lower(), 16, None, None, int(memory.operation == "TMASTG"), lanes,
                  np.zeros(num_warps, np.uint32), None if memory.operation == "MBAR" else rows,
                  cta_mask=np.where(here, memory.ctas, 0))


def _shared_lanes(width: int, ways: int) -> np.ndarray:
    """Addresses whose phases each take ``ways`` wavefronts (a power of two that the phase allows)."""
    return (LANES * width * ways) % (1 << 16)


def small_gpu(sms: int = 1, *settings: str) -> GpuSpec:
    """An H200 with few SMs and a small L2: what an SM does is the same, and setting up is quick."""
    runs = [[number, min(2, sms - 2 * number)] for number in range(-(-sms // 2))]
    sizes = [f"sm.count={sms}", f"noc.gpc_runs={runs}"]
    return load_gpu("h200", [*sizes, "l2.capacity_bytes=2097152", "noc.gpc_latency_cycles=[]", *settings])


def run(tiny: Program, gpu: GpuSpec | None = None, **options: object) -> SimulationResult:
    """Simulate with a warm L2 and no launch overhead, keeping every event of SM 0."""
    settings: dict[str, object] = {"l2": "warm", "launch_overhead": False, "record": RecordWindow(0, 0, FOREVER)}
    return simulate(tiny, gpu or small_gpu(), **(settings | options))  # type: ignore[arg-type]


def issue_cycles(result: SimulationResult, warp: int = 0, cta: int = 0) -> list[int]:
    """Cycles in which a warp issued, in program order."""
    events = result.events
    chosen = (events["kind"] == EVENT_KINDS.index("issue")) & (events["warp"] == warp) & (events["cta"] == cta)
    return [int(start) for start in events["start"][chosen]]
