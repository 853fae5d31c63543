"""Models what ``gpusim run`` prints: headline numbers, occupancy, shared memory, warp states, traffic, advice.
Leaves out the tables by line and by instruction, which are in the run directory."""

from __future__ import annotations

from pathlib import Path

from gpusim.cli.output import console, number, print_frame, print_rows
from gpusim.experiments.run import Outcome
from gpusim.report.metrics import METRICS
from gpusim.report.numbers import ctas_per_sm
from gpusim.report.states import STATES
from gpusim.report.summary import Summary, limiters
from gpusim.report.tables import shared_memory_table

__all__ = ["print_summary"]

_BAR_COLUMNS = 40
_TRAFFIC = (
    "l1_hit_pct", "l2_sectors_read", "l2_sectors_write", "l2_hit_pct", "l2_gbytes_per_second", "dram_bytes_read",
    "dram_bytes_written", "dram_gbytes_per_second",
)


def print_summary(outcome: Outcome, directory: Path) -> None:
    """The answer of a run, on stdout."""
    summary, screen = outcome.summary, console()
    screen.print(f"[bold]{summary['name']}[/bold]  {_echo(outcome)}\n")
    _print_speed(summary)
    _print_occupancy(summary)
    print_frame("Shared memory by access", shared_memory_table(outcome.program))
    _print_warp_states(summary)
    _print_traffic(summary)
    for sentence in summary["advice"]:
        screen.print(sentence, markup=False)
    screen.print(f"\n{_host_rate(summary)}\nwrote {directory}: report.html; trace.json.gz is for ui.perfetto.dev",
                 markup=False)


def _echo(outcome: Outcome) -> str:
    """Program, sizes, parameters and start state."""
    config = outcome.plan.config
    sizes = " ".join(f"{key}={value}" for key, value in outcome.plan.problem.items())
    parameters = " ".join(f"{key}={value}" for key, value in outcome.plan.parameters.items())
    overhead = "launch overhead counted" if config.launch_overhead else "launch overhead not counted"
    sms = f"{len(outcome.result.sms_used)} of {outcome.result.num_sms} SMs"
    first = f"{outcome.program.name} on {outcome.spec.name}, {sms}, {config.l2} L2, {overhead}"
    return f"{first}\n{sizes} {parameters}".replace("[", r"\[")


def _print_speed(summary: Summary) -> None:
    own, fastest = summary["mma_peak_pct"], summary["tensor_peak_pct"]
    peaks = [(own if own != fastest else None, "mma.sync peak"), (fastest, "tensor peak")]
    shares = ", ".join(f"{value:.1f} % of {name}" for value, name in peaks if value is not None)
    rows = [
        ("Elapsed Cycles", number(summary["cycles"]), f"{summary['time_us']:.2f} us at {summary['clock_mhz']:.0f} MHz"),
        *([("Performance", f"{summary['tflops']:.1f} TFLOP/s", shares)] if summary["tflops"] else []),
        ("Executed Instructions", number(summary["warp_instructions"]),
         f"IPC {summary['ipc_active']:.2f} per active SM cycle, issue slots busy {summary['issue_active_pct']:.1f} %"),
        ("Compute (SM) Throughput", f"{summary['sm_throughput_pct']:.1f} %", summary["sm_throughput_unit"]),
        ("Memory Throughput", f"{summary['memory_throughput_pct']:.1f} %", summary["memory_throughput_unit"]),
    ]
    print_rows("Speed", ["", "", ""], rows)


def _print_occupancy(summary: Summary) -> None:
    occupancy = summary["occupancy"]
    stem, cluster = "block_limit_", occupancy["cluster"]
    clusters = "" if cluster == "1x1x1" else f" in clusters of {cluster}"
    limits = ", ".join(f"{key[len(stem) :]} {limit}" for key, limit in occupancy.items() if key.startswith(stem))
    rows = [
        ("Theoretical Occupancy", f"{summary['theoretical_occupancy_pct']:.2f} %",
         f"{ctas_per_sm(occupancy['blocks_per_sm'])}, limited by {' and '.join(limiters(occupancy))} "
         f"(block limits: {limits})"),
        ("Achieved Occupancy", f"{summary['achieved_occupancy_pct']:.2f} %",
         f"{occupancy['threads_per_cta']} threads, {occupancy['registers_per_thread']} registers, "
         f"{number(occupancy['shared_bytes'])} bytes of shared memory; grid {occupancy['grid']}{clusters}"),
    ]
    print_rows("Occupancy", ["", "", ""], rows)


def _print_warp_states(summary: Summary) -> None:
    total = summary["warp_cycles_per_issued"]
    states = sorted(summary["warp_states"].items(), key=lambda item: -item[1])
    rows: list[tuple[object, ...]] = [
        (STATES[name].title, f"{value:.2f}", f"{100 * value / max(total, 1e-9):.1f} %",
         "█" * round(_BAR_COLUMNS * value / max(total, 1e-9)))
        for name, value in states if value >= 0.005
    ]
    rows.append(("Warp Cycles Per Issued Instruction", f"{total:.2f}", "100.0 %", ""))
    print_rows("Warp states per issued instruction", ["State", "Cycles", "Share", ""], rows)


def _print_traffic(summary: Summary) -> None:
    titles = {metric.name: metric for metric in METRICS}
    rows = [(titles[name].title, number(summary[name]), titles[name].unit) for name in _TRAFFIC]
    print_rows("L2 and DRAM", ["", "", ""], rows)


def _host_rate(summary: Summary) -> str:
    engine = summary["engine"]
    return (
        f"simulated {engine['simulated_warp_instructions'] / 1e6:.2f} million warp instructions in "
        f"{engine['host_seconds']:.2f} s: {engine['warp_instructions_per_second'] / 1e6:.2f} million per second "
        f"(compilation {engine['compile_seconds']:.1f} s)"
    )
