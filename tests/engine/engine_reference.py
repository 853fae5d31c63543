"""Models one SM once more, in plain SimPy and cycle by cycle: a process per warp and per warp scheduler.
Leaves out speed, several SMs, and the memory system behind the SM: its answers are the engine's own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import numpy as np
import simpy
from engine_warp import WarpModel

from gpusim.arch import GpuSpec
from gpusim.arch.instructions import InstructionEntry, Kind, Pipe
from gpusim.engine.image import ADDRESS_REGISTERS
from gpusim.engine.machine import machine_of, machine_record
from gpusim.engine.memory import new_memory, serve, warm_lines
from gpusim.engine.result import WARP_STATES
from gpusim.engine.state import COMPLETION, REQUEST_RECORD
from gpusim.program import Program

__all__ = ["Reference", "simulate_reference"]

Process = Generator[simpy.Event, None, None]
SHARED = (Kind.shared_load, Kind.shared_store, Kind.ldmatrix, Kind.stmatrix, Kind.shuffle)
GLOBAL = (Kind.global_load, Kind.global_store, Kind.async_copy, Kind.atomic)
STORES = (Kind.shared_store, Kind.stmatrix, Kind.global_store)
PARTS = 4
SELECTION = 0.5
"""Within a cycle: first what ends in it, then what the schedulers choose."""
LIMIT_CYCLES = 200_000


@dataclass
class Reference:
    """What the model saw."""

    issues: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)
    """(CTA, warp) -> (cycle, pc) of every issue."""
    states: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    """(P, N) warp-cycles, as SimulationResult.state_cycles."""


class Server:
    """Something that does one piece of work after the other, in the order in which they were announced."""

    def __init__(self) -> None:
        self.free = 0
        self.gap = (0, 0)

    def serve(self, arrival: int, cycles: int) -> tuple[int, int]:
        """(start, end) of a piece of work that arrives at ``arrival``."""
        start = max(self.free, arrival)
        self.free = start + cycles
        return start, self.free

    def join(self, now: int, cycles: int) -> int:
        """End of a piece of work that fills the last gap and joins the end of the queue with the rest."""
        start = max(now, self.gap[0])
        inside = min(cycles, max(0, self.gap[1] - start))
        if inside:
            self.gap = (start + inside, self.gap[1])
        if inside == cycles:
            return start + inside
        self.free = max(self.free, now) + cycles - inside
        return self.free

    def serve_at(self, now: int, arrival: int, cycles: int) -> int:
        """End of a piece of work that comes at ``arrival``: a gap in front of it is remembered."""
        if arrival > max(self.free, now):
            self.gap = (max(self.free, now), arrival)
        return self.serve(max(arrival, now), cycles)[1]


class Part:
    """A sub-partition: its warps, pipes, queue and the path of its operands."""

    def __init__(self, env: simpy.Environment, gpu: GpuSpec) -> None:
        self.warps: list[WarpModel] = []
        self.pipes = {pipe: simpy.Resource(env) for pipe in Pipe}
        self.queue = simpy.Resource(env, gpu.mio.queue_depth)
        self.operands = Server()
        self.reads: list[tuple[int, int]] = []
        """[start, end) in which the load/store unit reads registers, and the dispatcher cannot."""
        self.dispatch_free = 0
        self.last: WarpModel | None = None

    def dispatch(self, now: int) -> int:
        """Cycle in which an instruction issued now gets at its registers."""
        for start, end in self.reads:
            if start <= now < end:
                now = end
        return now


def simulate_reference(program: Program, gpu: GpuSpec, policy: str = "gto") -> Reference:
    """Simulate a launch whose CTAs all fit on the one SM of ``gpu``, with a warm L2 and no launch overhead."""
    sm = _Sm(program, gpu, policy)
    sm.env.run(until=sm.env.any_of([sm.env.all_of(sm.processes), sm.env.timeout(LIMIT_CYCLES)]))
    if any(warp.live for part in sm.parts for warp in part.warps):
        raise RuntimeError("the reference never ends")
    return sm.seen


class _Sm:
    def __init__(self, program: Program, gpu: GpuSpec, policy: str) -> None:
        self.program, self.gpu, self.policy = program, gpu, policy
        self.env = simpy.Environment()
        self.entries = [gpu.instruction_table.lookup(static.mnemonic) for static in program.statics]
        self.parts = [Part(self.env, gpu) for _ in range(PARTS)]
        self.data_stage, self.tag_stage, self.barrier_unit = Server(), Server(), Server()
        self.lsu_entries = deque([0] * gpu.mio.lsu_entries, gpu.mio.lsu_entries)
        self.seen = Reference(states=np.zeros((len(program.statics), len(WARP_STATES)), np.int64))
        self._open_memory()
        self.processes = [self.env.process(self._warp(warp)) for cta in range(program.num_ctas)
                          for warp in self._place(cta)]
        for part in self.parts:
            self.env.process(self._scheduler(part))

    def _open_memory(self) -> None:
        machine = machine_of(self.gpu)
        self.machine = machine_record(machine)
        self.memory = new_memory(machine, np.zeros(1, np.int64))
        for tensor in self.program.tensors:
            if not tensor.is_output:
                warm_lines(self.memory, self.machine, tensor.base_address >> 7, (tensor.size_bytes + 127) >> 7)

    def _place(self, cta: int) -> list[WarpModel]:
        """A CTA's warps go round the sub-partitions, from the emptiest one on."""
        first = int(np.argmin([len(part.warps) for part in self.parts]))
        placed = []
        for role in self.program.classes[self.program.cta_class[cta]].roles:
            for number in range(role.first_warp, role.first_warp + role.num_warps):
                p = (first + number) % PARTS
                age = sum(len(part.warps) for part in self.parts)
                warp = WarpModel(cta, number, role, p + PARTS * len(self.parts[p].warps), age)
                self.parts[p].warps.append(warp)
                placed.append(warp)
        return placed

    # Which warp.

    def _scheduler(self, part: Part) -> Process:
        yield self.env.timeout(SELECTION)
        while True:
            now = int(self.env.now)
            ready = []
            for warp in part.warps:
                if warp.live:
                    state = warp.held_back_by(now, self._entry(warp).kind) or self._throttle(part, warp, now)
                    if state is None:
                        ready.append(warp)
                    else:
                        self._charge(warp, state)
            if ready:
                chosen = self._prefer(part, ready)
                for warp in ready:
                    self._charge(warp, "selected" if warp is chosen else "not_selected")
                part.last = chosen
                chosen.granted.succeed()
            yield self.env.timeout(1)

    def _charge(self, warp: WarpModel, state: str, cycles: int = 1) -> None:
        self.seen.states[warp.row["pc"], WARP_STATES.index(state)] += cycles

    def _throttle(self, part: Part, warp: WarpModel, now: int) -> str | None:
        if now < part.dispatch_free:
            return "dispatch_stall"
        resource, state = self._needs(part, warp)
        return state if resource is not None and resource.count == resource.capacity else None

    def _needs(self, part: Part, warp: WarpModel) -> tuple[simpy.Resource | None, str]:
        """The pipe or queue an instruction takes, and the state of a warp that waits for it."""
        entry = self._entry(warp)
        if entry.kind in (*SHARED, Kind.async_copy, Kind.commit):
            return part.queue, "mio_throttle"
        if entry.kind in GLOBAL:
            return part.queue, "lg_throttle"
        if not warp.row["active"]:
            return None, ""
        return (None, "") if entry.pipe in (Pipe.none, Pipe.lsu) else (part.pipes[entry.pipe], "math_pipe_throttle")

    def _prefer(self, part: Part, ready: list[WarpModel]) -> WarpModel:
        last, by_age = part.last, sorted(ready, key=lambda warp: warp.age)
        if self.policy == "lrr":
            after = last.slot if last else -1
            return min(ready, key=lambda warp: (warp.slot - after - 1) % self.gpu.sm.max_warps)
        if self.policy == "youngest":
            return by_age[-1]
        if self.policy == "gto" and last in ready:
            others = [warp for warp in by_age if warp is not last]
            return others[0] if last.yielded and others else last
        return by_age[0]

    # What it does.

    def _entry(self, warp: WarpModel) -> InstructionEntry:
        return self.entries[warp.row["pc"]]

    def _warp(self, warp: WarpModel) -> Process:
        issues = self.seen.issues.setdefault((warp.cta, warp.number), [])
        for position, row in enumerate(warp.role.ops):
            warp.row, warp.granted = row, self.env.event()
            yield warp.granted
            now, entry = int(self.env.now), self._entry(warp)
            issues.append((now, int(row["pc"])))
            dispatched = self._dispatch(warp, entry.pipe, now)
            warp.stall_end, warp.yielded = dispatched + max(int(row["stall"]), 1), bool(row["yield_"])
            if not row["active"]:
                self._pass_queue(warp, dispatched)
            else:
                self._execute(warp, entry, dispatched)
                following = warp.role.ops[position + 1 :][:1]
                if entry.kind == Kind.branch and len(following) and following[0]["pc"] != row["pc"] + 1:
                    warp.branch_end = now + self.gpu.issue.taken_branch_cycles
        end = max(now + 1, warp.drain)
        self._charge(warp, "drain", end - now - 1)
        warp.live = False

    def _dispatch(self, warp: WarpModel, pipe: Pipe, now: int) -> int:
        part = self.parts[warp.slot % PARTS]
        reads_registers = warp.row["active"] and pipe not in (Pipe.none, Pipe.uniform, Pipe.lsu)
        dispatched = part.dispatch(now) if reads_registers else now
        part.dispatch_free = dispatched + 1
        return dispatched

    def _execute(self, warp: WarpModel, entry: InstructionEntry, now: int) -> None:
        part, row = self.parts[warp.slot % PARTS], warp.row
        resource, _ = self._needs(part, warp)
        if resource is not None and entry.kind in (*SHARED, *GLOBAL):
            start, sent_but_one, sent = self._accept(part, warp, now)
            self._hold(resource, start)
            is_shared = entry.kind in SHARED
            done = self._shared(warp, now, sent_but_one) if is_shared else self._global(warp, entry.kind, sent)
            self.lsu_entries.append(done)
        elif entry.kind == Kind.commit:
            self._pass_queue(warp, now)
            warp.commit(int(row["write_barrier"]), now + entry.latency_cycles)
        elif entry.kind == Kind.barrier:
            self._arrive(warp, int(row["operand"]) & 15, now)
        else:
            if resource is not None:
                self._hold(resource, now + entry.issue_interval_cycles)
            if entry.variable_latency:
                warp.release(int(row["write_barrier"]), now + entry.latency_cycles)
                warp.release(int(row["read_barrier"]), now + entry.latency_cycles)

    def _hold(self, resource: simpy.Resource, until: int) -> None:
        request = resource.request()

        def release() -> Process:
            yield self.env.timeout(max(0, until - self.env.now))
            resource.release(request)

        self.env.process(release())

    def _pass_queue(self, warp: WarpModel, now: int) -> None:
        """A memory instruction without work for the load/store unit waits for those before it, and is gone."""
        part = self.parts[warp.slot % PARTS]
        resource, _ = self._needs(part, warp)
        if resource is not None:
            self._hold(resource, max(now, part.operands.free))

    def _registers(self, warp: WarpModel, kind: Kind) -> int:
        """32-bit registers of a lane that go to the load/store unit: the address, and what a store stores."""
        data = 0
        if kind in STORES and warp.row["access"] >= 0:
            data = -(-int(warp.role.accesses.bytes_per_lane[warp.row["access"]]) // 4)
        return ADDRESS_REGISTERS[kind] + data

    def _accept(self, part: Part, warp: WarpModel, now: int) -> tuple[int, int, int]:
        """The load/store unit takes an instruction out of its queue: (start, all but one register sent, all sent)."""
        per_register = 128 / self.gpu.mio.operand_bytes_per_cycle
        registers = self._registers(warp, self._entry(warp).kind)
        start, end = part.operands.serve(max(now, self.lsu_entries[0]), int(np.ceil(registers * per_register)))
        delay = self.gpu.mio.read_release_base_cycles
        part.reads.append((start + delay, end + delay))
        warp.release(int(warp.row["read_barrier"]), end + delay, is_long=self._entry(warp).kind in GLOBAL)
        return start, start + int(np.ceil((registers - 1) * per_register)), end

    def _shared(self, warp: WarpModel, now: int, sent: int) -> int:
        """Returns when the last wavefront has passed."""
        arrival = max(sent, self.tag_stage.free)
        waves = warp.of_access("wavefronts") if warp.row["access"] >= 0 else 1
        passed = self.data_stage.serve_at(now, arrival, waves)
        alone = max(arrival, warp.data_free) + waves * self.gpu.shared.latency_cycles_per_wavefront
        warp.data_free = max(passed, alone)
        warp.release(int(warp.row["write_barrier"]), warp.data_free + self.gpu.shared.latency_base_cycles)
        return passed

    def _global(self, warp: WarpModel, kind: Kind, arrival: int) -> int:
        """Returns when the last line's tag has passed."""
        lines, row = warp.of_access("request_count"), warp.row
        tags, done = self.tag_stage.serve(arrival, lines * self.gpu.l1.tag_interval_cycles)
        if kind == Kind.global_store:
            warp.drain = done
        if lines and (answer := self._ask(warp, kind, tags)):
            copy = kind == Kind.async_copy
            token = warp.copy_started() if copy else warp.load_started(int(row["write_barrier"]))
            data_bytes = warp.of_access("lane_mask").bit_count() * int(warp.role.accesses.bytes_per_lane[row["access"]])
            cycles = -(-data_bytes // self.gpu.shared.bytes_per_wavefront)
            self.env.process(self._answer(warp.copy_arrived if copy else warp.load_arrived, token, answer, cycles))
        return done

    def _ask(self, warp: WarpModel, kind: Kind, time: int) -> int:
        """Cycle of the memory system's answer to one access; 0 for a store, which gets none."""
        table, row, done = warp.role.accesses, warp.row, np.zeros(1, COMPLETION)
        request = np.zeros(1, REQUEST_RECORD)
        base = self.program.cta_bases[warp.cta, table.tensor[row["access"]]] + row["global_offset"]
        request["time"], request["base"] = time, base
        request["first"], request["count"] = warp.of_access("request_first"), warp.of_access("request_count")
        request["is_write"] = kind == Kind.global_store
        serve(self.memory, self.machine, request, np.zeros(1, np.int64), table.requests, done)
        return int(done["time"][0])

    def _answer(self, arrived: Callable[[int, int], None], token: int, time: int, cycles: int) -> Process:
        """Data cross the data stage when they arrive."""
        yield self.env.timeout(time - self.env.now)
        passed = self.data_stage.join(time, cycles)
        arrived(token, passed)

    def _arrive(self, warp: WarpModel, barrier: int, now: int) -> None:
        """All live warps of a CTA have to come; the barrier unit takes them one by one."""
        _, served = self.barrier_unit.serve(now, self.gpu.barrier.cycles_per_warp)
        warp.at_barrier = barrier
        peers = [peer for part in self.parts for peer in part.warps if peer.live and peer.cta == warp.cta]
        if all(peer.at_barrier == barrier for peer in peers):
            for peer in peers:
                peer.at_barrier, peer.barrier_end = None, served + self.gpu.barrier.base_cycles
