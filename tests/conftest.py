"""Models a small program and a simulation of it, made by hand, for tests of what comes after the engine.
Leaves out the machine: every instruction waits a fixed time for a fixed reason."""

from __future__ import annotations

import signal
from dataclasses import dataclass

import numpy as np
import pytest

from gpusim.engine.result import EVENT, EVENT_KINDS, WARP_STATES, SimulationResult
from gpusim.program import (
    REQUEST,
    AccessTable,
    CtaClass,
    Launch,
    Program,
    RoleProgram,
    Static,
    TensorInfo,
    empty_ops,
)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background jobs; tests send Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

WARPS, CTAS, STAGES, K_TILES = 4, 2, 3, 6


@dataclass(frozen=True)
class Step:
    """One static instruction of the hand-made kernel: what it waits for, and for how long."""

    mnemonic: str
    line: int
    scope: str
    state: str = "wait"
    wait_cycles: int = 2
    access: int = -1


LDGSTS, LDSM, STG = 0, 1, 2
COPY = Step("LDGSTS.E.BYPASS.LTC128B.128", 21, "main_loop", "lg_throttle", 3, LDGSTS)
STEPS = (
    Step("S2R", 10, "prologue"),
    Step("LDGSTS.E.BYPASS.LTC128B.128", 12, "prologue", "lg_throttle", 3, LDGSTS),
    Step("LDGDEPBAR", 13, "prologue"),
    Step("LDSM.16.M88.4", 20, "main_loop", "mio_throttle", 5, LDSM),
    COPY,
    Step("LDGDEPBAR", 22, "main_loop"),
    Step("HMMA.16816.F32", 23, "main_loop", "short_scoreboard", 9),
    Step("HMMA.16816.F32", 23, "main_loop", "math_pipe_throttle", 6),
    Step("DEPBAR.LE", 24, "main_loop", "long_scoreboard", 20),
    Step("BAR.SYNC.DEFER_BLOCKING", 25, "main_loop", "barrier", 12),
    Step("STG.E", 30, "epilogue", "long_scoreboard", 4, STG),
    Step("EXIT", 31, "epilogue", "drain", 8),
)
PROLOGUE, MAIN_LOOP, EPILOGUE = range(0, 3), range(3, 10), range(10, 12)


def _order() -> list[tuple[int, int]]:
    """(pc, k tile) of every executed instruction."""
    prologue = [(pc, stage) for stage in range(STAGES - 1) for pc in PROLOGUE]
    loop = [(pc, k + STAGES - 1) for k in range(K_TILES) for pc in MAIN_LOOP]
    return prologue + loop + [(pc, 0) for pc in EPILOGUE]


def _accesses() -> AccessTable:
    shape = (3, WARPS)
    lanes = np.arange(WARPS * 32).reshape(1, WARPS, 32)
    shared = np.concatenate([lanes * 16, lanes * 32, np.full_like(lanes, -1)]).astype(np.int32)
    global_ = np.concatenate([lanes * 16, np.full_like(lanes, -1), lanes * 4]).astype(np.int64)
    wavefronts = np.repeat([[4], [8], [0]], WARPS, axis=1).astype(np.uint16)
    ideal = np.repeat([[4], [4], [0]], WARPS, axis=1).astype(np.uint16)
    requests = np.zeros(4 * WARPS + WARPS, REQUEST)
    requests["line_offset"] = np.r_[np.arange(4 * WARPS), np.arange(WARPS)] * 128
    requests["sector_mask"] = 15
    first = np.array([np.arange(WARPS) * 4, np.zeros(WARPS), 4 * WARPS + np.arange(WARPS)], np.int32)
    count = np.repeat([[4], [0], [1]], WARPS, axis=1).astype(np.int32)
    return AccessTable(
        operation=("CPA16", "LDSM4", "STG32"), tensor=np.array([0, -1, 1], np.int8),
        bytes_per_lane=np.array([16, 16, 4], np.uint8), lane_mask=np.full(shape, 0xFFFFFFFF, np.uint32),
        zfill_mask=np.zeros(shape, np.uint32), shared_address=shared, global_offset=global_, wavefronts=wavefronts,
        ideal_wavefronts=ideal, bank_conflicts=(wavefronts - ideal).astype(np.float32), request_first=first,
        request_count=count, requests=requests, label=("cp.async gA -> sA", "ldmatrix sA", "st.global D"),
    )


