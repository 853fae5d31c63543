"""Models the order ptxas chooses inside a basic block: a top-down list scheduler over issue cycles and pipes.
Leaves out the registers themselves; how many a block lacks comes from outside (gpusim.dsl.backend.registers)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpusim.arch import Kind, Pipe
from gpusim.dsl.backend.copy_order import CopyOrder, copies_in_turn
from gpusim.dsl.backend.graph import Graph
from gpusim.dsl.backend.instruction import (
    ASYNC_ORDER,
    FENCES,
    MEMORY,
    Instruction,
    arithmetic_leads,
    has_tensor_work,
    place_beside_tensor,
)
from gpusim.dsl.backend.paths import load_paths, paths_to_end
from gpusim.dsl.backend.products import Products

__all__ = ["list_schedule"]

REFILL_CYCLES = 62
"""Rule 9. In the loops of h200/src/gemm.cu with four k steps the last of these loads stands 60 to 72 cycles of tensor
work before the block's end, the others one interval before each other; with two the barrier comes too late for it."""

LATE_SHARE, LATE_INTERVAL_CYCLES, LATE_ROWS = 0.3, 4, 280
"""Rule 5, read from loops of MmaPipelined (CUTLASS 4.2, CUDA 13.0). Eleven have tensor instructions of 4 cycles
(m16n8k8 for sm_90) and k steps longer than their fragment loads, tiles of 64x64 to 128x256 and k of 16 and 32: the
arithmetic for loads begins with 0.18 to 0.32 of the tensor instructions left; in five of them one or two loads that
need none go ahead. With 8 cycles (m16n8k16; m16n8k8 for sm_75) or shorter k steps (warps of 32x32) it begins with the
first one. Why is not known. Blocks of more rows (k of 64) go either way."""

HELD_CYCLES = 3
"""MmaPipelined's tensor instructions stand 9 cycles apart instead of 6 while there are loads to be made ready."""

HELD_FOR_COPY_CYCLES = 1
"""Less for copies than for fragment loads: in the 60 loops of h200/src/gemm.cu (nvcc 13.0) a tenth to a third of the
tensor instructions stand further apart than the pipe asks for, and copies are where ptxas puts them with 1 (2 and 3
move them as far, 0 further; cycles of the loops replayed are nearest with 1)."""


