"""Models one SM once more, in plain SimPy and cycle by cycle: a process per warp and per warp scheduler.
Leaves out speed, several SMs, and the memory system behind the SM: its answers are the engine's own."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import simpy
from engine_async import ASYNCHRONOUS, Asynchronous
from engine_copies import CLASSES, LINE_BYTES, write_turns
from engine_returns import Load, Returns
from engine_stores import DataStage, Store, StoreQueue, Write, writes_of
from engine_units import Fill, L1Model, Part, Queued, Server
from engine_warp import NO_BOARD, WarpModel

from gpusim.arch import GpuSpec, occupancy
from gpusim.arch.instructions import InstructionEntry, Kind, Pipe, TensorReads
from gpusim.engine.image import ADDRESS_REGISTERS, FENCE, FLAG, image_of
from gpusim.engine.machine import at_clock, machine_of, machine_record
from gpusim.engine.memory import serve, warm_lines
from gpusim.engine.memory_state import new_memory
from gpusim.engine.operands import ARRIVE_ONLY, PLAIN, VIEW
from gpusim.engine.result import WARP_STATES
from gpusim.engine.state import COMPLETION, FENCE_TOKEN, REQUEST_RECORD, STORE_ANSWERS
from gpusim.memory.l1_crossing import l1_crossings
from gpusim.program import Program

__all__ = ["Reference", "Sm", "simulate_reference"]

Process = Generator[simpy.Event, None, None]
SHARED = (Kind.shared_load, Kind.shared_store, Kind.ldmatrix, Kind.stmatrix, Kind.shuffle)
OTHER_GLOBAL = (Kind.global_load, Kind.global_store, Kind.atomic)
GLOBAL = (*OTHER_GLOBAL, Kind.async_copy)
QUEUED = (*SHARED, *GLOBAL, Kind.commit, Kind.mbarrier)
REGISTER_BYTES = 128  # of all lanes
STORES = (Kind.shared_store, Kind.stmatrix, Kind.global_store, Kind.atomic)
PARTS = 4
SELECTION, ACCEPTANCE = 0.5, 0.75
"""Within a cycle: first what ends in it, then what the schedulers choose, then what the load/store unit takes."""
MATRICES = 4  # most of an ldmatrix
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


class Turns(NamedTuple):
    """Of the data stage, for data from memory, and how many of them are over when the last data come."""

    all: int = 0
    early: int = 0


class Sm:
    """The SM: warps, schedulers, units."""

    def __init__(self, program: Program, gpu: GpuSpec, policy: str) -> None:
        self.program, self.gpu, self.policy = program, gpu, policy
        self.env = simpy.Environment()
        self.entries = [gpu.instruction_table.lookup(static.mnemonic) for static in program.statics]
        self.parts = [Part(self.env, gpu) for _ in range(PARTS)]
        self.returns = Returns(self.env, self.parts)
        self.data_stage, self.tag_stage, self.barrier_unit = DataStage(gpu), Server(), Server()
        self.write_port, self.constants, self.copy_writes, self.groups = Server(), Server(), Server(), Server()
        self.turns, self.stores = 0, np.zeros(1, STORE_ANSWERS)
        every = (row for cta in program.classes for role in cta.roles for row in role.ops)
        self.lines = {self._line(row): 0 for row in islice(filter(self._reads_constant, every), 1)}
        self.l1 = L1Model(self._l1_bytes())
        self.under_way = 0  # requests that L2 has not answered
        self.tag_entries = deque([0] * gpu.l1.tag_entries, gpu.l1.tag_entries)
        self.requests, self.request_places = Server(), deque([0] * gpu.l1.request_places, gpu.l1.request_places)
        self.buffer = [0] * gpu.mio.buffer_entries  # when its places come free, in order
        self.kept = [0] * gpu.mio.kept_registers
        self.waiting = [0] * gpu.mio.waiting_accesses
        self.store_queue = StoreQueue(gpu)
        places = gpu.mio.buffer_entries + gpu.mio.waiting_stores
        self.store_places = deque([0] * places, places)
        launch = program.launch
        fit = occupancy(gpu, launch.threads_per_cta, launch.registers_per_thread, launch.shared_bytes)
        self.cta_bytes = fit.shared_bytes_per_cta
        self.front, self.addresses, self.data_path, self.turn = 0, Server(), Server(), PARTS - 1
        self.data_begun = 0
        self.tag_left = self.tag_before = self.tag_begun = self.tag_passed = self.drained = 0
        self.unfenced: Counter[tuple[int, int]] = Counter()
        self.to_fence: set[tuple[int, int]] = set()
        self.chosen: int | None = None
        self.seen = Reference(states=np.zeros((len(program.statics), len(WARP_STATES)), np.int64))
        self._open_memory()
        self.units = Asynchronous(self)
        self.processes = [self.env.process(self._warp(warp)) for cta in range(program.num_ctas)
                          for warp in self._place(cta)]
        for part in self.parts:
            self.env.process(self._scheduler(part))
        self.env.process(self._load_store_unit())

    def _l1_bytes(self) -> int:
        """What the smallest carve-out leaves that holds the shared memory of all CTAs an SM can have."""
        launch, sm = self.program.launch, self.gpu.sm
        resident = occupancy(self.gpu, launch.threads_per_cta, launch.registers_per_thread, launch.shared_bytes)
        per_cta = launch.shared_bytes + sm.shared_reserved_bytes_per_cta
        rounded = per_cta + -per_cta % sm.shared_allocation_unit_bytes
        carveout = min(kib for kib in sm.shared_carveouts_kib if kib * 1024 >= rounded * resident.blocks_per_sm)
        return self.gpu.l1.capacity_bytes - carveout * 1024

    def _open_memory(self) -> None:
        multiplies = any(entry.kind in (Kind.mma, Kind.wgmma) for entry in self.entries)
        machine = at_clock(machine_of(self.gpu), self.gpu.clock.tensor_pct / 100 if multiplies else 1)
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
                    state = self._held_back(part, warp, now)
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

    def _held_back(self, part: Part, warp: WarpModel, now: int) -> str | None:
        name, entry = self.program.statics[warp.row["pc"]].mnemonic, self._entry(warp)
        fixed = entry.kind == Kind.mma or (entry.kind == Kind.alu and not entry.variable_latency)
        is_arithmetic = name.startswith("R2UR") or (fixed and not name.startswith("UMOV"))
        state = warp.held_back_by(now, entry.kind, is_arithmetic=is_arithmetic)
        if state:
            warp.free_since = now + 1
        return state or self._throttle(part, warp, now)

    def _charge(self, warp: WarpModel, state: str, cycles: int = 1) -> None:
        self.seen.states[warp.row["pc"], WARP_STATES.index(state)] += cycles

    def _throttle(self, part: Part, warp: WarpModel, now: int) -> str | None:
        entry = self._entry(warp)
        if warp.queued and (entry.kind == Kind.exit or self._image_row(warp)["flags"] & FENCE):
            return "drain" if entry.kind == Kind.exit else "membar"
        if entry.kind == Kind.barrier and (warp.before_fence or warp.behind):
            return "mio_throttle"
        if now < part.dispatch_free:
            return "dispatch_stall"
        if self._is_queued(warp):
            full = not part.has_room(now)
            return ("lg_throttle" if entry.kind in OTHER_GLOBAL else "mio_throttle") if full else None
        resource, state = self._needs(part, warp)
        if resource is part.pipes[Pipe.tensor] and now < max(part.tensor_free, self._turn_time(part, warp)):
            return state
        return state if resource is not None and resource.count == resource.capacity else None

    def _is_queued(self, warp: WarpModel) -> bool:
        fence = self._entry(warp).kind == Kind.membar and not self._image_row(warp)["flags"] & FENCE
        return fence or self._entry(warp).kind in QUEUED

    def _needs(self, part: Part, warp: WarpModel) -> tuple[simpy.Resource | None, str]:
        """The pipe an instruction takes, and the state of a warp that waits for it."""
        entry = self._entry(warp)
        if not warp.row["active"]:
            return None, ""
        pipe = self._pipe(entry)
        return (None, "") if pipe in (Pipe.none, Pipe.lsu) else (part.pipes[pipe], "math_pipe_throttle")

    def _prefer(self, part: Part, ready: list[WarpModel]) -> WarpModel:
        last, by_age = part.last, sorted(ready, key=lambda warp: warp.age)
        if self.policy == "youngest":
            return by_age[-1]
        if self.policy == "grr":
            return self._in_turn(part, ready)
        after = last.slot if last else -1
        in_turn = sorted(ready, key=lambda warp: (warp.slot - after - 1) % self.gpu.sm.max_warps)
        order = in_turn if self.policy == "lrr" else by_age
        if self.policy == "gto" and last in ready:
            return self._goes_on(last, [warp for warp in order if warp is not last])
        return order[0]

    def _in_turn(self, part: Part, ready: list[WarpModel]) -> WarpModel:
        """Each in the order of its coming against the best so far."""
        contested = any(self._wants_tensor(warp) or self._is_queued(warp) for warp in ready)
        best, *others = sorted(ready, key=lambda warp: (warp.age, warp.slot))
        for warp in others:
            if self._precedes(part, warp, best, contested):
                best = warp
        return best

    def _precedes(self, part: Part, warp: WarpModel, best: WarpModel, contested: bool) -> bool:
        """CTAs: the last one while it goes on, then the older one; but where they contend for the tensor pipe or a
        queue, who has not yielded, the older one, but not who issued just now when both could go on. Warps of one: for
        the tensor pipe who has not yielded; the last one, which comes last after a yield or a pause that costs it its
        turn, else whom most have passed."""
        last, now = part.last, int(self.env.now)
        is_last = last in (warp, best)
        if contested and warp.cta != best.cta:
            if warp.yielded != best.yielded:
                return best.yielded
            gets_free = now == part.tensor_free == part.dispatch_free
            return best is last if gets_free and is_last and warp.brisk and best.brisk else warp.age < best.age
        paused = now > part.dispatch_free
        if warp.cta != best.cta and (paused or not is_last):
            return warp.age < best.age
        if warp.cta == best.cta and warp.yielded != best.yielded and self._wants_tensor(warp, best):
            return best.yielded
        if is_last and (last.yielded or (paused and not self._keeps_turn(part, best if warp is last else warp))):
            return best is last
        return warp is last if is_last else self._turn_of(part, warp) > self._turn_of(part, best)

    def _turn_of(self, part: Part, warp: WarpModel) -> tuple[int, int]:
        """How many instructions have passed the warp at the pipe or queue that it wants, by a counter; its slot."""
        passed = part.taken[int(self._image_row(warp)["unit"])] - warp.taken
        return min(passed, self.gpu.issue.turns_counted), warp.slot

    def _keeps_turn(self, part: Part, other: WarpModel) -> bool:
        """The last one has the tensor pipe, and asks for it in time and without a pause of its own; or it wants
        something else in the very cycle in which the other one finds it free."""
        last = part.last
        if last is None or last.slot != part.last_tensor:
            return False
        if self._wants_tensor(last):
            return last.brisk and last.free_since >= part.tensor_due
        return self._wants_tensor(other) and int(self.env.now) == max(part.tensor_free, self._turn_time(part, other))

    def _turn_time(self, part: Part, warp: WarpModel) -> int:
        """When a warp may take the tensor pipe from another one of its CTA."""
        others = [one for one in part.warps if one.slot == part.last_tensor and one is not warp and one.cta == warp.cta]
        return part.tensor_due if others else 0

    def _wants_tensor(self, *warps: WarpModel) -> bool:
        return all(self._pipe(self._entry(warp)) == Pipe.tensor for warp in warps)

    def _goes_on(self, last: WarpModel, others: list[WarpModel]) -> WarpModel:
        return others[0] if last.yielded and others else last

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
            self._charge(warp, "sleeping", warp.slept)
            self._charge(warp, "long_scoreboard", -warp.slept)
            warp.free_since, warp.issued, warp.slept = now + 1, now, 0
            issues.append((now, int(row["pc"])))
            dispatched = self._dispatch(warp, self._pipe(entry), now)
            if self._pipe(entry) == Pipe.tensor:
                part = self.parts[warp.slot % PARTS]
                part.turn, part.last_tensor = part.last_tensor != warp.slot, warp.slot
            warp.stall_end, warp.yielded = dispatched + max(int(self._image_row(warp)["stall"]), 1), bool(row["yield_"])
            image = self._image_row(warp)
            warp.brisk = int(image["stall"]) - int(image["second_pass"]) <= 1
            units = self.parts[warp.slot % PARTS].taken
            units[int(image["unit"])] += 1
            if self._is_queued(warp):
                self._send(warp, entry, dispatched)
            elif row["active"]:
                self._execute(warp, entry, dispatched)
                following = warp.role.ops[position + 1 :][:1]
                jump, depends = self._jump(warp, entry.kind), self._image_row(warp)["flags"] & FLAG
                taken = len(following) and following[0]["pc"] != row["pc"] + 1 and not depends
                if entry.kind == Kind.branch and (taken or jump != 1):
                    warp.branch_end = now + self.gpu.issue.taken_branch_cycles
                position += jump - 1
            position += 1
            ahead = warp.role.ops[position:position + 1]
            if len(ahead):
                warp.taken = units[int(self.image.ops["unit"][self.first_op[id(warp.role)] + position])]
            if len(ahead) and not self._is_indexed(ahead[0]):
                warp.constant_end = self._constant(ahead[0], warp.stall_end)
            if len(ahead) and self.entries[ahead[0]["pc"]].kind == Kind.wgmma:
                self.units.approach(warp)
        end = max(now + 1, warp.drain)
        self._charge(warp, "drain", end - now - 1)
        warp.live = False

    def _image_row(self, warp: WarpModel | Queued) -> np.void:
        role = warp.role if isinstance(warp, WarpModel) else warp.warp.role
        return self.image.ops[self.first_op[id(role)] + warp.position]

    def _jump(self, warp: WarpModel, kind: Kind) -> int:
        """Back while a flag is missing, on once it is there, else to the next row."""
        row = self._image_row(warp)
        jumps = kind == Kind.branch and row["flags"] & FLAG and (row["operand"] < 0) == (warp.missing != 0)
        return int(row["operand"]) if jumps else 1

    def _dispatch(self, warp: WarpModel, pipe: Pipe, now: int) -> int:
        part = self.parts[warp.slot % PARTS]
        reads_registers = (warp.row["active"] and pipe not in (Pipe.none, Pipe.uniform, Pipe.lsu)
                           and not self._is_queued(warp))
        image, issued = self._image_row(warp), now
        if pipe == Pipe.tensor:
            reads = self._tensor_reads(warp)
            now = part.tensor_operands_start(reads, self._fetch_cycles(warp), now) if reads_registers else now
        elif reads_registers:
            now = part.operands_start(self.gpu, image, now)
        dispatched = part.dispatch(now) if reads_registers and pipe != Pipe.tensor else now
        dispatched = part.banks.start((int(image["even"]), int(image["odd"])), dispatched)
        part.share_with_arithmetic(image, issued)
        if image["wide"]:
            part.tensor_due += dispatched - issued + int(image["second_pass"])
        part.dispatch_free = dispatched + 1
        return dispatched

    def _tensor_reads(self, warp: WarpModel) -> TensorReads:
        return self.gpu.reads_beside(self.program.statics[int(warp.row["pc"])].mnemonic)

    def _fetch_cycles(self, warp: WarpModel) -> int:
        """How much longer it reads for its A operand is a new one."""
        return self._tensor_reads(warp).fetch_cycles if self._image_row(warp)["fetches"] else 0

    def _execute(self, warp: WarpModel, entry: InstructionEntry, now: int) -> None:
        part, row = self.parts[warp.slot % PARTS], warp.row
        resource, _ = self._needs(part, warp)
        if entry.kind in ASYNCHRONOUS and self._image_row(warp)["operand"] != PLAIN:
            self.units.execute(warp, entry.kind, self._image_row(warp), now)
        elif entry.kind == Kind.barrier:
            self._issue_barrier(warp, now)
        elif self._image_row(warp)["flags"] & FENCE:
            self._fence(warp, max(now, self.tag_stage.free, self.write_port.free))
        else:
            if resource is not None:
                self.hold(resource, now + entry.issue_interval_cycles)
                image = self._image_row(warp)
                if entry.pipe == Pipe.tensor:
                    part.tensor_start = now
                    part.tensor_end = part.tensor_due = part.tensor_free = now + entry.issue_interval_cycles
                    part.fetched, part.tensor_interval = self._fetch_cycles(warp), entry.issue_interval_cycles
                    part.reads = self._tensor_reads(warp)
                    part.stop_returns(part.reads, now)
                elif image["triple"]:
                    part.triple_start = now
                elif entry.pipe in (Pipe.alu, Pipe.fma):
                    part.vector_start = now
                elif entry.pipe == Pipe.xu:
                    part.share_registers(1, now)
                if image["wide"]:
                    part.tensor_free = max(part.tensor_free, now + self.gpu.issue.tensor_after_wide_cycles)
            if entry.variable_latency:
                if entry.kind == Kind.constant_load:
                    now, _ = self.constants.serve(now, self.gpu.issue.constant_load_cycles)
                    now = self._constant(row, now)
                warp.release(int(row["write_barrier"]), now + entry.latency_cycles)
                warp.release(int(row["read_barrier"]), now + entry.release_cycles)

    def _is_indexed(self, row: np.void) -> bool:
        return self.program.statics[row["pc"]].mnemonic.startswith("LDC")

    def _reads_constant(self, row: np.void) -> bool:
        return bool(row["active"]) and self.program.statics[row["pc"]].constant >= 0

    def _line(self, row: np.void) -> tuple[int, bool]:
        place = self.program.statics[row["pc"]].constant
        return place // self.gpu.fetch.constant_line_bytes, self._is_indexed(row)

    def _constant(self, row: np.void, now: int) -> int:
        """When the SM has the line of constants that a row reads; the first one of a launch is there."""
        if not self._reads_constant(row):
            return now
        fetch, is_indexed = self.gpu.fetch, self._is_indexed(row)
        line = self._line(row)
        wait = fetch.indexed_constant_cycles if is_indexed else fetch.constant_cycles
        return max(now, self.lines.setdefault(line, now + wait))

    def hold(self, resource: simpy.Resource, until: int) -> None:
        request = resource.request()

        def release() -> Process:
            yield self.env.timeout(max(0, until - self.env.now))
            resource.release(request)

        self.env.process(release())

    # The load/store unit.

    def _send(self, warp: WarpModel, entry: InstructionEntry, now: int) -> None:
        """A memory instruction goes into its sub-partition's queue; its barriers wait for it."""
        part, row, kind = self.parts[warp.slot % PARTS], warp.row, entry.kind
        queued = Queued(now, warp, row, warp.position, kind, "nothing")
        if row["active"]:
            queued.stored = self._stored(warp, row, kind)
            queued.places = self.gpu.mio.copy_buffer_entries if kind == Kind.async_copy else 1
        if row["active"] and kind == Kind.commit:
            queued.work = "commit"
            warp.commit(int(row["write_barrier"]), now + entry.latency_cycles)
        elif row["active"] and kind == Kind.mbarrier:
            if self._image_row(warp)["operand"] != PLAIN:
                queued.work = "signal"
                warp.hold(int(row["read_barrier"]), is_long=False)
                warp.hold(int(row["write_barrier"]), is_long=True)
                queued.token = self.units.follows(warp, row, now)
        elif row["active"] and kind == Kind.membar:
            queued.work = "order"
            warp.hold(int(row["read_barrier"]), is_long=True)
            warp.hold(int(row["write_barrier"]), is_long=True)
        elif row["active"] and (kind in SHARED or row["access"] >= 0):
            queued.work = "shared" if kind in SHARED else "global"
            warp.hold(int(row["read_barrier"]), is_long=kind in GLOBAL)
            if kind == Kind.async_copy:
                queued.token = warp.copy_started(int(warp.of_access("request_count") > 0))
            elif not self._writes(row, kind):
                warp.hold(int(row["write_barrier"]), is_long=kind in GLOBAL)
        part.queue.append(queued)
        warp.queued += 1
        queued.held = warp.behind

    def _load_store_unit(self) -> Process:
        """Takes one head after the other; the sub-partitions take turns."""
        yield self.env.timeout(ACCEPTANCE)
        while True:
            while self._take_one(int(self.env.now)):
                pass
            yield self.env.timeout(1)

    def _take_one(self, now: int) -> bool:
        """The sub-partition whose turn it is keeps it until there is room."""
        if self.chosen is None:
            in_turn = ((self.turn + step) % PARTS for step in range(1, PARTS + 1))
            self.chosen = next((p for p in in_turn if self._has_turn(self.parts[p], now)), None)
        if self.chosen is None or not self._has_room(self.parts[self.chosen].queue[0], now):
            return False
        self.turn, self.chosen = self.chosen, None
        part = self.parts[self.turn]
        self._accept(part, part.take(now), now)
        return True

    def _has_turn(self, part: Part, now: int) -> bool:
        if not part.queue or now < part.queue[0].time:
            return False
        queued = part.queue[0]
        if queued.held:
            return False
        looks_up = queued.work == "global" and not self._writes(queued.row, queued.kind)
        if looks_up and self.under_way >= self.gpu.l1.reads_under_way:
            return False
        stores = queued.stored or (queued.work == "global" and self._writes(queued.row, queued.kind))
        if not stores and part.crossing > self.data_begun and now < self.data_path.free:
            return False
        return now >= part.operands.free

    def _has_room(self, queued: Queued, now: int) -> bool:
        kept = now >= self.kept[queued.stored - 1] if queued.stored else True
        beside, needed = now >= self.store_places[0], now + (self.gpu.mio.store_lead_cycles if queued.stored else 0)
        return needed >= self.buffer[queued.places - 1] and beside and kept and now >= self.addresses.free

    def _keep_places(self, places: int, until: int) -> None:
        """Of those in the buffer that come free first."""
        self.buffer = sorted(self.buffer[places:] + [until + self.gpu.mio.buffer_return_cycles] * places)

    def _keep(self, queued: Queued, until: int) -> None:
        """Registers of what it stores: those that come free first."""
        self.kept = sorted(self.kept[queued.stored:] + [until + self.gpu.mio.kept_return_cycles] * queued.stored)

    def _pass_buffer(self, start: int, room: int) -> int:
        """In order, when what comes next has room."""
        self.front = max(self.front, start, room)
        self._keep_places(1, self.front)
        return self.front

    def _pass_copy(self, warp: WarpModel, start: int) -> int:
        """A copy stays at the front while its warp's accesses fill the places behind it, else passes them."""
        self.front = max(self.front, start)
        if warp.data_free > self.front:
            self.front = max(self.front, min(self.waiting))
        return self.data_stage.move(self.front, 1)

    def _leave_buffer(
        self, start: int, arrival: int, waves: int, beside_stores: bool = False, came: int = 0, apart: int = 0
    ) -> int:
        """Through the data stage. What has to wait for it leaves the buffer if one of a few places is free."""
        self.front = max(self.front, start)
        begun, passed = self.data_stage.take_path(
            max(arrival, self.front), waves, beside_stores, max(came, self.front), apart)
        place = self.waiting.index(min(self.waiting))
        left = max(self.front, self.waiting[place])
        if begun > left:
            self.waiting[place] = begun + self.gpu.mio.waiting_return_cycles
        self.front = min(left, begun)
        self._keep_places(1, self.front)
        return passed

    def _turn(self, start: int, arrival: int) -> int:
        """A turn at the data stage without data: when it has passed."""
        return self._leave_buffer(start, arrival, 1) - self.data_stage.interval + 1

    def _registers(self, warp: WarpModel, row: np.void, kind: Kind) -> int:
        """32-bit registers of a lane that go to the load/store unit: the address, and what a store stores."""
        return ADDRESS_REGISTERS[kind] + self._stored(warp, row, kind)

    def _stored(self, warp: WarpModel, row: np.void, kind: Kind) -> int:
        if kind not in STORES or row["access"] < 0:
            return 0
        if kind == Kind.stmatrix:
            return int(warp.role.accesses.operation[row["access"]].removeprefix("STSM"))
        return -(-int(warp.role.accesses.bytes_per_lane[row["access"]]) // 4)

    def _late_data(self, part: Part, queued: Queued, start: int, registers: int, per_register: float) -> int:
        """Data of all sub-partitions, and second halves of addresses, cross one by one: how late the last one is."""
        turns = -(-queued.stored * REGISTER_BYTES // self.gpu.mio.store_data_bytes_per_cycle)
        turns += bool(turns) and queued.kind in (Kind.global_store, Kind.atomic)
        if not turns:
            return 0
        first = start + int(np.ceil((registers - turns + 1) * per_register)) - 1
        if first > self.data_path.free:
            self.data_begun = first
        _, part.crossing = _, end = self.data_path.serve(first, turns)
        return max(0, end - start - int(np.ceil(registers * per_register)))

    def _accept(self, part: Part, queued: Queued, now: int) -> None:
        """The load/store unit takes an instruction out of its queue."""
        warp, kind, row = queued.warp, queued.kind, queued.row
        warp.queued -= 1
        if queued.work == "commit":
            self._pass_buffer(now, self.tag_entries[self.gpu.l1.commit_tag_entries - 1])
            self._keep_tags(self.tag_begun - self.gpu.l1.tag_lead_cycles, self.gpu.l1.commit_tag_entries)
            self.drained = max(self.drained, self.tag_passed - self.gpu.l1.tag_lead_cycles)
            self.copy_writes.serve(now, self.gpu.l1.commit_write_cycles)
        if queued.work == "order":
            self.addresses.serve(now, int(self._image_row(queued)["interval"]))
            seen = max(now, self.data_stage.emptied) if self._image_row(queued)["operand"] == VIEW else now
            for board in ("read_barrier", "write_barrier"):
                warp.settle(int(row[board]), seen + int(self._image_row(queued)["latency"]))
        if queued.work == "nothing":
            self.addresses.serve(now, self.gpu.mio.address_cycles)
        if queued.work == "nothing" and kind in (Kind.shared_load, Kind.ldmatrix):
            self._pass_in_order(queued, now, now, 1)
        elif queued.work == "nothing":
            self._turn(now, now)
        if queued.work in ("nothing", "commit", "order"):
            self._follow_barrier(queued, now)
            return
        per_register, delay = 128 / self.gpu.mio.operand_bytes_per_cycle, self.gpu.mio.read_release_base_cycles
        registers = self._registers(warp, row, kind)
        mio = self.gpu.mio
        self.addresses.serve(now, part.cycles_between(self.gpu, now) if kind == Kind.async_copy else mio.address_cycles)
        lead = int(np.ceil((registers - 1) * per_register))
        start = part.begins_to_read(self.gpu, registers, lead, now)
        cycles = int(np.ceil(registers * per_register))
        part.operands.serve(now, part.read_cycles(self.gpu, registers, cycles, now))
        part.share_registers(max(1, registers), now)
        reads = registers if part.uses_tensor(now) else -(-registers // mio.registers_per_read)
        part.holds.append((start + delay, start + delay + reads * mio.register_read_cycles))
        waits = self._late_data(part, queued, start, registers, per_register)
        part.operands.free, start = part.operands.free + waits, start + waits
        end = start + cycles
        if queued.work == "signal":
            self.units.signal(queued, self._turn(start, start + lead))
        elif queued.work == "shared":
            self._shared(part, queued, start, start + lead)
        else:
            self._global(queued, start, start + lead, end)
        warp.settle(int(row["read_barrier"]), end + delay)
        self._follow_barrier(queued, now)

    def _pass_in_order(
        self, queued: Queued, start: int, arrival: int, waves: int, beside_stores: bool = False, apart: int = 0
    ) -> None:
        """A warp's accesses one after the other."""
        warp = queued.warp
        warp.data_free = self._leave_buffer(start, max(arrival, warp.data_free), waves, beside_stores,
                                            arrival, apart)
        self._keep(queued, warp.data_free)
        self.drained = max(self.drained, warp.data_free + self.gpu.barrier.after_access_cycles)

    def _shared(self, part: Part, queued: Queued, start: int, sent: int) -> None:
        warp, row = queued.warp, queued.row
        waves = warp.of_row(row, "wavefronts") if row["access"] >= 0 else 1
        by_groups = row["access"] >= 0 and queued.kind != Kind.ldmatrix
        groups = warp.of_row(row, "ideal_wavefronts") if by_groups else 1
        arrival = self.groups.serve(start, groups)[0] + sent - start
        registers, interval = self._loaded(queued), self.gpu.shared.latency_cycles_per_wavefront
        longer = self.gpu.shared.matrix_start_cycles
        apart = (longer if waves == registers == MATRICES else min(1, longer)) if queued.kind == Kind.ldmatrix else 0
        self._pass_in_order(queued, start, arrival, waves, self._is_beside_stores(queued), apart)
        there, board = warp.data_free + int(self._image_row(queued)["latency"]) - interval, int(row["write_barrier"])
        if not registers or board == NO_BOARD:
            warp.settle(board, there)
            return
        if queued.kind != Kind.ldmatrix:
            coming = [there + i for i in range(registers)]
        elif waves < 2 * registers:
            coming = [there - i * (waves * interval // registers) for i in reversed(range(registers))]
        else:
            coming = [there]
        self.returns.expect(self.parts.index(part), Load(warp, board, coming))

    def _loaded(self, queued: Queued) -> int:
        """Registers of a lane that a load from shared memory fills."""
        row, table = queued.row, queued.warp.role.accesses
        if row["access"] < 0 or queued.kind not in (Kind.ldmatrix, Kind.shared_load):
            return 0
        if not queued.warp.of_row(row, "wavefronts"):
            return 0
        if queued.kind == Kind.ldmatrix:
            return int(table.operation[row["access"]].removeprefix("LDSM").removeprefix("T"))
        return -(-int(table.bytes_per_lane[row["access"]]) // 4)

    def _is_beside_stores(self, queued: Queued) -> bool:
        """Whether it goes to the part of the data array in which the port reads lines."""
        warp, row = queued.warp, queued.row
        if row["access"] < 0:
            return False
        last = self.cta_bytes * warp.cta + int(row["shared_offset"])
        last += int(warp.role.accesses.shared_address[row["access"], warp.number - warp.role.first_warp].max())
        begins = self.gpu.l1.stores_from_bytes - self.gpu.sm.shared_reserved_bytes_per_cta
        return last >= begins

    def _keep_tags(self, until: int, entries: int) -> None:
        """Entries of the queue for the tag stage."""
        self.tag_entries.extend([max(self.front, until)] * entries)

    def _leave_tags(self, queued: Queued, begun: int) -> None:
        """The last entry goes when the second access in front is looked up, or a while before this one is, the others
        behind the last one of the access in front; with each goes a place that a copy keeps."""
        l1 = self.gpu.l1
        first = max(self.front, self.tag_left + l1.entry_interval_cycles)
        last = max(self.front, min(self.tag_before, begun - l1.entry_lead_cycles))
        self._keep_tags(first, l1.access_tag_entries - 1)
        self._keep_tags(last, 1)
        if queued.kind == Kind.async_copy:
            self._keep_places(queued.places - 1, first)
            self._keep_places(1, last)
        self.tag_left, self.tag_before, self.tag_begun = last, self.tag_begun, begun

    def _global(self, queued: Queued, start: int, lead: int, sent: int) -> None:
        """Lines pass the tag stage one by one; then the memory system decides."""
        warp, kind, row = queued.warp, queued.kind, queued.row
        if self._writes(row, kind):
            self._store(queued, start, lead)
            return
        lines, before = warp.of_row(row, "request_count"), self.tag_begun
        room = self.tag_entries[self.gpu.l1.access_tag_entries - 1]
        is_copy = kind == Kind.async_copy
        passed = self._pass_copy(warp, max(start, room)) if is_copy else self._pass_buffer(start, room)
        self._keep(queued, passed)
        begun, done = self.tag_stage.serve(max(sent, passed, self.request_places[0]), self._tag_cycles(warp, row))
        if turns := self._write_turns(warp, row):
            _, written = self.copy_writes.serve(begun, turns + self.gpu.l1.copy_write_lead_cycles)
            self.tag_stage.free = done = max(done, written)
        leaves = begun
        if lines:
            leaves, _ = self.requests.serve(begun, self._request_cycles(warp, row))
            self.request_places.append(leaves + self.gpu.l1.request_return_cycles)
        lag = self._unwritten_classes(warp, row) * self.gpu.l1.class_lag_cycles
        self._leave_tags(queued, begun + lag)
        self.tag_passed = done + lag
        self.drained = max(self.drained, self.front, before - self.gpu.l1.tag_lead_cycles)
        if lines and self._image_row(queued)["cached"]:
            self._load_cached(queued, leaves, done)
        elif lines:
            self._ask(queued, leaves, self._arrival(queued), self._data_turns(warp, row))
        elif kind != Kind.async_copy:
            warp.settle(int(row["write_barrier"]), start + 1)

    def _store(self, queued: Queued, start: int, lead: int) -> None:
        """Through the data stage, a cycle for each line, into the queue in front of the port; no look at tags."""
        warp, row, alone = queued.warp, queued.row, self.write_cycles(queued.warp, queued.row)
        writes, waiting = self._writes_of(queued), self.gpu.mio.waiting_stores
        room = self.store_queue.room(len(writes))
        cost = self.store_queue.merge(writes, alone)
        self.front = max(self.front, start)
        self.drained = max(self.drained, self.front, self.store_places[-waiting] - self.gpu.mio.buffer_return_cycles)
        mio, lag, cycles = self.gpu.mio, self.gpu.l1.read_lag_cycles, len(writes) * self.data_stage.interval
        there = lead + mio.store_stage_cycles - (-len(writes) // mio.store_lines_per_cycle)
        arrival = max(self.front, self._answered(cost.turns, start), there, room - lag - cycles)
        store = warp.stored = Store(arrival, cycles, warp.stored, self._line_reads(warp, row))
        begun = self.data_stage.store(store)
        self.store_places.append(begun + self.gpu.mio.buffer_return_cycles)
        self._keep(queued, store.end)
        leaves, warp.drain = self.write_port.serve(store.end + lag, cost.cycles)
        store.leaves = leaves
        self.store_queue.keep(leaves, cost.cycles, cost.places)
        if len(writes) > cost.skip.bit_count():
            self._ask(queued, leaves, None, self._data_turns(warp, row), cost.skip, turns_of_write=cost.turns)

    def _writes_of(self, queued: Queued) -> list[Write]:
        """What a store brings, by line. Nothing joins an atomic, or the write of a flag."""
        warp, row, table = queued.warp, queued.row, queued.warp.role.accesses
        first, count = warp.of_row(row, "request_first"), warp.of_row(row, "request_count")
        if queued.kind != Kind.global_store or self._image_row(queued)["flags"] & FLAG:
            return [Write(-1, frozenset(), frozenset())] * count
        base = int(self.program.cta_bases[warp.cta, table.tensor[row["access"]]] + row["global_offset"])
        lanes = warp.of_row(row, "lane_mask")
        starts = table.global_offset[row["access"], warp.number - warp.role.first_warp]
        writes = writes_of((base + int(start) for lane, start in enumerate(starts) if lanes >> lane & 1),
                           int(table.bytes_per_lane[row["access"]]))
        assert [write.line * LINE_BYTES - base for write in writes] == [
            int(offset) for offset in table.requests["line_offset"][first : first + count]]
        return writes

    def _line_reads(self, warp: WarpModel, row: np.void) -> float:
        """How long the port reads a store's lines."""
        table, l1 = warp.role.accesses, self.gpu.l1
        first, count = warp.of_row(row, "request_first"), warp.of_row(row, "request_count")
        masks = table.requests["sector_mask"][first:first + count]
        return float(np.float32(sum(l1.line_read_cycles if int(mask).bit_count() > 1 else l1.sector_read_cycles
                                    for mask in masks)))

    def _answered(self, turns: int, now: int) -> int:
        """When L2 has so much of the stores before that the port may take one more, as far as that is known."""
        self.turns += turns
        needed, known = self.turns - self.gpu.noc.stores_in_flight, self.stores[0]
        for i in range(int(known["count"])):
            if needed > 0 and known["turn"][i] >= needed:
                old = known["left"][i] <= now - self.gpu.l2.lookahead_cycles
                return int(np.ceil(known["time"][i])) if old else 0
        return 0

    def _data_turns(self, warp: WarpModel, row: np.void) -> Turns:
        table, number = warp.role.accesses, int(row["access"])
        width = int(table.bytes_per_lane[number])
        if self._bypasses(row):
            return Turns()
        if table.operation[number].startswith("CPA"):
            lanes = (getattr(table, name)[number, warp.number - warp.role.first_warp]
                     for name in ("shared_address", "global_offset", "lane_mask"))
            return Turns(int(l1_crossings(width, *lanes)[0]))
        full = -(-warp.of_row(row, "lane_mask").bit_count() * width // self.gpu.shared.bytes_per_wavefront)
        turns = max(int(table.request_count[number, warp.number - warp.role.first_warp]), full)
        return Turns(turns, turns - full)

    def _arrival(self, queued: Queued) -> Callable[[int], None]:
        """What happens when data are there."""
        if queued.kind == Kind.async_copy:
            return partial(self._copy_arrived, queued.warp, queued.token)
        return partial(queued.warp.settle, int(queued.row["write_barrier"]))

    def _copy_arrived(self, warp: WarpModel, group: int, time: int) -> None:
        warp.copy_arrived(group, time)
        self.units.deliver(warp)

    def _expect(self, queued: Queued, more: int) -> None:
        """An access that waits for ``more`` answers than one."""
        board = int(queued.row["write_barrier"])
        if queued.kind == Kind.async_copy:
            queued.warp.groups[queued.token].missing += more
        elif board != NO_BOARD:
            queued.warp.boards[board].missing += more

    def _load_cached(self, queued: Queued, leaves: int, passes: int) -> None:
        """Sectors that are in L1 cross the data stage at once; what is under way is waited for; the rest is asked for.

        The data cross the stage once: with the access's own request, else with the first one it waits for.
        """
        warp, row = queued.warp, queued.row
        table, turns, arrived = warp.role.accesses, self._data_turns(warp, row), self._arrival(queued)
        base = int(self.program.cta_bases[warp.cta, table.tensor[row["access"]]] + row["global_offset"])
        first, count = warp.of_row(row, "request_first"), warp.of_row(row, "request_count")
        rows = table.requests[first : first + count]
        fill, asked, awaited = self.l1.look_up([
            ((base + int(line["line_offset"])) // 128, int(line["sector_mask"])) for line in rows])
        for other in awaited:
            crossing = turns if other is awaited[0] and not asked else Turns()
            other.waiting.append(partial(self._cross, arrived, crossing))
        self._expect(queued, max(0, len(awaited) + bool(asked) - 1))
        if asked:
            skip = sum(1 << number for number in range(count) if number not in asked)
            self._ask(queued, leaves, arrived, turns, skip, fill)
        elif not awaited:
            self._hit(warp, arrived, leaves, passes, turns.all)

    def _hit(self, warp: WarpModel, arrived: Callable[[int], None], leaves: int, passes: int, cycles: int) -> None:
        shared, address_registers = self.gpu.shared, 2
        warp.data_free = max(self.data_stage.take_path(max(leaves, warp.data_free), cycles)[1], passes)
        addresses = int(np.ceil(address_registers * 128 / self.gpu.mio.operand_bytes_per_cycle))
        arrived(warp.data_free + self.gpu.l1.hit_latency_cycles - addresses - shared.latency_cycles_per_wavefront)

    def _cross(self, arrived: Callable[[int], None], turns: Turns, time: int) -> int:
        """Data from memory take their turns in the data stage; returns when they have passed."""
        early = self.data_stage.interval * turns.early
        passed = self.data_stage.move(time, turns.all) - early if turns.all else time
        arrived(passed)
        return passed

    def _bypasses(self, row: np.void) -> bool:
        return "BYPASS" in self.program.statics[row["pc"]].mnemonic

    def _requests(self, warp: WarpModel, row: np.void) -> list[tuple[int, float]]:
        """Lines that an access asks for, and for how long each request leaves: whole lines of cp.async are faster."""
        table, l1, first = warp.role.accesses, self.gpu.l1, warp.of_row(row, "request_first")
        requests = table.requests[first : first + warp.of_row(row, "request_count")]
        fast = l1.whole_line_cycles if self._bypasses(row) else l1.tag_interval_cycles
        return [(int(request["line_offset"]), fast if request["sector_mask"] == 15 else l1.tag_interval_cycles)
                for request in requests]

    def _tag_cycles(self, warp: WarpModel, row: np.void) -> int:
        """A copy's lines are looked up once, whatever pieces they come in."""
        requests = self._requests(warp, row)
        lines = dict(reversed(requests)).values() if self._bypasses(row) else [cycles for _, cycles in requests]
        return int(np.ceil(sum(lines) - 1e-6))

    def _request_cycles(self, warp: WarpModel, row: np.void) -> int:
        return int(np.ceil(sum(cycles for _, cycles in self._requests(warp, row)) - 1e-6))

    def _written(self, warp: WarpModel, row: np.void) -> tuple[list[int], list[int], list[int]]:
        """Shared and global addresses, and the lanes that read: others write zeros, or nothing. No lanes where data go
        through L1."""
        table, place = warp.role.accesses, (row["access"], warp.number - warp.role.first_warp)
        reads = int(table.lane_mask[place]) & ~int(table.zfill_mask[place]) if self._bypasses(row) else 0
        lanes = [lane for lane in range(32) if reads >> lane & 1]
        return table.shared_address[place].tolist(), table.global_offset[place].tolist(), lanes

    def _write_turns(self, warp: WarpModel, row: np.void) -> int:
        return write_turns(*self._written(warp, row))

    def _unwritten_classes(self, warp: WarpModel, row: np.void) -> int:
        shared, _, lanes = self._written(warp, row)
        return CLASSES - len({shared[lane] // LINE_BYTES % CLASSES for lane in lanes}) if lanes else 0

    def write_cycles(self, warp: WarpModel, row: np.void) -> int:
        """A sector takes a turn of the port, a line with one that is written in part more."""
        table, access, noc = warp.role.accesses, row["access"], self.gpu.noc
        data_bytes = warp.of_row(row, "lane_mask").bit_count() * int(table.bytes_per_lane[access])
        if not table.operation[access].startswith(("STG", "TMASTG")):  # atomics
            return -(-data_bytes // self.gpu.shared.bytes_per_wavefront)
        data_bytes = max(data_bytes, warp.of_row(row, "bulk_bytes"))
        first = warp.of_row(row, "request_first")
        lines = table.requests["sector_mask"][first : first + warp.of_row(row, "request_count")]
        sectors = sum(int(mask).bit_count() for mask in lines)
        if table.operation[access].startswith("TMASTG"):
            in_part = min(len(lines), -(-(sectors * 32 - data_bytes) // 16))
        else:
            in_part = self._lines_in_part(warp, row)
        return int(np.ceil(sectors * 32 / noc.sm_write_bytes_per_cycle + in_part * noc.unfilled_line_cycles))

    @staticmethod
    def _lines_in_part(warp: WarpModel, row: np.void) -> int:
        """Lines of which a sector is written, but not all of it."""
        width, lanes = int(warp.role.accesses.bytes_per_lane[row["access"]]), warp.of_row(row, "lane_mask")
        starts = warp.role.accesses.global_offset[row["access"], warp.number - warp.role.first_warp].tolist()
        written = {start + byte for lane, start in enumerate(starts) if lanes >> lane & 1 for byte in range(width)}
        filled = Counter(byte // 32 for byte in written)
        return len({sector // 4 for sector, count in filled.items() if count < 32})

    def _writes(self, row: np.void, kind: Kind) -> bool:
        return kind == Kind.global_store or (kind == Kind.atomic and int(row["write_barrier"]) == 7)

    def _fence(self, warp: WarpModel, time: int) -> None:
        """MEMBAR of the warps that its access names: until the memory says that all writes have been performed."""
        if warp.row["access"] >= 0 and not warp.of_access("request_count"):
            return
        self.store_queue.waiting.extend([None] * len(self.store_queue.waiting))
        request = np.zeros(1, REQUEST_RECORD)
        request["time"], request["token"], request["flag"] = time, FENCE_TOKEN, -1
        warp.membar_end, warp.fence_state = 1 << 60, "membar"
        self.env.process(self._travel(warp, request, lambda passed: setattr(warp, "membar_end", passed), Turns(), None))

    def serve(self, request: np.ndarray, lines: np.ndarray, done: np.ndarray) -> int:
        return int(serve(self.memory, self.machine, request, np.zeros(1, np.int64), lines, self.image.flags,
                         np.zeros((0, 1, 2), np.int64), self.stores, done))

    def request(self, warp: WarpModel, time: int) -> np.ndarray:
        """What an access of the current row asks of the memory from ``time`` on."""
        table, row, request = warp.role.accesses, warp.row, np.zeros(1, REQUEST_RECORD)
        base = self.program.cta_bases[warp.cta, table.tensor[row["access"]]] + row["global_offset"]
        request["time"], request["base"], request["cta"], request["flag"] = time, base, warp.cta, -1
        request["first"], request["count"] = warp.of_access("request_first"), warp.of_access("request_count")
        return request

    def _ask(
        self, queued: Queued, time: int, arrived: Callable[[int], None] | None, turns: Turns, skip: int = 0,
        fill: Fill | None = None, turns_of_write: int = 0,
    ) -> None:
        """Send an access to the memory system, reads behind all stores so far; ``skip``: lines not asked for, a bit
        each."""
        warp, row, request = queued.warp, queued.row, np.zeros(1, REQUEST_RECORD)
        table = warp.role.accesses
        base = self.program.cta_bases[warp.cta, table.tensor[row["access"]]] + row["global_offset"]
        request["time"], request["base"], request["skip"] = time, base, skip
        request["first"], request["count"] = warp.of_row(row, "request_first"), warp.of_row(row, "request_count")
        image = self._image_row(queued)
        request["cta"], request["flag"] = warp.cta, image["operand"] if image["flags"] & FLAG else -1
        if self._writes(row, queued.kind):
            request["is_write"], request["data_cycles"] = 1, turns_of_write
            self.env.process(self._travel(warp, request, arrived, turns, fill))
            return
        request["time"] = max(time, self.write_port.free)
        sent = int(request["count"][0]) - skip.bit_count()
        self.under_way += sent
        self.env.process(self._travel(warp, request, arrived, turns, fill, sent))

    def _travel(
        self, warp: WarpModel, request: np.ndarray, arrived: Callable[[int], None] | None, turns: Turns,
        fill: Fill | None, sent: int = 0,
    ) -> Process:
        """The memory serves requests in the order in which they leave the SM."""
        yield self.env.timeout(int(request["time"][0]) - self.env.now)
        done = np.zeros(1, COMPLETION)
        if self.serve(request, warp.role.accesses.requests, done) and arrived is not None:
            if done["flag"][0] >= 0:
                self.env.process(self._learn(warp, done[0]))
            self.env.process(self._answer(arrived, done[0], turns, fill, sent))

    def _learn(self, warp: WarpModel, done: np.void) -> Process:
        """What a poll found."""
        yield self.env.timeout(done["time"] - self.env.now)
        warp.missing, warp.polls = int(done["flag"]), True

    def _answer(
        self, arrived: Callable[[int], None], done: np.void, turns: Turns, fill: Fill | None = None, sent: int = 0
    ) -> Process:
        """Data cross the data stage when they arrive; so do those of the accesses that wait for the same sectors."""
        yield self.env.timeout(done["time"] - self.env.now)
        self.under_way -= sent
        passed = self._cross(arrived, turns, int(done["time"]))
        if fill is not None:
            fill.is_there = True
            for waiting in fill.waiting:
                waiting(passed)

    def _issue_barrier(self, warp: WarpModel, now: int) -> None:
        """BAR arrives at once; what its warp has queued goes before what its barrier lets go on."""
        operand = int(self._image_row(warp)["operand"])
        warp.fenced = (warp.cta, operand & 15)
        if not operand & ARRIVE_ONLY:
            warp.at_barrier, warp.behind = operand & 15, warp.fenced
        warp.defers = self.program.statics[warp.row["pc"]].mnemonic == "BAR.SYNC.DEFER_BLOCKING"
        warp.before_fence = warp.queued
        self.unfenced[warp.fenced] += warp.before_fence > 0
        self._arrive(warp, operand, now)

    def _pass_fence(self, barrier: tuple[int, int], now: int) -> None:
        """Once for all warps of a barrier that has opened: the unit takes no more until accesses before have passed."""
        if barrier not in self.to_fence or self.unfenced[barrier]:
            return
        self.to_fence.remove(barrier)
        self.front = max(self.front, now, self.drained)
        read = max(part.operands.free for part in self.parts)
        for part in self.parts:
            for queued in part.queue:
                queued.let_go(barrier, read)
            for warp in part.warps:
                warp.let_go(barrier)

    def _follow_barrier(self, queued: Queued, now: int) -> None:
        """One instruction less in front of the warp's BAR."""
        warp = queued.warp
        if not warp.before_fence:
            return
        warp.before_fence -= 1
        if warp.before_fence:
            return
        self.unfenced[warp.fenced] -= 1
        self._pass_fence(warp.fenced, now)

    def _arrive(self, warp: WarpModel, operand: int, now: int) -> None:
        """The barrier unit takes warps one by one."""
        _, served = self.barrier_unit.serve(now, self.gpu.barrier.cycles_per_warp)
        peers = [peer for part in self.parts for peer in part.warps if peer.live and peer.cta == warp.cta]
        if self.units.barrier(warp, operand, peers, served + self.gpu.barrier.base_cycles):
            self.to_fence.add(warp.fenced)
            self._pass_fence(warp.fenced, now)
