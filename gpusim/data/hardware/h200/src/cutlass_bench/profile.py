"""Profiles kernels of an executable at given sizes: rows in the columns of kernels.csv, as kernels_other.csv has them.

Usage: profile.py EXECUTABLE OUT.csv SIZE... on a machine with ncu; SIZE is MxNxK, or NxHxCxKxRxSTRIDE for ``conv``.
Leaves out what ``EXECUTABLE --list`` does not say; the smaller of two occupancy limits is taken for CTAs per SM.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op"
COUNTERS = {
    "threads": "launch__block_size", "registers": "launch__registers_per_thread",
    "smem_bytes": "launch__shared_mem_per_block_dynamic", "grid": "launch__grid_size",
    "limit_registers": "launch__occupancy_limit_registers", "limit_shared": "launch__occupancy_limit_shared_mem",
    "cycles_elapsed": "gpc__cycles_elapsed.max", "sm_cycles_active": "sm__cycles_active.avg",
    "warp_instructions": "smsp__inst_executed.sum",
    "hmma_instructions": "sm__inst_executed_pipe_tensor_op_hmma.sum",
    "tensor_instructions": "sm__inst_executed_pipe_tensor.sum",
    "ldsm_instructions": "smsp__sass_inst_executed_op_ldsm.sum",
    "ldgsts_instructions": "smsp__sass_inst_executed_op_ldgsts.sum",
    "smem_wavefronts_load": f"{SHARED}_ld.sum", "smem_wavefronts_store": f"{SHARED}_st.sum",
    "smem_wavefronts_ldgsts": "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "bank_conflicts_load": f"{CONFLICTS}_ld.sum", "bank_conflicts_ldgsts": f"{CONFLICTS}_ldgsts.sum",
    "l2_sectors_read": "lts__t_sectors_op_read.sum", "l2_sectors_write": "lts__t_sectors_op_write.sum",
    "l2_hit_pct": "lts__t_sector_hit_rate.pct", "dram_bytes_read": "dram__bytes_read.sum",
    "dram_bytes_written": "dram__bytes_write.sum",
    "issue_active_pct": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "achieved_occupancy_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
STALLS = ("barrier branch_resolving dispatch_stall drain gmma imc_miss lg_throttle long_scoreboard math_pipe_throttle "
          "membar mio_throttle misc no_instruction not_selected selected short_scoreboard sleeping tex_throttle wait")
COUNTERS |= {f"stall_{state}": f"smsp__average_warps_issue_stalled_{state}_per_issue_active.ratio"
             for state in STALLS.split()}


def problem(size: str) -> dict[str, object]:
    """Columns M, N, K, and of a convolution ``problem``: H x H pixels, R x R filters, R / 2 of padding."""
    numbers = [int(number) for number in size.split("x")]
    if len(numbers) == 3:
        return {**dict(zip("MNK", numbers, strict=True)), "problem": ""}
    images, height, channels, filters, window, stride = numbers
    rows = (height + 2 * (window // 2) - window) // stride + 1
    text = (f"N={images} H={height} W={height} C={channels} K={filters} R={window} S={window} padding={window // 2} "
            f"stride={stride}")
    return {"M": images * rows * rows, "N": filters, "K": channels * window * window, "problem": text}


def profiled(executable: str, kernel: str, size: str) -> dict[str, str]:
    """Counters of the launches of a process (split-K parallel has two), SMs at their own clock, caches flushed: sums of
    what is counted, all else of the first one."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics",
               ",".join(COUNTERS.values()), executable, kernel, *size.split("x")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names, _, *launches = csv.reader(line for line in text.splitlines() if line.startswith('"'))
    counted = [dict(zip(names, values, strict=True)) for values in launches]
    found = {name: [launch[metric].replace(",", "") for launch in counted] for name, metric in COUNTERS.items()}
    return {name: f"{sum(map(float, values)):.12g}" if adds_up(COUNTERS[name]) else values[0]
            for name, values in found.items()}


def adds_up(metric: str) -> bool:
    return metric.endswith(".sum") or "__cycles" in metric


def main(executable: str, out: str, *sizes: str) -> None:
    listing = subprocess.run([executable, "--list"], capture_output=True, text=True, check=True).stdout
    rows = []
    for entry in csv.DictReader(io.StringIO(listing)):
        for size in sizes:
            counted = profiled(executable, entry["kernel"], size)
            resident = min(int(counted.pop("limit_registers")), int(counted.pop("limit_shared")))
            rows.append({**entry, **problem(size), **counted, "blocks_per_sm": resident})
    with Path(out).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
