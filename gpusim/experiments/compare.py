"""Models variants of one run side by side: every combination of some keys' values, and which is fastest.
Leaves out large sweeps that resume (they have a command of their own)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from gpusim.errors import SimulatedFailure, UserError
from gpusim.experiments.batch import Job, JobResult, run_jobs
from gpusim.experiments.config import load_plan
from gpusim.report.summary import Summary

__all__ = ["Comparison", "Variant", "compare", "parse_over"]


@dataclass(frozen=True)
class Variant:
    """One combination of values, and what became of it."""

    values: dict[str, str]
    summary: Summary | None
    failure: str = ""

    @property
    def label(self) -> str:
        """``64B`` where one key varies, ``swizzle=64B num_stages=3`` where several do."""
        if len(self.values) == 1:
            return next(iter(self.values.values()))
        return " ".join(f"{key}={value}" for key, value in self.values.items())


@dataclass(frozen=True)
class Comparison:
    """Variants in the order of the keys given."""

    name: str
    variants: tuple[Variant, ...]

    @property
    def simulated(self) -> list[Variant]:
        return [variant for variant in self.variants if variant.summary is not None]

    def table(self) -> pd.DataFrame:
        """One row per simulated variant."""
        return pd.DataFrame([variant.values | _row(variant.summary) for variant in self.simulated if variant.summary])

    def verdict(self) -> str:
        """``64B is 1.62x faster than none``: the fastest variant against the slowest."""
        ranked = sorted(self.simulated, key=_cycles)
        if len(ranked) < 2:
            return ""
        fastest, slowest = ranked[0], ranked[-1]
        ratio = _cycles(slowest) / _cycles(fastest)
        return f"{fastest.label} is {ratio:.2f}x faster than {slowest.label}"


def compare(
    target: str, over: Sequence[str], settings: Sequence[str] = (), *, processes: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Simulate ``target`` for every combination of ``over`` (``["swizzle=none,64B", "num_stages=2,3"]``).

    Variants that the kernel or the hardware refuses keep the reason. Raises UserError for an unknown key,
    SimulatedFailure when no variant could be simulated.
    """
    axes = dict(parse_over(text) for text in over)
    combinations = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    jobs = [Job(target, (*settings, *(f"{key}={value}" for key, value in values.items()))) for values in combinations]
    name = load_plan(target, jobs[0].settings).name
    results: list[JobResult] = []
    for result in run_jobs(jobs, processes=processes):
        results.append(result)
        if progress:
            progress(len(results) / len(jobs))
    results.sort(key=lambda result: result.index)
    variants = tuple(Variant(combinations[done.index], done.summary, done.failure) for done in results)
    if not any(variant.summary for variant in variants):
        raise SimulatedFailure("\n".join(f"{variant.label}: {variant.failure}" for variant in variants))
    return Comparison(name, variants)


def parse_over(text: str) -> tuple[str, list[str]]:
    """``tile=[128,128,32],[64,64,32]`` -> the key and its values; commas inside brackets separate nothing."""
    key, equals, listed = text.partition("=")
    values = [value.strip() for value in _split(listed)]
    if not equals or not key.strip() or not all(values):
        raise UserError("a comparison is KEY=VALUE,VALUE...", place="--over", got=f"'{text}'",
                        suggestion="for example --over swizzle=none,64B")
    return key.strip(), values


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(<{") - (letter in "])>}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _cycles(variant: Variant) -> int:
    return variant.summary["cycles"] if variant.summary else 0


def _row(summary: Summary) -> dict[str, object]:
    conflicts = [summary[f"bank_conflicts_{kind}"] or 0.0 for kind in ("load", "store", "ldgsts")]
    wavefronts = [summary[f"shared_wavefronts_{kind}"] or 0.0 for kind in ("load", "store", "ldgsts")]
    return {
        "bank_conflicts": sum(conflicts),
        "wavefronts": sum(wavefronts),
        "cycles": summary["cycles"],
        "tflops": round(summary["tflops"], 2),
        "shared_bytes": summary["occupancy"]["shared_bytes"],
        "registers": summary["occupancy"]["registers_per_thread"],
        "blocks_per_sm": summary["blocks_per_sm"],
        "achieved_occupancy_pct": round(summary["achieved_occupancy_pct"], 2),
        "limiter": summary["occupancy"]["limiter"],
        "dominant_stall": summary["dominant_stall"],
    }
