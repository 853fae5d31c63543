"""Models the loops of src/pipes.cu as op rows: 128 instructions in dependent chains, then the end of the loop.
Leaves out what the compiler did beyond that: nobody disassembled them.

Three things were chosen because they fit pipes.csv, so agreement within 3 % is no independent proof of them: that the
comparison stands right before its branch (hoisted, five ffma rows are 3 to 6 % too fast), that barriers are unrolled 64
times (with 16, five of six rows are 3 to 10 % too slow), and that neighbouring chains share a scoreboard barrier.
Latencies in the GPU's file come from the same table: what is tested is that the engine puts them together as silicon
does, not that the numbers are right.
"""

from __future__ import annotations

from dataclasses import replace

from engine_programs import Memory, Row, loop, program, run, small_gpu

from gpusim.arch import GpuSpec
from gpusim.program import Program

__all__ = ["OPERATIONS", "cycles_per_instruction"]

UNROLLED = 128
BARRIERS_UNROLLED = 64
"""16 in the source; the loop around them has a constant count, which the compiler unrolls by four."""
OPERATIONS = {"ffma": "FFMA", "imad": "IMAD", "mma_m16n8k16_f16_f32": "HMMA.16816.F32", "lds32": "LDS",
              "ldsm1": "LDSM.16.M88", "ldsm2": "LDSM.16.M88.2", "ldsm4": "LDSM.16.M88.4", "bar_sync": "BAR.SYNC"}
ACCESSES = {"lds32": Memory("LDS32"), "ldsm1": Memory("LDSM1"), "ldsm2": Memory("LDSM2"), "ldsm4": Memory("LDSM4")}
BOARDS = 6


def cycles_per_instruction(operation: str, warps: int, ilp: int, gpu: GpuSpec | None = None) -> float:
    """Cycles that one more instruction of the loop takes, with ``warps`` on the SM and ``ilp`` chains in each."""
    gpu = gpu or small_gpu()
    unrolled = BARRIERS_UNROLLED if operation == "bar_sync" else UNROLLED
    few, many = (run(_program(operation, warps, ilp, unrolled, times, gpu), gpu, record=None).cta_end[0]
                 for times in (2, 6))
    return float(many - few) / (4 * unrolled)


def _program(operation: str, warps: int, ilp: int, unrolled: int, times: int, gpu: GpuSpec) -> Program:
    body = [_instruction(operation, chain % ilp, ilp, gpu) for chain in range(unrolled)]
    return program([(warps, loop([*body, *_loop_end(gpu)], times))], ACCESSES)


def _instruction(operation: str, chain: int, ilp: int, gpu: GpuSpec) -> Row:
    """Results of variable latency are waited for at one of six barriers, others by the stall count.

    More than six chains share barriers: neighbours count at one, and the first of them waits for all.
    """
    entry = gpu.instruction_table.lookup(OPERATIONS[operation])
    row = Row(OPERATIONS[operation], stall=entry.compiler_interval_cycles)
    if operation in ACCESSES:
        board, neighbour = divmod(chain, -(-ilp // BOARDS))
        return replace(row, access=operation, write=board, wait=() if neighbour else (board,))
    return row if operation == "bar_sync" else replace(row, stall=max(row.stall, -(-entry.latency_cycles // ilp)))


def _loop_end(gpu: GpuSpec) -> list[Row]:
    """The counter, its comparison, and the branch that the comparison guards."""
    guard = gpu.instruction_table.lookup("ISETP").latency_guard_cycles
    assert guard is not None
    return [Row("IADD3"), Row("ISETP", stall=guard), Row("BRA", stall=5)]
