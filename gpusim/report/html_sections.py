"""Models what stands in each section of report.html: bars, rows and cells, ready to be written down.
Leaves out how they look (gpusim/report/templates)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from gpusim.report.memory_chart import memory_chart
from gpusim.report.metric import Run
from gpusim.report.metrics import METRICS, Metric
from gpusim.report.numbers import ctas_per_sm
from gpusim.report.provenance import provenance_of
from gpusim.report.rules import advise
from gpusim.report.source_view import SourceFile, source_files
from gpusim.report.states import STATES
from gpusim.report.style import UNIT_COLORS
from gpusim.report.summary import Summary, limiters
from gpusim.report.tables import COLUMN_NCU, column_title, warp_state_table
from gpusim.report.units import Unit, compute_units, memory_units

__all__ = ["Bar", "Part", "sections"]

_HEADLINES = ("cycles", "time_us", "tflops", "mma_peak_pct", "tensor_peak_pct", "achieved_occupancy_pct",
              "dominant_stall")
_MEMORY_TABLES = {
    "shared_memory": "Shared memory by access",
    "global_memory": "Global memory by access",
}
_LEAST_SHOWN_PCT = 0.05
_LEGEND_PCT = 0.5


@dataclass(frozen=True)
class Part:
    """A coloured piece of a bar."""

    title: str
    width_pct: float
    color: str
    text: str


@dataclass(frozen=True)
class Bar:
    """One row: name, bar of one or more parts, number with its unit, Nsight Compute's name."""

    title: str
    parts: tuple[Part, ...]
    value: str
    ncu: str = ""
    hint: str = ""


