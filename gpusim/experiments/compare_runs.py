"""Models the differences between two finished runs or profiles, by effect: whole launches, then source lines.
Leaves out simulating (gpusim.experiments.compare does that for variants of one run)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from gpusim.errors import UserError
from gpusim.experiments.comparable import COMPARABLES, effect_pct, profile_values, summary_values
from gpusim.experiments.ncu_csv import choose_profile, read_ncu
from gpusim.report.numbers import speed_sentence
from gpusim.report.summary import Summary

__all__ = ["Difference", "Side", "compare_sides", "load_side", "side_of_summary"]

_SUMMARY, _LINES = "summary.json", "source_lines.csv"


@dataclass(frozen=True)
class Side:
    """One of the two: its numbers by name; what was asked for, and warp cycles by source line, where they are known."""

    name: str
    values: Mapping[str, float]
    problem: Mapping[str, object] = field(default_factory=dict)
    choices: Mapping[str, object] = field(default_factory=dict)  # GPU, parameters, start state
    lines: pd.DataFrame | None = None


@dataclass(frozen=True)
class Difference:
    """``table``: a row per number that differs, largest effect first; ``lines``: the same for source lines."""

    before: Side
    after: Side
    table: pd.DataFrame
    lines: pd.DataFrame

    def notes(self) -> list[str]:
        """What makes the comparison lame."""
        sizes = [side.problem for side in (self.before, self.after)]
        if all(sizes) and sizes[0] != sizes[1]:
            texts = [" ".join(f"{key}={value}" for key, value in size.items()) for size in sizes]
            return [f"the problems differ: {texts[0]} against {texts[1]}"]
        return []

    def verdict(self) -> str:
        """Which is faster and by how much; empty where one of them has no cycles."""
        runs = [(side.name, side.values.get("cycles", 0.0)) for side in (self.before, self.after)]
        return speed_sentence(runs) if all(cycles for _, cycles in runs) else ""


def load_side(path: str, kernel: str | None = None) -> Side:
    """A run directory (or its summary.json), or a file that ncu --csv wrote. Raises UserError for anything else."""
    place = Path(path)
    if place.is_dir() or place.name == _SUMMARY:
        return _load_run(place if place.is_dir() else place.parent)
    if place.is_file():
        profile = choose_profile(read_ncu(place), kernel, str(place))
        return Side(f"{place.stem} (ncu)", profile_values(profile))
    raise UserError("no such run directory or profile", place="compare", got=f"'{path}'",
                    suggestion="gpusim run leaves a directory in reports/runs; ncu --csv writes a profile")


def side_of_summary(name: str, summary: Summary) -> Side:
    choices = {key: summary[key] for key in ("program", "gpu")} | summary["parameters"] | summary["settings"]
    return Side(name, summary_values(summary), summary.get("problem", {}), choices)


def compare_sides(before: Side, after: Side) -> Difference:
    """Every number that both have and that differs, in order of its effect (gpusim.experiments.comparable).

    Two runs of one program are named by what they have different.
    """
    before, after = _told_apart(before, after), _told_apart(after, before)
    rows = [
        {"title": item.title, "section": item.section, "unit": item.unit, "before": before.values[item.name],
         "after": after.values[item.name], "change": after.values[item.name] - before.values[item.name],
         "effect_pct": round(effect_pct(item.name, before.values, after.values), 2), "name": item.name}
        for item in COMPARABLES
        if item.name in before.values and item.name in after.values
        and after.values[item.name] != before.values[item.name]
    ]
    columns = ["title", "section", "unit", "before", "after", "change", "effect_pct", "name"]
    return Difference(before, after, _by_size(pd.DataFrame(rows, columns=columns), "effect_pct"), _lines(before, after))


def _told_apart(side: Side, other: Side) -> Side:
    """``hgemm-1a2b3c4d (swizzle=none)`` instead of a name that says nothing."""
    own = {**side.choices, **side.problem}
    theirs = {**other.choices, **other.problem}
    different = [f"{key}={value}" for key, value in own.items() if theirs.get(key, value) != value]
    return dataclasses.replace(side, name=f"{side.name} ({', '.join(different)})") if different else side


def _by_size(table: pd.DataFrame, column: str) -> pd.DataFrame:
    return table.sort_values(column, key=lambda values: -values.abs(), kind="stable", ignore_index=True)


def _lines(before: Side, after: Side) -> pd.DataFrame:
    """Warp cycles by source line, and the change as a share of the larger sum; empty where one side has none."""
    columns = ["file", "line", "warp_cycles_before", "warp_cycles_after", "change", "effect_pct"]
    if before.lines is None or after.lines is None:
        return pd.DataFrame(columns=columns)
    both = before.lines.merge(after.lines, on=["file", "line"], how="outer", suffixes=("_before", "_after"))
    both = both.fillna({"warp_cycles_before": 0, "warp_cycles_after": 0}).infer_objects()
    change = both["warp_cycles_after"] - both["warp_cycles_before"]
    total = max(before.lines["warp_cycles"].sum(), after.lines["warp_cycles"].sum(), 1)
    return _by_size(both.assign(change=change, effect_pct=(100 * change / total).astype(float).round(2)), "effect_pct")


def _load_run(directory: Path) -> Side:
    try:
        summary = json.loads((directory / _SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError("the directory holds no run", place=str(directory), got=f"'{error}'",
                        suggestion="gpusim run writes one with summary.json in it") from None
    side = side_of_summary(directory.name, summary)
    if not (directory / _LINES).is_file():
        return side
    lines = pd.read_csv(directory / _LINES).groupby(["file", "line"], as_index=False)["warp_cycles"].sum()
    return dataclasses.replace(side, lines=lines)
