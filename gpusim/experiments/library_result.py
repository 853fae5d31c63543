"""Models what a simulation from Python can be asked: numbers, pandas tables, figures, a comparison, files.
Leaves out how it was simulated (gpusim.experiments.library)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from gpusim.arch import GpuSpec
from gpusim.engine.result import SimulationResult
from gpusim.errors import UserError, did_you_mean
from gpusim.experiments.compare_runs import Difference, compare_sides, side_of_summary
from gpusim.experiments.config import Plan
from gpusim.experiments.run import Outcome, write_run
from gpusim.program import Program
from gpusim.report.figures import draw_warp_states
from gpusim.report.metrics import METRICS
from gpusim.report.numbers import format_number
from gpusim.report.perfetto import write_trace
from gpusim.report.style import svg_text
from gpusim.report.summary import Summary
from gpusim.report.tables import all_tables
from gpusim.report.timeline import Timeline, timeline
from gpusim.report.timeline_figure import draw_timelines

__all__ = ["Result"]

_HEADLINES = ("cycles", "time_us", "tflops", "mma_peak_pct", "achieved_occupancy_pct", "bank_conflicts_load",
              "dominant_stall")


@dataclass(frozen=True, repr=False)
class Result:
    """One simulated launch. ``summary`` is what summary.json holds; ``result[name]`` is one number of it.

    ``plan``: the configuration, None where a recorded program or a kernel on tensors was simulated.
    """

    name: str
    program: Program
    spec: GpuSpec
    result: SimulationResult
    summary: Summary
    plan: Plan | None = field(default=None)

    @property
    def cycles(self) -> int:
        """Elapsed cycles, from launch to the last write."""
        return int(self.summary["cycles"])

    @property
    def time_us(self) -> float:
        """Microseconds at the clock of the GPU."""
        return float(self.summary["time_us"])

    @property
    def tflops(self) -> float:
        """Useful floating-point operations per second, in 10^12; 0 where the useful ones are not known."""
        return float(self.summary["tflops"])

    @property
    def advice(self) -> list[str]:
        """Sentences that name what limits the kernel, and what to try."""
        return list(self.summary["advice"])

    def __getitem__(self, name: str) -> Any:
        """A number by name. Raises UserError for a name that the summary does not have."""
        if name not in self.summary:
            raise UserError(f"a result has no number '{name}'", suggestion=did_you_mean(name, self.summary))
        return self.summary[name]

    @property
    def metrics(self) -> pd.DataFrame:
        """Every single number: name, title, value, unit, ncu_name (Nsight Compute's), section."""
        rows = [(item.name, item.title, self.summary[item.name], item.unit, item.ncu, item.section) for item in METRICS]
        return pd.DataFrame(rows, columns=["name", "title", "value", "unit", "ncu_name", "section"])

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """shared_memory, global_memory, warp_states, instructions, source_lines, ctas: as in a run directory."""
        return all_tables(self.program, self.result)

    def window(
        self, *, cta: int | None = None, warps: Sequence[int] | None = None, cycles: tuple[int, int] | None = None
    ) -> Timeline:
        """What was recorded of one CTA. Raises UserError where nothing was, or not that CTA or warp."""
        return timeline(self.program, self.result, self.spec, cta=cta, warps=warps, cycles=cycles)

    def timeline(
        self, *, cta: int | None = None, warps: Sequence[int] | None = None, cycles: tuple[int, int] | None = None,
        against: Result | None = None,
    ) -> Figure:
        """Warps, copies in flight and busy units over time; ``against``: another run below, first cycles aligned."""
        runs, names = [self], [self.name]
        if against is not None:
            difference = self.compare(against)
            runs, names = [self, against], [difference.before.name, difference.after.name]
        shown = [run.window(cta=cta, warps=warps, cycles=cycles) for run in runs]
        titles = [f"{name} on {run.spec.name}: cycles {data.start_cycle:,} to {data.end_cycle:,}"
                  for name, run, data in zip(names, runs, shown, strict=True)]
        return draw_timelines(shown, titles, aligned=against is not None and cycles is None)

    def warp_states(self) -> Figure:
        """Warp cycles per issued instruction by state."""
        return draw_warp_states(self.result)

    def compare(self, other: Result) -> Difference:
        """What is different in ``other``, largest effect first: ``.table``, ``.verdict()``."""
        return compare_sides(side_of_summary(self.name, self.summary), side_of_summary(other.name, other.summary))

    def write_trace(self, path: str | Path) -> Path:
        """The recorded window for ui.perfetto.dev, as gzipped JSON."""
        write_trace(Path(path), self.program, self.result, {"name": self.name, "gpu": self.spec.name})
        return Path(path)

    def write(self) -> Path:
        """The run directory with report.html, under the configuration's output. Raises UserError without one."""
        if self.plan is None:
            raise UserError("only a run with a configuration has a directory", place=self.name,
                            suggestion="simulate a program by name or path")
        return write_run(Outcome(self.plan, self.program, self.spec, self.result, self.summary))

    def __repr__(self) -> str:
        return (f"Result({self.name} on {self.spec.name}: {self.cycles:,} cycles, {self.time_us:.1f} us, "
                f"{self.tflops:.1f} TFLOP/s, mostly {self.summary['dominant_stall']})")

    def _repr_html_(self) -> str:
        """What a notebook shows: headlines, warp states, advice."""
        units = {item.name: item for item in METRICS}
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(units[name].title)}</td>"
            f"<td>{escape(format_number(self.summary[name]))} {escape(units[name].unit)}</td></tr>"
            for name in _HEADLINES if self.summary[name] is not None
        )
        advice = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.advice)
        return (f"<h4>{escape(self.name)} on {escape(self.spec.name)}</h4><table>{rows}</table>"
                f"<div>{svg_text(self.warp_states())}</div><ul>{advice}</ul>")