def make_program() -> Program:
    """Two CTAs of four warps: three-stage copies, ldmatrix with two-way conflicts, two MMAs per k tile."""
    order = _order()
    ops = empty_ops(len(order))
    ops["pc"] = [pc for pc, _ in order]
    ops["access"] = [STEPS[pc].access for pc, _ in order]
    is_shared = np.isin(ops["access"], (LDGSTS, LDSM))
    ops["shared_offset"] = np.where(is_shared, [2048 * (k % STAGES) for _, k in order], 0)
    role = RoleProgram("all", 0, WARPS, ops, _accesses())
    statics = tuple(Static(step.mnemonic, step.line, step.scope, "kernel.py") for step in STEPS)
    tensors = (
        TensorInfo("A", "f16", (128, 64), (64, 1), 1 << 20, 16384),
        TensorInfo("D", "f16", (128, 64), (64, 1), 2 << 20, 16384, True),
    )
    return Program(
        name="tiny", statics=statics, classes=(CtaClass("interior", (role,)),),
        launch=Launch((CTAS, 1, 1), WARPS * 32, 128, STAGES * 2048), cta_class=np.zeros(CTAS, np.int32),
        cta_bases=np.array([[1 << 20, 2 << 20], [(1 << 20) + 8192, (2 << 20) + 8192]], np.int64),
        cta_index=np.array([[0, 0, 0], [1, 0, 0]], np.int32), tensors=tensors,
        flops=float(CTAS * WARPS * 2 * K_TILES * 4096), parameters={"swizzle": "none", "num_stages": STAGES},
    )


class _Recorder:
    """Collects events and state cycles while warps are walked through the op table."""

    def __init__(self, program: Program) -> None:
        self.events: list[tuple[int, ...]] = []
        self.states = np.zeros((len(program.statics), len(WARP_STATES)), np.int64)
        self.issued = np.zeros(len(program.statics), np.int64)

    def add(self, kind: str, state: str, cta: int, warp: int, pc: int, op: int, start: int, end: int) -> None:
        row = (EVENT_KINDS.index(kind), WARP_STATES.index(state), warp % 4, cta * WARPS + warp, cta, warp, pc, op)
        self.events.append((*row, start, end))

    def warp(self, program: Program, cta: int, warp: int, start: int) -> int:
        """Walks one warp; returns the cycle after its EXIT."""
        now = start
        for op, pc in enumerate(program.classes[0].roles[0].ops["pc"].tolist()):
            step = STEPS[pc]
            self.add("state", step.state, cta, warp, pc, op, now, now + step.wait_cycles)
            self.states[pc, WARP_STATES.index(step.state)] += step.wait_cycles
            now += step.wait_cycles
            self.add("issue", "selected", cta, warp, pc, op, now, now + 1)
            self.states[pc, WARP_STATES.index("selected")] += 1
            self.issued[pc] += 1
            self._units(step, cta, warp, pc, op, now)
            now += 1
        return now

    def _units(self, step: Step, cta: int, warp: int, pc: int, op: int, now: int) -> None:
        if step.mnemonic.startswith("HMMA"):
            self.add("mma", "selected", cta, warp, pc, op, now, now + 6)
        if step.access == LDSM:
            self.add("shared", "selected", cta, warp, pc, op, now + 4, now + 6)
        if step.access == LDGSTS:
            self.add("copy", "selected", cta, warp, pc, op, now, now + 130)


