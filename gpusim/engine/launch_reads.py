"""Models what a launch reads from L2 besides its loads: code for the cache of every GPC, and what the front end needs.
Leaves out when it does so, code beyond the first code_bytes, and what of it is in DRAM."""

from __future__ import annotations

from dataclasses import replace

from gpusim.arch import GpuSpec
from gpusim.engine.result import SimulationResult
from gpusim.engine.sequence import hit_rates

__all__ = ["launch_sectors", "with_launch_reads"]


def launch_sectors(spec: GpuSpec, num_instructions: int) -> int:
    """Sectors of L2 for a kernel of so many instructions, on however few SMs it runs (code_sectors.csv).

    Each GPC reads the beginning of the code once, whether it gets CTAs or not; each partition of L2 reads what another
    one owns of it.
    """
    code_bytes = min(num_instructions * spec.fetch.instruction_bytes, spec.launch.code_bytes)
    readers = len({gpc for gpc, _ in spec.noc.gpc_runs}) + spec.l2.partitions - 1
    return spec.launch.other_sectors + readers * -(-code_bytes // spec.l2.sector_bytes)


def with_launch_reads(result: SimulationResult, sectors: int) -> SimulationResult:
    """The result of a launch with so many more sectors read, all of them found in L2."""
    counters = dict(result.counters)
    for name in ("l2_sectors_read", "l2_sector_hits_read"):
        counters[name] += sectors
    return replace(result, counters=counters | hit_rates(counters))
