"""Models one SM once more, in plain SimPy and cycle by cycle: a process per warp and per warp scheduler.
Leaves out speed, several SMs, and the memory system behind the SM: its answers are the engine's own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import numpy as np
import simpy
from engine_async import ASYNCHRONOUS, Asynchronous
from engine_units import Part, Server
from engine_warp import WarpModel

from gpusim.arch import GpuSpec
from gpusim.arch.instructions import InstructionEntry, Kind, Pipe
from gpusim.engine.image import ADDRESS_REGISTERS, FENCE, FLAG, image_of
from gpusim.engine.machine import machine_of, machine_record
from gpusim.engine.memory import new_memory, serve, warm_lines
from gpusim.engine.operands import PLAIN
from gpusim.engine.result import WARP_STATES
from gpusim.engine.state import COMPLETION, FENCE_TOKEN, REQUEST_RECORD
from gpusim.program import Program

__all__ = ["Reference", "Sm", "simulate_reference"]

Process = Generator[simpy.Event, None, None]
SHARED = (Kind.shared_load, Kind.shared_store, Kind.ldmatrix, Kind.stmatrix, Kind.shuffle, Kind.mbarrier)
GLOBAL = (Kind.global_load, Kind.global_store, Kind.async_copy, Kind.atomic)
STORES = (Kind.shared_store, Kind.stmatrix, Kind.global_store, Kind.atomic)
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


def simulate_reference(program: Program, gpu: GpuSpec, policy: str = "gto") -> Reference:
    """Simulate a launch whose CTAs all fit on the one SM of ``gpu``, with a warm L2 and no launch overhead."""
    sm = Sm(program, gpu, policy)
    sm.env.run(until=sm.env.any_of([sm.env.all_of(sm.processes), sm.env.timeout(LIMIT_CYCLES)]))
    if any(warp.live for part in sm.parts for warp in part.warps):
        raise RuntimeError("the reference never ends")
    return sm.seen


class Sm:
    """The SM: warps, schedulers, units."""

    def __init__(self, program: Program, gpu: GpuSpec, policy: str) -> None:
        self.program, self.gpu, self.policy = program, gpu, policy
        self.env = simpy.Environment()
        self.entries = [gpu.instruction_table.lookup(static.mnemonic) for static in program.statics]
        self.parts = [Part(self.env, gpu) for _ in range(PARTS)]
        self.data_stage, self.tag_stage, self.barrier_unit = Server(), Server(), Server()
        self.write_port = Server()
        self.lsu_entries = deque([0] * gpu.mio.lsu_entries, gpu.mio.lsu_entries)
        self.seen = Reference(states=np.zeros((len(program.statics), len(WARP_STATES)), np.int64))
        self._open_memory()
        self.units = Asynchronous(self)
        self.processes = [self.env.process(self._warp(warp)) for cta in range(program.num_ctas)
                          for warp in self._place(cta)]
        for part in self.parts:
            self.env.process(self._scheduler(part))

    def _open_memory(self) -> None:
        machine = machine_of(self.gpu)
        self.machine, self.image = machine_record(machine), image_of(self.program, self.gpu)
        roles = [id(role) for cta_class in self.program.classes for role in cta_class.roles]
        self.first_op = dict(zip(roles, self.image.role_first_op.tolist(), strict=True))
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
        pipe = self._pipe(entry)
        return (None, "") if pipe in (Pipe.none, Pipe.lsu) else (part.pipes[pipe], "math_pipe_throttle")

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

    def _pipe(self, entry: InstructionEntry) -> Pipe:
        """wgmma queue for the tensor pipe, the warp goes on."""
        return Pipe.none if entry.kind == Kind.wgmma else entry.pipe

    def _warp(self, warp: WarpModel) -> Process:
        issues = self.seen.issues.setdefault((warp.cta, warp.number), [])
        position = 0
        while position < len(warp.role.ops):
            row = warp.role.ops[position]
            warp.row, warp.position, warp.granted = row, position, self.env.event()
            yield warp.granted
            now, entry = int(self.env.now), self._entry(warp)
            issues.append((now, int(row["pc"])))
            dispatched = self._dispatch(warp, self._pipe(entry), now)
            warp.stall_end, warp.yielded = dispatched + max(int(row["stall"]), 1), bool(row["yield_"])
            if not row["active"]:
                self._pass_queue(warp, dispatched)
            else:
                self._execute(warp, entry, dispatched)
                following = warp.role.ops[position + 1 :][:1]
                jump, depends = self._jump(warp, entry.kind), self._image_row(warp)["flags"] & FLAG
                taken = len(following) and following[0]["pc"] != row["pc"] + 1 and not depends
                if entry.kind == Kind.branch and (taken or jump != 1):
                    warp.branch_end = now + self.gpu.issue.taken_branch_cycles
                position += jump - 1
            position += 1
        end = max(now + 1, warp.drain)
        self._charge(warp, "drain", end - now - 1)
        warp.live = False

    def _image_row(self, warp: WarpModel) -> np.void:
        return self.image.ops[self.first_op[id(warp.role)] + warp.position]

    def _jump(self, warp: WarpModel, kind: Kind) -> int:
        """Back while a flag is missing, on once it is there, else to the next row."""
        row = self._image_row(warp)
        jumps = kind == Kind.branch and row["flags"] & FLAG and (row["operand"] < 0) == (warp.missing != 0)
        return int(row["operand"]) if jumps else 1

    def _dispatch(self, warp: WarpModel, pipe: Pipe, now: int) -> int:
        part = self.parts[warp.slot % PARTS]
        reads_registers = warp.row["active"] and pipe not in (Pipe.none, Pipe.uniform, Pipe.lsu)
        dispatched = part.dispatch(now) if reads_registers else now
        part.dispatch_free = dispatched + 1
        return dispatched

    def _execute(self, warp: WarpModel, entry: InstructionEntry, now: int) -> None:
        part, row = self.parts[warp.slot % PARTS], warp.row
        resource, _ = self._needs(part, warp)
        if entry.kind in ASYNCHRONOUS and self._image_row(warp)["operand"] != PLAIN:
            self.units.execute(warp, entry.kind, self._image_row(warp), now)
        elif resource is not None and entry.kind in (*SHARED, *GLOBAL):
            start, sent_but_one, sent = self._accept(part, warp, now)
            self.hold(resource, start)
            is_shared = entry.kind in SHARED
            done = self._shared(warp, now, sent_but_one) if is_shared else self._global(warp, entry.kind, sent)
            self.lsu_entries.append(done)
        elif entry.kind == Kind.commit:
            self._pass_queue(warp, now)
            warp.commit(int(row["write_barrier"]), now + entry.latency_cycles)
        elif entry.kind == Kind.barrier:
            self._arrive(warp, int(self._image_row(warp)["operand"]), now)
        elif self._image_row(warp)["flags"] & FENCE:
            self._fence(warp, max(now, self.tag_stage.free, self.write_port.free))
        else:
            if resource is not None:
                self.hold(resource, now + entry.issue_interval_cycles)
                if entry.pipe == Pipe.tensor:
                    part.tensor_free = now + entry.issue_interval_cycles
            if entry.variable_latency:
                warp.release(int(row["write_barrier"]), now + entry.latency_cycles)
                warp.release(int(row["read_barrier"]), now + entry.latency_cycles)

    def hold(self, resource: simpy.Resource, until: int) -> None:
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
            self.hold(resource, max(now, part.operands.free))

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

    def pass_shared(self, warp: WarpModel, now: int) -> int:
        """One turn at the data stage; returns when it has passed."""
        part = self.parts[warp.slot % PARTS]
        start, sent_but_one, _ = self._accept(part, warp, now)
        self.hold(part.queue, start)
        passed = self.data_stage.serve_at(now, max(sent_but_one, self.tag_stage.free), 1)
        self.lsu_entries.append(passed)
        return passed

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
        lines = warp.of_access("request_count")
        leaves, done = self.tag_stage.serve(arrival, self._tag_cycles(warp))
        if self._writes(warp, kind):
            leaves, done = self.write_port.serve(leaves, self.write_cycles(warp))
            warp.drain = done
        if lines:
            self._ask(warp, kind, leaves)
        return done

    def _tag_cycles(self, warp: WarpModel) -> int:
        """One per line; a whole line that eight lanes copy with cp.async takes less, one that comes in halves twice."""
        row, l1 = warp.row["access"], self.gpu.l1
        if warp.role.accesses.operation[row] != "CPA16":
            return warp.of_access("request_count") * l1.tag_interval_cycles
        cycles = 0.0
        lanes = self._lanes(warp)
        for group in (lanes[lane : lane + 8] for lane in range(0, 32, 8)):
            pieces = [piece for piece in group if piece]
            lines = len({source // 8 for _, source in pieces})
            halves = any((shared ^ 1, source ^ 1) not in lanes for shared, source in pieces)
            whole = lines == 1 and not halves and len({source for _, source in pieces}) == 8
            cycles += l1.whole_line_cycles if whole else lines * (1 + halves) * l1.tag_interval_cycles
        return int(np.ceil(cycles))

    def _lanes(self, warp: WarpModel) -> list[tuple[int, int] | None]:
        """(shared, global) 16-byte chunk of each lane that copies, None for the others."""
        table, row, w = warp.role.accesses, warp.row["access"], warp.number - warp.role.first_warp
        mask = int(table.lane_mask[row, w]) & ~int(table.zfill_mask[row, w])
        return [(int(table.shared_address[row, w, lane]) // 16, int(table.global_offset[row, w, lane]) // 16)
                if mask >> lane & 1 else None for lane in range(32)]

    def write_cycles(self, warp: WarpModel) -> int:
        """A line takes a turn of the port per sector, but never less than a least time."""
        table, row, noc = warp.role.accesses, warp.row["access"], self.gpu.noc
        if not table.operation[row].startswith(("STG", "TMASTG")):  # atomics
            data_bytes = warp.of_access("lane_mask").bit_count() * int(table.bytes_per_lane[row])
            return -(-data_bytes // self.gpu.shared.bytes_per_wavefront)
        first = warp.of_access("request_first")
        lines = table.requests["sector_mask"][first : first + warp.of_access("request_count")]
        turns = [int(mask).bit_count() * 32 / noc.sm_write_bytes_per_cycle for mask in lines]
        return int(np.ceil(sum(max(turn, noc.write_request_cycles) for turn in turns)))

    def _writes(self, warp: WarpModel, kind: Kind) -> bool:
        return kind == Kind.global_store or (kind == Kind.atomic and int(warp.row["write_barrier"]) == 7)

    def _fence(self, warp: WarpModel, time: int) -> None:
        """MEMBAR of the warps that its access names: until the memory says that all writes have been performed."""
        if warp.row["access"] >= 0 and not warp.of_access("request_count"):
            return
        request = np.zeros(1, REQUEST_RECORD)
        request["time"], request["token"], request["flag"] = time, FENCE_TOKEN, -1
        warp.membar_end, warp.fence_state = 1 << 60, "membar"
        lines = warp.role.accesses.requests
        self.env.process(self._exchange(warp, request, lines, lambda at: setattr(warp, "membar_end", at), 0))

    def serve(self, request: np.ndarray, lines: np.ndarray, done: np.ndarray) -> int:
        return int(serve(self.memory, self.machine, request, np.zeros(1, np.int64), lines, self.image.flags, done))

    def request(self, warp: WarpModel, time: int) -> np.ndarray:
        """What an access asks of the memory from ``time`` on."""
        table, row, request = warp.role.accesses, warp.row, np.zeros(1, REQUEST_RECORD)
        base = self.program.cta_bases[warp.cta, table.tensor[row["access"]]] + row["global_offset"]
        request["time"], request["base"], request["cta"], request["flag"] = time, base, warp.cta, -1
        request["first"], request["count"] = warp.of_access("request_first"), warp.of_access("request_count")
        return request

    def _ask(self, warp: WarpModel, kind: Kind, time: int) -> None:
        """A load or copy is answered later, nobody hears of a store."""
        image, request, accesses = self._image_row(warp), self.request(warp, time), warp.role.accesses
        request["flag"] = image["operand"] if image["flags"] & FLAG else -1
        request["is_write"] = self._writes(warp, kind)
        data_bytes = warp.of_access("lane_mask").bit_count() * int(accesses.bytes_per_lane[warp.row["access"]])
        cycles = -(-data_bytes // self.gpu.shared.bytes_per_wavefront)
        arrived = self._nobody if request["is_write"][0] else self._expect(warp, kind)
        self.env.process(self._exchange(warp, request, accesses.requests, arrived, cycles))

    def _nobody(self, time: int) -> None:
        raise AssertionError("a store is not answered")

    def _expect(self, warp: WarpModel, kind: Kind) -> Callable[[int], None]:
        """What to do when the data are there."""
        if kind != Kind.async_copy:
            board = warp.load_started(int(warp.row["write_barrier"]))
            return lambda time: warp.load_arrived(board, time)
        group = warp.copy_started()

        def arrived(time: int) -> None:
            warp.copy_arrived(group, time)
            self.units.deliver(warp)

        return arrived

    def _exchange(
        self, warp: WarpModel, request: np.ndarray, lines: np.ndarray, arrived: Callable[[int], None], cycles: int
    ) -> Process:
        """The request leaves the SM; its data cross the data stage when they arrive."""
        yield self.env.timeout(max(0, request["time"][0] - self.env.now))
        done = np.zeros(1, COMPLETION)
        if not self.serve(request, lines, done):
            return
        time = int(done["time"][0])
        yield self.env.timeout(time - self.env.now)
        if done["flag"][0] >= 0:
            warp.missing, warp.polls = int(done["flag"][0]), True
        arrived(self.data_stage.join(time, cycles))

    def _arrive(self, warp: WarpModel, operand: int, now: int) -> None:
        """The barrier unit takes warps one by one."""
        _, served = self.barrier_unit.serve(now, self.gpu.barrier.cycles_per_warp)
        mnemonic = self.program.statics[warp.row["pc"]].mnemonic
        warp.defers = mnemonic == "BAR.SYNC.DEFER_BLOCKING"
        self.units.barrier(warp, operand, lambda: [peer for part in self.parts for peer in part.warps
                                                   if peer.live and peer.cta == warp.cta],
                           served + self.gpu.barrier.base_cycles)