def list_schedule(code: Sequence[Instruction], graph: Graph, missing_registers: int = 0,
                  copies: CopyOrder = "chain") -> list[int]:
    """Rows of ``code`` in issue order, a topological order of ``graph``, which gets the edges of rule 6.

    Rules, fitted to the 20 loops of h200/kernel_loops.csv, none of them naming a kernel:
    1. Tensor instructions keep their source order and issue as soon as the tensor pipe takes them.
    2. While the next one waits for nothing but the pipe, one vector ALU instruction issues before it, besides whatever
       memory and uniform instructions their pipes take; what reads vector registers goes into the last cycle, where the
       tensor instruction has read its own. Types that read fewer have two or three such places (`arithmetic_leads`).
       While it waits for operands, everything issues that can.
       What leads to a load or copy whose use is further away than the tensor work left knows no such limit, and may
       hold the tensor instruction back by HELD_CYCLES, or for copies that do not go first (11) HELD_FOR_COPY_CYCLES.
    3. Among those, the one that can issue soonest; then the one with the longest path of latencies to the end of the
       block (so fragment loads draw their address arithmetic forward); then source order, but fragment loads in the
       order of the tensor instructions that need them. In a block that multiplies on the fma pipe the path of an FFMA
       or a copy is no shorter than the FFMAs behind it take, so copies stay where the source has them; other rules of
       such blocks are gpusim.dsl.backend.products'.
    4. Memory instructions without registers (the dead LDS ptxas writes before copies) stay in front of the next one
       that has some.
    5. Where a tensor instruction takes no more than LATE_INTERVAL_CYCLES and those of a k step take longer than its
       fragment loads, so that none waits for operands, loads from global memory and the arithmetic that leads to them
       wait until LATE_SHARE of the tensor work is left; then each load follows its own arithmetic.
    6. What the tensor instructions of the next k step need in time comes before them, however many vector ALU
       instructions that takes (the path goes on through the tensor instructions behind a user, that of a load in a
       block with copies for REACH_CYCLES, as it takes registers; that of arithmetic on what has been loaded to the
       end); arithmetic for accesses behind a barrier stays behind it.
    7. Of a block that lacks registers, fragment loads of the next k step wait for the end of this one, those needed
       last first, as many as ``missing_registers`` pay for; an address that waits keeps one of a load's. What they
       need has time, so the addresses of copies take the registers before. Then they go in the order of their users.
    8. But where the arithmetic for loads behind a barrier begins by overwriting the address of a copy
       (gpusim.dsl.backend.reuse), it waits for that only, and mostly begins in front of the barrier.
    9. Fragment loads of the next turn, behind the last barrier, wait until no more tensor work is left than their own
       intervals and REFILL_CYCLES.
    10. In a block without tensor instructions what leads to copies, or to nothing in the block (cleared accumulators),
       stays in front of the first copy where the source has it there: 175 to 259 instructions besides those that clear
       in 22 CUTLASS 2.x kernels for tensor cores (of those 8 to 14 come later, as temporaries have their registers).
    11. Where ``copies`` go in turn, and no load waits for registers (7), the path by which 3 orders them and what leads
       to them does not go on through the copies behind, and is a cycle shorter for each copy before; behind loads, it
       is shorter than that of the fragment loads in front of them. What may hold a tensor instruction back (2) still
       goes by all copies behind it.
    """
    _keep_behind_barriers(code, graph)
    _keep_before_copies(code, graph)
    order = _Scheduler(code, graph, missing_registers, copies).run()
    carried = _idle_rows(code)
    idle = {row for rows in carried.values() for row in rows}
    return [placed for row in order if row not in idle for placed in (*carried.get(row, ()), row)]


def _idle_rows(code: Sequence[Instruction]) -> dict[int, list[int]]:
    """Memory rows without registers, by the next memory row that has some."""
    hosts: dict[int, list[int]] = {}
    waiting: list[int] = []
    for row, instruction in enumerate(code):
        if instruction.kind in FENCES | ASYNC_ORDER:
            waiting = []
        elif instruction.kind in MEMORY and not instruction.has_registers:
            waiting.append(row)
        elif instruction.kind in MEMORY and waiting:
            hosts[row], waiting = waiting, []
    return hosts


def _keep_behind_barriers(code: Sequence[Instruction], graph: Graph) -> None:
    """Vector arithmetic for memory accesses behind a barrier stays behind it, too, but for what rule 8 puts before it.
    Stages are counted on the uniform datapath wherever there is room."""
    if not has_tensor_work(code):
        return
    leads = [False] * len(code)
    for row in reversed(range(len(code))):
        leads[row] = code[row].kind in MEMORY or any(leads[later] for later in graph.after[row])
    before: list[list[int]] = [[] for _ in code]
    for row, followers in enumerate(graph.after):
        for later in followers:
            before[later].append(row)
    barrier = None
    released: set[int] = set()
    for row, instruction in enumerate(code):
        if instruction.kind == Kind.barrier:
            barrier = row
        elif barrier is not None and instruction.kind == Kind.alu and _is_vector_alu(instruction) and leads[row]:
            overwrites_address = any(code[earlier].kind == Kind.async_copy for earlier in before[row])
            if (overwrites_address and max(before[row]) < barrier) or released.intersection(before[row]):
                released.add(row)
            else:
                graph.add(barrier, row, 1)


def _keep_before_copies(code: Sequence[Instruction], graph: Graph) -> None:
    """Rule 10. Copies are volatile in CUDA C++, and ptxas does not let them pass the code around them by much."""
    if has_tensor_work(code):
        return
    first = next((row for row, instruction in enumerate(code) if instruction.kind == Kind.async_copy), 0)
    leads = [instruction.kind == Kind.async_copy for instruction in code]
    for row in reversed(range(len(code))):
        leads[row] |= any(leads[later] for later in graph.after[row])
    for row in range(first):
        if code[row].kind == Kind.alu and (leads[row] or not graph.after[row]):
            graph.add(row, first, 1)


