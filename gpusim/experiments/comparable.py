"""Models the numbers that two runs, or a run and a profile of Nsight Compute, have in common, and their wholes.
Leaves out where they come from: gpusim.report.metrics computes them, gpusim.experiments.ncu_csv reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusim.experiments.ncu_csv import Profile, Reading
from gpusim.report.metrics import METRICS
from gpusim.report.summary import Summary

__all__ = ["COMPARABLES", "Comparable", "effect_pct", "profile_values", "summary_values", "whole"]


@dataclass(frozen=True)
class Comparable:
    """One number. ``ncu``: metric names and labels under which a profile may have it, best first."""

    name: str
    title: str
    unit: str
    section: str
    ncu: tuple[str, ...]


_ALSO = {
    "cycles": ("gpc__cycles_elapsed.max",),
    "clock_mhz": ("smsp__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second"),
    "warp_instructions": ("sm__inst_executed.sum",),
    "issue_active_pct": ("sm__inst_issued.avg.pct_of_peak_sustained_active",),
    "hmma_instructions": ("smsp__inst_executed_pipe_tensor.sum", "sm__inst_executed_pipe_tensor_op_hmma.sum"),
    "ldsm_instructions": ("smsp__inst_executed_op_ldsm.sum",),
    "ldgsts_instructions": ("smsp__inst_executed_op_ldgsts.sum",),
    "shared_wavefronts_ldgsts": ("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",),
    "dram_throughput_pct": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM Throughput"),
    "dram_bytes_read": ("dram__bytes_op_read.sum",),
    "dram_bytes_written": ("dram__bytes_op_write.sum",),
    "dram_gbytes_per_second": ("Memory Throughput",),
}
"""Other names of the same counters, by generation of GPU or profiler."""
_LABELS_APART = frozenset({"issue_active_pct"})
"""Labels that the details page has for something else: its Issue Slots Busy is a share of the elapsed cycles."""
_LAUNCH = (
    Comparable("registers_per_thread", "Registers Per Thread", "register", "Launch",
               ("launch__registers_per_thread", "Registers Per Thread")),
    Comparable("threads_per_cta", "Block Size", "thread", "Launch", ("launch__block_size", "Block Size")),
    Comparable("num_ctas", "Grid Size", "block", "Launch", ("launch__grid_size", "Grid Size")),
    Comparable("block_limit_registers", "Block Limit Registers", "block", "Launch",
               ("launch__occupancy_limit_registers", "Block Limit Registers")),
    Comparable("block_limit_shared_mem", "Block Limit Shared Mem", "block", "Launch",
               ("launch__occupancy_limit_shared_mem", "Block Limit Shared Mem")),
    Comparable("block_limit_warps", "Block Limit Warps", "block", "Launch",
               ("launch__occupancy_limit_warps", "Block Limit Warps")),
    Comparable("block_limit_blocks", "Block Limit SM", "block", "Launch",
               ("launch__occupancy_limit_blocks", "Block Limit SM")),
)
_SHARED_PARTS = (
    ("launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block"),
    ("launch__shared_mem_per_block_static", "Static Shared Memory Per Block"),
)
_SHARED_BYTES = Comparable("shared_bytes", "Shared Memory Per Block", "byte", "Launch", sum(_SHARED_PARTS, ()))
_TITLES_OF_LAUNCH = frozenset(item.title for item in (*_LAUNCH, _SHARED_BYTES))
COMPARABLES: tuple[Comparable, ...] = (
    *(Comparable(metric.name, metric.title, metric.unit, metric.section,
                 (*((metric.ncu,) if metric.ncu else ()), *_ALSO.get(metric.name, ()),
                  *((metric.title,) if metric.name not in _LABELS_APART else ())))
      for metric in METRICS if metric.title not in _TITLES_OF_LAUNCH),
    *_LAUNCH, _SHARED_BYTES,
)
"""Each number once: what a launch was is told by the occupancy of a run, and by a profile's columns."""
_SCALES = {"us": ("second", 1e6), "MHz": ("hz", 1e-6), "GB/s": ("byte/second", 1e-9)}
"""Our unit: the profiler's base unit, and what a number in it is multiplied by."""
_CLUSTER = "launch_cluster_size"
"""A profile says 0 where the launch asked for no clusters: each CTA is one."""
_DIMENSIONS = frozenset({"%", "second", "hz", "byte/second"})


def summary_values(summary: Summary) -> dict[str, float]:
    """Every comparable number of a run."""
    both = {**summary["occupancy"], **summary}
    found = {item.name: both.get(item.name) for item in COMPARABLES}
    return {name: float(value) for name, value in found.items()
            if isinstance(value, int | float) and not isinstance(value, bool)}


def profile_values(profile: Profile) -> dict[str, float]:
    """Every comparable number of a profile, in our units."""
    found = {}
    for item in (item for item in COMPARABLES if item is not _SHARED_BYTES):
        base, scale = _SCALES.get(item.unit, (item.unit, 1.0))
        reading = _find(profile, item.ncu, base)
        if reading is not None:
            found[item.name] = reading.value * scale
    parts = [_find(profile, names, "byte") for names in _SHARED_PARTS]
    if parts[0] is not None:
        found[_SHARED_BYTES.name] = sum(part.value for part in parts if part is not None)
    if found.get(_CLUSTER) == 0:
        found[_CLUSTER] = 1.0
    for name, size in (("threads_per_cta", profile.threads_per_cta), ("num_ctas", profile.num_ctas)):
        if size is not None:
            found[name] = float(size)
    return found


def _find(profile: Profile, names: tuple[str, ...], base: str) -> Reading | None:
    """The first reading whose unit can be ours: one label may stand for a rate and for a share."""
    for name in names:
        for reading in profile.readings.get(name, ()):
            if reading.unit == base or not {reading.unit, base} & _DIMENSIONS:
                return reading
    return None


def whole(name: str, values: Mapping[str, float]) -> float:
    """What a number is a part of: stalls of all warp cycles per instruction, conflicts of wavefronts, per cents of 100.

    Any other number is its own whole.
    """
    if name.startswith("stall_"):
        return sum(value for key, value in values.items() if key.startswith("stall_"))
    if name.startswith("bank_conflicts_"):
        return values.get(name.replace("bank_conflicts", "shared_wavefronts"), values[name])
    return 100.0 if name.endswith("_pct") else abs(values[name])


def effect_pct(name: str, before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """How much a number changed, signed, in per cent of the larger whole of the two: at most 100 for what counts."""
    largest = max(whole(name, before), whole(name, after))
    return 100 * (after[name] - before[name]) / largest if largest else 0.0
