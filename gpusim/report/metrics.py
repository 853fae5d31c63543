"""Models every single number of a report: its name, Nsight Compute's name, unit, sentence and formula, one row each.
Leaves out tables by access or source line (gpusim.report.tables)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.engine.result import WARP_STATES, SimulationResult
from gpusim.report.metric import Metric, Run, Value, counter, seconds
from gpusim.report.metrics_units import LAUNCH_METRICS, LIGHT_METRICS, SCHEDULER_METRICS
from gpusim.report.peaks import mma_peak_flops_per_cycle, tensor_peak_flops_per_cycle
from gpusim.report.states import ISSUED_STATE, STATES, ncu_state_name

__all__ = ["METRICS", "Metric", "Run", "dominant_stall", "run_metrics", "warp_states_per_issued"]


def run_metrics(run: Run) -> dict[str, Value]:
    """Every metric by name, in the order of the table. None: not defined for this run."""
    return {metric.name: _plain(metric.value(run)) for metric in METRICS}


def _plain(value: object) -> Value:
    """A value that json and YAML can write."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    return value  # type: ignore[return-value]


def warp_states_per_issued(result: SimulationResult) -> dict[str, float]:
    """Warp cycles per issued instruction by state; the values sum to Warp Cycles Per Issued Instruction."""
    per_issued = result.state_cycles.sum(axis=0) / max(result.issued.sum(), 1)
    return dict(zip(WARP_STATES, per_issued.tolist(), strict=True))


def dominant_stall(result: SimulationResult) -> str:
    """Title of the state, other than Selected, in which warps spend most cycles."""
    states = warp_states_per_issued(result)
    states.pop(ISSUED_STATE)
    return STATES[max(states, key=states.__getitem__)].title


def _flops_per_second(run: Run) -> float:
    return run.program.flops / seconds(run) if run.result.cycles else 0.0


def _peak_pct(run: Run, flops_per_cycle: float | None) -> float | None:
    if not flops_per_cycle:
        return None
    return 100 * _flops_per_second(run) / (flops_per_cycle * run.result.clock_mhz * 1e6)


def _instructions(run: Run) -> float:
    return run.result.warp_instructions


def _ipc_active(run: Run) -> float:
    return run.result.warp_instructions / max(int(run.result.sm_active_cycles.sum()), 1)


def _resident_warps(run: Run) -> float:
    return float(run.result.sm_warp_cycles.sum() / max(int(run.result.sm_active_cycles.sum()), 1))


def _theoretical_occupancy_pct(run: Run) -> float:
    return 100 * run.result.blocks_per_sm * run.program.warps_per_cta / run.spec.sm.max_warps


def _gigabytes_per_second(*names: str, bytes_each: int = 1) -> Callable[[Run], Value]:
    def rate(run: Run) -> float:
        moved = sum(run.result.counters.get(name, 0.0) for name in names) * bytes_each
        return moved / seconds(run) / 1e9 if run.result.cycles else 0.0

    return rate


def _shared(kind: str, title: str) -> tuple[Metric, ...]:
    """Wavefronts, ideal, conflicts and ways of shared-memory loads, stores or cp.async writes."""
    section, ncu = "Shared Memory", f"_mem_shared_op_{kind.replace('load', 'ld').replace('store', 'st')}.sum"
    stems = ("shared_wavefronts_{}", "shared_wavefronts_ideal_{}", "bank_conflicts_{}", "shared_requests_{}")
    wavefronts, ideal, conflicts, requests = (stem.format(kind) for stem in stems)

    def ways(run: Run) -> float | None:
        needed = run.result.counters.get(ideal, 0.0)
        return run.result.counters.get(wavefronts, 0.0) / needed if needed else None

    return (
        Metric(requests, f"{title} Requests", section, "request", "",
               f"warp instructions that access shared memory: {title}", counter(requests)),
        Metric(wavefronts, f"{title} Wavefronts", section, "wavefront", f"l1tex__data_pipe_lsu_wavefronts{ncu}",
               f"128-byte passes through the shared-memory data stage: {title}", counter(wavefronts)),
        Metric(ideal, f"{title} Wavefronts Ideal", section, "wavefront", "",
               f"wavefronts the same accesses need without bank conflicts: {title}", counter(ideal)),
        Metric(conflicts, f"{title} Bank Conflicts", section, "conflict", f"l1tex__data_bank_conflicts_pipe_lsu{ncu}",
               f"bank conflicts as Nsight counts them: {title}", counter(conflicts)),
        Metric(f"shared_ways_{kind}", f"{title} Ways", section, "", "", "wavefronts / ideal wavefronts, 1.0 is free",
               ways),
    )


