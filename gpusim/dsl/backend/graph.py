"""Models which instructions of a basic block must stay behind which: registers, memory, synchronisation, branches.
Leaves out control fields and the order chosen (gpusim.dsl.backend.schedule)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.arch import Kind
from gpusim.dsl.backend.instruction import ASYNC_ORDER, FENCES, MEMORY, Instruction

__all__ = ["Graph", "dependence_graph"]

_WRITES_MEMORY = frozenset({Kind.shared_store, Kind.stmatrix, Kind.async_copy, Kind.global_store, Kind.atomic,
                            Kind.bulk_copy})

_SYNC_CYCLES = 2
"""What one synchronisation or copy queues or counts, the next sees two cycles later, as with scoreboard barriers."""

_SYNC_TO_USE_CYCLES = {Kind.commit: 20, Kind.depbar: 4, Kind.barrier: 20}
"""What ptxas leaves at least, in stall counts, between LDGDEPBAR and DEPBAR, DEPBAR and BAR.SYNC, BAR.SYNC and the next
access of memory: the least of the 20 loops of h200/sass, where twelve to eighteen stand no more than 9 above."""

_READ_CYCLES, _OTHER_READ_CYCLES = {Kind.async_copy: 28}, 24
"""What ptxas leaves, in stall counts, between an access of memory and what overwrites its address: 23 to 32 behind two
thirds of the LDGSTS in the loops of h200/sass whose addresses are overwritten, 20 to 25 behind LDSM."""


@dataclass
class Graph:
    """``after[row]``: {row that must issue later: least distance in cycles}; source order is a topological order."""

    after: list[dict[int, int]] = field(default_factory=list)

    def add(self, first: int | None, second: int, cycles: int) -> None:
        if first is not None and first != second:
            self.after[first][second] = max(cycles, self.after[first].get(second, 0))

    def num_before(self) -> np.ndarray:
        """(rows,) how many rows each one waits for."""
        counts = np.zeros(len(self.after), np.int64)
        for followers in self.after:
            counts[list(followers)] += 1
        return counts


def dependence_graph(code: Sequence[Instruction], keys: np.ndarray) -> Graph:
    """Order constraints among the rows of ``code``, given in source order; ``keys``: Block.memory_key."""
    graph = Graph([{} for _ in code])
    _registers(graph, code)
    _memory_keys(graph, code, keys.tolist())
    _global_order(graph, code)
    _volatile_order(graph, code)
    _shared_order(graph, code)
    _synchronisation(graph, code)
    _fences(graph, code)
    return graph


def _registers(graph: Graph, code: Sequence[Instruction]) -> None:
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for row, instruction in enumerate(code):
        for unit in instruction.reads:
            if unit in writer:
                graph.add(writer[unit], row, instruction.after(code[writer[unit]].result, unit))
            readers.setdefault(unit, []).append(row)
        for unit in instruction.writes:
            _overwrite(graph, code, row, writer.get(unit), readers.get(unit, ()))
            writer[unit], readers[unit] = row, []


def _overwrite(graph: Graph, code: Sequence[Instruction], row: int, writer: int | None, readers: Iterable[int]) -> None:
    """Write after write: the later result must land later. Write after read: registers are read at issue, but those of
    memory instructions later, which a read barrier guards."""
    if writer is not None:
        graph.add(writer, row, max(1, code[writer].latency_cycles - code[row].latency_cycles + 1))
    for reader in readers:
        graph.add(reader, row, _READ_CYCLES.get(code[reader].kind, _OTHER_READ_CYCLES) if code[reader].kind in MEMORY
                  else 1)


def _memory_keys(graph: Graph, code: Sequence[Instruction], keys: Sequence[int]) -> None:
    last_write: dict[int, int] = {}
    reads_since: dict[int, list[int]] = {}
    for row, (instruction, key) in enumerate(zip(code, keys, strict=True)):
        if key < 0:
            continue
        graph.add(last_write.get(key), row, 1)
        if instruction.kind in _WRITES_MEMORY:
            for read in reads_since.pop(key, ()):
                graph.add(read, row, 1)
            last_write[key] = row
        else:
            reads_since.setdefault(key, []).append(row)


def _global_order(graph: Graph, code: Sequence[Instruction]) -> None:
    """Pointers may be equal: no load from global memory passes a store or an atomic, no such write a load. Behind a
    synchronisation all of them stay anyway."""
    loads: list[int] = []
    writes: list[int] = []
    for row, instruction in enumerate(code):
        if instruction.kind in ASYNC_ORDER and instruction.kind != Kind.commit:
            loads, writes = [], []
        elif instruction.kind == Kind.global_load:
            for earlier in writes:
                graph.add(earlier, row, 1)
            loads.append(row)
        elif instruction.kind in (Kind.global_store, Kind.atomic):
            for earlier in loads:
                graph.add(earlier, row, 1)
            writes.append(row)


def _volatile_order(graph: Graph, code: Sequence[Instruction]) -> None:
    """Fragment loads and asynchronous copies do not pass each other: ldmatrix and cp.async are volatile in CUDA C++,
    and LDS keep their place among copies in CUTLASS's loops of three and four stages (h200/cutlass_replays.csv).
    Copies keep their mutual order (in all 20 loops of h200/sass); fragment loads may regroup."""
    earlier: dict[bool, list[int]] = {False: [], True: []}
    for row, instruction in enumerate(code):
        copies = instruction.kind == Kind.async_copy
        if copies or instruction.kind == Kind.ldmatrix or _loads_fragment(instruction):
            for other in earlier[not copies]:
                graph.add(other, row, 1)
            if copies and earlier[True]:
                graph.add(earlier[True][-1], row, instruction.interval_cycles)
            earlier[copies].append(row)


def _loads_fragment(instruction: Instruction) -> bool:
    return instruction.kind == Kind.shared_load and instruction.has_registers and not _is_spilled(instruction)


def _shared_order(graph: Graph, code: Sequence[Instruction]) -> None:
    """No store to shared memory passes a fragment load: their addresses may be equal, and so in 22 loops of
    MmaPipelined (h200/simt_loops.csv) the first store follows the last load, though it fills another stage."""
    loads: list[int] = []
    for row, instruction in enumerate(code):
        if instruction.kind in ASYNC_ORDER and instruction.kind != Kind.commit:
            loads = []
        elif _loads_fragment(instruction):
            loads.append(row)
        elif instruction.kind == Kind.shared_store:
            for load in loads:
                graph.add(load, row, 1)


def _synchronisation(graph: Graph, code: Sequence[Instruction]) -> None:
    """Synchronising instructions form a chain. A commit closes over copies only; the others hold back all memory."""
    last_sync: int | None = None
    last_commit: int | None = None
    since_sync: list[int] = []
    copies: list[int] = []
    for row, instruction in enumerate(code):
        kind = instruction.kind
        if kind in MEMORY and not _is_spilled(instruction):
            graph.add(last_sync, row, _sync_cycles(code, last_sync))
            since_sync.append(row)
            if kind == Kind.async_copy:
                graph.add(last_commit, row, 1)
                copies.append(row)
        elif kind in ASYNC_ORDER:
            for earlier in (last_sync, last_commit, *(copies if kind == Kind.commit else since_sync)):
                graph.add(earlier, row, _sync_cycles(code, earlier))
            copies = []
            if kind == Kind.commit:
                last_commit = row
            else:
                last_sync, since_sync = row, []


def _is_spilled(instruction: Instruction) -> bool:
    """LDL of a register that was spilled: no other thread sees it, and no register holds its address."""
    return instruction.kind == Kind.shared_load and bool(instruction.writes) and not instruction.reads


def _sync_cycles(code: Sequence[Instruction], row: int | None) -> int:
    return 0 if row is None else _SYNC_TO_USE_CYCLES.get(code[row].kind, _SYNC_CYCLES)


def _fences(graph: Graph, code: Sequence[Instruction]) -> None:
    last = -1
    for row, instruction in enumerate(code):
        if instruction.kind in FENCES:
            for earlier in range(max(last, 0), row):
                graph.add(earlier, row, 1)
            last = row
        elif last >= 0:
            graph.add(last, row, 1)
