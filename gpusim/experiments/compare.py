"""Models variants of one run side by side: every combination of some keys' values, and which is fastest.
Leaves out large sweeps that resume (they have a command of their own)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gpusim.errors import SimulatedFailure, UserError
from gpusim.experiments.batch import Job, JobResult, run_jobs
from gpusim.experiments.config import load_plan
from gpusim.report.numbers import speed_sentence
from gpusim.report.summary import Summary

__all__ = ["COLUMNS", "Comparison", "Variant", "compare", "headline", "parse_over"]

COLUMNS = (
    "bank_conflicts", "wavefronts", "cycles", "tflops", "shared_bytes", "registers", "blocks_per_sm",
    "achieved_occupancy_pct", "limiter", "l2_hit_pct", "dram_bytes_read", "dominant_stall",
)


@dataclass(frozen=True)
class Variant:
    """One combination of values, and what became of it."""

    values: dict[str, str]
    summary: Summary | None
    failure: str = ""

    @property
    def cycles(self) -> int:
        """0 without a summary."""
        return int(self.summary["cycles"]) if self.summary else 0

    @property
    def label(self) -> str:
        """``swizzle=64B num_stages=3``."""
        return " ".join(f"{key}={value}" for key, value in self.values.items())


@dataclass(frozen=True)
class Comparison:
    """Variants in the order of the keys given. ``figure_stem``: where a figure goes that was given no place."""

    name: str
    variants: tuple[Variant, ...]
    figure_stem: Path

    @property
    def keys(self) -> list[str]:
        """What varies."""
        return list(self.variants[0].values)

    @property
    def simulated(self) -> list[Variant]:
        return [variant for variant in self.variants if variant.summary is not None]

    def table(self) -> pd.DataFrame:
        """One row per variant, in their order; a column ``not_simulated`` says why, where a variant has no numbers."""
        rows = [_numbers(variant) for variant in self.variants]
        complete = len(self.simulated) == len(self.variants)
        reasons = [{} if complete else {"not_simulated": variant.failure or None} for variant in self.variants]
        return pd.DataFrame([row | reason for row, reason in zip(rows, reasons, strict=True)], dtype=object)

    def verdict(self) -> str:
        """``swizzle=64B is 1.62x faster than swizzle=none``: the fastest variant against the slowest."""
        found = [(variant.label, float(variant.cycles)) for variant in self.simulated]
        return speed_sentence(found) if len(found) > 1 else ""


def compare(
    target: str, over: Sequence[str], settings: Sequence[str] = (), *, processes: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Simulate ``target`` for every combination of ``over`` (``["swizzle=none,64B", "num_stages=2,3"]``).

    Variants that the kernel or the hardware refuses keep the reason. Raises UserError for an unknown key,
    SimulatedFailure when no variant could be simulated.
    """
    axes = _axes(over)
    combinations = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    jobs = [Job(target, (*settings, *(f"{key}={value}" for key, value in values.items()))) for values in combinations]
    plan = load_plan(target, jobs[0].settings)
    results: list[JobResult] = []
    for result in run_jobs(jobs, processes=processes):
        results.append(result)
        if progress:
            progress(len(results) / len(jobs))
    results.sort(key=lambda result: result.index)
    variants = tuple(Variant(combinations[done.index], done.summary, done.failure) for done in results)
    if not any(variant.summary for variant in variants):
        raise SimulatedFailure("\n".join(f"{variant.label}: {variant.failure}" for variant in variants))
    return Comparison(plan.name, variants, Path(plan.config.output) / f"compare-{plan.name}-{_joined(axes)}")


def parse_over(text: str) -> tuple[str, list[str]]:
    """``tile=[128,128,32],[64,64,32]`` -> the key and its values; commas inside brackets separate nothing."""
    key, equals, listed = text.partition("=")
    values = [value.strip() for value in _split(listed)]
    if not equals or not key.strip() or not all(values):
        raise UserError("a comparison is KEY=VALUE,VALUE...", place="--over", got=f"'{text}'",
                        suggestion="for example --over swizzle=none,64B")
    return key.strip(), values


def _joined(keys: Iterable[str]) -> str:
    """A name for files; a dot would start a suffix."""
    return "-".join(keys).replace(".", "_")


def _axes(over: Sequence[str]) -> dict[str, list[str]]:
    axes: dict[str, list[str]] = {}
    for key, values in map(parse_over, over):
        axes.setdefault(key, []).extend(values)
    return axes


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(<{") - (letter in "])>}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _numbers(variant: Variant) -> dict[str, object]:
    if variant.summary is None:
        return {**variant.values, **dict.fromkeys(COLUMNS)}
    return {**variant.values, **headline(variant.summary)}


def headline(summary: Summary) -> dict[str, object]:
    """The numbers by which variants of a kernel are compared, under the names of ``COLUMNS``."""
    conflicts = [summary[f"bank_conflicts_{kind}"] or 0.0 for kind in ("load", "store", "ldgsts")]
    wavefronts = [summary[f"shared_wavefronts_{kind}"] or 0.0 for kind in ("load", "store", "ldgsts")]
    occupancy = summary["occupancy"]
    numbers = (
        sum(conflicts), sum(wavefronts), summary["cycles"], round(summary["tflops"], 2), occupancy["shared_bytes"],
        occupancy["registers_per_thread"], summary["blocks_per_sm"], round(summary["achieved_occupancy_pct"], 2),
        occupancy["limiter"], round(summary["l2_hit_pct"] or 0.0, 2), summary["dram_bytes_read"],
        summary["dominant_stall"],
    )
    return dict(zip(COLUMNS, numbers, strict=True))
