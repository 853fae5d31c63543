"""Models files as ncu --csv writes them, with counters of measured kernels: details page, raw page, summaries.
Leaves out the hundreds of other columns of a real file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd

import gpusim

IDENTITY = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
            "Grid Size", "Device", "CC")
BEFORE, AFTER = "==PROF== Connected to process 50672 (/tmp/gemm)\n", "==PROF== Disconnected from process 50672\n"
KERNEL = "void gemm<128, 128, 32>(const __half *, const __half *, __half *, int)"


REAL = {page: Path(__file__).parent / "experiments" / "data" / f"ncu_{page}.csv" for page in ("details", "raw")}
"""hgemm at 1024 cubed on an H200 by ``ncu --set full --csv``: a twentieth of the raw page's columns, two fifths of the
rows of the details page."""


def measured_row() -> dict[str, Any]:
    """The first hand-written kernel of kernels.csv at 2048 cubed: no swizzle, three stages."""
    table = pd.read_csv(Path(gpusim.__file__).parent / "data/hardware/h200/kernels.csv")
    return table.iloc[0].to_dict()


def metrics(row: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """{ncu metric: (value in base units, base unit)} of a measured kernel."""
    stall = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
    shared = "l1tex__data_{}_mem_shared_op_ld.sum"
    return {
        "sm__cycles_elapsed.max": (row["cycles_elapsed"], "cycle"),
        "gpu__time_duration.sum": (row["cycles_elapsed"] / 1.98e9, "second"),
        "smsp__inst_executed.sum": (row["warp_instructions"], "inst"),
        shared.format("pipe_lsu_wavefronts"): (row["smem_wavefronts_load"], ""),
        shared.format("bank_conflicts_pipe_lsu"): (row["bank_conflicts_load"], ""),
        "dram__bytes_read.sum": (row["dram_bytes_read"], "byte"),
        "dram__bytes.sum.per_second": (2.5e11, "byte/second"),
        "lts__t_sector_hit_rate.pct": (row["l2_hit_pct"], "%"),
        "launch__registers_per_thread": (row["registers"], "register/thread"),
        "launch__shared_mem_per_block_dynamic": (row["smem_bytes"], "byte/block"),
        "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active": (12.5, "%"),
        **{stall.format(name[6:]): (value, "inst") for name, value in row.items() if name.startswith("stall_")},
    }


def identity(launch: int, row: dict[str, Any], kernel: str = KERNEL) -> list[str]:
    return [str(launch), "50672", "gemm", "127.0.0.1", kernel, "1", "7", f"({row['threads']}, 1, 1)",
            f"({row['grid'].replace('x', ', ')})", "0", "9.0"]


def written(rows: list[list[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return BEFORE + stream.getvalue() + AFTER


def raw_page(row: dict[str, Any], kernels: tuple[str, ...] = (KERNEL,)) -> str:
    """``ncu --csv --page raw --print-units base --nvtx``: a row of units, then launches; attributes are text."""
    found = metrics(row)
    heading = [*IDENTITY, "Id:Domain:Push/Pop_Range:PL_Type", "device__attribute_architecture",
               "launch__func_cache_config", *found]
    units = [""] * (len(IDENTITY) + 3) + [unit for _, unit in found.values()]
    values = [f"{value:,}" for value, _ in found.values()]
    return written([heading, units, *([*identity(i, row, name), "3", "0x190", "CachePreferNone", *values]
                                      for i, name in enumerate(kernels))])


SCALED = {"second": ("us", 1e6), "byte": ("Mbyte", 1e-6), "byte/second": ("Gbyte/s", 1e-9),
          "byte/block": ("Kbyte/block", 1e-3)}


def metrics_page(row: dict[str, Any]) -> str:
    """``ncu --csv --metrics ...``: a row per metric, units scaled for reading."""
    heading = [*IDENTITY, "Section Name", "Metric Name", "Metric Unit", "Metric Value"]
    rows = []
    for name, (value, unit) in metrics(row).items():
        shown, scale = SCALED.get(unit, (unit, 1.0))
        rows.append([*identity(0, row), "Command line profiler metrics", name, shown, f"{value * scale:,}"])
    return written([heading, *rows])


def details_page(row: dict[str, Any]) -> str:
    """``ncu --csv``: labels instead of metric names; rows of metrics are shorter than those of rules in between."""
    heading = [*IDENTITY, "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type",
               "Rule Description", "Estimated Speedup Type", "Estimated Speedup"]
    light, memory = "GPU Speed Of Light Throughput", "Memory Workload Analysis"
    labels = [
        (light, "Elapsed Cycles", "cycle", f"{row['cycles_elapsed']:,.0f}"),
        (light, "SM Frequency", "Ghz", "1.98"), (light, "Memory Throughput", "%", "64.39"),
        (light, "DRAM Throughput", "%", "7.51"), (light, "SM Active Cycles", "cycle", f"{row['sm_cycles_active']:,}"),
        (memory, "Memory Throughput", "Gbyte/s", "201.25"), (memory, "L2 Hit Rate", "%", f"{row['l2_hit_pct']}"),
        ("Launch Statistics", "Registers Per Thread", "register/thread", f"{row['registers']}"),
        ("Launch Statistics", "Dynamic Shared Memory Per Block", "Kbyte/block", "49.15"),
        ("Launch Statistics", "Static Shared Memory Per Block", "byte/block", "0"),
        ("Occupancy", "Achieved Occupancy", "%", f"{row['achieved_occupancy_pct']}"),
    ]
    rows = [[*identity(0, row), *label, ""] for label in labels]
    rule = [*identity(0, row), "SOLBottleneck", "", "", "", "SOLBottleneck", "OPT", "Look at \"Memory\", first.",
            "global", "12.5"]
    return written([heading, *rows, rule])


def summary_page(row: dict[str, Any]) -> str:
    """``ncu --csv --print-summary per-kernel``: averages over invocations."""
    heading = ["Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size", "Grid Size", "Device", "CC",
               "Invocations", "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"]
    one = identity(0, row)
    cycles = row["cycles_elapsed"]
    return written([heading, [*one[1:5], *one[7:11], "3", "GPU Speed Of Light Throughput", "Elapsed Cycles", "cycle",
                              f"{cycles - 900:,}", f"{cycles + 900:,}", f"{cycles:,}"]])