METRICS: tuple[Metric, ...] = (
    Metric("cycles", "Elapsed Cycles", "Speed", "cycle", "sm__cycles_elapsed.max",
           "cycles from launch to the last write", lambda run: run.result.cycles),
    Metric("time_us", "Duration", "Speed", "us", "gpu__time_duration.sum",
           "elapsed cycles at the clock of the GPU", lambda run: 1e6 * seconds(run)),
    Metric("clock_mhz", "SM Frequency", "Speed", "MHz", "sm__cycles_elapsed.avg.per_second",
           "clock that turns cycles into time", lambda run: run.result.clock_mhz),
    Metric("tflops", "Performance", "Speed", "TFLOP/s", "",
           "useful floating-point operations per second", lambda run: 1e-12 * _flops_per_second(run)),
    Metric("mma_peak_pct", "Of MMA Peak", "Speed", "%", "",
           "share of what the program's MMA instruction delivers when every tensor pipe always issues it",
           lambda run: _peak_pct(run, mma_peak_flops_per_cycle(run.program, run.spec))),
    Metric("tensor_peak_pct", "Of Tensor Peak", "Speed", "%", "",
           "share of the fastest tensor instruction of the GPU for the same operand type",
           lambda run: _peak_pct(run, tensor_peak_flops_per_cycle(run.program, run.spec))),
    Metric("sm_active_cycles", "SM Active Cycles", "Speed", "cycle", "sm__cycles_active.avg",
           "mean over SMs of cycles with a resident warp",
           lambda run: float(run.result.sm_active_cycles.sum() / max(len(run.result.sms_used), 1))),
    Metric("warp_instructions", "Executed Instructions", "Speed", "inst", "smsp__inst_executed.sum",
           "warp instructions of the whole launch", _instructions),
    Metric("ipc_active", "Executed Ipc Active", "Speed", "inst/cycle", "sm__inst_executed.avg.per_cycle_active",
           "warp instructions per active SM cycle", _ipc_active),
    Metric("issue_active_pct", "Issue Slots Busy", "Speed", "%",
           "smsp__issue_active.avg.pct_of_peak_sustained_active", "issue slots used in active cycles",
           lambda run: 100 * _ipc_active(run) / run.spec.sm.sub_partitions),
    Metric("hmma_instructions", "MMA Instructions", "Speed", "inst", "sm__inst_executed_pipe_tensor.sum",
           "tensor-core warp instructions", counter("hmma_instructions")),
    Metric("ldsm_instructions", "ldmatrix Instructions", "Speed", "inst", "smsp__sass_inst_executed_op_ldsm.sum",
           "ldmatrix warp instructions", counter("ldsm_instructions")),
    Metric("ldgsts_instructions", "cp.async Instructions", "Speed", "inst", "smsp__sass_inst_executed_op_ldgsts.sum",
           "asynchronous copies to shared memory", counter("ldgsts_instructions")),
    *LIGHT_METRICS, *LAUNCH_METRICS,
    Metric("blocks_per_sm", "Block Limit", "Occupancy", "block", "",
           "CTAs that fit on an SM at once", lambda run: run.result.blocks_per_sm),
    Metric("theoretical_occupancy_pct", "Theoretical Occupancy", "Occupancy", "%",
           "sm__maximum_warps_per_active_cycle_pct", "warps of those CTAs / warps an SM can hold",
           _theoretical_occupancy_pct),
    Metric("achieved_occupancy_pct", "Achieved Occupancy", "Occupancy", "%",
           "sm__warps_active.avg.pct_of_peak_sustained_active", "mean resident warps / warps an SM can hold",
           lambda run: 100 * _resident_warps(run) / run.spec.sm.max_warps),
    *SCHEDULER_METRICS,
    Metric("warp_cycles_per_issued", "Warp Cycles Per Issued Instruction", "Warp States", "cycle",
           "smsp__average_warp_latency_per_inst_issued.ratio", "resident warp cycles per issued instruction",
           lambda run: sum(warp_states_per_issued(run.result).values())),
    Metric("dominant_stall", "Dominant Stall", "Warp States", "", "",
           "the state, other than Selected, with most warp cycles", lambda run: dominant_stall(run.result)),
    *(
        Metric(f"stall_{name}", f"Stall {state.title}", "Warp States", "cycle/inst", ncu_state_name(name),
               f"warp cycles per issued instruction: {state.sentence}",
               lambda run, name=name: warp_states_per_issued(run.result)[name])  # type: ignore[misc]
        for name, state in STATES.items()
    ),
    *_shared("load", "Shared Load"), *_shared("store", "Shared Store"), *_shared("ldgsts", "LDGSTS"),
    Metric("l1_hit_pct", "L1 Hit Rate", "L1", "%", "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",
           "sectors that loads found in L1", lambda run: run.result.counters.get("l1_hit_pct", 0.0)),
    Metric("l2_sectors_read", "L2 Sectors Read", "L2 and DRAM", "sector", "lts__t_sectors_op_read.sum",
           "32-byte sectors read from L2", counter("l2_sectors_read")),
    Metric("l2_sectors_write", "L2 Sectors Written", "L2 and DRAM", "sector", "lts__t_sectors_op_write.sum",
           "32-byte sectors written to L2", counter("l2_sectors_write")),
    Metric("l2_hit_pct", "L2 Hit Rate", "L2 and DRAM", "%", "lts__t_sector_hit_rate.pct",
           "sectors found in L2", counter("l2_hit_pct")),
    Metric("l2_gbytes_per_second", "L2 Throughput", "L2 and DRAM", "GB/s", "",
           "sectors read and written, 32 bytes each",
           _gigabytes_per_second("l2_sectors_read", "l2_sectors_write", bytes_each=32)),
    Metric("dram_bytes_read", "DRAM Bytes Read", "L2 and DRAM", "byte", "dram__bytes_read.sum",
           "bytes read from device memory", counter("dram_bytes_read")),
    Metric("dram_bytes_written", "DRAM Bytes Written", "L2 and DRAM", "byte", "dram__bytes_write.sum",
           "bytes written to device memory", counter("dram_bytes_written")),
    Metric("dram_gbytes_per_second", "DRAM Throughput", "L2 and DRAM", "GB/s", "dram__bytes.sum.per_second",
           "bytes read and written", _gigabytes_per_second("dram_bytes_read", "dram_bytes_written")),
    Metric("launch_overhead_cycles", "Launch Overhead", "Speed", "cycle", "",
           "cycles before the first CTA runs and after the last one ends", counter("launch_overhead_cycles")),
)
"""One row per number; summary.json, the HTML report and the terminal read this table."""