def sections(run: Run, summary: Summary, tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Everything the template asks for, by name."""
    by_name = {metric.name: metric for metric in METRICS}
    files = source_files(run.program, run.result)
    return {
        "headlines": [(by_name[name], summary[name]) for name in _headlines(run) if summary[name] is not None],
        "resident": ctas_per_sm(summary["blocks_per_sm"]),
        "advice": [(item.level, item.place, item.sentence) for item in advise(run)],
        "trials": summary.get("what_if", []),
        "compute": [_unit_bar(unit) for unit in compute_units(run) if unit.busy_pct >= _LEAST_SHOWN_PCT],
        "memory": [_unit_bar(unit) for unit in memory_units(run)],
        "states": _state_bars(run),
        "scheduler": _metrics(summary, "Scheduler"),
        "launch": _metrics(summary, "Launch"),
        "occupancy_metrics": _metrics(summary, "Occupancy"),
        "limits": _limits(summary),
        "chart": memory_chart(run),
        "transfers": _metrics(summary, "L2 and DRAM"),
        "memory_tables": _tables(tables, _MEMORY_TABLES),
        "instructions": _instruction_bars(tables["instructions"]),
        "legend": _legend(run),
        "files": [(file, _source_bars(file)) for file in files],
        "origin": provenance_of(run),
        "assumed": _assumed(run, summary),
        "metrics": [(metric, summary[metric.name]) for metric in METRICS if summary[metric.name] is not None],
    }


def _headlines(run: Run) -> tuple[str, ...]:
    """What a kernel is judged by: of one that computes nothing, the memory's share instead of its rate."""
    return tuple("memory_throughput_pct" if name == "tflops" and not run.program.flops else name
                 for name in _HEADLINES)


def _unit_bar(unit: Unit) -> Bar:
    part = Part(unit.title, min(unit.busy_pct, 100.0), UNIT_COLORS[unit.name], "")
    return Bar(unit.title, (part,), f"{unit.busy_pct:.1f} %", unit.ncu, f"100 %: {unit.peak}")


def _state_bars(run: Run) -> list[Bar]:
    """Warp cycles per issued instruction by state; the longest fills the row."""
    table = warp_state_table(run.result)
    longest = max(float(table["cycles_per_issued"].max()), 1e-9)
    return [
        Bar(row.title, (Part(row.title, 100 * row.cycles_per_issued / longest, STATES[row.state].color, ""),),
            f"{row.cycles_per_issued:.2f} ({row.share_pct:.1f} %)", row.ncu_name, row.meaning)
        for row in table.itertuples() if row.share_pct >= _LEAST_SHOWN_PCT
    ]


def _metrics(summary: Summary, section: str) -> list[tuple[Metric, Any]]:
    found = [metric for metric in METRICS if metric.section == section]
    return [(metric, summary[metric.name]) for metric in found if summary[metric.name] is not None]


def _limits(summary: Summary) -> list[tuple[str, int, str, bool]]:
    """What each resource allows by itself: CTAs per SM, Nsight's name, and whether it is the one that limits."""
    occupancy, stem = summary["occupancy"], "block_limit_"
    needs = {"registers": f"{occupancy['registers_per_thread']} per thread",
             "shared_mem": f"{occupancy['shared_bytes']:,} bytes per CTA",
             "warps": f"{occupancy['threads_per_cta']} threads per CTA", "blocks": "hardware limit"}
    limits = {key[len(stem):]: value for key, value in occupancy.items() if key.startswith(stem)}
    return [(f"Block Limit {column_title(name)} ({needs[name]})", limit, f"launch__occupancy_limit_{name}",
             name in limiters(occupancy))
            for name, limit in limits.items()]


def _tables(tables: dict[str, pd.DataFrame], titles: dict[str, str]) -> list[tuple[str, list[Any], list[Any]]]:
    return [(title, _columns(tables[name]), tables[name].values.tolist()) for name, title in titles.items()
            if len(tables[name])]


def _columns(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{"title": column_title(name), "ncu": COLUMN_NCU.get(name, ""),
             "numeric": pd.api.types.is_numeric_dtype(kind)} for name, kind in table.dtypes.items()]


def _legend(run: Run) -> list[Part]:
    """Warp states that are worth a colour in the source view, longest first."""
    table = warp_state_table(run.result)
    return [Part(row.title, row.share_pct, STATES[row.state].color, row.meaning)
            for row in table.itertuples() if row.share_pct >= _LEGEND_PCT]


def _source_bars(file: SourceFile) -> list[tuple[Any, Bar | None]]:
    """Each line with the warp cycles it waits for and issues in; the longest line fills the row."""
    longest = max((line.warp_cycles for line in file.lines), default=1) or 1
    total = max(file.warp_cycles, 1)
    rows: list[tuple[Any, Bar | None]] = []
    for line in file.lines:
        parts = tuple(_state_part(name, cycles, longest) for name, cycles in line.states.items())
        bar = Bar(str(line.number), parts, f"{100 * line.warp_cycles / total:.1f} %") if line.issued else None
        rows.append((line, bar))
    return rows


def _instruction_bars(table: pd.DataFrame) -> list[tuple[str, int, float, Bar]]:
    """Mnemonic, issued instructions, share of them, and where its warp cycles go; the longest fills the row."""
    longest, total = max(int(table["warp_cycles"].max()), 1), max(int(table["warp_cycles"].sum()), 1)
    rows = []
    for row in table.to_dict("records"):
        cycles = {name: row[name] for name in sorted(STATES, key=lambda name: -row.get(name, 0)) if row.get(name)}
        parts = tuple(_state_part(name, count, longest) for name, count in cycles.items())
        bar = Bar(row["mnemonic"], parts, f"{100 * row['warp_cycles'] / total:.1f} %")
        rows.append((row["mnemonic"], row["issued"], row["share_pct"], bar))
    return rows


def _state_part(name: str, cycles: int, longest: int) -> Part:
    state = STATES[name]
    return Part(state.title, 100 * cycles / longest, state.color, f"{cycles:,} warp cycles")


def _assumed(run: Run, summary: Summary) -> list[tuple[str, str]]:
    """What the numbers rest on, one row each."""
    settings, result = run.result.settings, run.result
    overhead = summary["launch_overhead_cycles"] or 0.0
    rows = [
        ("L2 when the kernel starts", str(settings.get("l2", "cold"))),
        ("Launch overhead", f"counted: {overhead:,.0f} cycles" if settings.get("launch_overhead") else "not counted"),
        ("Fidelity", f"{settings.get('fidelity', 'full')}: {len(result.sms_used)} of {result.num_sms} SMs simulated"),
        ("Clock", f"{result.clock_mhz:,.0f} MHz, constant"),
        ("Warp scheduler", str(settings.get("policy", run.spec.issue.policy))),
        ("Numbers of the GPU", summary["provenance"]["sentence"]),
        ("Instructions with a guessed cost", f"{summary['provenance']['guessed_issue_pct']:.1f} % of those issued"),
    ]
    rows += [(f"Launch {number}", f"{cycles:,} cycles") for number, cycles in enumerate(result.launch_cycles, start=1)]
    return [*rows, *(("Note", sentence) for sentence in (*summary["notes"], *summary["assumptions"]))]
