"""Models the comparison of one run with the user's own profile of the same kernel: each number that both have.
Leaves out tables of many kernels (gpusim.experiments.validate)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.experiments.comparable import COMPARABLES, profile_values, summary_values, whole
from gpusim.experiments.config import load_plan
from gpusim.experiments.ncu_csv import Profile, choose_profile, read_ncu
from gpusim.experiments.run import Progress, simulate_plan

__all__ = ["ProfileValidation", "validate_profile"]

_SAME_CLOCK = 0.02
"""Boost clocks vary by about as much."""
_LAUNCH = ("threads_per_cta", "num_ctas", "registers_per_thread", "shared_bytes")


@dataclass(frozen=True)
class ProfileValidation:
    """``rows``: name, title, unit, ncu, measured, simulated, error_pct (None: nothing measured to compare with).

    ``notes``: what makes the two launches differ; ``unmatched``: metrics of the profile that a simulation has not.
    """

    name: str
    kernel: str
    rows: list[dict[str, Any]]
    notes: list[str]
    unmatched: list[str]

    @property
    def cycles_error_pct(self) -> float | None:
        return next((row["error_pct"] for row in self.rows if row["name"] == "cycles"), None)

    def to_json(self) -> dict[str, Any]:
        return {"run": self.name, "kernel": self.kernel, "rows": self.rows, "notes": self.notes,
                "unmatched": self.unmatched}


def validate_profile(
    path: str | Path, target: str, settings: Iterable[str] = (), *, kernel: str | None = None, workers: int = 1,
    progress: Progress | None = None,
) -> ProfileValidation:
    """Simulate ``target`` and set it beside a launch of the profile. Raises UserError for either of them.

    Errors are signed, in per cent of what was measured: stalls of all warp cycles per instruction, conflicts of
    wavefronts, per cents in points.
    """
    profile = choose_profile(read_ncu(path), kernel, str(path))
    plan = load_plan(target, settings)
    outcome = simulate_plan(plan, record=False, workers=workers, progress=progress)
    measured, simulated = profile_values(profile), summary_values(outcome.summary)
    return ProfileValidation(
        plan.name, profile.kernel, _rows(measured, simulated), _notes(measured, simulated, plan.config.l2),
        _unmatched(profile),
    )


def _rows(measured: Mapping[str, float], simulated: Mapping[str, float]) -> list[dict[str, Any]]:
    return [
        {"name": item.name, "title": item.title, "unit": item.unit, "ncu": item.ncu[0] if item.ncu else "",
         "measured": measured[item.name], "simulated": simulated[item.name],
         "error_pct": _error_pct(item.name, measured, simulated)}
        for item in COMPARABLES if item.name in measured and item.name in simulated
    ]


def _error_pct(name: str, measured: Mapping[str, float], simulated: Mapping[str, float]) -> float | None:
    if measured[name] == simulated[name]:
        return 0.0
    total = whole(name, measured)
    return 100 * (simulated[name] - measured[name]) / total if total else None


def _notes(measured: Mapping[str, float], simulated: Mapping[str, float], l2: str) -> list[str]:
    titles = {item.name: item.title for item in COMPARABLES}
    notes = [
        f"{titles[name]} differs: {measured[name]:,.0f} measured, {simulated[name]:,.0f} simulated; "
        "cycles of different launches say little"
        for name in _LAUNCH if name in measured and name in simulated and measured[name] != simulated[name]
    ]
    clocks = [values.get("clock_mhz") for values in (measured, simulated)]
    if clocks[0] and clocks[1] and abs(clocks[0] / clocks[1] - 1) > _SAME_CLOCK:
        notes.append(f"the SM ran at {clocks[0]:,.0f} MHz, {clocks[1]:,.0f} MHz were simulated: compare cycles, not "
                     "time; ncu holds a GPU at its base clock unless --clock-control none was given")
    flushed = "ncu empties the caches before each pass unless --cache-control none was given"
    return [*notes, f"the L2 was {l2} in the simulation; {flushed}"]


def _unmatched(profile: Profile) -> list[str]:
    known = {name for item in COMPARABLES for name in item.ncu}
    return sorted(set(profile.readings) - known)