def _turns(code: Sequence[Instruction], graph: Graph) -> list[int]:
    """What decides between rows with equal paths: their own places, and of fragment loads the first that needs them."""
    return [_first_user(code, graph, row) if instruction.kind == Kind.ldmatrix else row
            for row, instruction in enumerate(code)]


def _first_user(code: Sequence[Instruction], graph: Graph, row: int) -> int:
    """The first tensor instruction behind a row; rows, where there is none."""
    return min((later for later in graph.after[row] if code[later].kind == Kind.mma), default=len(code))


class _Scheduler:
    """Issue cycles so far; ``ready``: rows whose predecessors have all issued."""

    def __init__(self, code: Sequence[Instruction], graph: Graph, missing_registers: int, copies: CopyOrder) -> None:
        self.code, self.graph = code, graph
        self.products = Products(code, graph)
        self.held = _held_rows(code, graph, missing_registers)
        self.held_until = min(self.held.values(), default=0)
        self.path = paths_to_end(code, graph, self.held)
        self.load_path = load_paths(code, graph, self.path)
        self.rank, self.held_for_copy = self.path, HELD_FOR_COPY_CYCLES
        if copies != "chain" and not self.held:
            self.rank = copies_in_turn(code, graph, paths_to_end(code, graph, ordered=False), copies == "behind loads")
            self.held_for_copy = HELD_CYCLES if copies == "before loads" else HELD_FOR_COPY_CYCLES
        self.turn = _turns(code, graph)
        self.blockers = graph.num_before().tolist()
        self.ready = {row for row, blockers in enumerate(self.blockers) if not blockers}
        self.earliest = [0] * len(code)
        self.pipe_free = dict.fromkeys(Pipe, 0)
        self.tensor_rows: Iterator[int] = (row for row, instruction in enumerate(code) if instruction.kind == Kind.mma)
        self.next_tensor = next(self.tensor_rows, None)
        self.tensor_cycles_left = sum(one.interval_cycles for one in code if one.kind == Kind.mma)
        self.refills = _refills(code, graph)
        self.refills_until = REFILL_CYCLES + sum(code[row].interval_cycles for row in self.refills)
        self.deferred = _deferred_rows(code, graph)
        self.late_path = max((self.rank[row] for row in self.deferred), default=0)
        self.deferred_until = LATE_SHARE * self.tensor_cycles_left
        self.leads = arithmetic_leads(code)
        self.filled = 0  # vector ALU instructions since the last tensor instruction
        self.cycle = 0

    def run(self) -> list[int]:
        order = []
        while self.ready:
            row = self._choose()
            self._issue(row)
            order.append(row)
        return order

    def _choose(self) -> int:
        tensor = self.next_tensor if self.next_tensor in self.ready else None
        fillers = [row for row in self.products.candidates(self.ready) if self.code[row].kind != Kind.mma]
        if self.deferred and self.tensor_cycles_left > self.deferred_until:
            fillers = [row for row in fillers if row not in self.deferred] or (fillers if tensor is None else [])
        if tensor is not None and self.tensor_cycles_left > self.refills_until:
            fillers = [row for row in fillers if row not in self.refills]
        if tensor is not None and tensor < self.held_until:
            fillers = [row for row in fillers if row not in self.held]
        if tensor is None:
            return min(fillers, key=self._urgency)
        start = max(self.earliest[tensor], self.pipe_free[Pipe.tensor])
        waits_for_pipe_only = self.earliest[tensor] <= max(self.cycle, self.pipe_free[Pipe.tensor])
        if waits_for_pipe_only and self.filled >= len(self.leads):
            fillers = [row for row in fillers if not _is_vector_alu(self.code[row]) or self._is_pressing(row)]
        early = (row for row in fillers if self._start(row) < start + self._held_cycles(row))
        return min(early, key=self._urgency, default=tensor)

    def _held_cycles(self, row: int) -> int:
        """How long the tensor instruction whose turn it is may be held back for this row."""
        if not self._is_pressing(row):
            return 0
        return HELD_CYCLES if self.load_path[row] > self.tensor_cycles_left else self.held_for_copy

    def _is_pressing(self, row: int) -> bool:
        return self.path[row] > self.tensor_cycles_left

    def _start(self, row: int) -> int:
        start = max(self.cycle, self.earliest[row], self.pipe_free[self.code[row].pipe])
        return place_beside_tensor(self.code[row], self.leads, self.pipe_free[Pipe.tensor], start)

    def _urgency(self, row: int) -> tuple[int, bool, int, int, int]:
        path = self.late_path if row in self.deferred else self.rank[row]
        return self._start(row), row not in self.products.soon, -path, self.turn[row], row

    def _issue(self, row: int) -> None:
        instruction, at = self.code[row], self._start(row)
        self.ready.remove(row)
        self.products.issued(row)
        self.pipe_free[instruction.pipe] = at + instruction.interval_cycles
        self.cycle = at + 1
        for later, cycles in self.graph.after[row].items():
            self.earliest[later] = max(self.earliest[later], at + cycles)
            self.blockers[later] -= 1
            if not self.blockers[later]:
                self.ready.add(later)
        if instruction.kind == Kind.mma:
            self.next_tensor, self.filled = next(self.tensor_rows, None), 0
            self.tensor_cycles_left -= instruction.interval_cycles
        elif _is_vector_alu(instruction):
            self.filled += 1


