"""One program per warp state: it provokes that state, for as long as the specification says, and no other stall."""

from __future__ import annotations

import pytest
from engine_programs import Memory, Row, depbar, program, row, rows, run, small_gpu

from gpusim.engine import EVENT_KINDS, WARP_STATES, SimulationResult
from gpusim.program import Program

GPU = small_gpu(1, "l2.hit_latency_spread_cycles=0")
PARTS = GPU.sm.sub_partitions
WARPS = PARTS + 1
"""Two warps in the first sub-partition, one in each other."""
HMMA = GPU.instruction_table.lookup("HMMA.16816.F32")


def stalls(tiny: Program, **options: object) -> dict[str, int]:
    """Warp-cycles by state, all but the cycles of issues."""
    return _stalls(run(tiny, GPU, **options))


def _stalls(result: SimulationResult) -> dict[str, int]:
    cycles = dict(zip(WARP_STATES, result.state_cycles.sum(axis=0).tolist(), strict=True))
    return {state: count for state, count in cycles.items() if count and state != "selected"}


def test_wait() -> None:
    assert stalls(program([Row("FFMA", stall=4)] * 3)) == {"wait": 3 * (4 - 1)}


def test_short_scoreboard() -> None:
    load = rows("LDS access=a write=0\nNOP wait=0")
    latency = GPU.instruction_table.lookup("LDS").latency_cycles + GPU.shared.latency_cycles_per_wavefront * 3
    assert stalls(program(load, {"a": Memory("LDS32", (4,))})) == {"short_scoreboard": latency - 1}


def test_short_scoreboard_of_a_result_that_no_memory_gives() -> None:
    latency = GPU.instruction_table.lookup("MUFU").latency_cycles
    assert stalls(program(rows("MUFU write=0\nNOP wait=0"))) == {"short_scoreboard": latency - 1}


def test_long_scoreboard_of_a_load() -> None:
    seen = stalls(program(rows("LDG access=a write=0\nNOP wait=0"), {"a": Memory("LDG32", lines=1)}))
    assert seen.keys() == {"long_scoreboard"}
    assert seen["long_scoreboard"] > GPU.l2.hit_latency_cycles


def test_long_scoreboard_of_a_group_of_copies() -> None:
    """DEPBAR waits as a load's consumer does: the copy comes from global memory."""
    body = [row("LDGSTS access=a"), row("LDGDEPBAR write=0"), depbar(0, 0)]
    result = run(program(body, {"a": Memory("CPA16", lines=4)}), GPU)
    copy = result.events[result.events["kind"] == EVENT_KINDS.index("copy")]
    assert _stalls(result) == {"long_scoreboard": copy["end"][0] - 2}


def test_long_scoreboard_of_a_barrier_that_a_shared_load_uses_too() -> None:
    accesses = {"g": Memory("LDG32", lines=1), "a": Memory("LDS32")}
    seen = stalls(program(rows("LDG access=g write=0\nLDS access=a write=0\nNOP wait=0"), accesses))
    assert seen["long_scoreboard"] > GPU.l2.hit_latency_cycles - 1


def test_math_pipe_throttle() -> None:
    """A stall count shorter than the pipe's interval."""
    assert stalls(program([Row("HMMA.16816.F32")] * 4)) == {"math_pipe_throttle": 3 * (HMMA.issue_interval_cycles - 1)}


@pytest.mark.parametrize(("state", "mnemonic", "memory"), [
    ("mio_throttle", "LDSM", Memory("LDSM4", (8,))),
    ("mio_throttle", "LDGSTS", Memory("CPA16", lines=32)),
    ("lg_throttle", "LDG", Memory("LDG32", lines=32)),
])
def test_mio_throttle_and_lg_throttle(state: str, mnemonic: str, memory: Memory) -> None:
    """32 wavefronts or lines each: the queue is full, and an instruction goes in when one comes out.

    All share one queue. Whoever waits for it is counted by what it is: cp.async as a shared-memory instruction.
    """
    beyond = 1 + GPU.mio.waiting_accesses if mnemonic == "LDSM" else GPU.l1.tag_entries // GPU.l1.access_tag_entries
    places = GPU.mio.copy_buffer_entries if mnemonic == "LDGSTS" else 1
    taken, waiting = beyond + GPU.mio.buffer_entries // places, GPU.mio.queue_depth
    count = 100
    seen = stalls(program([Row(mnemonic, access="a", write=0)] * count, {"a": memory}))
    assert seen.keys() <= {state, "wait", "drain"}
    assert seen[state] >= (32 - 1) * (count - taken - waiting - 4)
    assert seen.get("wait", 0) < 32 * 3


def test_barrier() -> None:
    early, late = rows("BAR.SYNC\nNOP"), [*[Row("NOP")] * 100, *rows("BAR.SYNC\nNOP")]
    opening = GPU.barrier.base_cycles + GPU.barrier.cycles_per_warp
    assert stalls(program([(1, early), (1, late)])) == {"barrier": (100 + opening - 1) + (opening - 1)}


def test_not_selected() -> None:
    """Two warps that could always issue share one scheduler: the second waits for the first one's last issue."""
    assert stalls(program([(WARPS, [Row("NOP")] * 9)])) == {"not_selected": 10}


@pytest.mark.parametrize("policy", ["lrr", "oldest", "youngest"])
def test_not_selected_does_not_depend_on_who_is_preferred(policy: str) -> None:
    seen = stalls(program([(WARPS, [Row("NOP")] * 9)]), policy=policy)
    assert seen["not_selected"] == pytest.approx(10, abs=4 if policy != "lrr" else 10)


def test_branch_resolving() -> None:
    assert stalls(program(rows("BRA jumps\nNOP"))) == {"branch_resolving": GPU.issue.taken_branch_cycles - 1}


@pytest.mark.parametrize("in_front", [32, 40, 64])
def test_drain(in_front: int) -> None:
    """EXIT waits until the lines of the last store have passed the port, one by one, slower when sectors are not
    filled, however many of them wait in front of it."""
    lines, registers = 32, 3
    apart = {name: Memory("STG32", lines=lines, first_line=first) for name, first in (("a", 0), ("b", lines))}
    tiny, gpu = program(rows("STG access=a\nSTG access=b"), apart), small_gpu(1, f"noc.store_lines={in_front}")
    sent, exit_issued = (registers - 1) * 128 // GPU.mio.operand_bytes_per_cycle, 2
    arrives = sent + GPU.mio.store_stage_cycles + lines // GPU.mio.store_lines_per_cycle
    through = arrives + lines * GPU.shared.latency_cycles_per_wavefront + GPU.l1.read_lag_cycles
    passed = through + 2 * lines * (1 + GPU.noc.unfilled_line_cycles)
    assert _stalls(run(tiny, gpu)) == {"drain": passed - exit_issued - 1}


def test_dispatch_stall() -> None:
    """While the load/store unit reads registers for one warp, the next instruction waits, and all behind it."""
    copy, math = [Row("LDGSTS", access="a", stall=15)], [Row("FFMA")] * 20
    crew = [(1, math), (PARTS - 1, [Row("NOP")]), (1, math), (PARTS - 1, [Row("NOP")])]  # the highest warp begins
    accesses = {"a": Memory("CPA16", lines=4)}
    reading = 2 * GPU.mio.register_read_cycles
    assert "dispatch_stall" not in stalls(program([*crew, (1, [Row("NOP")])], accesses))
    assert stalls(program([*crew, (1, copy)], accesses))["dispatch_stall"] == reading
