"""Models one launch from the start of the kernel to its last write: sets up, runs the host, collects the counters.
Leaves out names of metrics and files (gpusim.report, gpusim.experiments)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gpusim.arch import GpuSpec, Occupancy, occupancy
from gpusim.arch.instructions import Kind
from gpusim.engine.blocks import BlockScheduler, fill_order
from gpusim.engine.clock import counted_cycles, working_mhz
from gpusim.engine.clusters import Clusters, ClusterScheduler, check_clusters, longest_window
from gpusim.engine.fetch import constant_cycles, unread_constants
from gpusim.engine.gpc import gpcs_of
from gpusim.engine.host import Group, Host, request_capacity
from gpusim.engine.image import ProgramImage, image_of
from gpusim.engine.l1 import l1_bytes, new_l1
from gpusim.engine.launch_reads import launch_sectors, with_launch_reads
from gpusim.engine.machine import POLICIES, Machine, at_clock, machine_of, machine_record
from gpusim.engine.memory import warm_lines
from gpusim.engine.memory_state import MEMORY_COUNTERS, MemoryState, new_memory
from gpusim.engine.register_reads import reads_of_kinds
from gpusim.engine.result import SimulationResult
from gpusim.engine.sampling import extrapolate, sampled_ctas
from gpusim.engine.sequence import hit_rates, simulate_in_turn
from gpusim.engine.state import COUNTERS, NEVER, WARPS_PER_WARPGROUP, SmState, new_state, new_window
from gpusim.errors import UserError, did_you_mean
from gpusim.program import Program

__all__ = ["RecordWindow", "simulate"]

FIDELITIES = ("full", "sampled")
EVENT_CAPACITY = 2_000_000
GROUP_SMS = 16
"""SMs that one of several threads advances at a time; changes no result."""


@dataclass(frozen=True)
class RecordWindow:
    """Events of one SM between two cycles are kept; cycles count from the launch."""

    sm: int
    start_cycle: int
    end_cycle: int

    def moved(self, cycles: int) -> RecordWindow:
        return RecordWindow(self.sm, self.start_cycle + cycles, self.end_cycle + cycles)


def simulate(
    program: Program,
    spec: GpuSpec,
    *,
    fidelity: str = "full",
    l2: str = "cold",
    launch_overhead: bool = True,
    window_cycles: int | None = None,
    workers: int = 1,
    policy: str | None = None,
    record: RecordWindow | None = None,
    progress: Callable[[float], None] | None = None,
    flush: bool = False,
    memory: MemoryState | None = None,
) -> SimulationResult:
    """Simulate a launch, or the launches of a sequence one after the other.

    Args:
        fidelity: "full" simulates every CTA. "sampled" simulates two waves and the tail of a long launch on all SMs and
            extrapolates the waves between (gpusim.engine.sampling); short ones, and CTAs that wait for each other, are
            simulated in full. The result's ``assumptions`` say what was left out.
        l2: "cold" (nothing cached) or "warm" (all tensors that are read stand in L2, as far as they fit).
        launch_overhead: count the cycles before the first CTA and after the last one, reads of code from L2, and waits
            for code and constants, which no SM has at first.
        window_cycles: length of a window, at most the specification's lookahead, and with clusters the time that SMs
            take to reach each other; changes no result.
        workers: threads that advance groups of SMs; changes no result.
        policy: warp scheduler instead of the specification's.
        record: keep events of one SM for a timeline.
        progress: called with the finished share of CTAs of a launch.
        flush: empty L2 before each launch of a sequence, as a profiler does.
        memory: what an earlier launch left behind, instead of ``l2``.

    Raises:
        UserError: a launch the GPU refuses, an unknown option value.
        SimulatedFailure: deadlock.
    """
    _check(program, spec, fidelity, l2, window_cycles, policy)
    if program.sequence:
        again = partial(simulate, spec=spec, fidelity=fidelity, l2=l2, launch_overhead=launch_overhead,
                        window_cycles=window_cycles, workers=workers, policy=policy, progress=progress)
        return simulate_in_turn(program, _memory(program, spec, l2), lambda launch, left, start: again(
            launch, record=record and record.moved(-start), memory=left), flush=flush)
    fit = _fit(program, spec)
    blocks_per_sm = fit.blocks_per_sm
    check_clusters(program, spec, blocks_per_sm)
    began = time.perf_counter()
    image = image_of(program, spec)
    clock_mhz = working_mhz(image, spec)
    machine = at_clock(machine_of(spec, policy=policy), clock_mhz / spec.clock.sm_mhz)
    machine = machine._replace(uniform_constant=constant_cycles(program.num_ctas, image.warps_per_cta, spec),
                               cta_shared_bytes=fit.shared_bytes_per_cta)
    state = _state(program, image, machine, spec, blocks_per_sm, record, cold=launch_overhead)
    memory = _memory(program, spec, l2) if memory is None else memory
    start = spec.launch.start_cycles if launch_overhead else 0
    window = window_cycles or longest_window(program, spec)
    slots = spec.sm.count * blocks_per_sm
    ctas = sampled_ctas(program, slots) if fidelity == "sampled" else np.arange(program.num_ctas)
    clusters = Clusters.of(program)
    blocks = _blocks(program, image, state, spec, blocks_per_sm, ctas, clusters)
    sms_at_a_time = GROUP_SMS if workers > 1 else spec.sm.count
    groups = _groups(spec, image, window, blocks_per_sm, record, sms_at_a_time)
    host = Host(machine, machine_record(machine), image, state, memory, blocks, clusters, groups, window, workers,
                progress, lambda pc: _place(program, pc))
    compiled = _compile(host) - began
    began = time.perf_counter()
    blocks.launch(start)
    last = host.run()
    drained = max(last, int(np.ceil(memory.total[0]["last_write"])))
    cycles = drained
    counted_mhz = clock_mhz
    if launch_overhead:
        counted, counted_mhz = counted_cycles(spec, blocks, start, drained, clock_mhz)
        cycles = start + counted + spec.launch.end_cycles
    result = _result(program, spec, host, cycles, counted_mhz, blocks_per_sm, time.perf_counter() - began, compiled,
                     {"fidelity": fidelity, "l2": l2, "launch_overhead": launch_overhead,
                      "policy": POLICIES[machine.policy]})
    result = extrapolate(result, ctas, slots)
    return with_launch_reads(result, launch_sectors(spec, len(program.statics))) if launch_overhead else result


def _check(
    program: Program, spec: GpuSpec, fidelity: str, l2: str, window_cycles: int | None, policy: str | None
) -> None:
    if fidelity not in FIDELITIES:
        raise UserError("fidelity must be 'full' or 'sampled'", got=f"'{fidelity}'",
                        suggestion=did_you_mean(fidelity, FIDELITIES))
    if l2 not in ("cold", "warm"):
        raise UserError("l2 must be 'cold' or 'warm'", got=f"'{l2}'")
    if policy is not None and policy not in POLICIES:
        raise UserError("unknown warp scheduler", got=f"'{policy}'", suggestion=did_you_mean(policy, POLICIES))
    limit = longest_window(program, spec)
    if window_cycles is not None and not 1 <= window_cycles <= limit:
        raise UserError(f"window_cycles must be from 1 to {limit}: no SM can notice another", got=window_cycles)


def _fit(program: Program, spec: GpuSpec) -> Occupancy:
    launch = program.launch
    fit = occupancy(spec, launch.threads_per_cta, launch.registers_per_thread, launch.shared_bytes)
    if fit.blocks_per_sm < 1:
        raise UserError(
            f"a CTA of {program.name} does not fit on an SM of {spec.name}", got=f"{launch.threads_per_cta} threads, "
            f"{launch.registers_per_thread} registers per thread, {launch.shared_bytes} bytes of shared memory",
            suggestion=f"the limit is {fit.limiter}: fewer stages or a smaller tile need less")
    return fit


def _blocks(
    program: Program, image: ProgramImage, state: SmState, spec: GpuSpec, blocks_per_sm: int, ctas: np.ndarray,
    clusters: Clusters
) -> BlockScheduler:
    unknown = np.full(program.num_ctas, -1, np.int64)
    kept = unknown.copy(), unknown.copy(), unknown.astype(np.int32)
    if clusters.size > 1:
        return ClusterScheduler(image, state, np.arange(spec.sm.count), ctas, blocks_per_sm, spec,
                                *kept, clusters=clusters, gpc_of=gpcs_of(spec))
    sms = fill_order(spec.noc.gpc_runs, program.num_ctas)
    return BlockScheduler(image, state, sms, ctas, blocks_per_sm, spec, *kept)


def _groups(
    spec: GpuSpec, image: ProgramImage, window: int, blocks_per_sm: int, record: RecordWindow | None,
    sms_at_a_time: int,
) -> list[Group]:
    groups, reads = [], reads_of_kinds(spec)
    for first in range(0, spec.sm.count, sms_at_a_time):
        last = min(first + sms_at_a_time, spec.sm.count)
        events = EVENT_CAPACITY if record is not None and first <= record.sm < last else 0
        groups.append(Group(first, last, new_window(
            image.num_statics, request_capacity(last - first, window), (last - first) * blocks_per_sm, events,
            image.mbarrier_arrivals, *reads)))
    return groups


def _memory(program: Program, spec: GpuSpec, l2: str) -> MemoryState:
    """A cold L2, or one that holds the inputs."""
    machine = machine_of(spec)
    memory = new_memory(machine, gpcs_of(spec), spec.noc.gpc_latency_cycles, spec.noc.cpcs_per_gpc)
    if l2 == "warm":
        _warm(memory, machine, program)
    return memory


def _warm(memory: MemoryState, machine: Machine, program: Program) -> None:
    for tensor in program.tensors:
        if not (tensor.is_output or tensor.is_scratch):
            warm_lines(memory, machine_record(machine), tensor.base_address >> 7, (tensor.size_bytes + 127) >> 7)
    memory.total["counters"] = 0


def _state(
    program: Program, image: ProgramImage, machine: Machine, spec: GpuSpec, blocks_per_sm: int,
    record: RecordWindow | None, cold: bool,
) -> SmState:
    """Empty SMs with what the program uses: L1 where something is kept there, mbarriers, warpgroups. Cold ones have no
    code."""
    capacity = l1_bytes(spec, program.launch, blocks_per_sm) if image.ops["cached"].any() else None
    warpgroups = -(-image.warps_per_cta // WARPS_PER_WARPGROUP) if (image.ops["kind"] == Kind.wgmma).any() else 0
    state = new_state(machine.num_sms, machine.max_warps, blocks_per_sm,
                      new_l1(machine.num_sms, image.requests, capacity), image.num_pieces,
                      unread_constants(machine.num_sms, image.ops["constant"]), len(image.mbarrier_arrivals),
                      warpgroups)
    if cold:
        state.code[:] = state.sms["begun"] = NEVER
    if record is not None:
        state.sms[record.sm]["record_start"], state.sms[record.sm]["record_end"] = record.start_cycle, record.end_cycle
    return state


def _place(program: Program, pc: int) -> str:
    static = program.statics[pc]
    return f"{static.file or program.name}:{static.line} {static.mnemonic} ({static.scope})"


def _compile(host: Host) -> float:
    """Compile (or load from the cache) before the clock of the host rate starts: a window without work."""
    from gpusim.engine.mailbox import Mailbox
    from gpusim.engine.memory import serve
    from gpusim.engine.scheduler import advance_group
    from gpusim.engine.state import COMPLETION, REQUEST_RECORD

    nothing = np.zeros(0, COMPLETION)
    first = np.zeros(host.machine.num_sms + 1, np.int64)
    advance_group(host.state, host.machine_record, host.image.ops, host.image.accesses, host.image.cta_bases,
                  host.groups[0].window, 0, 0, nothing, first, 0)
    none, order = np.zeros(0, REQUEST_RECORD), np.zeros(0, np.int64)
    serve(host.memory, host.machine_record, none, order, host.image.requests, host.image.flags,
          host.clusters.peers, host.state.stores, nothing)
    for records in (COMPLETION, REQUEST_RECORD):
        Mailbox(records).take_before(0)
    return time.perf_counter()


def _result(
    program: Program, spec: GpuSpec, host: Host, cycles: int, clock_mhz: float, blocks_per_sm: int,
    host_seconds: float, compile_seconds: float, settings: dict[str, object],
) -> SimulationResult:
    state, memory, blocks, groups = host.state, host.memory, host.blocks, host.groups
    counters = dict(zip(COUNTERS, state.sms["counters"].sum(axis=0).tolist(), strict=True))
    counters |= dict(zip(MEMORY_COUNTERS, memory.total[0]["counters"].tolist(), strict=True))
    counters |= hit_rates(counters)
    counters["launch_overhead_cycles"] = float(
        spec.launch.start_cycles + spec.launch.end_cycles if settings["launch_overhead"] else 0)
    events = _events(host.image, np.concatenate([group.window.events[: group.window.counts[2]] for group in groups]))
    return SimulationResult(
        cycles=cycles,
        clock_mhz=clock_mhz,
        num_sms=spec.sm.count,
        sms_used=np.arange(spec.sm.count, dtype=np.int32),
        sm_active_cycles=_active_cycles(blocks, spec.sm.count),
        sm_warp_cycles=state.sms["warp_cycles"],
        issued=np.sum([group.window.statics["issued"] for group in groups], axis=0),
        state_cycles=np.sum([group.window.statics["cycles"] for group in groups], axis=0),
        sm_state_cycles=state.sms["states"],
        counters=counters,
        sm_counters={name: state.sms["counters"][:, i] for i, name in enumerate(COUNTERS)},
        cta_start=blocks.start,
        cta_end=blocks.end,
        cta_sm=blocks.placed_on,
        blocks_per_sm=blocks_per_sm,
        events=events,
        host_seconds=host_seconds,
        compile_seconds=compile_seconds,
        settings=settings,
    )


def _events(image: ProgramImage, events: np.ndarray) -> np.ndarray:
    """Events in order of time; op counts from the first row of the warp's role."""
    roles = image.class_warp_role[image.cta_class[events["cta"]], events["warp"]]
    events["op"] -= image.role_first_op[roles].astype(np.int32)
    return events[np.lexsort((events["end"], events["start"]))]


def _active_cycles(blocks: BlockScheduler, sms: int) -> np.ndarray:
    """Cycles in which an SM holds at least one CTA: the union of its CTAs' lives."""
    active = np.zeros(sms, np.int64)
    busy_until = np.zeros(sms, np.int64)
    for cta in np.argsort(blocks.start, kind="stable"):
        sm, start, end = blocks.placed_on[cta], blocks.start[cta], blocks.end[cta]
        if end > busy_until[sm]:
            active[sm] += end - max(start, busy_until[sm])
            busy_until[sm] = end
    return active