def _refills(code: Sequence[Instruction], graph: Graph) -> set[int]:
    """Fragment loads that rule 9 holds back: those of the next turn, behind the block's last barrier."""
    barrier = max((row for row, instruction in enumerate(code) if instruction.kind == Kind.barrier), default=len(code))
    return {row for row in range(barrier, len(code)) if code[row].kind == Kind.ldmatrix
            and all(code[later].kind != Kind.mma for later in graph.after[row])}


def _deferred_rows(code: Sequence[Instruction], graph: Graph) -> set[int]:
    """Rows that rule 5 holds back: loads from global memory, and the arithmetic that leads to them."""
    tensor = [instruction for instruction in code if instruction.kind == Kind.mma]
    loads = [instruction for instruction in code if instruction.kind == Kind.ldmatrix]
    if not tensor or not loads or len(code) > LATE_ROWS or tensor[0].interval_cycles > LATE_INTERVAL_CYCLES:
        return set()
    per_step = len({instruction.writes for instruction in tensor})
    queued_cycles = sum(load.interval_cycles for load in loads) * per_step // len(tensor) - loads[0].interval_cycles
    if per_step * tensor[0].interval_cycles < loads[0].expected_cycles + queued_cycles:
        return set()
    found: set[int] = set()
    for row in reversed(range(len(code))):
        instruction = code[row]
        leads = instruction.kind == Kind.alu and instruction.reads and any(later in found for later in graph.after[row])
        if instruction.kind == Kind.global_load or leads:
            found.add(row)
    return found


def _held_rows(code: Sequence[Instruction], graph: Graph, missing_registers: int) -> dict[int, int]:
    """Fragment loads that rule 7 holds back, each with the first tensor instruction that needs it."""
    copies = [row for row, instruction in enumerate(code) if instruction.kind == Kind.async_copy]
    users = {row: _first_user(code, graph, row)
             for row in range(min(copies, default=0)) if code[row].kind == Kind.ldmatrix}
    held: dict[int, int] = {}
    for row in sorted(users, key=lambda row: (users[row], row), reverse=True):
        gains = len(code[row].writes) - 1
        if missing_registers < gains:
            break
        held[row] = users[row]
        missing_registers -= gains
    return held


def _is_vector_alu(instruction: Instruction) -> bool:
    return instruction.kind not in MEMORY and instruction.pipe != Pipe.uniform
