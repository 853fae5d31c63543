"""Models a sweep: all points of a grid simulated on several processes, each kept by what it was computed from.
Leaves out the grid itself (gpusim.experiments.sweep_config) and terminals (gpusim.cli)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

import gpusim
from gpusim.arch import load_gpu
from gpusim.errors import SimulatedFailure, UserError
from gpusim.experiments.batch import Job, run_jobs
from gpusim.experiments.compare import COLUMNS, headline
from gpusim.experiments.config import load_plan, to_yaml
from gpusim.experiments.sweep_config import Point, SweepConfig
from gpusim.report.summary import Summary

__all__ = ["SweepResult", "point_digest", "run_sweep"]

Progress = Callable[[float], None]
_WITHOUT_EFFECT = ("output", "timeline")
"""Keys of a run that do not change its summary."""


@dataclass(frozen=True)
class SweepResult:
    """All points in the order of the grid: their summaries, or why there is none. ``reused``: not simulated again."""

    name: str
    directory: Path
    points: tuple[Point, ...]
    summaries: tuple[Summary | None, ...]
    failures: tuple[str, ...]
    reused: int

    def headlines(self) -> pd.DataFrame:
        """One row per point with the columns of ``gpusim compare``."""
        empty = dict.fromkeys(COLUMNS)
        return self._frame([headline(summary) if summary else empty for summary in self.summaries])

    def table(self) -> pd.DataFrame:
        """One row per point with every number of its summary."""
        return self._frame([_scalars(summary or {}) for summary in self.summaries]).infer_objects()

    def _frame(self, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
        keyed = [{key: _cell(value) for key, value in point.values.items()} for point in self.points]
        reasons = [{"not_simulated": failure or None} for failure in self.failures]
        if not any(self.failures):
            reasons = [{} for _ in reasons]
        return pd.DataFrame([k | row | r for k, row, r in zip(keyed, rows, reasons, strict=True)], dtype=object)


def run_sweep(
    name: str, config: SweepConfig, *, resume: bool = False, processes: int = 1, progress: Progress | None = None
) -> SweepResult:
    """Simulate every point and write ``<output>/sweep-<name>/results.csv`` and ``.parquet``.

    A finished point is written at once to ``points/``, under a digest of all it was computed from; with ``resume`` such
    points are read instead of simulated. Refused points keep the reason. Raises UserError where the first point has
    unknown keys, SimulatedFailure when no point could be simulated.
    """
    points = config.points()
    load_plan(points[0].job.target, points[0].job.settings)
    directory = Path(config.output) / f"sweep-{name}"
    (directory / "points").mkdir(parents=True, exist_ok=True)
    files = [directory / "points" / f"{digest}.json" if (digest := point_digest(point.job)) else None
             for point in points]
    known = {i for i, file in enumerate(files) if resume and file and file.exists()}
    failures = _simulate(points, files, known, processes, progress)
    summaries = tuple(_read(file) if i not in failures else None for i, file in enumerate(files))
    texts = tuple(failures.get(i, "") for i in range(len(points)))
    result = SweepResult(name, directory, tuple(points), summaries, texts, len(known))
    if not any(summaries):
        raise SimulatedFailure("\n".join(dict.fromkeys(texts)))
    _write(result)
    return result


def point_digest(job: Job) -> str:
    """What a point is computed from, as 16 digits: configuration, kernel, GPU and gpusim's own code.

    Empty where the configuration itself is refused.
    """
    try:
        plan = load_plan(job.target, job.settings)
        gpu = load_gpu(plan.config.gpu).model_dump_json()
    except UserError:
        return ""
    same = {key: field.default for key, field in type(plan.config).model_fields.items() if key in _WITHOUT_EFFECT}
    resolved = to_yaml(plan.resolved().model_copy(update=same))
    kernel = Path(plan.program.kernel.file)
    code = (_digest_of(kernel.parent, "*.py"), _digest_of(kernel.parent / "common", "**/*.py"), _own_digest())
    return hashlib.sha256("\n".join((resolved, gpu, *code)).encode()).hexdigest()[:16]


@cache
def _own_digest() -> str:
    return _digest_of(Path(gpusim.__file__).parent, "**/*.py")


def _digest_of(directory: Path, pattern: str) -> str:
    """Of names and contents of the files of a directory."""
    digest = hashlib.sha256()
    for path in sorted(directory.glob(pattern)):
        digest.update(str(path.relative_to(directory)).encode() + path.read_bytes())
    return digest.hexdigest()


def _simulate(
    points: Sequence[Point], files: Sequence[Path | None], known: set[int], processes: int, progress: Progress | None
) -> dict[int, str]:
    """Simulate what is not known and write it; the value says why points have no summary."""
    waiting = [i for i in range(len(points)) if i not in known]
    failures: dict[int, str] = {}
    for done, result in enumerate(run_jobs([points[i].job for i in waiting], processes=processes), start=1):
        number = waiting[result.index]
        file = files[number]
        if result.summary is None or file is None:
            failures[number] = result.failure
        else:
            _replace(file, json.dumps(result.summary, default=lambda value: value.item()))
        if progress:
            progress((len(known) + done) / len(points))
    return failures


def _read(file: Path | None) -> Summary | None:
    return json.loads(file.read_text(encoding="utf-8")) if file and file.exists() else None


def _replace(file: Path, text: str) -> None:
    """Write a whole file or nothing."""
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def _write(result: SweepResult) -> None:
    table = result.table()
    for name in result.points[0].values:
        if table[name].dtype == object:
            table[name] = table[name].map(str)
    table.to_csv(result.directory / "results.csv", index=False)
    table.to_parquet(result.directory / "results.parquet", index=False)


def _scalars(summary: Summary) -> dict[str, Any]:
    """Single numbers and words of a summary, those of its groups as ``group.name``."""
    flat = dict(_flat(summary, ""))
    return {key: value for key, value in flat.items() if isinstance(value, bool | int | float | str)}


def _flat(group: dict[str, Any], prefix: str) -> Iterable[tuple[str, Any]]:
    for key, value in group.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _cell(value: Any) -> Any:
    """A value of the grid as a table can hold it."""
    return json.dumps(value) if isinstance(value, list | dict) else value
