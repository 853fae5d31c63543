"""Models the numbers of Nsight Compute's Speed Of Light Throughput, Launch Statistics and Scheduler Statistics.
Leaves out the other sections (gpusim.report.metrics)."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.engine.result import WARP_STATES
from gpusim.report.metric import Metric, Run, Value
from gpusim.report.units import compute_units, memory_units

__all__ = ["LAUNCH_METRICS", "LIGHT_METRICS", "SCHEDULER_METRICS"]

_READY = tuple(WARP_STATES.index(name) for name in ("selected", "not_selected"))
_SELECTED = _READY[0]


def _unit(name: str) -> Callable[[Run], Value]:
    def busy(run: Run) -> Value:
        units = (*compute_units(run), *memory_units(run))
        return next((unit.busy_pct for unit in units if unit.name == name), None)

    return busy


def _per_scheduler(run: Run, warp_cycles: float) -> float:
    """Warps per scheduler and active cycle."""
    return warp_cycles / max(int(run.result.sm_active_cycles.sum()), 1) / run.spec.sm.sub_partitions


def _issued(run: Run) -> float:
    return _per_scheduler(run, float(run.result.sm_state_cycles[:, _SELECTED].sum()))


def _eligible(run: Run) -> float:
    return _per_scheduler(run, float(run.result.sm_state_cycles[:, _READY].sum()))


_LIGHT = "Speed Of Light"
LIGHT_METRICS: tuple[Metric, ...] = (
    Metric("sm_throughput_pct", "Compute (SM) Throughput", _LIGHT, "%",
           "sm__throughput.avg.pct_of_peak_sustained_elapsed",
           "the busiest of issue slots and pipes, over the elapsed cycles", lambda run: compute_units(run)[0].busy_pct),
    Metric("sm_throughput_unit", "Compute Throughput Is Of", _LIGHT, "", "",
           "the unit that sets Compute (SM) Throughput", lambda run: compute_units(run)[0].title),
    Metric("memory_throughput_pct", "Memory Throughput", _LIGHT, "%",
           "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
           "the busiest of shared memory, L1 tags, crossbar, L2 and DRAM, over the elapsed cycles",
           lambda run: memory_units(run)[0].busy_pct),
    Metric("memory_throughput_unit", "Memory Throughput Is Of", _LIGHT, "", "", "the unit that sets Memory Throughput",
           lambda run: memory_units(run)[0].title),
    Metric("tensor_pipe_pct", "Tensor Pipe Utilization", _LIGHT, "%",
           "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
           "elapsed cycles in which the tensor pipes are busy with MMA instructions", _unit("tensor")),
    Metric("shared_data_stage_pct", "Shared Memory Utilization", _LIGHT, "%",
           "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
           "elapsed cycles in which the data stage moves a wavefront, arriving copies included", _unit("shared")),
    Metric("l2_throughput_pct", "L2 Cache Throughput", _LIGHT, "%", "lts__throughput.avg.pct_of_peak_sustained_elapsed",
           "sectors read and written, of what all slices deliver", _unit("l2")),
    Metric("dram_throughput_pct", "DRAM Throughput Of Peak", _LIGHT, "%",
           "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "bytes moved, of what all channels deliver",
           _unit("dram")),
)

_LAUNCH = "Launch"
LAUNCH_METRICS: tuple[Metric, ...] = (
    Metric("launch_grid_size", "Grid Size", _LAUNCH, "block", "launch__grid_size", "CTAs of the launch",
           lambda run: run.program.num_ctas),
    Metric("launch_cluster_size", "Cluster Size", _LAUNCH, "block", "launch__cluster_size", "CTAs of a cluster",
           lambda run: run.program.launch.cluster_size),
    Metric("launch_block_size", "Block Size", _LAUNCH, "thread", "launch__block_size", "threads of a CTA",
           lambda run: run.program.launch.threads_per_cta),
    Metric("launch_registers_per_thread", "Registers Per Thread", _LAUNCH, "register", "launch__registers_per_thread",
           "registers allocated to each thread", lambda run: run.program.launch.registers_per_thread),
    Metric("launch_shared_bytes", "Shared Memory Per Block", _LAUNCH, "byte", "launch__shared_mem_per_block_dynamic",
           "static and dynamic, without what the driver reserves", lambda run: run.program.launch.shared_bytes),
    Metric("waves_per_sm", "Waves Per SM", _LAUNCH, "wave", "launch__waves_per_multiprocessor",
           "CTAs of the launch / CTAs the GPU holds at once",
           lambda run: run.program.num_ctas / max(run.result.blocks_per_sm * run.spec.sm.count, 1)),
)

_SCHEDULER = "Scheduler"
SCHEDULER_METRICS: tuple[Metric, ...] = (
    Metric("active_warps_per_scheduler", "Active Warps Per Scheduler", _SCHEDULER, "warp",
           "smsp__warps_active.avg.per_cycle_active", "resident warps of a sub-partition, mean over active cycles",
           lambda run: _per_scheduler(run, float(run.result.sm_state_cycles.sum()))),
    Metric("eligible_warps_per_scheduler", "Eligible Warps Per Scheduler", _SCHEDULER, "warp",
           "smsp__warps_eligible.avg.per_cycle_active", "warps that could issue, mean over active cycles", _eligible),
    Metric("issued_warp_per_scheduler", "Issued Warp Per Scheduler", _SCHEDULER, "warp",
           "smsp__issue_active.avg.per_cycle_active", "instructions issued per scheduler and active cycle", _issued),
    Metric("no_eligible_pct", "No Eligible", _SCHEDULER, "%",
           "smsp__issue_inst0.avg.pct_of_peak_sustained_active", "active cycles in which a scheduler issues nothing",
           lambda run: 100 * (1 - _issued(run))),
    Metric("one_or_more_eligible_pct", "One or More Eligible", _SCHEDULER, "%",
           "smsp__issue_active.avg.pct_of_peak_sustained_active", "active cycles in which a scheduler issues",
           lambda run: 100 * _issued(run)),
)