def make_result(program: Program, *, start_cycle: int = 100) -> SimulationResult:
    """Every CTA on an SM of its own; warps start two cycles apart."""
    recorder = _Recorder(program)
    ends = [[recorder.warp(program, cta, warp, start_cycle + 2 * warp) for warp in range(WARPS)] for cta in range(CTAS)]
    cta_end = np.array([max(row) for row in ends], np.int64)
    events = np.array(recorder.events, EVENT)
    sm_states = np.repeat(recorder.states.sum(axis=0)[None] // CTAS, CTAS, axis=0)
    counters = dict.fromkeys(COUNTERS, 0.0) | {
        "l2_sectors_read": 1024.0, "l2_sector_hits_read": 768.0, "l2_hit_pct": 75.0, "dram_bytes_read": 8192.0,
        "shared_wavefronts_load": 8.0 * recorder.issued[3], "shared_wavefronts_ideal_load": 4.0 * recorder.issued[3],
        "bank_conflicts_load": 4.0 * recorder.issued[3], "shared_requests_load": 1.0 * recorder.issued[3],
        "hmma_instructions": float(recorder.issued[6] + recorder.issued[7]),
        "launch_overhead_cycles": float(start_cycle),
    }
    return SimulationResult(
        cycles=int(cta_end.max()) + 50, clock_mhz=1000.0, num_sms=132, sms_used=np.arange(CTAS, dtype=np.int32),
        sm_active_cycles=cta_end - start_cycle, sm_warp_cycles=sm_states.sum(axis=1), issued=recorder.issued,
        state_cycles=recorder.states, sm_state_cycles=sm_states, counters=counters, sm_counters={},
        cta_start=np.full(CTAS, start_cycle, np.int64), cta_end=cta_end, cta_sm=np.arange(CTAS, dtype=np.int32),
        blocks_per_sm=4, events=events[np.argsort(events["start"], kind="stable")], host_seconds=0.5,
        compile_seconds=0.0, settings={"l2": "cold", "fidelity": "full", "launch_overhead": True},
    )


COUNTERS = (
    "l2_sectors_read", "l2_sectors_write", "l2_sector_hits_read", "l2_hit_pct", "dram_bytes_read",
    "dram_bytes_written", "hmma_instructions", "ldsm_instructions", "ldgsts_instructions", "launch_overhead_cycles",
    *(f"shared_wavefronts_{kind}" for kind in ("load", "store", "ldgsts", "ideal_load", "ideal_store", "ideal_ldgsts")),
    *(f"{name}_{kind}" for name in ("bank_conflicts", "shared_requests") for kind in ("load", "store", "ldgsts")),
)


@pytest.fixture
def tiny_program() -> Program:
    return make_program()


@pytest.fixture
def tiny_result(tiny_program: Program) -> SimulationResult:
    return make_result(tiny_program)


@pytest.fixture(scope="session")
def tiny() -> tuple[Program, SimulationResult]:
    """The same for tests that share what they make of it."""
    program = make_program()
    return program, make_result(program)


def instant_result(program: Program, *, clock_mhz: float = 1000.0, window: object = None) -> SimulationResult:
    """A result for any program without simulating it: cycles grow with shared-memory wavefronts."""
    from gpusim.report.executions import static_executions
    from gpusim.report.tables import shared_memory_table

    issued, shared = static_executions(program), shared_memory_table(program)
    states = np.zeros((len(issued), len(WARP_STATES)), np.int64)
    states[:, WARP_STATES.index("selected")] = issued
    states[:, WARP_STATES.index("wait")] = 2 * issued
    loads = shared[~shared["operation"].str.startswith("CPA")]
    counters = dict.fromkeys(COUNTERS, 0.0) | {
        "shared_wavefronts_load": float(loads["wavefronts"].sum()),
        "bank_conflicts_load": float(loads["bank_conflicts"].sum()),
        "hmma_instructions": float(issued[["HMMA" in static.mnemonic for static in program.statics]].sum()),
    }
    cycles = 1000 + int(shared["wavefronts"].sum()) // 100
    events = np.zeros(len(program.statics) if window else 0, EVENT)
    events["pc"] = np.arange(len(events))
    ctas = program.num_ctas
    return SimulationResult(
        cycles=cycles, clock_mhz=clock_mhz, num_sms=132, sms_used=np.arange(1, dtype=np.int32),
        sm_active_cycles=np.array([cycles]), sm_warp_cycles=states.sum(keepdims=True)[0], issued=issued,
        state_cycles=states, sm_state_cycles=states.sum(axis=0, keepdims=True), counters=counters, sm_counters={},
        cta_start=np.zeros(ctas, np.int64), cta_end=np.full(ctas, cycles), cta_sm=np.zeros(ctas, np.int32),
        blocks_per_sm=2, events=events, host_seconds=0.1, compile_seconds=0.0,
    )


@pytest.fixture
def instant_engine(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Replaces the engine under experiments; the value collects the arguments of every simulation."""
    calls: list[dict[str, object]] = []

    def simulate(program: Program, spec: object, **arguments: object) -> SimulationResult:
        calls.append(arguments)
        return instant_result(program, window=arguments["record"])

    monkeypatch.setattr("gpusim.experiments.run.simulate", simulate)
    return calls
