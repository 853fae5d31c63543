"""Models how busy the units of the chip were over the whole launch, in per cent of what they can do in that time.
Leaves out when they were busy (gpusim.report.utilisation)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpusim.arch import GpuSpec, Pipe
from gpusim.arch.instructions import Kind
from gpusim.engine.image import ACTIVE, image_of
from gpusim.program import Program
from gpusim.program.sequence import launches_of
from gpusim.report.executions import static_executions
from gpusim.report.metric import Run, per_sm_cycle

__all__ = ["Unit", "compute_units", "memory_units", "pipe_busy_cycles"]

SECTOR_BYTES = 32
_PIPE_TITLES = {
    Pipe.alu: "ALU", Pipe.fma: "FMA", Pipe.fp16: "FP16", Pipe.fp16_mma: "FP16 (tensor half)", Pipe.fp64: "FP64",
    Pipe.xu: "XU", Pipe.tensor: "Tensor", Pipe.lsu: "LSU", Pipe.uniform: "Uniform", Pipe.cbu: "CBU", Pipe.adu: "ADU",
}


_COUNTS_CYCLES = (Pipe.tensor, Pipe.fma, Pipe.alu, Pipe.fp64, Pipe.xu)
"""Pipes whose active cycles Nsight Compute counts; of the others it counts instructions."""


@dataclass(frozen=True)
class Unit:
    """A unit's load: ``busy_pct`` of its peak over the elapsed cycles; ``ncu``: Nsight Compute's metric for it."""

    name: str
    title: str
    busy_pct: float
    peak: str
    ncu: str


@lru_cache(maxsize=1)
def compute_units(run: Run) -> tuple[Unit, ...]:
    """Issue slots and the pipes that the program uses, busiest first.

    A pipe is busy for the issue interval of each instruction (instruction table of the GPU).
    """
    slots = _sub_partition_cycles(run)
    issued = 100 * float(run.result.issued.sum()) / slots
    units = [Unit("issue", "Issue Slots", issued, f"{run.spec.issue.width} inst/cycle/scheduler",
                  "sm__inst_issued.avg.pct_of_peak_sustained_elapsed")]
    units += [_pipe(pipe, 100 * cycles / slots) for pipe, cycles in pipe_busy_cycles(run).items()]
    return tuple(sorted(units, key=lambda unit: -unit.busy_pct))


@lru_cache(maxsize=1)
def memory_units(run: Run) -> tuple[Unit, ...]:
    """What data pass on their way: shared memory, L1 tags, crossbar, L2, DRAM; busiest first."""
    spec, cycles = run.spec, max(run.result.cycles, 1)
    sm_cycles = spec.sm.count * cycles
    dram_bytes = _count(run, "dram_bytes_read") + _count(run, "dram_bytes_written")
    to_sms = SECTOR_BYTES * _count(run, "sectors_to_sms")
    dram_peak = per_sm_cycle(run, spec.dram.read_bytes_per_cycle)
    units = (
        Unit("shared", "Shared Memory Data Stage", 100 * _count(run, "data_stage_cycles") / sm_cycles,
             f"{spec.shared.wavefronts_per_cycle} wavefront/cycle/SM",
             "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"),
        Unit("l1", "L1 Tag Stage", 100 * _tag_cycles(run) / sm_cycles,
             f"{1 / spec.l1.tag_interval_cycles:g} line/cycle/SM",
             "l1tex__t_requests.avg.pct_of_peak_sustained_elapsed"),
        Unit("xbar", "L2 to SM Crossbar", 100 * to_sms / (sm_cycles * spec.noc.sm_read_bytes_per_cycle),
             f"{spec.noc.sm_read_bytes_per_cycle:g} byte/cycle/SM",
             "l1tex__m_xbar2l1tex_read_bytes.sum.pct_of_peak_sustained_elapsed"),
        _slices(run, cycles),
        Unit("dram", "DRAM", 100 * dram_bytes / (cycles * dram_peak),
             f"{dram_peak:,.0f} byte/cycle",
             "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    )
    return tuple(sorted(units, key=lambda unit: -unit.busy_pct))


def _slices(run: Run, cycles: int) -> Unit:
    """Slices read and write side by side, so they are as busy as the one or the other."""
    l2 = run.spec.l2
    peaks = {"read": per_sm_cycle(run, l2.read_bytes_per_cycle),
             "write": per_sm_cycle(run, l2.write_bytes_per_cycle * l2.slices_of_a_write)}
    busy = {verb: 100 * SECTOR_BYTES * _count(run, f"l2_sectors_{verb}") / (cycles * peak)
            for verb, peak in peaks.items()}
    verb = max(busy, key=lambda verb: busy[verb])
    return Unit("l2", "L2 Slices", busy[verb], f"{peaks[verb]:,.0f} byte/cycle",
                "lts__throughput.avg.pct_of_peak_sustained_elapsed")


def pipe_busy_cycles(run: Run) -> dict[Pipe, float]:
    """Sub-partition cycles for which the launch's instructions keep each pipe busy; pipes without work are left out."""
    entries = [run.spec.instruction_table.lookup(static.mnemonic) for static in run.program.statics]
    cycles = [run.spec.pipe_cycles(static.mnemonic) for static in run.program.statics]
    busy = static_executions(run.program, active_only=True) * cycles
    pipes = np.array([int(entry.pipe) for entry in entries], np.int64)
    total = np.bincount(pipes, weights=busy, minlength=len(Pipe))
    return {pipe: float(total[pipe]) for pipe in Pipe if pipe != Pipe.none and total[pipe]}


def _pipe(pipe: Pipe, busy_pct: float) -> Unit:
    counted = f"pipe_{pipe.name}_cycles_active" if pipe in _COUNTS_CYCLES else f"inst_executed_pipe_{pipe.name}"
    return Unit(pipe.name, f"{_PIPE_TITLES[pipe]} Pipe", busy_pct, "always busy with the program's instructions",
                f"sm__{counted}.avg.pct_of_peak_sustained_elapsed")


def _sub_partition_cycles(run: Run) -> float:
    return float(max(run.result.cycles, 1) * run.spec.sm.count * run.spec.sm.sub_partitions)


def _count(run: Run, name: str) -> float:
    return run.result.counters.get(name, 0.0)


def _tag_cycles(run: Run) -> float:
    return sum(_launch_tag_cycles(launch, run.spec) for launch in launches_of(run.program))


def _launch_tag_cycles(program: Program, spec: GpuSpec) -> float:
    """Cycles that the accesses of a launch take of the SMs' tag stages, as the engine counts them."""
    image, total = image_of(program, spec), 0.0
    ctas = np.bincount(program.cta_class, minlength=len(program.classes))
    running = [(role, count) for kind, count in zip(program.classes, ctas, strict=True) for role in kind.roles]
    for number, (role, count) in enumerate(running):
        ops = image.ops[image.role_first_op[number] : image.role_end_op[number]]
        passes = (ops["access"] >= 0) & (ops["flags"] & ACTIVE > 0) & (ops["kind"] != Kind.bulk_copy)
        rows = ops["access"][passes]
        total += count * float(image.accesses["tag_cycles"][rows[:, None] + np.arange(role.num_warps)].sum())
    return total
